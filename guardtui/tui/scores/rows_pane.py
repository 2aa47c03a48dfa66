"""The rows of scored outputs: filter line, sorting and table."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from guardtui.domain.filter_language import RowFilter
from guardtui.tui.inputs.filter_input import FilterInput
from guardtui.tui.scoring.row_filter import (
    HINT,
    ScoredRows,
    metadata_values,
    parse_score_filter,
    score_vocabulary,
)
from guardtui.tui.scoring.rows import (
    ScoreColumn,
    ScoreRows,
    ScoreTable,
    ScoreView,
    table_columns,
    worked_out,
)
from guardtui.tui.scoring.runs import ScoreRuns
from guardtui.tui.table.frame_table import FrameTable
from guardtui.tui.table.messages import HeaderClicked

_DIFFER = "differ"
_NO_ROW_PASSES = "No row passes the filter line: Esc takes it away."


class ScoredRowsPane(Vertical):
    """Owns the view, and computes its rows in a thread."""

    class RowsChanged(Message):
        """Rows or values changed."""

    def __init__(self, runs: ScoreRuns, no_rows: str) -> None:
        """`no_rows` is shown before the first rows."""
        super().__init__(id="score-rows")
        self._runs, self._no_rows = runs, no_rows
        self.scores = ScoreTable(runs.outputs)
        self.rows: ScoreRows | None = None
        self.view = ScoreView()
        self._stale = self._rebuilding = self._chosen = False
        self._filter_line = FilterInput(HINT, "score-filter", "score_filter", self._parse)
        self.filter = self._filter_line.input
        self._metadata = metadata_values(runs.outputs)
        self.table = FrameTable(
            table_columns(self.scores),
            search_column="output",
            empty_text=no_rows,
            id="score-table",
        )

    def compose(self) -> ComposeResult:
        yield self.filter
        yield self._filter_line.problem
        yield self.table

    # --- drawing --------------------------------------------------------------------------

    @property
    def tried(self) -> ScoreColumn | None:
        """The scorer of the line if it is shown, else None."""
        columns = self.scores.columns
        return next((column for column in columns if column.run is self._runs.shown), None)

    def redraw(self) -> None:
        """Update the table in a thread, one update at a time."""
        self._stale = True
        if not self._rebuilding:
            self._rebuilding = True
            self._rebuild()

    @work(group="view")
    async def _rebuild(self) -> None:
        try:
            while self._stale:
                self._stale = False
                view = self.view
                table, rows = await asyncio.to_thread(
                    worked_out,
                    self._runs.outputs,
                    tuple(self._runs.pinned),
                    self._runs.shown,
                    self.scores,
                    view,
                )
                if view == self.view:
                    self._show(table, rows)
        finally:
            self._rebuilding = False

    def _show(self, table: ScoreTable, rows: ScoreRows) -> None:
        self.scores, self.rows = table, rows
        self._filter_line.complete_from(score_vocabulary(table, self._metadata))
        columns = table_columns(table)
        if columns != self.table.columns:
            self.table.set_columns(columns)
        self.table.sort = (self.view.sort, self.view.descending) if self.view.sort else None
        self.table.empty_text = _NO_ROW_PASSES if self.view.search else self._no_rows
        self.table.set_source(rows, keep_row=self._chosen)
        self._mark_hits()
        self.post_message(self.RowsChanged())

    @on(FrameTable.RowSelected)
    def row_selected(self) -> None:
        self._chosen = self._chosen or self.table.has_focus

    @on(FrameTable.HeaderClicked)
    def sort_by(self, event: HeaderClicked) -> None:
        same_column = event.column_key == self.view.sort
        self.ask(sort=event.column_key, descending=same_column and not self.view.descending)

    def ask(self, **changes: Any) -> None:
        """Change the view."""
        self.view = replace(self.view, **changes)
        self.redraw()

    def next_sort(self) -> None:
        """Sort by the next column; after the last one in the order of the file."""
        keys = ["", *(column.key for column in table_columns(self.scores))]
        index = keys.index(self.view.sort) + 1 if self.view.sort in keys else 0
        self.ask(sort=keys[index % len(keys)], descending=False)

    def reverse_sort(self) -> None:
        """Sort the other way round."""
        self.ask(descending=not self.view.descending)

    # --- the filter line ------------------------------------------------------------------

    def _parse(self, line: str) -> RowFilter[ScoredRows]:
        scorers = [column.name for column in self.scores.columns]
        return parse_score_filter(line, scorers, list(self._runs.outputs.metadata)).rows

    def _mark_hits(self) -> bool:
        """Parse the filter line and highlight its texts; return False for an invalid line."""
        understood = self._filter_line.understood()
        if understood:
            self.table.search = self._filter_line.texts
        return understood

    @on(Input.Changed, "#score-filter")
    def filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._mark_hits() and event.value.strip() != self.view.search:
            self.ask(search=event.value.strip())

    @on(Input.Submitted, "#score-filter")
    def filter_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.filter.remember()
        self.table.focus()

    def set_filter(self, line: str) -> None:
        """Set the filter line; "" removes it."""
        self.filter.remember()
        self._filter_line.write(line)
        self._mark_hits()
        self.ask(search=line)

    def go_to_filter(self) -> None:
        """Go to the filter line."""
        self._filter_line.enter()

    def next_value(self) -> bool:
        """Show the rows of one value of the current scorer, then of the next one, then all.

        Returns False while there are no values.
        """
        tried = self.tried
        if tried is None:
            return False
        several = len(self.scores.columns) > 1
        before = f"scorer:{tried.name} " if several else ""
        lines = [before + _value_term(value) for value, _ in tried.counts if '"' not in value]
        index = lines.index(self.view.search) + 1 if self.view.search in lines else 0
        self.set_filter(lines[index] if index < len(lines) else "")
        return True

    def turn_differing(self) -> None:
        """Show only rows on which the scorers differ, or all again."""
        self.set_filter("" if self.view.search == _DIFFER else _DIFFER)


def _value_term(value: str) -> str:
    return f'value:"{value}"' if " " in value or "," in value else f"value:{value}"
