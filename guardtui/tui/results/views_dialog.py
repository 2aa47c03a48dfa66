"""Dialogs of the saved views: the name of a new one, and the list of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from guardtui.domain.text import display_start, display_text
from guardtui.session.views import NAME_LENGTH, SavedView
from guardtui.tui.kit.dialogs import LineDialog
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.results.column_layout import column_title
from guardtui.tui.results.model import COLUMNS, FILTERS, extra_name

_LONGEST = 60


def view_text(view: SavedView) -> str:
    """Return a description of a saved view in one inert line."""
    parts = [FILTERS.get(view.filter, "mistakes")]
    if view.category is not None:
        parts.append(f"category {display_start(view.category, _LONGEST)}")
    if view.search:
        parts.append(display_start(view.search, _LONGEST))
    known = view.sort in COLUMNS or extra_name(view.sort) is not None
    # Without the explanation in brackets.
    title = column_title(view.sort).partition(" (")[0] if known else "change"
    parts.append(f"by {title} {'▼' if view.descending else '▲'}")
    return " · ".join(parts)


def name_dialog(shown: str, taken: Sequence[str]) -> LineDialog:
    """Return the dialog for the name of a view, which `shown` describes."""
    replaced = "! there is a view of this name: it will be replaced"
    return LineDialog(
        "Save the view",
        shown,
        "a name for it",
        "Save",
        lambda name: "" if name else "! a view needs a name",
        longest=NAME_LENGTH,
        help_pane="views",
        note=lambda name: replaced if name in taken else "",
    )


class SavedViewsDialog(Modal[SavedView | None]):
    """All saved views; Enter applies one, Delete removes it at once."""

    BINDINGS = [("escape,q,v", "close", "Close"), ("delete,d,x", "remove", "Remove")]

    def __init__(self, views: Sequence[SavedView], removed: Callable[[str], None]) -> None:
        """`removed` is called with the name of each removed view."""
        super().__init__()
        self._views, self._removed = list(views), removed

    def compose(self) -> ComposeResult:
        with Vertical(classes="page short-page") as page:
            page.border_title = "Saved views"
            page.border_subtitle = "Enter applies · Del removes · Esc closes"
            yield OptionList(*map(self._option, self._views), markup=False, compact=True)

    def on_mount(self) -> None:
        self.query_one(OptionList).highlighted = 0

    def _option(self, view: SavedView) -> Option:
        line = Text(display_text(view.name), "bold")
        line.append(f"  {view_text(view)}", "not bold $text-muted")
        return Option(themed(line))

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._views[event.option_index])

    def action_remove(self) -> None:
        options = self.query_one(OptionList)
        index = options.highlighted
        if index is None:
            return
        options.remove_option_at_index(index)
        self._removed(self._views.pop(index).name)
        if not self._views:
            self.dismiss(None)
