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
    """Draws the first advice, the number of the others, and the keys; hidden without advice."""

    DEFAULT_CSS = "LintLine { width: 1fr; height: 1; }"

    def __init__(self) -> None:
        super().__init__(id="lint")
        self._advice: tuple[Advice, ...] = ()
        self._keys = ""
        self.display = False

    def show(self, advice: Sequence[Advice], keys: str) -> None:
        """Show this advice; `keys` open the page with all of it."""
        if (tuple(advice), keys) != (self._advice, self._keys):
            self._advice, self._keys = tuple(advice), keys
            self.display = bool(advice)
            self.refresh()

    def render(self) -> Content:
        # Imported when needed: the first screen has no advice.
        from guardtui.tui.editor.lint_text import lint_line

        return themed(lint_line(self._advice, self._keys, self.size.width))
