"""Which rows a remote scan asks first after an edit, and which of them are likely to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from guardtui.domain.comparison import ABSENT
from guardtui.domain.late import late
from guardtui.domain.verdicts import Outcome, is_wrong

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

LIKELY_MOVE = 0.10
"""A score of the embedded engine that moves by more than this is a likely change."""


@dataclass(frozen=True, eq=False)
class Order:
    """A permutation of all rows, intp [N], of which the first `likely` are likely changes."""

    rows: NDArray[np.intp]
    likely: int

    @property
    def likely_rows(self) -> NDArray[np.intp]:
        """The rows of a scan of the likely changes only, intp [likely]."""
        return self.rows[: self.likely]


def scan_order(
    moved: NDArray[np.float32] | None,
    flipped: NDArray[np.bool_] | None,
    earlier: NDArray[np.int8],
    cut: float = LIKELY_MOVE,
) -> Order:
    """The order in which to ask a remote scanner after an edit.

    `moved` is how far the embedded engine's score moved across the edit (float32 [N], either
    sign; NaN where unknown), `flipped` where its verdict changed (bool [N]), `earlier` the
    outcomes of the same scanner's last scan by the labels of now (int8 [N]; ABSENT for new
    prompts, ERROR for those without a verdict).

    First come rows that moved more than `cut` or flipped, then rows without a verdict so far, then
    earlier mistakes: these are the likely changes; then the rest. In each part those that moved
    most are first, in a tie those that stand first. Without `moved` nobody can tell what an edit
    leaves as it is, so that every row is a likely change. Raises ValueError when shapes differ.
    """
    total = len(earlier)
    for column in (moved, flipped):
        if column is not None and column.shape != earlier.shape:
            raise ValueError(f"{column.shape} moves, {earlier.shape} outcomes")
    distance = np.zeros(total, np.float32)
    if moved is not None:
        distance = np.abs(moved)
        distance[np.isnan(distance)] = np.inf  # unknown is as good as far
    changed = distance > cut
    if flipped is not None:
        changed |= flipped
    part = np.full(total, 3, np.int8)
    part[is_wrong(earlier)] = 2
    part[(earlier == Outcome.ERROR) | (earlier == ABSENT)] = 1
    part[changed] = 0
    rows = np.lexsort((-distance, part)).astype(np.intp, copy=False)
    return Order(rows, total if moved is None else int(np.count_nonzero(part < 3)))
