"""Near-duplicate prompts, those with contradicting labels first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.errors import GuardtuiError

Floats: TypeAlias = "NDArray[np.float32]"
Stopped = Callable[[], bool]

NEAR = 0.92
"""Cosine from which two prompts are near-duplicates.

Measured with both encoders on 7 750 requests to banks and assistants. Nine in ten of these changes
of a sentence reach it: a word like "the" left out, two words swapped, another end, "please" before
it. Fewer misspelt sentences do, since the encoders cannot read misspelt words. Different sentences
that reach it are rewordings of each other, but for one or two words; they are 0.007 % of all pairs.
A "not" alone does not always bring a pair below it.
"""

PAIRS_AT_MOST = 500
"""Maximum number of listed pairs; all are counted."""

ALL_PAIRS_AT_MOST = 20_000
"""Number of prompts above which only prompts in the same cell are compared."""

_CELL = 2_000
_TREES = 3
_BLOCK = 1_024
_SEED = 7


class StoppedError(GuardtuiError):
    """The computation was stopped."""


@dataclass(frozen=True, slots=True)
class PromptPair:
    """Two prompts, as rows with first < second, and the cosine of their vectors."""

    first: int
    second: int
    cosine: float
    contradicts: bool


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Pairs with cosine `near` or more: contradicting ones first, then by cosine, then by row.

    `total` and `contradicting` count all pairs, `pairs` are the first of them. If not `exact`,
    pairs may be missing; `among` is the number of compared prompts.
    """

    pairs: tuple[PromptPair, ...]
    total: int
    contradicting: int
    near: float
    exact: bool
    among: int


def near_duplicates(
    vectors: Floats,
    expected: NDArray[np.bool_],
    *,
    near: float = NEAR,
    most: int = PAIRS_AT_MOST,
    all_pairs_at_most: int = ALL_PAIRS_AT_MOST,
    stopped: Stopped = lambda: False,
) -> Duplicates:
    """Return pairs of unit vectors [N, d] with cosine at least `near`; `expected` are labels [N].

    Up to `all_pairs_at_most` prompts, all cosines are computed, and the result is exact. Larger
    sets are halved repeatedly at the median of a projection on a random pair's difference (a random
    projection tree, Dasgupta and Freund 2008) until a cell has 2 000 prompts, and pairs are
    searched within the cells; three times. Raises `StoppedError` if stopped, and ValueError if the
    lengths differ.
    """
    if len(vectors) != len(expected):
        raise ValueError(f"{len(vectors)} vectors but {len(expected)} labels")
    count = len(vectors)
    exact = count <= all_pairs_at_most
    search = _Search(vectors, np.asarray(expected, bool), near, most, stopped)
    if exact:
        search.compare(np.arange(count))
    else:
        random = np.random.default_rng(_SEED)
        for _ in range(_TREES):
            together = np.zeros(count, np.intp)
            for number, cell in enumerate(_cells(vectors, np.arange(count), random, stopped)):
                search.compare(cell)
                together[cell] = number
            search.compared.append(together)
    return Duplicates(search.pairs(), search.total, search.contradicting, near, exact, count)


class _Search:
    """Counts pairs, and keeps the first ones."""

    def __init__(
        self,
        vectors: Floats,
        expected: NDArray[np.bool_],
        near: float,
        most: int,
        stopped: Stopped,
    ) -> None:
        self._vectors, self._expected = vectors, expected
        self._near, self._most, self._stopped = near, most, stopped
        self.compared: list[NDArray[np.intp]] = []
        """Cells [N] of earlier trees: two rows of one cell have been compared already."""
        self.total = self.contradicting = 0
        self._first = self._second = np.empty(0, np.intp)
        self._cosine = np.empty(0, np.float32)

    def compare(self, rows: NDArray[np.intp]) -> None:
        """Find the pairs among these rows, intp [n], ascending."""
        part = self._vectors if len(rows) == len(self._vectors) else self._vectors[rows]
        for start in range(0, len(rows), _BLOCK):
            if self._stopped():
                raise StoppedError
            # Each pair once: the block against itself and what follows.
            cosines = part[start : start + _BLOCK] @ part[start:].T
            first, second = np.nonzero(cosines >= self._near)
            later = second > first
            first, second = first[later], second[later]
            self._take(rows[start + first], rows[start + second], cosines[first, second])

    def _take(self, first: NDArray[np.intp], second: NDArray[np.intp], cosine: Floats) -> None:
        for cells in self.compared:
            new = cells[first] != cells[second]
            first, second, cosine = first[new], second[new], cosine[new]
        self.total += len(first)
        contradicts = self._expected[first] != self._expected[second]
        self.contradicting += int(np.count_nonzero(contradicts))
        if len(self._first) == self._most > 0:
            # The last listed pair: most of what follows comes after it, and is counted only.
            last = self._expected[self._first[-1]] != self._expected[self._second[-1]]
            listed = contradicts if last else np.ones(len(first), bool)
            listed &= (contradicts != last) | (cosine >= self._cosine[-1])
            first, second, cosine = first[listed], second[listed], cosine[listed]
        self._first = np.concatenate([self._first, first])
        self._second = np.concatenate([self._second, second])
        self._cosine = np.concatenate([self._cosine, cosine])
        if len(self._first) > self._most:
            self._sort()

    def _sort(self) -> None:
        contradicts = self._expected[self._first] != self._expected[self._second]
        # np.lexsort sorts by the last key first.
        order = np.lexsort((self._second, self._first, -self._cosine, ~contradicts))[: self._most]
        self._first, self._second = self._first[order], self._second[order]
        self._cosine = self._cosine[order]

    def pairs(self) -> tuple[PromptPair, ...]:
        self._sort()
        contradicts = self._expected[self._first] != self._expected[self._second]
        columns = (self._first, self._second, self._cosine, contradicts)
        return tuple(
            PromptPair(first, second, min(1.0, cosine), against)
            for first, second, cosine, against in zip(
                *(column.tolist() for column in columns), strict=True
            )
        )


def _cells(
    vectors: Floats, rows: NDArray[np.intp], random: np.random.Generator, stopped: Stopped
) -> list[NDArray[np.intp]]:
    """Return the rows in cells of at most 2 000, each ascending."""
    cells, open_cells = [], [rows]
    while open_cells:
        if stopped():
            raise StoppedError
        cell = open_cells.pop()
        if len(cell) <= _CELL:
            cells.append(cell)
            continue
        first, second = random.choice(len(cell), 2, replace=False)
        along = vectors[cell] @ (vectors[cell[first]] - vectors[cell[second]])
        # By rank, so that cells of equal vectors are halved too.
        low = np.zeros(len(cell), bool)
        low[np.argsort(along, kind="stable")[: len(cell) // 2]] = True
        open_cells += [cell[low], cell[~low]]
    return cells
