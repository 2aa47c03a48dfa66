"""The most useful advice on the definition, in a line below its fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from guardtui.tui.kit.styled_text import themed

if TYPE_CHECKING:
    from guardtui.advice.lint_advice import Advice


class LintLine(Widget, can_focus=False):
    """Draws the first advice and the number of the others; hidden without advice."""

    DEFAULT_CSS = "LintLine { width: 1fr; height: 1; }"

    def __init__(self) -> None:
        super().__init__(id="lint")
        self._advice: tuple[Advice, ...] = ()
        self._pending = False
        self.display = False

    def show(self, advice: Sequence[Advice], *, pending: bool = False) -> None:
        """Show this advice; `pending`: effects are still being measured."""
        if (tuple(advice), pending) != (self._advice, self._pending):
            self._advice, self._pending = tuple(advice), pending
            self.display = bool(advice)
            self.refresh()

    def render(self) -> Content:
        # Imported when needed: the first screen has no advice.
        from guardtui.tui.editor.lint_text import lint_line

        others = len(self._advice) - 1
        more = f"  and {others} more" if others else ""
        line = lint_line(self._advice[0], self.size.width - len(more), pending=self._pending)
        return themed(line.append(more, "$text-muted"))
