"""Short names of definition edits, made from the words that changed."""

from __future__ import annotations

from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, describe_changes
from guardtui.domain.word_diff import DiffKind, word_diff

_CHARACTERS = 24
_PIECES = 2


def edit_names(before: Topic, after: Topic) -> tuple[str, ...]:
    """Return the names of an edit's changes, with the changed words of the description.

    Other changes are named as by `describe_changes`, for example `("description +“home office”",
    "example 2 replaced")`. The names are inert, whatever the texts hold. Empty if nothing changed.
    """
    same_description = before.model_copy(update={"description": after.description})
    names = describe_changes(same_description, after)
    if before.description == after.description:
        return names
    return f"description {_changed_words(before.description, after.description)}", *names


def _changed_words(before: str, after: str) -> str:
    pieces = [(kind, text.strip()) for kind, text in word_diff(before, after)]
    names: list[str] = []
    removed = ""
    for kind, text in [*pieces, (DiffKind.SAME, "")]:
        if kind is DiffKind.REMOVED:
            removed = text
            continue
        if kind is DiffKind.ADDED and text:
            names.append(
                f"{_quoted(removed)} → {_quoted(text)}" if removed else f"+{_quoted(text)}"
            )
        elif removed:
            names.append(f"−{_quoted(removed)}")
        removed = ""
    if not names:
        return "with other blanks"
    return " ".join([*names[:_PIECES], *(["…"] if len(names) > _PIECES else [])])


def _quoted(text: str) -> str:
    return f"“{display_start(text, _CHARACTERS)}”"
