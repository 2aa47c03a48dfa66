"""Differences of definitions word by word, with signs and colours."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from guardtui.domain.definition_changes import DiffKind, definition_edits, word_diff
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic

_SIGNS = {
    DiffKind.SAME: ("{}", ""),
    DiffKind.ADDED: ("{{+{}+}}", "bold $text-success"),
    DiffKind.REMOVED: ("[-{}-]", "strike $text-error"),
}


def compare_text(text: Text, before: str, after: str) -> None:
    """Append the difference of two texts, word by word."""
    append_pieces(text, word_diff(before, after) if before != after else [(DiffKind.SAME, after)])


def append_pieces(text: Text, pieces: Sequence[tuple[DiffKind, str]]) -> None:
    """Append words with signs for added and removed ones."""
    for kind, part in pieces:
        form, style = _SIGNS[kind]
        text.append(form.format(display_text(part)), style)


def difference_text(before: Topic, after: Topic) -> Text:
    """Return the difference of two definitions, a line for each part that changes."""
    text = Text()
    for title, old, new in definition_edits(before, after):
        if old != new:
            text.append(f"{title:<12} ", "$text-muted")
            compare_text(text, old, new)
            text.append("\n")
    return text
