"""The cursor of a table: it stays on its row when the rows change."""

from __future__ import annotations

from dataclasses import dataclass

from guardtui.tui.widgets.table_rows import RowSource, held_top, nearest


@dataclass(slots=True)
class Cursor:
    """Index and id of the row the cursor is on."""

    index: int = 0
    row_id: int | None = None
    """It outlives an empty view: a filter that matches nothing for one key stroke must not lose
    the author's place."""

    def go(self, source: RowSource, index: int) -> None:
        """Go to a row, or the nearest there is; `source` has rows."""
        self.index = max(0, min(index, len(source) - 1))
        self.row_id = source.row_id(self.index)

    def follow(self, old: RowSource, new: RowSource, top: int, height: int) -> int:
        """Stay on the row, or its nearest neighbour left, in other rows; return the new top line.

        `top` and `height` are what is in sight, in lines. The row keeps its line of the screen;
        out of sight, the first line that survives keeps its own.
        """
        if self.row_id is None:
            self.restart(new)
            return 0
        before = self.index
        found = new.position_of(self.row_id)
        self.index = nearest(old, new, before) if found is None else found
        if len(new):
            self.row_id = new.row_id(self.index)
        if not len(old):
            return self.index - height // 2
        if top <= before < top + height:
            return self.index - (before - top)
        return held_top(old, new, top, height)

    def restart(self, source: RowSource) -> None:
        """Go to the first row of other rows."""
        self.index = 0
        if len(source):
            self.row_id = source.row_id(0)

    def top_in_sight(self, top: int, height: int) -> int:
        """Return the top line nearest to `top` with which the cursor is in sight."""
        return max(0, min(max(top, self.index - height + 1), self.index))
