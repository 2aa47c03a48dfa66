"""Agreement of two scanners' verdicts on the same prompts: counts, kappa, and who says more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.statistics import CONFIDENCE, Interval, mcnemar_p_value, wilson_interval
from guardtui.domain.verdicts import Triggered, is_answered


@dataclass(frozen=True, eq=False)
class Agreement:
    """Two columns of verdicts held against each other.

    `both`, `first_only`, `second_only` and `neither` count who triggered, among rows where both
    have a verdict; `left_out` are the others. `differ` are the rows where only one triggered,
    intp [first_only + second_only], in their order.
    """

    both: int
    first_only: int
    second_only: int
    neither: int
    left_out: int
    differ: NDArray[np.intp]

    @property
    def total(self) -> int:
        """Rows where both have a verdict."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def observed(self) -> float | None:
        """Share of rows with the same verdict; None when no row has two."""
        return (self.both + self.neither) / self.total if self.total else None

    def interval(self, confidence: float = CONFIDENCE) -> Interval | None:
        """Wilson's interval of the observed agreement; None when no row has two verdicts."""
        return wilson_interval(self.both + self.neither, self.total, confidence)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa (1960), (observed − by chance) / (1 − by chance), from −1 to 1.

        None when undefined: no row has two verdicts, or both gave one and the same answer to all.
        """
        total = self.total
        first, second = self.both + self.first_only, self.both + self.second_only
        # In whole numbers, as total²: no rounding decides whether chance alone explains all.
        chance = first * second + (total - first) * (total - second)
        if chance == total * total:
            return None
        return ((self.both + self.neither) * total - chance) / (total * total - chance)

    @property
    def p_value(self) -> float:
        """McNemar's exact p-value of the direction: does one of the two trigger more often."""
        return mcnemar_p_value(self.first_only, self.second_only)


def agreement(first: NDArray[np.int8], second: NDArray[np.int8]) -> Agreement:
    """Compare verdicts (int8 [N] each, values of `Triggered`) row by row.

    Raises ValueError when the shapes differ.
    """
    if first.shape != second.shape:
        raise ValueError(f"{first.shape} and {second.shape} verdicts")
    known = is_answered(first) & is_answered(second)
    one, other = known & (first == Triggered.YES), known & (second == Triggered.YES)
    both = int(np.count_nonzero(one & other))
    first_only = int(np.count_nonzero(one)) - both
    second_only = int(np.count_nonzero(other)) - both
    total = int(np.count_nonzero(known))
    return Agreement(
        both=both,
        first_only=first_only,
        second_only=second_only,
        neither=total - both - first_only - second_only,
        left_out=len(first) - total,
        differ=np.flatnonzero(one != other),
    )
