"""Row sources of the table, and the cursor: it stays on its row when the rows change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Cell: TypeAlias = tuple[str, str]
"""Raw text, and the name of its style `frame-table--<name>` ("" for none)."""

SLICE_ROWS = 64
"""Rows requested at once: about one screen, which each new source must provide first."""

_NEIGHBOURS = 64


class RowSource(Protocol):
    """An immutable snapshot of rows with stable ids, which the table draws."""

    def __len__(self) -> int:
        """The number of rows."""
        ...

    @property
    def row_ids(self) -> NDArray[np.uint64]:
        """The stable ids in the order of the rows, uint64 [n]; requested often, so cache it."""
        ...

    def position_of(self, row_id: int) -> int | None:
        """The position of a row, or None if it is not in this view."""
        ...

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        """Rows start … stop-1, one cell per column; at most `SLICE_ROWS` are requested."""
        ...


class NoRows:
    """An empty source."""

    row_ids = np.empty(0, np.uint64)

    def __len__(self) -> int:
        return 0

    def position_of(self, row_id: int) -> int | None:
        return None

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        return []


@dataclass(slots=True)
class Cursor:
    """Index and id of the row the cursor is on."""

    index: int = 0
    row_id: int | None = None
    """Kept in an empty view: a filter that matches nothing for a moment must not lose the row."""

    def go(self, source: RowSource, index: int) -> None:
        """Go to a row, or the nearest one; `source` is not empty."""
        self.index = max(0, min(index, len(source) - 1))
        self.row_id = int(source.row_ids[self.index])

    def follow(self, old: RowSource, new: RowSource, top: int, height: int) -> int:
        """Stay on the row or its nearest remaining neighbour; return the new top line.

        `top` and `height` are the visible lines. The row keeps its line of the screen; if it is not
        visible, the first remaining line does.
        """
        if self.row_id is None:
            self.restart(new)
            return 0
        before = self.index
        position = new.position_of(self.row_id)
        self.index = _nearest(old, new, before) if position is None else position
        if len(new):
            self.row_id = int(new.row_ids[self.index])
        if not len(old):
            return self.index - height // 2
        if top <= before < top + height:
            return self.index - (before - top)
        return _held_top(old, new, top, height)

    def restart(self, source: RowSource) -> None:
        """Go to the first row."""
        self.index = 0
        if len(source):
            self.row_id = int(source.row_ids[0])

    def top_in_sight(self, top: int, height: int) -> int:
        """Return the top line nearest to `top` with which the cursor is visible."""
        return max(0, min(max(top, self.index - height + 1), self.index))


def _nearest(old: RowSource, new: RowSource, position: int) -> int:
    """Return the position of the closest remaining neighbour of a removed row, the next one first.

    Without such a neighbour: the same position, or the last one.
    """
    for distance in range(1, _NEIGHBOURS + 1):
        for index in (position + distance, position - distance):
            if 0 <= index < len(old):
                row = new.position_of(int(old.row_ids[index]))
                if row is not None:
                    return row
    return max(0, min(position, len(new) - 1))


def _held_top(old: RowSource, new: RowSource, top: int, height: int) -> int:
    """Return the top line with which the first remaining visible row keeps its line."""
    for index in range(top, min(top + height, len(old))):
        position = new.position_of(int(old.row_ids[index]))
        if position is not None:
            return position - (index - top)
    return top
