"""Marked rows as ids, with fast lookup for a million marks; marking a range."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.tui.table.rows import RowSource, ids_between

Ids: TypeAlias = "NDArray[np.uint64]"

# Up to this size, changes are kept beside the array: a new array at each key would be slow.
_FEW = 4096


def _array(ids: Iterable[int]) -> Ids:
    if isinstance(ids, np.ndarray):
        return ids.astype(np.uint64, copy=False)
    return np.array(list(ids), np.uint64)


def _merged(ordered: Ids, more: Ids) -> Ids:
    """Return the union, sorted and unique; the first array already is.

    Not `np.union1d`: since numpy 2.3 that hashes, and takes ten times as long as sorting.
    """
    more = np.sort(more)
    # A stable sort merges two runs in one pass.
    ids = np.sort(np.concatenate([ordered, more]), kind="stable") if len(ordered) else more
    first = np.ones(len(ids), bool)
    np.not_equal(ids[1:], ids[:-1], out=first[1:])
    return ids[first]


def _reduced(ordered: Ids, fewer: Ids) -> Ids:
    """Return the first array, which is sorted and unique, without the ids of the second."""
    if not len(ordered):
        return ordered
    # A sorted search is faster: neighbours are near each other in memory.
    fewer = np.sort(fewer)
    positions = np.minimum(ordered.searchsorted(fewer), len(ordered) - 1)
    left = np.ones(len(ordered), bool)
    left[positions[ordered[positions] == fewer]] = False
    return ordered[left]


class Marks:
    """An immutable set of row ids: a sorted array, and a few changes to it."""

    def __init__(
        self,
        block: Ids | None = None,
        added: frozenset[int] = frozenset(),
        removed: frozenset[int] = frozenset(),
    ) -> None:
        """`block` is sorted and unique; `added` is disjoint from it, `removed` is a part of it."""
        self._given = block
        self._added = added
        self._removed = removed

    @cached_property
    def _block(self) -> Ids:
        return np.empty(0, np.uint64) if self._given is None else self._given

    def __len__(self) -> int:
        block = 0 if self._given is None else len(self._given)
        return block + len(self._added) - len(self._removed)

    def __contains__(self, row_id: int) -> bool:
        return row_id in self._added or (self._in_block(row_id) and row_id not in self._removed)

    def _in_block(self, row_id: int) -> bool:
        index = int(self._block.searchsorted(np.uint64(row_id)))
        return index < len(self._block) and int(self._block[index]) == row_id

    @cached_property
    def ids(self) -> Ids:
        """All ids, sorted, uint64 [n]."""
        ids = self._block
        if self._removed:
            ids = _reduced(ids, _array(self._removed))
        return _merged(ids, _array(self._added)) if self._added else ids

    @cached_property
    def frozen(self) -> frozenset[int]:
        """All ids; made on first use, since a million take long."""
        return frozenset(self.ids.tolist())

    def with_ids(self, ids: Iterable[int]) -> Marks:
        """Return these marks and more; the same object if nothing is added."""
        more = _array(ids)
        if len(more) > _FEW:
            marks = Marks(_merged(self.ids, more))
            return marks if len(marks) > len(self) else self
        new = {row_id for row_id in more.tolist() if row_id not in self}
        if not new:
            return self
        restored = new & self._removed
        return Marks(
            self._block, self._added | (new - restored), self._removed - restored
        )._settled()

    def without(self, ids: Iterable[int]) -> Marks:
        """Return these marks without some; the same object if nothing is removed."""
        fewer = _array(ids)
        if len(fewer) > _FEW:
            marks = Marks(_reduced(self.ids, fewer))
            return marks if len(marks) < len(self) else self
        gone = {row_id for row_id in fewer.tolist() if row_id in self}
        if not gone:
            return self
        return Marks(
            self._block, self._added - gone, self._removed | (gone - self._added)
        )._settled()

    def _settled(self) -> Marks:
        many = len(self._added) > _FEW or len(self._removed) > _FEW
        return Marks(self.ids) if many else self


class Marker:
    """The marks of a table, and the range that Shift extends."""

    def __init__(self) -> None:
        self.marks = Marks()
        self._anchor: int | None = None
        """Id of the row that a range starts from; None: the cursor's row."""
        self._before: Marks | None = None
        """The marks before the current range; None outside of a range."""

    def end_range(self, *, keep_anchor: bool = False) -> None:
        """Let the next extension begin a new range, at the cursor or at the row marked last."""
        self._before = None
        if not keep_anchor:
            self._anchor = None

    def toggled(self, row_id: int) -> Marks:
        """Return the marks with that of a row toggled; a range may then start from it."""
        self._anchor, self._before = row_id, None
        if row_id in self.marks:
            return self.marks.without((row_id,))
        return self.marks.with_ids((row_id,))

    def extended(
        self, source: RowSource, cursor: int, index: int, *, from_cursor: bool
    ) -> Marks | None:
        """Return the marks from the anchor to a row; None if the range already ends there.

        Rows beyond it that the range had marked get their earlier state.
        """
        start = None if self._anchor is None else source.position_of(self._anchor)
        if start is None or self._before is None:
            self._before = self.marks
            if start is None or from_cursor:
                start = cursor
        elif index == cursor:
            return None
        self._anchor = source.row_id(start)
        first, last = sorted((start, index))
        return self._before.with_ids(ids_between(source, first, last + 1))
