"""Differences of definitions word by word, with signs and colours."""

from __future__ import annotations

from rich.text import Text

from guardtui.domain.definition_changes import DiffKind, definition_edits, word_diff
from guardtui.domain.topic import Topic
from guardtui.tui.editor.field import append_pieces


def compare_text(text: Text, before: str, after: str) -> None:
    """Append the difference of two texts, word by word."""
    append_pieces(text, word_diff(before, after) if before != after else [(DiffKind.SAME, after)])


def difference_text(before: Topic, after: Topic) -> Text:
    """Return the difference of two definitions, a line for each part that changes."""
    text = Text()
    for title, old, new in definition_edits(before, after):
        if old != new:
            text.append(f"{title:<12} ", "$text-muted")
            compare_text(text, old, new)
            text.append("\n")
    return text
