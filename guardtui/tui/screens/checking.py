"""The page that checks the data: findings to read, and categories to look at in the table."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from guardtui.domain.metrics import Metrics
from guardtui.tui.content import themed
from guardtui.tui.modal import Modal
from guardtui.tui.widgets.category_list import CategoryList


class CheckPage(Modal[str | None]):
    """Gives the category that the author wants to see in the table, or None."""

    BINDINGS = [("escape,q,enter,f6", "close", "Close")]

    help_pane = "check"

    def __init__(self, title: str, findings: Text, categories: Mapping[str, Metrics]) -> None:
        """`categories` is empty where the prompt set has none."""
        super().__init__()
        self._title, self._findings, self._categories = title, findings, categories
        self._list = CategoryList()

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = Text(self._title).plain
            page.border_subtitle = "Esc closes"
            with VerticalScroll(classes="findings"):
                yield Static(themed(self._findings), markup=False)
            if self._categories:
                page.border_subtitle = "Enter shows the category in the table · Tab · Esc"
                yield self._list

    def on_mount(self) -> None:
        if self._categories:
            self._list.show(self._categories)
            self._list.focus_list()
        else:
            self.query_one(VerticalScroll).focus()

    @on(CategoryList.Chosen)
    def chosen(self, event: CategoryList.Chosen) -> None:
        self.dismiss(event.name)

    def action_close(self) -> None:
        self.dismiss(None)
