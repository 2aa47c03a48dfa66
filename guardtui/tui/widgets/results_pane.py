"""The results: filters, search, sorting, and the table that shows them."""

from __future__ import annotations

from dataclasses import replace

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, Static

from guardtui.domain.row_filter import FilterError, parse_filter
from guardtui.domain.text import display_text, hidden_characters
from guardtui.tui.actions import RESULTS, bindings
from guardtui.tui.messages import ExampleWanted, ViewChanged
from guardtui.tui.results import FILTERS, SORTS, Results, View
from guardtui.tui.widgets.frame_table import Column, FrameTable

_COLUMNS = (
    Column("change", "", 3, "left"),
    Column("outcome", "is", 5, "left"),
    Column("prompt", "prompt", 0, "left"),
    Column("score", "score", 6, "right"),
    Column("matched", "match", 5, "left"),
    Column("was", "was", 7, "left"),
    Column("category", "category", 18, "left"),
)
"""On a narrow screen the table leaves out the last of them first."""


_HINT = 'words, "exact words", fn, -regression, category:…, score>0.4, was:fp, match:2, line<50'
_REMEMBERED = 50


class FilterInput(Input):
    """A line of the filter language; up and down bring back the lines used before."""

    BINDINGS = [
        Binding("up", "earlier", "Earlier filter", show=False),
        Binding("down", "later", "Later filter", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(placeholder=_HINT, id="search", compact=True)
        self._lines: list[str] = []
        self._place = 0

    def remember(self) -> None:
        """Put the line into the history, once."""
        line = self.value.strip()
        if line:
            self._lines = [*(one for one in self._lines if one != line), line][-_REMEMBERED:]
        self._place = len(self._lines)

    def action_earlier(self) -> None:
        self._go(-1)

    def action_later(self) -> None:
        self._go(1)

    def _go(self, step: int) -> None:
        self._place = max(0, min(len(self._lines), self._place + step))
        self.value = self._lines[self._place] if self._place < len(self._lines) else ""
        self.cursor_position = len(self.value)


class ResultsPane(Vertical):
    """Owns the view the author asked for; the screen answers with the rows of it."""

    BORDER_TITLE = "Results"
    BINDINGS = bindings(RESULTS)

    def __init__(self) -> None:
        super().__init__(id="results")
        self.view = View()
        self._results: Results | None = None
        self._chosen = False
        self._bar = Static("", id="filters", markup=False)
        self._input = FilterInput()
        self._problem = Static("", id="search-problem", markup=False)
        self._texts: tuple[str, ...] = ()
        self.table = FrameTable(_COLUMNS, search_column="prompt", id="table")

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self._input
        yield self._problem
        yield self.table

    def on_mount(self) -> None:
        self._input.display = self._problem.display = False
        self.table.empty_text = "Prompts appear here as soon as they are evaluated."

    def show(self, results: Results) -> None:
        """Show other rows; the selected prompt stays selected."""
        self._results = results
        self.table.empty_text = f"No {FILTERS[self.view.filter]} here: 7 shows all prompts."
        self.table.search = self._texts
        has_category = results.prompts.category_column is not None
        self.table.set_columns(_COLUMNS if has_category else _COLUMNS[:-1])
        self.table.sort = (self.view.sort, self.view.descending)
        # Until the author picks a prompt the first one is looked at, so that regressions, which
        # come first, are in sight.
        self.table.set_source(results, keep_row=self._chosen)
        self._show_filters(results.counts)

    def _show_filters(self, counts: dict[str, int]) -> None:
        bar = Text()
        for place, (name, title) in enumerate(FILTERS.items(), start=1):
            chosen = name == self.view.filter
            text = f"{place} {title} {counts[name]}"
            bar.append(f"[{text}]" if chosen else f" {text}", "bold reverse" if chosen else "")
        if self.view.category is not None:
            bar.append(f"  category: {display_text(self.view.category)}", "bold")
        if self._results is not None and len(self._results) != counts[self.view.filter]:
            bar.append(f"  shown {len(self._results)}")
        self._bar.update(bar, layout=False)

    def _ask(self, **changes: object) -> None:
        self.view = replace(self.view, **changes)  # type: ignore[arg-type]
        self.post_message(ViewChanged(self.view))

    # --- actions --------------------------------------------------------------------------

    def action_filter(self, name: str) -> None:
        self._ask(filter=name)

    def action_next_filter(self) -> None:
        names = list(FILTERS)
        self._ask(filter=names[(names.index(self.view.filter) + 1) % len(names)])

    def action_next_category(self) -> None:
        known = self._results
        column = None if known is None else known.prompts.category_column
        if known is None or column is None:
            self.notify("The prompt set has no column named category.", severity="warning")
            return
        names: list[str | None] = [None, *known.prompts.groups(column)[1]]
        place = names.index(self.view.category) if self.view.category in names else 0
        self._ask(category=names[(place + 1) % len(names)])

    def action_next_sort(self) -> None:
        place = (SORTS.index(self.view.sort) + 1) % len(SORTS)
        self._ask(sort=SORTS[place], descending=False)

    def action_reverse_sort(self) -> None:
        self._ask(descending=not self.view.descending)

    @on(FrameTable.RowSelected)
    def row_selected(self) -> None:
        self._chosen = self._chosen or self.table.has_focus

    @on(FrameTable.HeaderClicked)
    def sort_by(self, event: FrameTable.HeaderClicked) -> None:
        again = event.column_key == self.view.sort
        self._ask(sort=event.column_key, descending=again and not self.view.descending)

    def action_search(self) -> None:
        self._input.display = True
        self._input.focus()

    def action_leave_search(self) -> None:
        self._input.remember()
        self._input.value = ""
        self._input.display = self._problem.display = False
        self.table.focus()
        if self.view.search:
            self._ask(search="")

    @on(Input.Changed, "#search")
    def search_changed(self, event: Input.Changed) -> None:
        event.stop()
        line = event.value.strip()
        known = self._results  # may have no rows, and is then as good as False
        columns = known.prompts.extra_columns if known is not None else ()
        try:
            self._texts = parse_filter(line, columns).texts
        except FilterError as error:
            # What is shown stays until the line makes sense again.
            start = len(event.value) - len(event.value.lstrip()) + error.start
            pointer = " " * start + "▔" * max(1, error.end - error.start)
            self._problem.update(Text(f"{pointer} {display_text(str(error))}"))
            self._problem.display = True
            return
        self._problem.display = False
        if line != self.view.search:
            self._ask(search=line)

    @on(Input.Submitted, "#search")
    def search_done(self, event: Input.Submitted) -> None:
        event.stop()
        self._input.remember()
        self.table.focus()

    def action_next_hit(self) -> None:
        self._move_hit(1)

    def action_previous_hit(self) -> None:
        self._move_hit(-1)

    def _move_hit(self, step: int) -> None:
        if not self.view.search:
            self.notify("Press / and type what to find first.")
            return
        rows = self.table.row_count
        if self._results is not None and rows and self.table.cursor_index is not None:
            # The search leaves only hits in the view, so the next row is the next hit.
            self.table.select_row(self._results.row_id((self.table.cursor_index + step) % rows))

    def action_previous_regression(self) -> None:
        self.action_next_regression(-1)

    def action_use_as_example(self) -> None:
        prompt = self._selected
        if prompt is not None:
            self.post_message(ExampleWanted(prompt))

    def action_copy_prompt(self) -> None:
        prompt = self._selected
        if prompt is None:
            return
        # On the clipboard too: a terminal acts on what is pasted into it.
        self.app.copy_to_clipboard(display_text(prompt, newlines=True))
        hidden = hidden_characters(prompt)
        note = f"; {hidden} hidden characters are copied as signs" if hidden else ""
        self.notify(f"Copied{note}.")

    @property
    def _selected(self) -> str | None:
        """The prompt under the cursor; None, and a word to the author, when there is none."""
        row_id = self.table.cursor_row_id
        row = None if row_id is None or self._results is None else self._results.row_of(row_id)
        if row is None or self._results is None:
            self.notify("Select a prompt first.")
            return None
        return str(self._results.prompts.prompts[row])

    def action_next_regression(self, step: int = 1) -> None:
        if self._results is None or not self._results.counts["regressions"]:
            self.notify("No regressions: nothing that was right is wrong now.")
            return
        if self.view.filter not in ("regressions", "mistakes", "all"):
            self._ask(filter="regressions")
            return
        following = self._results.next_regression(self.table.cursor_row_id, step)
        if following is not None:
            self.table.select_row(following)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # While words are typed into the search line, letters are letters.
        leaves = action == "leave_search"
        return self._input.display if leaves else not self._input.has_focus
