"""Rates while verdicts are missing: their bounds, and estimates of the final values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.distributions import log_choose
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.statistics import CONFIDENCE
from guardtui.domain.verdicts import Outcome, Triggered, is_answered, is_correct

BOUNDED_RATES: tuple[str, ...] = (
    "coverage",
    "true_positive_rate",
    "true_negative_rate",
    "accuracy",
)
"""Rates of `metrics.RATES` whose final value is bounded while verdicts are missing."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A rate if every row without a verdict turned out wrong (`low`) or right (`high`)."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RateEstimate:
    """Estimate of a rate: once the open rows have verdicts, or by a forecast; low ≤ value ≤ high.

    The interval is one of 95 %.
    """

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2

    @property
    def text(self) -> str:
        """The figure with its interval: `≈0.872 (0.812 to 0.921 if scanned)`."""
        return f"≈{self.value:.3f} ({self.low:.3f} to {self.high:.3f} if scanned)"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated final rates, by the names of `BOUNDED_RATES`.

    A rate is None if its class has no rows, or neither verdicts nor predictions. `compared` counts
    rows with both a verdict and a prediction; in `differing` of them the two differ. Both are 0 for
    forecast rates.
    """

    rates: Mapping[str, RateEstimate | None]
    compared: int = 0
    differing: int = 0


def rate_bounds(
    codes: NDArray[np.int8], should_trigger: NDArray[np.bool_]
) -> dict[str, Bounds | None]:
    """Return the bounds of `BOUNDED_RATES` from outcome codes (int8 [N]) and labels (bool [N]).

    Every row counts, with or without a verdict. None if the class of a rate has no rows. Coverage
    reaches its bounds when both of its rates do. Raises ValueError if the shapes differ.
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
    """Return coverage in the worst and best case; None if a class has no rows."""
    return rate_bounds(codes, should_trigger)["coverage"]


def denominators(
    codes: NDArray[np.int8], should_trigger: NDArray[np.bool_]
) -> dict[str, tuple[int, int]]:
    """Return (rows with a verdict, rows of the class) for TPR and TNR, by name.

    Takes outcome codes (int8 [N]) and labels (bool [N]): the class of a row without a verdict comes
    from its label alone. Raises ValueError if the shapes differ.
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
    """Right rows of one class: expected number, bounds, and the number of rows.

    `unknown` open rows have no prediction: they count in the bounds only.
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
    """Estimate the rates that will result once the open rows have verdicts.

    `codes` are outcomes (int8 [N]), `should_trigger` labels (bool [N]). `predicted` are expected
    verdicts (int8 [N] of `Triggered`, negative if unknown), from the baseline or the embedded
    engine.

    The value uses the verdicts at hand. For open rows it uses the predictions, corrected by those
    verdicts: among open rows with one label and one prediction, the share that differs is taken
    from the answered rows. That share is the posterior mean of a binomial share whose prior counts
    as one correctly predicted answer (Gelman et al., Bayesian Data Analysis, section 2.4), so the
    prediction stands until answers contradict it. Open rows without a prediction do not enter the
    value. Neither do rows that were requested without getting a verdict, as in the metrics.

    The interval covers the open rows only, not the sampling error of the prompt set, which the
    intervals of the metrics show: with no open rows, low = value = high. It lets as many predicted
    rows of each label and prediction differ as the answers so far do not rule out. Open rows
    without a prediction count as wrong at one bound and right at the other. All rates hold
    simultaneously with at least `confidence` if open rows are no likelier to differ than requested
    rows; the order "most likely changed first" makes this conservative.

    Raises ValueError if the shapes differ.
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
    tail = (
        1 - confidence
    ) / 4  # per label and prediction, so that all intervals hold simultaneously

    def count(rows: NDArray[np.bool_]) -> int:
        return int(np.count_nonzero(rows))

    def differences(rows: NDArray[np.bool_]) -> tuple[int, float, int]:
        """Return the number of open rows, and how many differ: expected and at most."""
        waiting, answered_rows, differ = (
            count(rows & is_open),
            count(rows & compared),
            count(rows & differing),
        )
        return (
            waiting,
            waiting * differ / (answered_rows + 1),
            most_differing(differ, answered_rows, waiting, tail),
        )

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
    rates = (coverage, first, second, (positive + negative).rate())
    return Estimate(
        rates=dict(zip(BOUNDED_RATES, rates, strict=True)),
        compared=count(compared),
        differing=count(differing),
    )


def most_differing(differing: int, compared: int, waiting: int, tail: float) -> int:
    """Return the most of `waiting` rows that may differ, after `differing` of `compared` did.

    This is the largest count y for which so few differences among the compared rows, drawn at
    random from all, are no rarer than `tail`: P(X ≤ differing) > tail, X hypergeometric. It is the
    exact one-sided limit for a finite population (Buonaccorsi 1987). Unlike the limit of a rate, it
    also holds for few waiting rows. With nothing compared it is `waiting`.

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
    """Return P(X ≤ count), X hypergeometric: `marked` of `total` rows differ, `drawn` drawn."""
    hits = np.arange(max(0, drawn - (total - marked)), count + 1)
    log_ways = log_choose(marked, hits) + log_choose(total - marked, drawn - hits)
    return float(np.exp(log_ways - log_choose(total, drawn)).sum())


def _same_shape(codes: NDArray[np.int8], other: NDArray[np.bool_] | NDArray[np.int8]) -> None:
    if codes.shape != other.shape:
        raise ValueError(f"{codes.shape} outcomes, {other.shape} labels or predictions")


@dataclass(frozen=True, slots=True)
class PartialRates:
    """Bounds of the rates while some prompts have no verdict, with estimates if available.

    `answered` gives (rows with a verdict, rows) by rate. `waiting` counts prompts not requested
    yet, `failed` those requested without getting a verdict. If `sampled`, the answered prompts are
    a random sample of all, so their rates are estimates.
    """

    bounds: Mapping[str, Bounds | None]
    answered: Mapping[str, tuple[int, int]]
    estimate: Estimate | None
    waiting: int
    failed: int
    sampled: bool = False


def partial_rates(
    evaluation: Evaluation,
    predicted: NDArray[np.int8] | None,
    forecast: Estimate | None = None,
) -> PartialRates | None:
    """Return the partial rates of an evaluation, or None if every prompt has a verdict.

    `predicted` are the expected verdicts of its prompts, int8 [N], as in `estimate`. A `forecast`
    of the rates replaces that estimate.
    """
    metrics = evaluation.metrics
    if not metrics.missing:
        return None
    codes, duty = evaluation.codes, evaluation.should_trigger
    probable = None
    if metrics.open and forecast is not None:
        probable = forecast
    elif metrics.open and predicted is not None:
        probable = estimate(codes, duty, predicted)
    return PartialRates(
        rate_bounds(codes, duty),
        denominators(codes, duty),
        probable,
        metrics.open,
        metrics.errors,
        evaluation.is_of_a_part,
    )
