"""The table of what is wrong in a whole large set: rows read from its parts, groups and order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.verdicts import Outcome
from guardtui.shards.merge import Merged
from guardtui.tui.listing import RowsView
from guardtui.tui.widgets.table_columns import Column
from guardtui.tui.widgets.table_rows import Cell, OrderedRows

MOST = 500_000
"""Rows from which on no further shard is read: more nobody looks through, and they fill memory."""

GROUPS = {"all": "all", "fp": "FP", "fn": "FN", "error": "no verdict"}
"""Groups of rows, as they are called on the screen."""

_CODES = {"fp": Outcome.FP, "fn": Outcome.FN, "error": Outcome.ERROR}
_CELLS = [
    (one.name, {"FP": "fp", "FN": "fn", "ERROR": "error"}.get(one.name, "")) for one in Outcome
]
_READ = ("row", "line", "prompt", "expected", "_outcome", "_score", "_matched", "_error", "_note")


@dataclass(frozen=True, eq=False)
class Wrong:
    """Rows that are FP, FN or without a verdict, in the order of the file: [n].

    `of` counts all there are; more than are here where not every shard was read.
    """

    frame: pl.DataFrame
    of: int
    category: str | None

    def __len__(self) -> int:
        return self.frame.height

    @cached_property
    def rows(self) -> NDArray[np.uint32]:
        """Where each stands in the file, from 0: rising, uint32 [n]."""
        return self.frame["row"].to_numpy()

    @cached_property
    def outcomes(self) -> NDArray[np.int8]:
        """Outcome codes, int8 [n]."""
        return self.frame["_outcome"].to_numpy()

    @cached_property
    def lower(self) -> pl.Series:
        """The prompts in lower case, to be searched."""
        return self.frame["prompt"].str.to_lowercase()

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many rows each group has."""
        counts = np.bincount(self.outcomes, minlength=len(Outcome))
        return {"all": len(self)} | {name: int(counts[code]) for name, code in _CODES.items()}

    def place_of(self, row: int) -> int | None:
        """Where among these rows that of the file is."""
        place = int(np.searchsorted(self.rows, row))
        return place if place < len(self) and int(self.rows[place]) == row else None


def read_wrong(merged: Merged, most: int = MOST) -> Wrong:
    """What is wrong in a run, with the texts. Raises FileError."""
    category = merged.run.large.category_column
    columns = [*_READ, *([category] if category else [])]
    frame = merged.wrong_rows(columns, most)
    metrics = merged.metrics
    wrong = Wrong(frame, metrics.fp + metrics.fn + metrics.errors, category)
    _ = wrong.rows, wrong.outcomes, wrong.sizes  # not while the screen is drawn
    return wrong


@dataclass(frozen=True, eq=False)
class WholeRows(OrderedRows):
    """Rows in an order, intp [n]: an immutable snapshot for a table, whose ids are file rows."""

    wrong: Wrong
    order: NDArray[np.intp]

    @property
    def keys(self) -> NDArray[np.uint32]:
        return self.wrong.rows

    def row_of(self, row_id: int) -> int | None:
        return self.wrong.place_of(row_id)

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        frame = self.wrong.frame[self.order[start:stop]]
        scores = frame["_score"].to_list()
        columns: list[list[Cell]] = [
            [_CELLS[code] for code in frame["_outcome"].to_list()],
            [("n/a" if one is None or one != one else f"{one:.2f}", "dim") for one in scores],
            [(text, "") for text in frame["prompt"].to_list()],
        ]
        if self.wrong.category is not None:
            columns.append([(text or "", "dim") for text in frame[self.wrong.category].to_list()])
        return list(zip(*columns, strict=True))


def whole_columns(wrong: Wrong) -> tuple[Column, ...]:
    """The columns of `WholeRows`."""
    columns = (
        Column("outcome", "", 5),
        Column("score", "score", 5, "right"),
        Column("prompt", "prompt", 0),
    )
    return columns if wrong.category is None else (*columns, Column("category", "category", 14))


def build_whole_rows(wrong: Wrong, view: RowsView) -> WholeRows:
    """Filter and sort; numpy and polars only, so that it can run beside the screen."""
    mask = np.ones(len(wrong), bool)
    if view.group in _CODES:
        mask = wrong.outcomes == _CODES[view.group]
    for word in view.words:
        mask = mask & wrong.lower.str.contains(word.lower(), literal=True).to_numpy()
    order = np.flatnonzero(mask)
    if view.sort != "line":
        name = {"outcome": "_outcome", "score": "_score", "category": wrong.category}.get(
            view.sort, view.sort
        )
        place = wrong.frame[name or "row"].gather(order).arg_sort()
        order = order[place.to_numpy().astype(np.intp)]
    return WholeRows(wrong, order[::-1] if view.descending else order)
