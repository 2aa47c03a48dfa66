"""Where the results table gets its rows from, and how a place is kept when the rows change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from guardtui.domain.late import late

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")


Cell: TypeAlias = tuple[str, str]
"""Raw text, and the name of a style ("" for none): it is drawn as `frame-table--<name>`."""

SLICE_ROWS = 64
"""Rows asked of the source at once: about one screen, as each new source starts with one."""

_NEIGHBOURS = 64


class RowSource(Protocol):
    """What the table draws: an immutable snapshot of rows, each with a stable id.

    A source with many rows should have `row_ids` too, see `RowIds`.
    """

    def __len__(self) -> int:
        """The number of rows."""
        ...

    def row_id(self, index: int) -> int:
        """The stable id of the row at a position, 0 ≤ index < len; 0 ≤ id < 2**64."""
        ...

    def position_of(self, row_id: int) -> int | None:
        """Where the row is, or None when it is not in this view."""
        ...

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        """Rows start … stop-1, one cell per column; at most `SLICE_ROWS` are asked for."""
        ...


@runtime_checkable
class RowIds(Protocol):
    """A source that knows the ids of all rows at once: marking a million then takes no time."""

    def row_ids(self) -> NDArray[np.uint64]:
        """The ids in the order of the rows, uint64 [n]; asked for often, so it should be kept."""
        ...


class NoRows:
    """The source before there is one."""

    def __len__(self) -> int:
        return 0

    def row_id(self, index: int) -> int:
        raise IndexError(index)

    def position_of(self, row_id: int) -> int | None:
        return None

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        return []


def ids_between(source: RowSource, start: int, stop: int) -> NDArray[np.uint64]:
    """The ids of rows start … stop-1, uint64 [stop - start]."""
    if stop - start > SLICE_ROWS and isinstance(source, RowIds):
        return source.row_ids()[start:stop]
    return np.fromiter(map(source.row_id, range(start, stop)), np.uint64, stop - start)


def nearest(old: RowSource, new: RowSource, position: int) -> int:
    """Where the closest surviving neighbour of a vanished row is: the next one, if both are close.

    When none of its neighbours survives, the same position, or the last one.
    """
    for distance in range(1, _NEIGHBOURS + 1):
        for index in (position + distance, position - distance):
            if 0 <= index < len(old):
                found = new.position_of(old.row_id(index))
                if found is not None:
                    return found
    return max(0, min(position, len(new) - 1))


def held_top(old: RowSource, new: RowSource, top: int, height: int) -> int:
    """The first line to show so that the first visible row that survives stays on its line."""
    for index in range(top, min(top + height, len(old))):
        found = new.position_of(old.row_id(index))
        if found is not None:
            return found - (index - top)
    return top
