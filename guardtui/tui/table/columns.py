"""Columns of the table: their offsets on a line, and their widths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

FLEXIBLE_LEAST = 18
"""Least cells of a flexible column; fixed columns are left out for it."""
NARROWEST = 2
"""Least cells of a column that is narrowed by hand."""


@dataclass(frozen=True)
class TableColumn:
    """A column; `width` in cells, 0 for the cells that other columns leave.

    On a narrow line columns with a larger `gives_way` are left out first, of equal ones the last.
    """

    key: str
    title: str
    width: int
    align: Literal["left", "right"] = "left"
    gives_way: int = 0


class PlacedColumn(NamedTuple):
    """A column with its offset and width on the line, in cells."""

    position: int
    column: TableColumn
    left: int
    width: int

    @property
    def right(self) -> int:
        """The first cell after the column: the gap, its edge."""
        return self.left + self.width


class ResizeTarget(NamedTuple):
    """The column that an edge resizes; `direction` is -1 if dragging left widens it."""

    slot: PlacedColumn
    direction: int


class EdgeDrag(NamedTuple):
    """An edge held by the mouse: its column, and where and how wide that was at the press."""

    key: str
    direction: int
    pressed_x: int
    width: int


def place_columns(
    columns: Sequence[TableColumn], width: int, gutter: int, widths: Mapping[str, int]
) -> tuple[PlacedColumn, ...]:
    """Return the columns that fit into `width` cells with the gutter; fixed ones give way.

    `widths` holds the cells of columns that were resized, by key; a flexible one stays flexible.
    """
    kept = [
        (index, column, column.width and widths.get(column.key, column.width))
        for index, column in enumerate(columns)
    ]
    while True:
        flexible = sum(not size for _, _, size in kept)
        fixed = sum(size for _, _, size in kept)
        rest = width - gutter - fixed - max(0, len(kept) - 1)
        droppable = [entry for entry in kept if entry[2]]
        if not flexible or rest >= flexible * FLEXIBLE_LEAST or not droppable:
            break
        kept.remove(max(droppable, key=lambda entry: (entry[1].gives_way, entry[0])))
    slots = []
    left = gutter
    for index, column, wanted in kept:
        size = wanted
        if not size:
            size = max(0, rest) // flexible
            rest -= size
            flexible -= 1
        size = min(size, width - left)
        if size <= 0:
            break
        slots.append(PlacedColumn(index, column, left, size))
        left += size + 1
    return tuple(slots)


def resizing(slots: Sequence[PlacedColumn], key: str) -> ResizeTarget | None:
    """Return what the right edge of a column resizes; None for a hidden column.

    A flexible column has no width of its own: its edge resizes the next fixed column, if any.
    """
    index = next((index for index, slot in enumerate(slots) if slot.column.key == key), None)
    if index is None:
        return None
    if slots[index].column.width:
        return ResizeTarget(slots[index], 1)
    after = next((slot for slot in slots[index + 1 :] if slot.column.width), None)
    return None if after is None else ResizeTarget(after, -1)


def resized_at(slots: Sequence[PlacedColumn], x: int, width: int) -> ResizeTarget | None:
    """Return what the edge at cell `x` of a header of `width` cells resizes, or None.

    The edge is the gap after a column, or the last cell of a column that ends the line.
    """
    edge = next((slot for slot in slots if x == min(slot.right, width - 1)), None)
    return None if edge is None else resizing(slots, edge.column.key)


def allowed_width(
    slots: Sequence[PlacedColumn], slot: PlacedColumn, wanted: int, width: int
) -> int:
    """Return the allowed width nearest to `wanted`: flexible columns keep their least cells.

    Without a flexible column all columns together stay within the `width` of the line.
    """
    flexible = [other.width - FLEXIBLE_LEAST for other in slots if not other.column.width]
    spare = sum(flexible) if flexible else width - slots[-1].right
    # A column that has only one cell must not become wider when it is narrowed.
    least = min(NARROWEST, slot.width)
    return max(least, min(wanted, slot.width + max(0, spare)))


class Widths:
    """Cells of the columns that were resized, by key, and the edge that the mouse drags.

    `slots` are the columns as they are drawn, `width` is that of the line.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, int] = {}
        self._drag: EdgeDrag | None = None

    def use(self, by_key: Mapping[str, int]) -> None:
        """Replace all widths by these."""
        self.by_key = {key: max(NARROWEST, cells) for key, cells in by_key.items()}

    def widen(self, slots: Sequence[PlacedColumn], key: str, by: int, width: int) -> str | None:
        """Widen or narrow a column by some cells; return the key of the resized column, or None."""
        target = resizing(slots, key)
        if target is None:
            return None
        slot, direction = target
        changed = self._resize(slots, slot.column.key, slot.width + direction * by, width)
        return slot.column.key if changed else None

    def reset(self, key: str) -> bool:
        """Reset a column to its own width; return False if it already has it."""
        return self.by_key.pop(key, None) is not None

    @property
    def pressed(self) -> bool:
        """Return whether the mouse holds an edge."""
        return self._drag is not None

    def press(self, slots: Sequence[PlacedColumn], x: int, screen_x: int, width: int) -> bool:
        """Hold the edge at cell `x`, pressed at `screen_x`; return False if there is no edge."""
        target = resized_at(slots, x, width)
        if target is not None:
            slot, direction = target
            self._drag = EdgeDrag(slot.column.key, direction, screen_x, slot.width)
        return target is not None

    def drag(self, slots: Sequence[PlacedColumn], screen_x: int, width: int) -> tuple[bool, bool]:
        """Follow the mouse; return whether it moved, and whether a width changed."""
        drag = self._drag
        if drag is None:
            return False, False
        moved = screen_x - drag.pressed_x
        wanted = drag.width + drag.direction * moved
        return moved != 0, self._resize(slots, drag.key, wanted, width)

    def release(self) -> str | None:
        """Release the edge; return the key of the column if its width changed."""
        drag, self._drag = self._drag, None
        if drag is None or self.by_key.get(drag.key, drag.width) == drag.width:
            return None
        return drag.key

    def _resize(self, slots: Sequence[PlacedColumn], key: str, wanted: int, width: int) -> bool:
        slot = next((slot for slot in slots if slot.column.key == key), None)
        if slot is None:
            return False
        cells = allowed_width(slots, slot, wanted, width)
        if cells == slot.width:
            return False
        self.by_key[key] = cells
        return True
