"""Names of edits of a definition by the words that changed, for lists and the line of an edit."""

from __future__ import annotations

from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, describe_changes
from guardtui.domain.word_diff import Kind, word_diff

_CHARACTERS = 24
_PIECES = 2


def edit_names(before: Topic, after: Topic) -> tuple[str, ...]:
    """What an edit changed, as `describe_changes` says it, but of the description the words.

    For example `("description +“home office”", "example 2 replaced")`; inert, whatever the texts
    hold. Empty when nothing changed.
    """
    others = before.model_copy(update={"description": after.description})
    names = describe_changes(others, after)
    if before.description == after.description:
        return names
    return f"description {_changed_words(before.description, after.description)}", *names


def _changed_words(before: str, after: str) -> str:
    pieces = [(kind, text.strip()) for kind, text in word_diff(before, after)]
    told: list[str] = []
    gone = ""
    for kind, text in [*pieces, (Kind.SAME, "")]:
        if kind is Kind.REMOVED:
            gone = text
            continue
        if kind is Kind.ADDED and text:
            told.append(f"{_quoted(gone)} → {_quoted(text)}" if gone else f"+{_quoted(text)}")
        elif gone:
            told.append(f"−{_quoted(gone)}")
        gone = ""
    if not told:
        return "with other blanks"
    return " ".join([*told[:_PIECES], *(["…"] if len(told) > _PIECES else [])])


def _quoted(text: str) -> str:
    shown = display_start(text, _CHARACTERS)
    return f"“{shown}{'…' if len(text) > _CHARACTERS else ''}”"
