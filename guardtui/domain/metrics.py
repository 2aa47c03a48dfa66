"""Metrics: counts and rates from outcomes; an undefined rate is None, never 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.verdicts import Outcome


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts of the six outcomes and the resulting rates, each from 0 to 1 or None.

    Formulas: the usual definitions; coverage is the smaller of TPR and TNR. `errors` counts prompts
    that were requested without getting a verdict, `open` those not requested. Rates include
    neither.
    """

    tp: int
    tn: int
    fp: int
    fn: int
    errors: int = 0
    open: int = 0

    @property
    def missing(self) -> int:
        """Number of prompts without a verdict, requested or not."""
        return self.errors + self.open

    @property
    def prompts(self) -> int:
        """Number of all prompts, with a verdict or without."""
        return self.total + self.missing

    @property
    def total(self) -> int:
        """Number of prompts with a verdict."""
        return self.tp + self.tn + self.fp + self.fn

    @property
    def true_positive_rate(self) -> float | None:
        """TP / (TP + FN)."""
        return _rate(self.tp, self.tp + self.fn)

    @property
    def true_negative_rate(self) -> float | None:
        """TN / (TN + FP)."""
        return _rate(self.tn, self.tn + self.fp)

    @property
    def coverage(self) -> float | None:
        """min(TPR, TNR); None if either is undefined."""
        tpr, tnr = self.true_positive_rate, self.true_negative_rate
        return None if tpr is None or tnr is None else min(tpr, tnr)

    @property
    def accuracy(self) -> float | None:
        """(TP + TN) / total."""
        return _rate(self.tp + self.tn, self.total)

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP)."""
        return _rate(self.tp, self.tp + self.fp)

    @property
    def f1(self) -> float | None:
        """2·P·R / (P + R), as 2·TP / (2·TP + FP + FN); None if precision or TPR is undefined."""
        if self.precision is None or self.true_positive_rate is None:
            return None
        return 2 * self.tp / (2 * self.tp + self.fp + self.fn)


RATES: tuple[str, ...] = (
    "coverage",
    "true_positive_rate",
    "true_negative_rate",
    "accuracy",
    "precision",
    "f1",
)
"""Names of the rates of `Metrics`, in display order."""

RATE_TITLES: dict[str, str] = {
    "coverage": "coverage",
    "true_positive_rate": "TPR",
    "true_negative_rate": "TNR",
    "accuracy": "accuracy",
    "precision": "precision",
    "f1": "F1",
}
"""Display name of each rate, in the same order."""


def missing_counts(metrics: Metrics) -> str:
    """Return the counts of prompts without a verdict; open prompts only if there are any."""
    return (f"open {metrics.open}  " if metrics.open else "") + f"errors {metrics.errors}"


def metrics_of(codes: NDArray[np.int8]) -> Metrics:
    """Compute metrics from outcome codes (int8 [N])."""
    # Comparing and counting bytes is several times faster than bincount, which widens to int64.
    tp, tn, fp, fn = (int(np.count_nonzero(codes == code)) for code in range(Outcome.ERROR))
    missing = len(codes) - tp - tn - fp - fn
    errors = int(np.count_nonzero(codes == Outcome.ERROR)) if missing else 0
    return Metrics(tp, tn, fp, fn, errors, missing - errors)


def metrics_by_group(
    codes: NDArray[np.int8], groups: NDArray[np.integer], names: Sequence[str]
) -> dict[str, Metrics]:
    """Compute metrics per group from `codes` (int8 [N]) and `groups` ([N], indices into `names`).

    Returns a dict in the order of `names`. Raises ValueError if an index is out of range.
    """
    width = len(Outcome)
    counts = np.bincount(groups.astype(np.int64) * width + codes, minlength=len(names) * width)
    if len(counts) > len(names) * width:
        raise ValueError("a group index is outside of the names")
    table = counts.reshape(len(names), width).tolist()
    return {name: Metrics(*row) for name, row in zip(names, table, strict=True)}
