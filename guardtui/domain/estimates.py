"""Rates while rows are open or without a verdict: best and worst case, and what they will be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.statistics import CONFIDENCE
from guardtui.domain.verdicts import Outcome, Triggered, is_answered, is_correct

BOUNDED_RATES: tuple[str, ...] = (
    "coverage",
    "true_positive_rate",
    "true_negative_rate",
    "accuracy",
)
"""The rates of `metrics.RATES` that more verdicts can only move between two known limits."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A rate if every row without a verdict turned out wrong (`low`) or right (`high`)."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RateEstimate:
    """What a rate will probably be when the open rows are in: low ≤ value ≤ high."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rates as they will probably be, by the names of `BOUNDED_RATES`.

    A rate is None where nothing speaks for it: its class is missing, or has neither a verdict nor
    a prediction. `open_rows` counts the rows still to be asked; of `compared` rows that have both
    a verdict and a prediction, `differing` answered otherwise than was predicted; both are 0 where
    the rates are forecast.
    """

    rates: Mapping[str, RateEstimate | None]
    open_rows: int
    compared: int = 0
    differing: int = 0


def rate_bounds(
    codes: NDArray[np.int8], should_trigger: NDArray[np.bool_]
) -> dict[str, Bounds | None]:
    """Bounds of each of `BOUNDED_RATES` from outcome codes (int8 [N]) and labels (bool [N]).

    Every row counts, with or without a verdict; None where a rate's class has no row at all.
    Coverage reaches its bounds where both of its rates do. Raises ValueError when shapes differ.
    """
    _same_shape(codes, should_trigger)
    correct, missing = is_correct(codes), codes >= Outcome.ERROR

    def bounds(rows: NDArray[np.bool_]) -> Bounds | None:
        total = int(np.count_nonzero(rows))
        if not total:
            return None
        right = int(np.count_nonzero(correct & rows))
        return Bounds(right / total, (right + int(np.count_nonzero(missing & rows))) / total)

    positive, negative = bounds(should_trigger), bounds(~should_trigger)
    coverage = None
    if positive and negative:
        coverage = Bounds(min(positive.low, negative.low), min(positive.high, negative.high))
    everything = bounds(np.ones(len(codes), bool))
    return dict(
        zip(BOUNDED_RATES, (coverage, positive, negative, everything), strict=True),
    )


def coverage_bounds(codes: NDArray[np.int8], should_trigger: NDArray[np.bool_]) -> Bounds | None:
    """Coverage in the worst and in the best case; None when a class is missing altogether."""
    return rate_bounds(codes, should_trigger)["coverage"]


def denominators(
    codes: NDArray[np.int8], should_trigger: NDArray[np.bool_]
) -> dict[str, tuple[int, int]]:
    """For TPR and TNR, by name: rows with a verdict, of how many rows of that class.

    Takes outcome codes (int8 [N]) and labels (bool [N]): a row without a verdict has its class
    from its label alone. Raises ValueError when the shapes differ.
    """
    _same_shape(codes, should_trigger)
    answered = codes < Outcome.ERROR
    return {
        name: (int(np.count_nonzero(answered & rows)), int(np.count_nonzero(rows)))
        for name, rows in (
            ("true_positive_rate", should_trigger),
            ("true_negative_rate", ~should_trigger),
        )
    }


@dataclass(frozen=True, slots=True)
class _Share:
    """Rows of one class: right ones (expected, at least, at most) of how many.

    `unknown` open rows have no prediction: they are in the two extremes only.
    """

    right: float
    low: int
    high: int
    total: int
    unknown: int

    def __add__(self, other: _Share) -> _Share:
        return _Share(
            self.right + other.right,
            self.low + other.low,
            self.high + other.high,
            self.total + other.total,
            self.unknown + other.unknown,
        )

    def rate(self) -> RateEstimate | None:
        if not self.total:
            return None
        whole = self.total + self.unknown
        low, high = self.low / whole, (self.high + self.unknown) / whole
        return RateEstimate(min(max(self.right / self.total, low), high), low, high)


def estimate(
    codes: NDArray[np.int8],
    should_trigger: NDArray[np.bool_],
    predicted: NDArray[np.int8],
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Rates as they will probably be when the open rows are in.

    `codes` are outcomes (int8 [N]), `should_trigger` labels (bool [N]), `predicted` the verdicts
    expected of the rows (int8 [N] of `Triggered`, negative where nothing is): those of the
    baseline, or of the embedded engine.

    The value takes the answers that came and, for open rows, the predictions corrected by those
    answers: of the open rows with one label and one prediction, as many differ from it as did of
    the answered ones. That share is the posterior mean of a binomial share whose prior counts as
    one answer that came as predicted (Gelman et al., Bayesian Data Analysis, section 2.4), so that
    the prediction stands until answers contradict it. Open rows without a prediction are left out
    of the value, and so are rows that were asked and have no verdict, as in the metrics.

    The interval covers only what is still open, not the sampling error of the prompt set, which
    the intervals of the metrics show: when no row is open, low = value = high. It lets as many
    predicted rows of each label and prediction differ as the answers so far do not rule out, and
    takes open rows without a prediction for wrong or right. All rates hold at once with at least
    `confidence` when the open rows are no likelier to differ than those asked: the order "most
    likely changed first" makes that the safe side.

    Raises ValueError when shapes differ.
    """
    _same_shape(codes, should_trigger)
    _same_shape(codes, predicted)
    is_open, answered = codes == Outcome.OPEN, codes < Outcome.ERROR
    correct = is_correct(codes)
    has_prediction = is_answered(predicted)
    predicted_correct = has_prediction & ((predicted == Triggered.YES) == should_trigger)
    # An answer differs from the prediction exactly when only one of the two is correct.
    compared = answered & has_prediction
    differing = compared & (correct != predicted_correct)
    tail = (1 - confidence) / 4  # of each label and prediction, so that all hold at once

    def count(rows: NDArray[np.bool_]) -> int:
        return int(np.count_nonzero(rows))

    def differences(rows: NDArray[np.bool_]) -> tuple[int, float, int]:
        """Open rows; of them those that are expected to differ, and may differ at most."""
        waiting, asked, differ = (
            count(rows & is_open),
            count(rows & compared),
            count(rows & differing),
        )
        return waiting, waiting * differ / (asked + 1), most_differing(differ, asked, waiting, tail)

    def share(rows: NDArray[np.bool_]) -> _Share:
        right, lost, most_lost = differences(rows & predicted_correct)
        wrong, won, most_won = differences(rows & has_prediction & ~predicted_correct)
        done = count(correct & rows)
        return _Share(
            right=done + right - lost + won,
            low=done + right - most_lost,
            high=done + right + most_won,
            total=count(answered & rows) + right + wrong,
            unknown=count(rows & is_open) - right - wrong,
        )

    positive, negative = share(should_trigger), share(~should_trigger)
    first, second = positive.rate(), negative.rate()
    coverage = None
    if first and second:
        coverage = RateEstimate(
            min(first.value, second.value),
            min(first.low, second.low),
            min(first.high, second.high),
        )
    found = (coverage, first, second, (positive + negative).rate())
    return Estimate(
        rates=dict(zip(BOUNDED_RATES, found, strict=True)),
        open_rows=count(is_open),
        compared=count(compared),
        differing=count(differing),
    )


def most_differing(differing: int, compared: int, waiting: int, tail: float) -> int:
    """How many of `waiting` rows may differ, after `differing` of `compared` did.

    The largest count y for which so few differences among those compared are no rarer than `tail`,
    had these been drawn by lot from all: P(X ≤ differing) > tail, X hypergeometric. That is the
    exact one-sided limit for a finite population (Buonaccorsi 1987); unlike a limit of a rate it
    holds for few waiting rows too, and with nothing compared it is all of them.
    Raises ValueError unless 0 ≤ differing ≤ compared and waiting ≥ 0.
    """
    if not 0 <= differing <= compared or waiting < 0:
        raise ValueError(f"{differing} differ of {compared}, {waiting} waiting")
    low, high = 0, waiting  # the limit is in low…high: with no more difference, P(X ≤ x) is 1
    while low < high:
        middle = (low + high + 1) // 2
        if _at_most(differing, compared, differing + middle, compared + waiting) > tail:
            low = middle
        else:
            high = middle - 1
    return low


def _at_most(count: int, drawn: int, marked: int, total: int) -> float:
    """P(X ≤ count) for X hypergeometric: `drawn` of `total` rows, of which `marked` differ."""
    from scipy import special

    hits = np.arange(max(0, drawn - (total - marked)), count + 1, dtype=np.float64)

    def log_choose(whole: int, part: NDArray[np.float64]) -> NDArray[np.float64]:
        logs: NDArray[np.float64] = (
            special.gammaln(whole + 1.0)
            - special.gammaln(part + 1.0)
            - special.gammaln(whole - part + 1.0)
        )
        return logs

    ways = log_choose(marked, hits) + log_choose(total - marked, drawn - hits)
    return float(np.exp(ways - log_choose(total, np.array([drawn], np.float64))).sum())


def _same_shape(codes: NDArray[np.int8], other: NDArray[np.bool_] | NDArray[np.int8]) -> None:
    if codes.shape != other.shape:
        raise ValueError(f"{codes.shape} outcomes, {other.shape} labels or predictions")
