"""Marked rows as a sorted array of ids; marking a range."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.tui.table.rows import RowSource

Ids: TypeAlias = "NDArray[np.uint64]"


def joined(ids: Ids, more: Ids) -> Ids:
    """Return the union, sorted and unique; the first array already is.

    Not `np.union1d`: since numpy 2.3 that hashes, and takes ten times as long as sorting.
    """
    # A stable sort merges two runs in one pass.
    both = np.sort(np.concatenate([ids, np.sort(more)]), kind="stable")
    first = np.ones(len(both), bool)
    np.not_equal(both[1:], both[:-1], out=first[1:])
    return both[first]


class Marker:
    """The marks of a table, and the range that Shift extends."""

    def __init__(self) -> None:
        self.ids: Ids = np.empty(0, np.uint64)
        """Ids of the marked rows, sorted and unique."""
        self._anchor: int | None = None
        """Id of the row that a range starts from; None: the cursor's row."""
        self._before: Ids | None = None
        """The marks before the current range; None outside of a range."""

    def __contains__(self, row_id: int) -> bool:
        index = self.ids.searchsorted(np.uint64(row_id))
        return bool(index < len(self.ids)) and int(self.ids[index]) == row_id

    def without(self, ids: Iterable[int]) -> Ids:
        """Return the marks without those of some rows."""
        return np.setdiff1d(self.ids, np.array(list(ids), np.uint64), assume_unique=True)

    def end_range(self, *, keep_anchor: bool = False) -> None:
        """Let the next extension begin a new range, at the cursor or at the row marked last."""
        self._before = None
        if not keep_anchor:
            self._anchor = None

    def toggled(self, row_id: int) -> Ids:
        """Return the marks with that of a row toggled; a range may then start from it."""
        self._anchor, self._before = row_id, None
        if row_id in self:
            return self.without((row_id,))
        return joined(self.ids, np.array([row_id], np.uint64))

    def extended(
        self, source: RowSource, cursor: int, index: int, *, from_cursor: bool
    ) -> Ids | None:
        """Return the marks from the anchor to a row; None if the range already ends there.

        Rows beyond it that the range had marked get their earlier state.
        """
        start = None if self._anchor is None else source.position_of(self._anchor)
        if start is None or self._before is None:
            self._before = self.ids
            if start is None or from_cursor:
                start = cursor
        elif index == cursor:
            return None
        self._anchor = int(source.row_ids[start])
        first, last = sorted((start, index))
        return joined(self._before, source.row_ids[first : last + 1])
