"""The panes of a broad screen for history and categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from guardtui.domain.metrics import Metrics
from guardtui.tui.history.text import LEGEND
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.prompts.category_list import CategoryList

_NO_CATEGORIES = "The prompt set has no column named category."


class HistoryPane(VerticalScroll):
    """The chart of coverage, and every recorded iteration, newest first."""

    BORDER_TITLE = "History"
    BORDER_SUBTITLE = LEGEND

    help_pane = "beside"

    def __init__(self) -> None:
        super().__init__(id="history")
        self.heading = self.BORDER_TITLE
        """The title with the guardrail, if all iterations are by one."""
        self._sheet = ReflowedText()

    def compose(self) -> ComposeResult:
        yield self._sheet

    def show(self, guardrail: str, draw: Callable[[int], Text]) -> None:
        """Show a text that `draw` makes for a width in cells, titled with its `guardrail` or ""."""
        self.heading = " · ".join(filter(None, (self.BORDER_TITLE, guardrail)))
        self._sheet.show(draw)


class CategoriesPane(Vertical):
    """Rates and mistakes of every category; Enter shows only that one in the table."""

    BORDER_TITLE = "Categories"

    help_pane = "beside"

    def __init__(self) -> None:
        super().__init__(id="categories")
        self._none = Static(_NO_CATEGORIES, classes="none")
        self._list = CategoryList()

    def compose(self) -> ComposeResult:
        yield self._none
        yield self._list

    def show(self, categories: Mapping[str, Metrics]) -> None:
        """Show these categories, or a note if there are none."""
        self.can_focus = not categories
        self._none.display, self._list.display = not categories, bool(categories)
        self._list.show(categories)

    def focus_list(self) -> None:
        """Focus the list, or the pane if there is no list."""
        if self._list.display:
            self._list.focus_list()
        else:
            self.focus()


class ReflowedText(Static):
    """A text that is made for each width."""

    def __init__(self) -> None:
        super().__init__("")
        self._make: Callable[[int], Text] = lambda width: Text()
        self._drawn_for = 0

    def show(self, make: Callable[[int], Text]) -> None:
        """Show the text that `make` returns for the current width."""
        self._make = make
        self._draw()

    def on_resize(self) -> None:
        if self.size.width != self._drawn_for:
            self._draw()

    def _draw(self) -> None:
        self._drawn_for = self.size.width
        if self._drawn_for:
            self.update(themed(self._make(self._drawn_for)))
