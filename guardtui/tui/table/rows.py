"""Row sources of the table, and keeping the place when the rows change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Cell: TypeAlias = tuple[str, str]
"""Raw text, and the name of its style `frame-table--<name>` ("" for none)."""

SLICE_ROWS = 64
"""Rows requested at once: about one screen, which each new source must provide first."""

_NEIGHBOURS = 64


class RowSource(Protocol):
    """An immutable snapshot of rows with stable ids, which the table draws.

    A source with many rows should have `row_ids` too, see `RowIds`.
    """

    def __len__(self) -> int:
        """The number of rows."""
        ...

    def row_id(self, index: int) -> int:
        """The stable id of the row at a position, 0 ≤ index < len; 0 ≤ id < 2**64."""
        ...

    def position_of(self, row_id: int) -> int | None:
        """The position of a row, or None if it is not in this view."""
        ...

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        """Rows start … stop-1, one cell per column; at most `SLICE_ROWS` are requested."""
        ...


@runtime_checkable
class RowIds(Protocol):
    """A source that has the ids of all rows at once: marking a million is then fast."""

    def row_ids(self) -> NDArray[np.uint64]:
        """The ids in the order of the rows, uint64 [n]; requested often, so cache it."""
        ...


class OrderedRows(ABC):
    """A source that shows some rows of a set in an order; subclasses add `cells`."""

    order: NDArray[np.intp]
    """The rows shown, as indices into the set, intp [n]."""

    @property
    @abstractmethod
    def keys(self) -> NDArray[np.unsignedinteger]:
        """The ids of all rows of the set, shown or not, [N]."""

    @abstractmethod
    def row_of(self, row_id: int) -> int | None:
        """Return the index of a row in the set, whether it is shown or not."""

    @abstractmethod
    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        """Return the cells of the rows shown at start … stop-1."""

    def __len__(self) -> int:
        return int(self.order.shape[0])

    def row_id(self, index: int) -> int:
        return int(self.keys[self.order[index]])

    def row_ids(self) -> NDArray[np.uint64]:
        """Return the ids of all rows shown, uint64 [n], in their order."""
        return self._row_ids

    @cached_property
    def _row_ids(self) -> NDArray[np.uint64]:
        return self.keys[self.order].astype(np.uint64, copy=False)

    def position_of(self, row_id: int) -> int | None:
        row = self.row_of(row_id)
        position = -1 if row is None else int(self.positions[row])
        return position if position >= 0 else None

    @cached_property
    def positions(self) -> NDArray[np.int32]:
        """Position at which each row of the set is shown, int32 [N]; -1 for hidden rows."""
        positions = np.full(len(self.keys), -1, np.int32)
        positions[self.order] = np.arange(len(self.order), dtype=np.int32)
        return positions


class NoRows:
    """An empty source."""

    def __len__(self) -> int:
        return 0

    def row_id(self, index: int) -> int:
        raise IndexError(index)

    def position_of(self, row_id: int) -> int | None:
        return None

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        return []


def ids_between(source: RowSource, start: int, stop: int) -> NDArray[np.uint64]:
    """Return the ids of rows start … stop-1, uint64 [stop - start]."""
    if stop - start > SLICE_ROWS and isinstance(source, RowIds):
        return source.row_ids()[start:stop]
    return np.fromiter(map(source.row_id, range(start, stop)), np.uint64, stop - start)


def nearest(old: RowSource, new: RowSource, position: int) -> int:
    """Return the position of the closest remaining neighbour of a removed row, the next one first.

    Without such a neighbour: the same position, or the last one.
    """
    for distance in range(1, _NEIGHBOURS + 1):
        for index in (position + distance, position - distance):
            if 0 <= index < len(old):
                row = new.position_of(old.row_id(index))
                if row is not None:
                    return row
    return max(0, min(position, len(new) - 1))


def held_top(old: RowSource, new: RowSource, top: int, height: int) -> int:
    """Return the top line with which the first remaining visible row keeps its line."""
    for index in range(top, min(top + height, len(old))):
        position = new.position_of(old.row_id(index))
        if position is not None:
            return position - (index - top)
    return top
