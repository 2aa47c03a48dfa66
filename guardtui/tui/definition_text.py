"""Definitions word by word: what one has that another has not, with signs and colours."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from guardtui.domain.definition_edits import definition_edits
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.domain.word_diff import Kind, word_diff

_SIGNS = {
    Kind.SAME: ("{}", ""),
    Kind.ADDED: ("{{+{}+}}", "bold $text-success"),
    Kind.REMOVED: ("[-{}-]", "strike $text-error"),
}


def compare_text(text: Text, before: str, after: str) -> None:
    """Append a text word by word against the one before."""
    append_pieces(text, word_diff(before, after) if before != after else [(Kind.SAME, after)])


def append_pieces(text: Text, pieces: Sequence[tuple[Kind, str]]) -> None:
    """Append words with the signs of what became of them."""
    for kind, part in pieces:
        form, style = _SIGNS[kind]
        text.append(form.format(display_text(part)), style)


def difference_text(before: Topic, after: Topic) -> Text:
    """What changes from one definition to another, a line for each part that does."""
    text = Text()
    for title, old, new in definition_edits(before, after):
        if old != new:
            text.append(f"{title:<12} ", "$text-muted")
            compare_text(text, old, new)
            text.append("\n")
    return text
