"""Agreement of guardrails' verdicts on the same prompts, and labels that several contradict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.statistics import Interval, mcnemar_p_value, wilson_interval
from guardtui.domain.verdicts import Triggered, is_answered


@dataclass(frozen=True, eq=False)
class Agreement:
    """The verdicts of two scanners on the same prompts, counted row by row.

    `both`, `first_only`, `second_only` and `neither` count which scanner triggered, among rows
    where both have a verdict. `left_out` counts the other rows. `differ` holds the rows where
    exactly one triggered, intp [first_only + second_only], in row order.
    """

    both: int
    first_only: int
    second_only: int
    neither: int
    left_out: int
    differ: NDArray[np.intp]

    @property
    def total(self) -> int:
        """Number of rows where both scanners have a verdict."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def observed(self) -> float | None:
        """Share of rows with the same verdict; None if no row has two verdicts."""
        return (self.both + self.neither) / self.total if self.total else None

    def interval(self) -> Interval | None:
        """Wilson interval of the observed agreement; None if no row has two verdicts."""
        return wilson_interval(self.both + self.neither, self.total)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa (1960), (observed − by chance) / (1 − by chance), from −1 to 1.

        None if undefined: no row has two verdicts, or both scanners gave the same answer to every
        row.
        """
        total = self.total
        first, second = self.both + self.first_only, self.both + self.second_only
        # Integers scaled by total², so rounding cannot decide whether chance explains everything.
        chance = first * second + (total - first) * (total - second)
        if chance == total * total:
            return None
        return ((self.both + self.neither) * total - chance) / (total * total - chance)

    @property
    def p_value(self) -> float:
        """McNemar's exact p-value for one of the two scanners triggering more often."""
        return mcnemar_p_value(self.first_only, self.second_only)


def agreement(first: NDArray[np.int8], second: NDArray[np.int8]) -> Agreement:
    """Compare verdicts (int8 [N] each, values of `Triggered`) row by row.

    Raises ValueError if the shapes differ.
    """
    if first.shape != second.shape:
        raise ValueError(f"{first.shape} and {second.shape} verdicts")
    answered = is_answered(first) & is_answered(second)
    first_yes, second_yes = (
        answered & (first == Triggered.YES),
        answered & (second == Triggered.YES),
    )
    both = int(np.count_nonzero(first_yes & second_yes))
    first_only = int(np.count_nonzero(first_yes)) - both
    second_only = int(np.count_nonzero(second_yes)) - both
    total = int(np.count_nonzero(answered))
    return Agreement(
        both=both,
        first_only=first_only,
        second_only=second_only,
        neither=total - both - first_only - second_only,
        left_out=len(first) - total,
        differ=np.flatnonzero(first_yes != second_yes),
    )


LEAST_AGAINST = 2
"""Independent guardrails that must contradict a label; a single one may simply be weak."""


def suspects(should_trigger: NDArray[np.bool_], answers: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return which labels (bool [N]: should trigger) are doubtful, bool [N].

    Each row of `answers` (int8 [S, N], values of `Triggered`) holds the answers of one independent
    guardrail. A label is doubtful if at least two contradict it, and more contradict than confirm
    it. Raises ValueError if the shapes differ.
    """
    if answers.shape[1:] != should_trigger.shape:
        raise ValueError(f"{answers.shape} answers for {should_trigger.shape} labels")
    answered = is_answered(answers)
    confirming = answered & ((answers == Triggered.YES) == should_trigger)
    against = (answered & ~confirming).sum(axis=0)
    doubtful: NDArray[np.bool_] = (against >= LEAST_AGAINST) & (against > confirming.sum(axis=0))
    return doubtful
