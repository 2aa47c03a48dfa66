"""The results pane: groups, filter line, sorting, columns, and the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from guardtui.domain.row_filter import FIELDS, OUTCOMES, WORDS, RowFilter, parse_filter
from guardtui.domain.text import display_start
from guardtui.session.table_state import read_lines, read_widths, write_lines, write_widths
from guardtui.tui.inputs.filter_completion import Vocabulary
from guardtui.tui.inputs.filter_input import FilterInput
from guardtui.tui.messages import ResultsViewChanged, SaveSettings
from guardtui.tui.registry.actions import RESULTS, bindings
from guardtui.tui.results.columns import allowed_widths, other_columns, table_columns
from guardtui.tui.results.empty_states import NOT_YET, empty_text
from guardtui.tui.results.filter_bar import FilterBar
from guardtui.tui.results.model import FILTERS, RARE, PromptSelection, Results, ResultsView
from guardtui.tui.table.frame_table import FrameTable

if TYPE_CHECKING:
    from guardtui.domain.prompts import PromptSet
    from guardtui.tui.table.messages import ColumnResized, HeaderClicked

_CATEGORY_CHARACTERS = 20
_PICKED_CHARACTERS = 28

_HINT = '→ completes: words, "exact words", fn, -regression, category:…, score>0.4, was:fp, line<50'
_SIGNS = {"score": ">", "line": "<"}
_VALUES = {"was": tuple(OUTCOMES), "expected": ("true", "false"), "nearest": ("description",)}


class ResultsPane(Vertical):
    """Owns the view; the screen responds to its changes with new rows."""

    BORDER_TITLE = "Results"
    BINDINGS = bindings(RESULTS)

    def __init__(self) -> None:
        super().__init__(id="results")
        self.view = ResultsView()
        self.widths: dict[str, int] = {}
        """Cells of the resized columns, by key."""
        self.results: Results | None = None
        """The rows that are shown; None before the first evaluation."""
        self.refusal = ""
        """Why the prompts cannot be edited; "" if they can."""
        self._chosen = False
        self._hidden_row: int | None = None  # selected by the author, and hidden by the view
        self._stand_in: int | None = None  # selected in its place
        self._pending_row: int | None = None
        self._outdated: PromptSet | None = None  # prompts shown before the edit
        self._asked_for_all = False
        self._touched: str | None = None
        self._group_before: str | None = None
        self._bar = FilterBar()
        self._filter = FilterInput(_HINT, "search", "filter", self._parse)
        self._input = self._filter.input
        self.table = FrameTable(empty_text=NOT_YET, id="table")

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self._input
        yield self._filter.problem
        yield self.table

    # --- what is shown --------------------------------------------------------------------

    def show(self, results: Results) -> None:
        """Show new rows; the selected prompt stays selected."""
        before = self.results
        if before is None or before.prompts is not results.prompts:
            self._filter.complete_from(prompt_vocabulary(results.prompts))
            gone = np.setdiff1d(self.table.marked, results.evaluation.keys)
            if len(gone):
                self.table.drop_marks(gone.tolist())
            self.results = results
            if not self._filter.understood():
                self.view = replace(self.view, search="")
        self.table.empty_text = empty_text(results)
        self.table.search = self._filter.texts
        self.table.sort = (self.view.sort, self.view.descending)
        self._draw(results)
        self._select_pending(results)

    def select_when_shown(self, row_id: int, prompts: PromptSet) -> None:
        """Select a prompt once these prompts are shown; if the view hides it, show all prompts."""
        self._pending_row, self._asked_for_all = row_id, False
        shown = None if self.results is None else self.results.prompts
        self._outdated = None if shown is prompts else shown
        if self.results is not None:
            self._select_pending(self.results)

    def _select_pending(self, results: Results) -> None:
        wanted = self._pending_row
        if wanted is None or results.prompts is self._outdated or results.row_of(wanted) is None:
            return
        if self.table.select_row(wanted):
            self._chosen = True
        elif not self._asked_for_all:
            self._asked_for_all = True
            self._filter.write("")
            self._filter.hide()
            self._group_before = None
            self._request_view(filter="all", category=None, search="", picked=None)
            return
        self._pending_row = None

    def _draw(self, results: Results) -> None:
        others = other_columns(results.others, self.size.width)
        forecast = results.evaluation.settings.is_forecast
        columns = (*table_columns(results.filled_columns, forecast=forecast), *others)
        self.results = results.with_columns(tuple(column.key for column in columns))
        self.table.columns = columns
        # Until the author selects a prompt, the first one is selected: regressions come first.
        selected = self.table.cursor_row_id
        if selected != self._stand_in:
            self._hidden_row = selected
        self.table.set_source(self.results, keep_row=self._chosen)
        if self._chosen and self._hidden_row is not None:
            back = self.table.select_row(self._hidden_row)
            self._stand_in = None if back else self.table.cursor_row_id
        self._show_filters()

    @on(FrameTable.MarksChanged)
    def _show_filters(self) -> None:
        results = self.results
        if results is None:
            return
        notes = ["⚠ partial"] if results.evaluation.is_of_a_part else []
        if self.table.mark_count:
            notes.append(f"{self.table.mark_count} marked")
        if self.view.category is not None:
            notes.append(f"category: {display_start(self.view.category, _CATEGORY_CHARACTERS)}")
        if self.view.picked is not None:
            notes.append(f"only {display_start(self.view.picked.name, _PICKED_CHARACTERS)}")
        if len(results) != results.counts[self.view.filter]:
            notes.append(f"shown {len(results)}")
        self._bar.show(results.counts, self.view.filter, tuple(notes))

    def _request_view(self, **changes: object) -> None:
        self.view = replace(self.view, **changes)  # type: ignore[arg-type]
        self.post_message(ResultsViewChanged(self.view))

    def pick(self, picked: PromptSelection) -> None:
        """Show only these prompts until Escape restores the previous group."""
        self._restrict(picked, None)

    def show_category(self, name: str) -> None:
        """Show only the prompts of a category until Escape restores the previous group."""
        self._restrict(None, name)

    def _restrict(self, picked: PromptSelection | None, category: str | None) -> None:
        if self._group_before is None:
            self._group_before = self.view.filter
        self._filter.write("")
        self._filter.understood()
        self._request_view(picked=picked, category=category, filter="all", search="")
        self.table.focus()

    def _back_to_group(self) -> str:
        """Return the previous group, unless the author has chosen another one since."""
        before, self._group_before = self._group_before, None
        return self.view.filter if before is None or self.view.filter != "all" else before

    def on_resize(self) -> None:
        if self.results is not None and self.results.others is not None:
            self._draw(self.results)

    # --- settings of the session ----------------------------------------------------------

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore widths of columns and filter history from the settings of a session."""
        self._input.use_lines(read_lines(saved))
        self.widths = allowed_widths(read_widths(saved))
        self.table.set_column_widths(self.widths)

    def _remember_lines(self) -> None:
        self.post_message(SaveSettings(write_lines(self._input.lines)))

    # --- groups, categories, sorting ------------------------------------------------------

    @on(FilterBar.Chosen)
    def group_clicked(self, event: FilterBar.Chosen) -> None:
        self._request_view(filter=event.name)

    def action_filter(self, name: str) -> None:
        self._request_view(filter=name)

    def action_next_filter(self) -> None:
        counts = {} if self.results is None else self.results.counts
        names = [
            name
            for name in FILTERS
            if name not in RARE or counts.get(name) or self.view.filter == name
        ]
        self._request_view(filter=names[(names.index(self.view.filter) + 1) % len(names)])

    def action_next_category(self) -> None:
        known = self.results
        column = None if known is None else known.prompts.category_column
        if known is None or column is None:
            self.notify("The prompt set has no column named category.", severity="warning")
            return
        names: list[str | None] = [None, *known.prompts.groups(column)[1]]
        index = names.index(self.view.category) if self.view.category in names else 0
        self._request_view(category=names[(index + 1) % len(names)])

    def action_next_sort(self) -> None:
        if self.results is not None:
            keys = self.results.columns
            index = keys.index(self.view.sort) + 1 if self.view.sort in keys else 0
            self._request_view(sort=keys[index % len(keys)], descending=False)

    def action_reverse_sort(self) -> None:
        self._request_view(descending=not self.view.descending)

    @on(FrameTable.RowSelected)
    def row_selected(self) -> None:
        self._chosen = self._chosen or self.table.has_focus

    @on(FrameTable.HeaderClicked)
    def sort_by(self, event: HeaderClicked) -> None:
        same_column = event.column_key == self.view.sort
        self._request_view(
            sort=event.column_key, descending=same_column and not self.view.descending
        )

    # --- columns --------------------------------------------------------------------------

    def action_resize_column(self, by: int) -> None:
        shown = () if self.results is None else self.results.columns
        wanted = (self._touched, self.view.sort, "prompt")
        key = next((key for key in wanted if key in shown), None)
        if key is not None and not self.table.widen_column(key, by):
            self.notify("Not enough room for this width.", timeout=2)

    @on(FrameTable.ColumnResized)
    def column_resized(self, event: ColumnResized) -> None:
        event.stop()
        self._touched = event.key
        self.widths = allowed_widths({**self.widths, event.key: event.width})
        self.post_message(SaveSettings(write_widths(self.widths)))

    # --- the filter line ------------------------------------------------------------------

    def action_search(self) -> None:
        self._filter.enter()

    def action_step_back(self) -> None:
        """Close the filter line; in the table remove marks, line, category, then the selection."""
        if self._input.has_focus:
            self._close_search()
        elif self.table.mark_count:
            self.table.clear_marks()
        elif self._input.display:
            self._close_search()
        elif self.view.category is not None:
            # A category within a selection keeps the selection.
            back = self.view.filter if self.view.picked is not None else self._back_to_group()
            self._request_view(category=None, filter=back)
        elif self.view.picked is not None:
            self._request_view(picked=None, filter=self._back_to_group())
        else:
            raise SkipAction  # nothing to remove: the screen may have a step to go back

    def _close_search(self) -> None:
        if self._input.remember():
            self._remember_lines()
        self._input.value = ""
        self._filter.hide()
        self.table.focus()
        if self.view.search:
            self._request_view(search="")

    def _parse(self, line: str) -> RowFilter:
        columns = self.results.prompts.extra_columns if self.results is not None else ()
        return parse_filter(line, columns)

    @on(Input.Changed, "#search")
    def search_changed(self, event: Input.Changed) -> None:
        event.stop()
        line = event.value.strip()
        if self._filter.understood() and line != self.view.search:
            self._request_view(search=line)

    @on(Input.Submitted, "#search")
    def search_done(self, event: Input.Submitted) -> None:
        event.stop()
        if self._input.remember():
            self._remember_lines()
        self.table.focus()

    # --- going from regression to regression -----------------------------------------------

    def to_regression(self, step: int) -> None:
        if self.results is None or not self.results.counts["regressions"]:
            self.notify("No regressions: nothing that was right is wrong now.")
            return
        if self.view.filter not in ("regressions", "mistakes", "all"):
            self._request_view(filter="regressions")
            return
        following = self.results.next_regression(self.table.cursor_row_id, step)
        if following is not None:
            self.table.select_row(following)

    # --- marks and prompts ----------------------------------------------------------------

    def action_mark_all(self) -> None:
        self.table.mark_all()

    def use_actions(self, actions: Mapping[str, Callable[..., object]]) -> None:
        """Let others do actions of the pane, by their names: Textual looks for them here."""
        for name, action in actions.items():
            setattr(self, f"action_{name}", action)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "step_back":
            view = self.view
            shown = self._input.display or view.category is not None or view.picked is not None
            return shown or self.table.mark_count > 0
        # In the filter line, letters are text.
        return not self._input.has_focus


def prompt_vocabulary(prompts: PromptSet) -> Vocabulary:
    """Return words, fields and the values of the columns of a prompt set."""
    return Vocabulary(
        [*WORDS, *(f"{name}{_SIGNS.get(name, ':')}" for name in FIELDS)],
        _VALUES,
        {name: partial(_values, prompts, name) for name in prompts.extra_columns},
    )


def _values(prompts: PromptSet, column: str) -> Sequence[str]:
    return prompts.groups(column)[1]
