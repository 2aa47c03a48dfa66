"""Scored rows for the table: filtered and sorted snapshots with cells on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.filter_language import FilterError
from guardtui.files.output_files import OutputSet
from guardtui.scorer.aggregate import scorer_names
from guardtui.tui.scoring.row_filter import parse_score_filter
from guardtui.tui.scoring.scorer_run import DECLINED, FAILED, NO_VALUE, NOT_YET, ScorerRun
from guardtui.tui.table.columns import TableColumn
from guardtui.tui.table.rows import Cell, OrderedRows

VALUE = "value:"
"""Prefix of the key of a column of values, before the scorer's index."""

_SHOWN = 2000
"""Characters of a text that a cell uses."""

_STYLES = {
    "C": "fix", "I": "fp", "P": "fn", "N": "fn", FAILED: "error",
    NO_VALUE: "dim", DECLINED: "dim", NOT_YET: "dim",
}  # fmt: skip
_VALUE_CELLS = (6, 14)


@dataclass(frozen=True, eq=False)
class ScoreColumn:
    """Results of a scorer so far: values as texts and as numbers (NaN for none), both [N]."""

    name: str
    run: ScorerRun
    pinned: bool
    texts: pl.Series
    numbers: NDArray[np.float64]
    final: bool
    """Whether the run has finished."""

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """Rows that have been scored, bool [N]."""
        reached: NDArray[np.bool_] = (self.texts != NOT_YET).to_numpy()
        return reached

    @cached_property
    def counts(self) -> list[tuple[str, int]]:
        """The values with their counts, the most frequent first."""
        return Counter(self.texts.to_list()).most_common()

    @cached_property
    def states(self) -> Mapping[str, int]:
        """Numbers of rows that are scored, unscored, declined, failed, or still to come."""
        reached = dict(self.counts)
        counts = {
            "unscored": reached.get(NO_VALUE, 0),
            "declined": reached.get(DECLINED, 0),
            "errors": len(self.run.result.errors),
            "to come": reached.get(NOT_YET, 0),
        }
        return {"scored": len(self.texts) - sum(counts.values()), **counts}


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A file and its scorers: the pinned ones, then the current one."""

    outputs: OutputSet
    columns: tuple[ScoreColumn, ...] = ()
    _lowered: dict[str, pl.Series] = field(default_factory=dict, repr=False)

    def lowered(self, name: str) -> pl.Series:
        """Return texts in lower case, cached; "" for input, target and output together."""
        known = self._lowered.get(name)
        if known is None:
            known = self._lowered[name] = self._worked_out(name)
        return known

    def answer(self, row: int) -> str:
        """Return the answer of the current scorer, else of a pinned one."""
        for column in reversed(self.columns):
            score = column.run.result.scores[row]
            if score is not None and score.answer:
                return score.answer
        return ""

    def _worked_out(self, name: str) -> pl.Series:
        outputs = self.outputs
        if name == "target":
            texts = pl.Series(["\n".join(target) for target in outputs.targets], dtype=pl.String)
        elif name == "":
            parts = [self.lowered(part) for part in ("output", "target", "input")]
            return parts[0] + "\n" + parts[1] + "\n" + parts[2]
        else:
            own = {"input": outputs.inputs, "output": outputs.outputs, "id": outputs.ids}
            texts = pl.Series(list(own[name]), dtype=pl.String)
        return texts.str.to_lowercase()


@dataclass(frozen=True)
class ScoreView:
    """The filter line and the order of the rows; "" is the order of the file."""

    search: str = ""
    sort: str = ""
    descending: bool = False


def make_table(
    outputs: OutputSet,
    pinned: Sequence[ScorerRun],
    live: ScorerRun | None,
    known: ScoreTable | None,
) -> ScoreTable:
    """Return a snapshot of all scorers, without duplicates."""
    runs = list(pinned)
    if live is not None and live not in runs:
        runs.append(live)
    names = scorer_names([run.judge.scorer for run in runs])
    before = {} if known is None else {id(column.run): column for column in known.columns}
    columns = tuple(
        _column(name, run, run in pinned, before.get(id(run)))
        for name, run in zip(names, runs, strict=True)
    )
    same = known is not None and known.outputs is outputs
    return ScoreTable(outputs, columns, known._lowered if known is not None and same else {})


def _column(name: str, run: ScorerRun, pinned: bool, before: ScoreColumn | None) -> ScoreColumn:
    if before is not None and before.final:
        if (before.name, before.pinned) == (name, pinned):
            return before
        return ScoreColumn(name, run, pinned, before.texts, before.numbers, True)
    final = run.finished  # read first, so that no later results are missed
    texts = pl.Series(run.texts.copy(), dtype=pl.String)
    return ScoreColumn(name, run, pinned, texts, run.numbers.copy(), final)


def table_columns(table: ScoreTable) -> tuple[TableColumn, ...]:
    """Return the columns of the table: a value for each scorer, then the texts."""
    least, most = _VALUE_CELLS
    if len(table.columns) > 2:
        most = 8
    values = [
        TableColumn(f"{VALUE}{index}", column.name, max(least, min(most, len(column.name) + 1)))
        for index, column in enumerate(table.columns)
    ]
    return (
        *values,
        TableColumn("answer", "answer", 14),
        TableColumn("output", "output", 0),
        TableColumn("target", "target", 14),
        TableColumn("id", "id", 8),
    )


@dataclass(frozen=True, eq=False)
class ScoreRows(OrderedRows):
    """Rows of a table in the order of a view; the id of a row is its index in the file."""

    table: ScoreTable
    view: ScoreView
    order: NDArray[np.intp]

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        return np.arange(len(self.table.outputs), dtype=np.uint64)

    def row_of(self, row_id: int) -> int | None:
        return row_id if 0 <= row_id < len(self.table.outputs) else None

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        """Return the cells of some rows, for `table_columns`."""
        return [self._cells(int(row)) for row in self.order[start:stop]]

    def _cells(self, row: int) -> tuple[Cell, ...]:
        outputs = self.table.outputs
        values = [
            (text := column.texts[row], _STYLES.get(text, "")) for column in self.table.columns
        ]
        return (
            *values,
            (self.table.answer(row)[:_SHOWN], ""),
            (outputs.outputs[row][:_SHOWN], ""),
            (" | ".join(outputs.targets[row])[:_SHOWN], "dim"),
            (outputs.ids[row][:_SHOWN], "dim"),
        )


def build_rows(table: ScoreTable, view: ScoreView) -> ScoreRows:
    """Filter and sort; can run in a thread.

    An invalid line, such as one with a removed scorer, matches every row.
    """
    try:
        chosen = parse_score_filter(
            view.search, [column.name for column in table.columns], list(table.outputs.metadata)
        )
        order = np.flatnonzero(chosen.mask(table))
    except FilterError:
        order = np.arange(len(table.outputs))
    key = _sort_key(table, view.sort)
    if key is not None:
        order = order[np.argsort(key[order], kind="stable")]
    return ScoreRows(table, view, order[::-1] if view.descending else order)


def _sort_key(table: ScoreTable, sort: str) -> NDArray[np.float64] | None:
    """Return the sort key, [N], NaN last; None for the order of the file."""
    if sort.startswith(VALUE):
        index = int(sort.removeprefix(VALUE))
        if index >= len(table.columns):
            return None
        column = table.columns[index]
        if not np.isnan(column.numbers).all():
            return column.numbers
        return _ranked(column.texts)
    if sort == "answer":
        if not table.columns:
            return None
        scores = table.columns[-1].run.result.scores
        return _ranked(
            pl.Series([score.answer if score else None for score in scores], dtype=pl.String)
        )
    return _ranked(table.lowered(sort)) if sort in ("output", "target", "id") else None


def _ranked(texts: pl.Series) -> NDArray[np.float64]:
    return texts.rank("dense").cast(pl.Float64).fill_null(np.nan).to_numpy()


def worked_out(
    outputs: OutputSet,
    pinned: Sequence[ScorerRun],
    shown: ScorerRun | None,
    known: ScoreTable,
    view: ScoreView,
) -> tuple[ScoreTable, ScoreRows]:
    """Return a new snapshot of all scorers and the rows of a view; call it in a thread."""
    table = make_table(outputs, pinned, shown, known)
    for column in table.columns:
        _ = column.states  # computed here, not while the screen is drawn
    return table, build_rows(table, view)
