"""Columns of the results table: where they stand on a line, and how wide they may become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

FLEXIBLE_LEAST = 10
"""Cells a flexible column has before the last fixed ones are left out for it."""
NARROWEST = 2
"""Cells a column can be narrowed to by hand."""


@dataclass(frozen=True)
class Column:
    """A column: `width` in cells, where 0 takes what the other columns leave."""

    key: str
    title: str
    width: int
    align: Literal["left", "right"] = "left"
    sortable: bool = True

    def __post_init__(self) -> None:
        """Raises ValueError for a negative width."""
        if self.width < 0:
            raise ValueError(f"column {self.key!r}: width must be 0 or more, got {self.width}")


class Slot(NamedTuple):
    """A column's place on the line, in cells."""

    position: int
    column: Column
    left: int
    width: int

    @property
    def right(self) -> int:
        """The first cell after the column: the gap, which is its edge."""
        return self.left + self.width


class Resizing(NamedTuple):
    """The column that an edge resizes; `direction` is -1 when it widens as the edge goes left."""

    slot: Slot
    direction: int


class Drag(NamedTuple):
    """An edge held by the mouse: the column it resizes, and how it was when it was taken."""

    key: str
    direction: int
    pressed_x: int
    width: int


def place_columns(
    columns: Sequence[Column], width: int, gutter: int, widths: Mapping[str, int]
) -> tuple[Slot, ...]:
    """The columns that fit into `width` cells, gutter included; the last fixed ones give way.

    `widths` holds the cells of columns that were resized, by key; a flexible one stays flexible.
    """
    kept = [
        (place, column, column.width and widths.get(column.key, column.width))
        for place, column in enumerate(columns)
    ]
    while True:
        flexible = sum(not size for _, _, size in kept)
        fixed = sum(size for _, _, size in kept)
        rest = width - gutter - fixed - max(0, len(kept) - 1)
        droppable = [one for one in kept if one[2]]
        if not flexible or rest >= flexible * FLEXIBLE_LEAST or not droppable:
            break
        kept.remove(droppable[-1])
    slots = []
    left = gutter
    for place, column, wanted in kept:
        size = wanted
        if not size:
            size = max(0, rest) // flexible
            rest -= size
            flexible -= 1
        size = min(size, width - left)
        if size <= 0:
            break
        slots.append(Slot(place, column, left, size))
        left += size + 1
    return tuple(slots)


def resizing(slots: Sequence[Slot], key: str) -> Resizing | None:
    """What the right edge of a column resizes; None for a column that is not shown.

    A flexible column has no width of its own: its edge is the left one of the fixed column after
    it, and None when there is none.
    """
    found = next((place for place, slot in enumerate(slots) if slot.column.key == key), None)
    if found is None:
        return None
    if slots[found].column.width:
        return Resizing(slots[found], 1)
    after = next((slot for slot in slots[found + 1 :] if slot.column.width), None)
    return None if after is None else Resizing(after, -1)


def edge_at(slots: Sequence[Slot], x: int, width: int) -> Slot | None:
    """The column whose right edge is at cell `x` of a header of `width` cells.

    The edge is the gap after the column, or the last cell of a column that ends the line.
    """
    return next((slot for slot in slots if x == min(slot.right, width - 1)), None)


def resized_at(slots: Sequence[Slot], x: int, width: int) -> Resizing | None:
    """Return what the edge at cell `x` of a header of `width` cells resizes, or None."""
    edge = edge_at(slots, x, width)
    return None if edge is None else resizing(slots, edge.column.key)


def allowed_width(slots: Sequence[Slot], slot: Slot, wanted: int, width: int) -> int:
    """The width nearest to the wanted one that leaves flexible columns their least cells.

    Without a flexible column all columns together stay within the `width` of the line.
    """
    flexible = [one.width - FLEXIBLE_LEAST for one in slots if not one.column.width]
    spare = sum(flexible) if flexible else width - slots[-1].right
    # A column of one cell by itself must not be widened by narrowing it.
    least = min(NARROWEST, slot.width)
    return max(least, min(wanted, slot.width + max(0, spare)))


class Widths:
    """Cells of the columns that were resized, by key, and the edge that the mouse drags.

    `slots` are the columns as they are drawn, `width` is that of the line.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, int] = {}
        self._drag: Drag | None = None

    def use(self, by_key: Mapping[str, int]) -> None:
        """Take these widths in place of all others."""
        self.by_key = {key: max(NARROWEST, cells) for key, cells in by_key.items()}

    def widen(self, slots: Sequence[Slot], key: str, by: int, width: int) -> str | None:
        """Widen a column by some cells, or narrow it; return the key of the one resized."""
        target = resizing(slots, key)
        if target is None:
            return None
        slot, direction = target
        changed = self._resize(slots, slot.column.key, slot.width + direction * by, width)
        return slot.column.key if changed else None

    def reset(self, key: str) -> bool:
        """Give a column its own width again; False when it has it."""
        return self.by_key.pop(key, None) is not None

    @property
    def pressed(self) -> bool:
        """Whether the mouse holds an edge."""
        return self._drag is not None

    def press(self, slots: Sequence[Slot], x: int, screen_x: int, width: int) -> bool:
        """Take the edge at cell `x`, pressed at `screen_x`; False when there is none."""
        target = resized_at(slots, x, width)
        if target is not None:
            slot, direction = target
            self._drag = Drag(slot.column.key, direction, screen_x, slot.width)
        return target is not None

    def drag(self, slots: Sequence[Slot], screen_x: int, width: int) -> tuple[bool, bool]:
        """Follow the mouse; return whether it moved from where it pressed, and what it resized."""
        drag = self._drag
        if drag is None:
            return False, False
        moved = screen_x - drag.pressed_x
        wanted = drag.width + drag.direction * moved
        return moved != 0, self._resize(slots, drag.key, wanted, width)

    def release(self) -> str | None:
        """Let go of the edge; return the key of the column if it has another width now."""
        drag, self._drag = self._drag, None
        if drag is None or self.by_key.get(drag.key, drag.width) == drag.width:
            return None
        return drag.key

    def _resize(self, slots: Sequence[Slot], key: str, wanted: int, width: int) -> bool:
        slot = next((slot for slot in slots if slot.column.key == key), None)
        if slot is None:
            return False
        cells = allowed_width(slots, slot, wanted, width)
        if cells == slot.width:
            return False
        self.by_key[key] = cells
        return True
