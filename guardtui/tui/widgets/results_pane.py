"""The results: filters, search, sorting, columns, saved views, and the table that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widgets import Input, Static

from guardtui.domain.row_filter import FilterError, parse_filter
from guardtui.domain.text import display_start, display_text
from guardtui.session.views import (
    LINE_LENGTH,
    SavedView,
    read_remembered,
    write_columns,
    write_history,
)
from guardtui.tui.actions import RESULTS, bindings
from guardtui.tui.empty_states import NOT_YET, empty_text
from guardtui.tui.layout import Layout, layout_of, saved_columns
from guardtui.tui.messages import SettingsWanted, ViewChanged, ViewRemoved, ViewSaved
from guardtui.tui.results import FILTERS, RARE, Picked, Results, View
from guardtui.tui.screens.columns import ColumnPicker
from guardtui.tui.screens.views import NameView, ViewList, view_text
from guardtui.tui.widgets.filter_bar import FilterBar
from guardtui.tui.widgets.filter_input import FilterInput
from guardtui.tui.widgets.frame_table import FrameTable
from guardtui.tui.widgets.prompt_actions import PromptActions
from guardtui.tui.widgets.table_columns import place_columns
from guardtui.tui.widgets.table_messages import ColumnResized, HeaderClicked

_CATEGORY_CHARACTERS = 20
_PICKED_CHARACTERS = 28


class ResultsPane(PromptActions):
    """Owns the view the author asked for; the screen answers with the rows of it."""

    BORDER_TITLE = "Results"
    BINDINGS = bindings(RESULTS)

    def __init__(self) -> None:
        super().__init__(id="results")
        self.view = View()
        self.layout_chosen = Layout()
        self._results: Results | None = None
        self._chosen = False
        self._views: tuple[SavedView, ...] = ()
        self._touched: str | None = None
        self._group_before = "mistakes"
        self._bar = FilterBar()
        self._input = FilterInput()
        self._problem = Static("", id="search-problem", markup=False)
        self._texts: tuple[str, ...] = ()
        self.table = FrameTable(search_column="prompt", empty_text=NOT_YET, id="table")

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self._input
        yield self._problem
        yield self.table

    def on_mount(self) -> None:
        self._input.display = self._problem.display = False

    # --- what is shown --------------------------------------------------------------------

    def show(self, results: Results) -> None:
        """Show other rows; the selected prompt stays selected."""
        before = self._results
        if before is None or before.prompts is not results.prompts:
            self._input.use_prompts(results.prompts)
            self._drop_lost_marks(results)
            self._results = results
            if not self._read_line(self._input.value):
                self.view = replace(self.view, search="")
        self.table.empty_text = empty_text(results)
        self.table.search = self._texts
        self.table.sort = (self.view.sort, self.view.descending)
        self._draw(results)

    def _draw(self, results: Results) -> None:
        layout, prompts = self.layout_chosen, results.prompts
        self._results = results.with_columns(layout.shown(prompts))
        self.table.set_columns(layout.table_columns(prompts))
        # Until the author picks a prompt the first one is looked at, so that regressions, which
        # come first, are in sight.
        self.table.set_source(self._results, keep_row=self._chosen)
        self._show_filters()

    @on(FrameTable.MarksChanged)
    def _show_filters(self) -> None:
        results = self._results
        if results is None:
            return
        notes = []
        if self.table.mark_count:
            notes.append(f"{self.table.mark_count} marked")
        if self.view.category is not None:
            notes.append(f"category: {display_start(self.view.category, _CATEGORY_CHARACTERS)}")
        if self.view.picked is not None:
            notes.append(f"only {display_start(self.view.picked.name, _PICKED_CHARACTERS)}")
        if len(results) != results.counts[self.view.filter]:
            notes.append(f"shown {len(results)}")
        self._bar.show(results.counts, self.view.filter, tuple(notes))

    def _ask(self, **changes: object) -> None:
        self.view = replace(self.view, **changes)  # type: ignore[arg-type]
        self.post_message(ViewChanged(self.view))

    def pick(self, picked: Picked) -> None:
        """Leave only these prompts, all of them, until Escape brings back the group of before."""
        if self.view.picked is None:
            self._group_before = self.view.filter
        with self.prevent(Input.Changed):
            self._input.value = ""
        self._input.display = False
        self._read_line("")
        self._ask(picked=picked, filter="all", category=None, search="")
        self.table.focus()

    # --- what is remembered ---------------------------------------------------------------

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take columns, filter history and views from the settings of a session."""
        known = read_remembered(saved)
        self._views = known.views
        self._input.use_lines(known.history)
        self.layout_chosen = layout_of(known.columns)
        self.table.set_column_widths(self.layout_chosen.widths)
        if self._results is not None:
            self._draw(self._results)

    def _remember_columns(self) -> None:
        self.post_message(SettingsWanted(write_columns(saved_columns(self.layout_chosen))))

    def _remember_lines(self) -> None:
        self.post_message(SettingsWanted(write_history(self._input.lines)))

    # --- groups, categories, sorting ------------------------------------------------------

    @on(FilterBar.Chosen)
    def group_clicked(self, event: FilterBar.Chosen) -> None:
        self._ask(filter=event.name)

    def action_filter(self, name: str) -> None:
        self._ask(filter=name)

    def action_next_filter(self) -> None:
        counts = {} if self._results is None else self._results.counts
        names = [
            name
            for name in FILTERS
            if name not in RARE or counts.get(name) or self.view.filter == name
        ]
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
        if self._results is not None:
            keys = self._results.columns
            place = keys.index(self.view.sort) + 1 if self.view.sort in keys else 0
            self._ask(sort=keys[place % len(keys)], descending=False)

    def action_reverse_sort(self) -> None:
        self._ask(descending=not self.view.descending)

    @on(FrameTable.RowSelected)
    def row_selected(self) -> None:
        self._chosen = self._chosen or self.table.has_focus

    @on(FrameTable.HeaderClicked)
    def sort_by(self, event: HeaderClicked) -> None:
        again = event.column_key == self.view.sort
        self._ask(sort=event.column_key, descending=again and not self.view.descending)

    # --- columns --------------------------------------------------------------------------

    def action_choose_columns(self) -> None:
        if self._results is None:
            self.notify("The prompts are not evaluated yet.")
            return
        self.app.push_screen(
            ColumnPicker(self.layout_chosen, self._results.prompts, self._use_layout, self._fitting)
        )

    def _use_layout(self, layout: Layout, touched: str | None = None) -> None:
        self.layout_chosen, self._touched = layout, touched
        self.table.set_column_widths(layout.widths)
        if self._results is not None:
            self._draw(self._results)
        self._remember_columns()

    def _fitting(self, layout: Layout) -> frozenset[str]:
        """Keys of the columns for which there is room on the screen."""
        if self._results is None:
            return frozenset()
        columns = layout.table_columns(self._results.prompts)
        width = self.table.scrollable_content_region.width
        gutter = 2 if self.table.mark_count else 1
        slots = place_columns(columns, width, gutter, layout.widths)
        return frozenset(slot.column.key for slot in slots)

    def action_resize_column(self, by: int) -> None:
        shown = () if self._results is None else self._results.columns
        wanted = (self._touched, self.view.sort, "prompt")
        key = next((key for key in wanted if key in shown), None)
        if key is not None and not self.table.widen_column(key, by):
            self.notify("There is no room for that.", timeout=2)

    @on(FrameTable.ColumnResized)
    def column_resized(self, event: ColumnResized) -> None:
        event.stop()
        if self._results is not None:
            self._touched = event.key
            self.layout_chosen = self.layout_chosen.sized(
                event.key, event.width, self._results.prompts
            )
            self._remember_columns()

    # --- saved views ----------------------------------------------------------------------

    def _as_saved(self, name: str) -> SavedView:
        view = self.view
        return SavedView(
            name=name,
            filter=view.filter,
            category=view.category,
            search=view.search[:LINE_LENGTH].encode("utf-8", "replace").decode(),
            sort=view.sort[:LINE_LENGTH],
            descending=view.descending,
            columns=saved_columns(self.layout_chosen),
        )

    def action_save_view(self) -> None:
        def named(name: str | None) -> None:
            if name is None:
                return
            others = (one for one in self._views if one.name != name)
            view = self._as_saved(name)
            self._views = (*others, view)
            self.post_message(ViewSaved(view))
            self.notify(f"Saved as {display_text(name)}; v shows all views.", markup=False)

        shown = view_text(self._as_saved("new"))
        self.app.push_screen(NameView(shown, [one.name for one in self._views]), named)

    def action_show_views(self) -> None:
        if not self._views:
            self.notify("There is no saved view yet: V saves what is shown now.")
            return
        self.app.push_screen(ViewList(self._views, self._remove_view), self._apply)

    def _remove_view(self, name: str) -> None:
        self._views = tuple(one for one in self._views if one.name != name)
        self.post_message(ViewRemoved(name))

    def _apply(self, saved: SavedView | None) -> None:
        if saved is None:
            return
        if saved.columns:
            self._use_layout(layout_of(saved.columns))
        with self.prevent(Input.Changed):
            self._input.value = saved.search
        self._input.display = bool(saved.search)
        # A line may name a column that this prompt set does not have: it is pointed at then.
        understood = self._read_line(saved.search)
        self._ask(
            filter=saved.filter if saved.filter in FILTERS else "mistakes",
            category=saved.category,
            search=saved.search.strip() if understood else "",
            sort=saved.sort,
            descending=saved.descending,
            picked=None,
        )

    # --- the filter line ------------------------------------------------------------------

    def action_search(self) -> None:
        self._input.display = True
        self._input.focus()

    def action_step_back(self) -> None:
        """Leave the filter line; in the table take off marks, line, category, what is picked."""
        if self._input.has_focus:
            self._leave_search()
        elif self.table.mark_count:
            self.table.clear_marks()
        elif self._input.display:
            self._leave_search()
        elif self.view.category is not None:
            self._ask(category=None)
        elif self.view.picked is not None:
            # An author who chose another group meanwhile stays there.
            back = self._group_before if self.view.filter == "all" else self.view.filter
            self._ask(picked=None, filter=back)

    def _leave_search(self) -> None:
        if self._input.remember():
            self._remember_lines()
        self._input.value = ""
        self._input.display = self._problem.display = False
        self.table.focus()
        if self.view.search:
            self._ask(search="")

    def _read_line(self, typed: str) -> bool:
        """Whether the line is understood; if not, its fault is pointed at."""
        known = self._results  # may have no rows, and is then as good as False
        columns = known.prompts.extra_columns if known is not None else ()
        try:
            self._texts = parse_filter(typed.strip(), columns).texts
        except FilterError as error:
            # What is shown stays until the line makes sense again.
            start = len(typed) - len(typed.lstrip()) + error.start
            pointer = " " * start + "▔" * max(1, error.end - error.start)
            self._problem.update(Text(f"{pointer} {display_text(str(error))}"))
            self._problem.display = True
            return False
        self._problem.display = False
        return True

    @on(Input.Changed, "#search")
    def search_changed(self, event: Input.Changed) -> None:
        event.stop()
        line = event.value.strip()
        if self._read_line(event.value) and line != self.view.search:
            self._ask(search=line)

    @on(Input.Submitted, "#search")
    def search_done(self, event: Input.Submitted) -> None:
        event.stop()
        if self._input.remember():
            self._remember_lines()
        self.table.focus()

    # --- going from hit to hit ------------------------------------------------------------

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
        if action == "step_back":
            view = self.view
            shown = self._input.display or view.category is not None or view.picked is not None
            return shown or self.table.mark_count > 0
        # While words are typed into the search line, letters are letters.
        return not self._input.has_focus
