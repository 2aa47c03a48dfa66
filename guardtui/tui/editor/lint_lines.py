"""Advice on the definition below its fields: one short line each, as many as fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from guardtui.tui.kit.styled_text import themed

if TYPE_CHECKING:
    from guardtui.advice.lint_advice import Advice

ROOMY = (100, 30)
"""Columns and lines of the smallest terminal with `MOST` lines of advice."""
MOST = 3
LEAST = 1


class LintLines(Widget, can_focus=False):
    """Draws advice; its height changes only with the number of lines."""

    DEFAULT_CSS = "LintLines { width: 1fr; height: auto; }"

    def __init__(self) -> None:
        super().__init__(id="lint")
        self._advice: tuple[Advice, ...] = ()
        self._pending = False
        self._rows = 0

    def show(self, advice: Sequence[Advice], *, pending: bool = False) -> None:
        """Show this advice; `pending`: effects are still being measured."""
        new, rows = tuple(advice), self._rows_of(len(advice))
        if (new, pending, rows) == (self._advice, self._pending, self._rows):
            return
        resized = rows != self._rows
        self._advice, self._pending, self._rows = new, pending, rows
        self.refresh(layout=resized)

    def fit(self) -> None:
        """Show as many lines as fit now."""
        if self.is_attached:
            self.show(self._advice, pending=self._pending)

    def _rows_of(self, count: int) -> int:
        """Return how many lines fit without scrolling, at least `LEAST`."""
        columns, lines = self.app.size
        if columns < ROOMY[0] or lines < ROOMY[1] or not isinstance(self.parent, Widget):
            return min(count, LEAST)
        above = [child for child in self.parent.children if child is not self and child.display]
        used = max((widget.virtual_region.bottom for widget in above), default=0)
        return min(count, max(LEAST, min(MOST, self.parent.size.height - used)))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._rows

    def render(self) -> Content:
        # Imported when needed: the first screen has no advice.
        from guardtui.tui.editor.lint_text import lint_line

        shown = self._rows
        left = len(self._advice) - shown
        text = Text()
        for index, item in enumerate(self._advice[:shown]):
            last = index == shown - 1
            more = f"  and {left} more" if left and last else ""
            line = lint_line(item, self.size.width - len(more), pending=self._pending)
            text.append_text(line.append(more, "$text-muted"))
            text.append("" if last else "\n")
        return themed(text)
