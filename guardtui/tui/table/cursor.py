"""The cursor of a table: it stays on its row when the rows change."""

from __future__ import annotations

from dataclasses import dataclass

from guardtui.tui.table.rows import RowSource, held_top, nearest


@dataclass(slots=True)
class Cursor:
    """Index and id of the row the cursor is on."""

    index: int = 0
    row_id: int | None = None
    """Kept in an empty view: a filter that matches nothing for a moment must not lose the row."""

    def go(self, source: RowSource, index: int) -> None:
        """Go to a row, or the nearest one; `source` is not empty."""
        self.index = max(0, min(index, len(source) - 1))
        self.row_id = source.row_id(self.index)

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
        self.index = nearest(old, new, before) if position is None else position
        if len(new):
            self.row_id = new.row_id(self.index)
        if not len(old):
            return self.index - height // 2
        if top <= before < top + height:
            return self.index - (before - top)
        return held_top(old, new, top, height)

    def restart(self, source: RowSource) -> None:
        """Go to the first row."""
        self.index = 0
        if len(source):
            self.row_id = source.row_id(0)

    def top_in_sight(self, top: int, height: int) -> int:
        """Return the top line nearest to `top` with which the cursor is visible."""
        return max(0, min(max(top, self.index - height + 1), self.index))
