"""History and categories as panes beside the results of a broad screen; the dialogs tell more."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from guardtui.domain.metrics import Metrics
from guardtui.tui.content import themed
from guardtui.tui.widgets.category_list import CategoryList

_NO_CATEGORIES = "The prompt set has no column named category."


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


class CategoriesPane(Vertical):
    """Rates and mistakes of every category; Enter leaves only one in the table."""

    BORDER_TITLE = "Categories"

    help_pane = "beside"

    def __init__(self) -> None:
        super().__init__(id="categories")
        self._none = Static(_NO_CATEGORIES, classes="none", markup=False)
        self._list = CategoryList()

    def compose(self) -> ComposeResult:
        yield self._none
        yield self._list

    def show(self, categories: Mapping[str, Metrics]) -> None:
        """Show these categories, or that there are none."""
        self.can_focus = not categories
        self._none.display, self._list.display = not categories, bool(categories)
        self._list.show(categories)

    def focus_list(self) -> None:
        """Have keys go to the list, or to the pane where there is none."""
        if self._list.display:
            self._list.focus_list()
        else:
            self.focus()


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
