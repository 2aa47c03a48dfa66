"""History and categories as panes beside the results of a broad screen; the dialogs tell more."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from guardtui.tui.content import themed


class HistoryPane(VerticalScroll):
    """Every recorded iteration with its coverage, newest first, below their chart."""

    BORDER_TITLE = "History"

    help_pane = "beside"

    def __init__(self) -> None:
        super().__init__(id="history")
        self._sheet = Sheet()

    def compose(self) -> ComposeResult:
        yield self._sheet

    def show(self, draw: Callable[[int], Text]) -> None:
        """Show a text that is made for so many cells."""
        self._sheet.show(draw)


class CategoriesPane(VerticalScroll):
    """Rates and mistakes of every category."""

    BORDER_TITLE = "Categories"

    help_pane = "beside"

    def __init__(self) -> None:
        super().__init__(id="categories")
        self._sheet = Sheet()

    def compose(self) -> ComposeResult:
        yield self._sheet

    def show(self, draw: Callable[[int], Text]) -> None:
        """Show a text that is made for so many cells."""
        self._sheet.show(draw)


class Sheet(Static):
    """A text that is drawn anew for each width."""

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._make: Callable[[int], Text] = lambda width: Text()
        self._drawn_for = 0

    def show(self, make: Callable[[int], Text]) -> None:
        """Show what `make` gives for the width of now."""
        self._make = make
        self._draw()

    def on_resize(self) -> None:
        if self.size.width != self._drawn_for:
            self._draw()

    def _draw(self) -> None:
        self._drawn_for = self.size.width
        if self._drawn_for:
            self.update(themed(self._make(self._drawn_for)))
