"""Best of a series of iterations: how much of its lead over the others is chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SERIES_AT_LEAST = 4
"""Minimum number of iterations; fewer tell nothing about their spread."""


@dataclass(frozen=True, slots=True)
class BestOfSeries:
    """The best of `count` iterations, whose coverage is `less` lower on new prompts (≥ 0).

    That is the part of its coverage which it has for being chosen as the largest of several.
    """

    count: int
    less: float

    @property
    def text(self) -> str:
        """Return `best of 20: expect about 0.04 less on new prompts`."""
        if self.less < 0.005:
            return f"best of {self.count}"
        return f"best of {self.count}: expect about {self.less:.2f} less on new prompts"


def best_of_series(
    right: NDArray[np.bool_],
    should_trigger: NDArray[np.bool_],
    best: int,
    *,
    fitted: bool = False,
) -> BestOfSeries | None:
    """Estimate how much lower the coverage of iteration `best` is on new prompts.

    `right` tells which verdicts are right, bool [n, N] of n iterations on the same N prompts, and
    `should_trigger` their classes, bool [N]. None for fewer than `SERIES_AT_LEAST` iterations, or
    if a class has fewer than two prompts.

    The rates of each class are shrunk to their mean over the iterations, by the share of their
    spread that errors explain (James and Stein; Efron and Morris 1975, with the limit at 0). Errors
    are those of verdicts on the same prompts: what all iterations share does not favour any of
    them, and is in no part of the result. The smaller of the two is the expected coverage. If each
    threshold was `fitted` to these labels, it is lower by the mean of the smaller of two errors
    (Clark 1961).
    """
    classes = [np.flatnonzero(should_trigger == duty) for duty in (True, False)]
    if len(right) < SERIES_AT_LEAST or min(map(len, classes)) < 2:
        return None
    expected, observed, variance = [], [], 0.0
    for rows in classes:
        values = right[:, rows].astype(np.float64)
        rates = values.mean(axis=1)
        own = values - values.mean(axis=0)  # without what all iterations share
        errors = float(own.var(axis=1, ddof=1).sum()) / len(rows)
        spread = float(np.square(rates - rates.mean()).sum())
        count = len(right)
        kept = max(0.0, 1 - errors * (count - 3) / (count - 1) / spread) if spread else 0.0
        observed.append(rates[best])
        expected.append(rates.mean() + kept * (rates[best] - rates.mean()))
        variance += float(values[best].var(ddof=1)) / len(rows)
    flattered = (variance / (2 * np.pi)) ** 0.5 if fitted else 0.0
    return BestOfSeries(len(right), max(0.0, float(min(observed) - min(expected) + flattered)))
