"""Scored rows as the table draws them: filtered and sorted snapshots, cells made when seen."""

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
from guardtui.tui.score_filter import parse_score_filter
from guardtui.tui.score_live import DECLINED, FAILED, NO_VALUE, NOT_YET, LiveRun
from guardtui.tui.widgets.table_columns import Column
from guardtui.tui.widgets.table_rows import Cell, OrderedRows

VALUE = "value:"
"""Beginning of the key of a column of values; the scorer's place follows."""

_SHOWN = 2000
"""Characters of a text that a cell looks at."""

_STYLES = {
    "C": "fix", "I": "fp", "P": "fn", "N": "fn", FAILED: "error",
    NO_VALUE: "dim", DECLINED: "dim", NOT_YET: "dim",
}  # fmt: skip
_VALUE_CELLS = (6, 14)


@dataclass(frozen=True, eq=False)
class ScoreColumn:
    """What a scorer said so far: values as texts and as numbers (NaN where none), both [N]."""

    name: str
    run: LiveRun
    pinned: bool
    texts: pl.Series
    numbers: NDArray[np.float64]
    final: bool
    """Whether nothing will be added."""

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """Rows that have been scored, bool [N]."""
        found: NDArray[np.bool_] = (self.texts != NOT_YET).to_numpy()
        return found

    @cached_property
    def counts(self) -> list[tuple[str, int]]:
        """The values by how often they come, the most frequent first."""
        return Counter(self.texts.to_list()).most_common()

    @cached_property
    def states(self) -> Mapping[str, int]:
        """How many rows have a value, have none, were declined, failed, or are still to come."""
        found = dict(self.counts)
        counts = {
            "unscored": found.get(NO_VALUE, 0),
            "declined": found.get(DECLINED, 0),
            "errors": len(self.run.result.errors),
            "to come": found.get(NOT_YET, 0),
        }
        return {"scored": len(self.texts) - sum(counts.values()), **counts}


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A file and its scorers, the one that is tried last; the others are pinned."""

    outputs: OutputSet
    columns: tuple[ScoreColumn, ...] = ()
    _lowered: dict[str, pl.Series] = field(default_factory=dict, repr=False)

    def lowered(self, name: str) -> pl.Series:
        """Texts in small letters, worked out once: input, target, output, id, or "" for three."""
        known = self._lowered.get(name)
        if known is None:
            known = self._lowered[name] = self._worked_out(name)
        return known

    def answer(self, row: int) -> str:
        """Return the answer of the scorer that is tried, else of one that is pinned."""
        for one in reversed(self.columns):
            score = one.run.result.scores[row]
            if score is not None and score.answer:
                return score.answer
        return ""

    def _worked_out(self, name: str) -> pl.Series:
        outputs = self.outputs
        if name == "target":
            texts = pl.Series(["\n".join(one) for one in outputs.targets], dtype=pl.String)
        elif name == "":
            parts = [self.lowered(one) for one in ("output", "target", "input")]
            return parts[0] + "\n" + parts[1] + "\n" + parts[2]
        else:
            own = {"input": outputs.inputs, "output": outputs.outputs, "id": outputs.ids}
            texts = pl.Series(list(own[name]), dtype=pl.String)
        return texts.str.to_lowercase()


@dataclass(frozen=True)
class ScoreView:
    """Which rows are wanted, and in which order; "" is that of the file."""

    search: str = ""
    sort: str = ""
    descending: bool = False


def make_table(
    outputs: OutputSet, pinned: Sequence[LiveRun], live: LiveRun | None, known: ScoreTable | None
) -> ScoreTable:
    """A snapshot of all scorers; one that is pinned already is not shown a second time."""
    runs = list(pinned)
    if live is not None and live not in runs:
        runs.append(live)
    names = scorer_names([run.judge.scorer for run in runs])
    before = {} if known is None else {id(one.run): one for one in known.columns}
    columns = tuple(
        _column(name, run, run in pinned, before.get(id(run)))
        for name, run in zip(names, runs, strict=True)
    )
    same = known is not None and known.outputs is outputs
    return ScoreTable(outputs, columns, known._lowered if known is not None and same else {})


def _column(name: str, run: LiveRun, pinned: bool, before: ScoreColumn | None) -> ScoreColumn:
    if before is not None and before.final:
        if (before.name, before.pinned) == (name, pinned):
            return before
        return ScoreColumn(name, run, pinned, before.texts, before.numbers, True)
    final = run.finished  # asked first: what is added later is not missed
    texts = pl.Series(run.texts.copy(), dtype=pl.String)
    return ScoreColumn(name, run, pinned, texts, run.numbers.copy(), final)


def table_columns(table: ScoreTable) -> tuple[Column, ...]:
    """Columns of the table: a value for each scorer, then what it is the value of."""
    least, most = _VALUE_CELLS
    if len(table.columns) > 2:
        most = 8
    values = [
        Column(f"{VALUE}{place}", one.name, max(least, min(most, len(one.name) + 1)))
        for place, one in enumerate(table.columns)
    ]
    return (
        *values,
        Column("answer", "answer", 14),
        Column("output", "output", 0),
        Column("target", "target", 14),
        Column("id", "id", 8),
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
        """The cells of some rows, as `table_columns` has them."""
        return [self._cells(int(row)) for row in self.order[start:stop]]

    def _cells(self, row: int) -> tuple[Cell, ...]:
        outputs = self.table.outputs
        values = [(text := one.texts[row], _STYLES.get(text, "")) for one in self.table.columns]
        return (
            *values,
            (self.table.answer(row)[:_SHOWN], ""),
            (outputs.outputs[row][:_SHOWN], ""),
            (" | ".join(outputs.targets[row])[:_SHOWN], "dim"),
            (outputs.ids[row][:_SHOWN], "dim"),
        )


def build_rows(table: ScoreTable, view: ScoreView) -> ScoreRows:
    """Filter and sort, so that it can run beside the screen.

    A line that is not understood, as when its scorer is gone, lets every row through.
    """
    try:
        chosen = parse_score_filter(
            view.search, [one.name for one in table.columns], list(table.outputs.metadata)
        )
        order = np.flatnonzero(chosen.mask(table))
    except FilterError:
        order = np.arange(len(table.outputs))
    key = _sort_key(table, view.sort)
    if key is not None:
        order = order[np.argsort(key[order], kind="stable")]
    return ScoreRows(table, view, order[::-1] if view.descending else order)


def _sort_key(table: ScoreTable, sort: str) -> NDArray[np.float64] | None:
    """What to sort by, [N], NaN last; None for the order of the file."""
    if sort.startswith(VALUE):
        place = int(sort.removeprefix(VALUE))
        if place >= len(table.columns):
            return None
        column = table.columns[place]
        if not np.isnan(column.numbers).all():
            return column.numbers
        return _ranked(column.texts)
    if sort == "answer":
        if not table.columns:
            return None
        scores = table.columns[-1].run.result.scores
        return _ranked(pl.Series([one.answer if one else None for one in scores], dtype=pl.String))
    return _ranked(table.lowered(sort)) if sort in ("output", "target", "id") else None


def _ranked(texts: pl.Series) -> NDArray[np.float64]:
    return texts.rank("dense").cast(pl.Float64).fill_null(np.nan).to_numpy()


def worked_out(
    outputs: OutputSet,
    pinned: Sequence[LiveRun],
    shown: LiveRun | None,
    known: ScoreTable,
    view: ScoreView,
) -> tuple[ScoreTable, ScoreRows]:
    """A new snapshot of all scorers and the rows of a view, for a thread."""
    table = make_table(outputs, pinned, shown, known)
    for one in table.columns:
        _ = one.states  # counted here, and not on the screen
    return table, build_rows(table, view)
