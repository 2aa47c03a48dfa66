"""The table of wrong rows of a large set, read from the parts of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.verdicts import Outcome
from guardtui.shards.merge import Merged
from guardtui.tui.kit.table_dialog import PromptTableView, has_words
from guardtui.tui.table.columns import TableColumn
from guardtui.tui.table.rows import Cell, OrderedRows

MOST = 500_000
"""Rows after which no further shard is read: nobody looks through more, and they need memory."""

GROUPS = {"all": "all", "fp": "FP", "fn": "FN", "error": "no verdict"}
"""Titles of the groups of rows."""

_CODES = {"fp": Outcome.FP, "fn": Outcome.FN, "error": Outcome.ERROR}
_CELLS = [
    (outcome.name, {"FP": "fp", "FN": "fn", "ERROR": "error"}.get(outcome.name, ""))
    for outcome in Outcome
]
_READ = ("row", "line", "prompt", "expected", "_outcome", "_score", "_matched", "_error", "_note")


@dataclass(frozen=True, eq=False)
class WrongRows:
    """Rows that are FP, FN or without a verdict, in the order of the file, [n].

    `of` counts all such rows, also those of shards that were not read.
    """

    frame: pl.DataFrame
    of: int
    category: str | None

    def __len__(self) -> int:
        return self.frame.height

    @cached_property
    def rows(self) -> NDArray[np.uint32]:
        """Index of each row in the file, ascending, uint32 [n]."""
        return self.frame["row"].to_numpy()

    @cached_property
    def outcomes(self) -> NDArray[np.int8]:
        """Outcome codes, int8 [n]."""
        return self.frame["_outcome"].to_numpy()

    @cached_property
    def lower(self) -> pl.Series:
        """The prompts in lower case, for searching."""
        return self.frame["prompt"].str.to_lowercase()

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of rows of each group."""
        counts = np.bincount(self.outcomes, minlength=len(Outcome))
        return {"all": len(self)} | {name: int(counts[code]) for name, code in _CODES.items()}

    def index_of(self, row: int) -> int | None:
        """Return the index among these rows of a row of the file, or None."""
        index = int(np.searchsorted(self.rows, row))
        return index if index < len(self) and int(self.rows[index]) == row else None


def read_wrong(merged: Merged, most: int = MOST) -> WrongRows:
    """Return the wrong rows of a run with their texts. Raises FileError."""
    category = merged.run.large.category_column
    columns = [*_READ, *([category] if category else [])]
    frame = merged.wrong_rows(columns, most)
    metrics = merged.metrics
    wrong = WrongRows(frame, metrics.fp + metrics.fn + metrics.errors, category)
    _ = wrong.rows, wrong.outcomes, wrong.sizes  # computed here, not while the screen is drawn
    return wrong


@dataclass(frozen=True, eq=False)
class LargeSetRows(OrderedRows):
    """Rows in an order, intp [n]; an immutable snapshot whose ids are rows of the file."""

    wrong: WrongRows
    order: NDArray[np.intp]

    @property
    def keys(self) -> NDArray[np.uint32]:
        return self.wrong.rows

    def row_of(self, row_id: int) -> int | None:
        return self.wrong.index_of(row_id)

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        frame = self.wrong.frame[self.order[start:stop]]
        scores = frame["_score"].to_list()
        columns: list[list[Cell]] = [
            [_CELLS[code] for code in frame["_outcome"].to_list()],
            [
                ("n/a" if score is None or score != score else f"{score:.2f}", "dim")
                for score in scores
            ],
            [(text, "") for text in frame["prompt"].to_list()],
        ]
        if self.wrong.category is not None:
            columns.append([(text or "", "dim") for text in frame[self.wrong.category].to_list()])
        return list(zip(*columns, strict=True))


def large_set_columns(wrong: WrongRows) -> tuple[TableColumn, ...]:
    """Return the columns of `LargeSetRows`."""
    columns = (
        TableColumn("outcome", "", 5),
        TableColumn("score", "score", 5, "right"),
        TableColumn("prompt", "prompt", 0),
    )
    return (
        columns if wrong.category is None else (*columns, TableColumn("category", "category", 14))
    )


def build_large_set_rows(wrong: WrongRows, view: PromptTableView) -> LargeSetRows:
    """Filter and sort; only numpy and polars, so it can run in a thread."""
    mask = np.ones(len(wrong), bool)
    if view.group in _CODES:
        mask = wrong.outcomes == _CODES[view.group]
    order = np.flatnonzero(mask & has_words(wrong.lower, view.words))
    if view.sort != "line":
        name = {"outcome": "_outcome", "score": "_score", "category": wrong.category}.get(
            view.sort, view.sort
        )
        index = wrong.frame[name or "row"].gather(order).arg_sort()
        order = order[index.to_numpy().astype(np.intp)]
    return LargeSetRows(wrong, order[::-1] if view.descending else order)
