"""Intervals and tests: precision of rates, and whether a difference may be chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.distributions import binomial_cdf, normal_quantile, smallest_beta_quantile
from guardtui.domain.metrics import Metrics
from guardtui.domain.verdicts import Outcome

CONFIDENCE = 0.95

_TAIL_SHARE = 0.6  # of what an interval of coverage may miss, beyond an end of a single rate


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a rate: 0 ≤ low ≤ high ≤ 1."""

    low: float
    high: float


def wilson_interval(hits: int, total: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Return Wilson's score interval of a binomial rate; None if `total` is 0.

    Source: Wilson (1927), without continuity correction. Raises ValueError unless
    0 ≤ hits ≤ total.
    """
    if not 0 <= hits <= total:
        raise ValueError(f"{hits} hits of {total}")
    if total == 0:
        return None
    z = float(normal_quantile(0.5 + confidence / 2))
    rate = hits / total
    centre = rate + z * z / (2 * total)
    spread = z * float((rate * (1 - rate) / total + z * z / (4 * total * total)) ** 0.5)
    scale = 1 + z * z / total
    low = 0.0 if hits == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if hits == total else min(1.0, (centre + spread) / scale)
    return Interval(low, high)


def coverage_interval(
    metrics: Metrics, confidence: float = CONFIDENCE, *, fitted: bool = False
) -> Interval | None:
    """Return the interval of coverage for new prompts; None if coverage is undefined.

    Coverage is the smaller of two independent rates. Each has an interval of Clopper and Pearson
    (1934); the smaller lower and the smaller upper ends are returned. Where the rates are far
    apart, this is the interval of the smaller one. Where they are equal, the upper end errs with
    either of the two, the lower end only with both at once (intersection-union, Berger 1982):
    1 − (1 − t)² + t² in all, if an end of one rate errs with t. The tails t are 0.03 for 95 %,
    because exact intervals of counts are too long with 0.025.

    If the threshold was `fitted` to these labels, both rates are about equal because it was chosen
    so, and on new prompts each of them is off independently: the smaller one is lower. The ends are
    then quantiles of the smaller of two independent posteriors: 0.025 with Jeffreys' prior (Brown,
    Cai and DasGupta 2001) below, 0.01 with Beta(¾, ¼) above, so that it also holds where wide gaps
    between the scores leave the fit no choice.

    The first holds in at least 94 % of samples for any rates, and in 96 % in the mean from 30
    prompts of each class on; for the second see `benchmarks/intervals.py`.
    """
    if metrics.coverage is None:
        return None
    rates = ((metrics.tp, metrics.fn), (metrics.tn, metrics.fp))
    if fitted:
        low, high = (
            smallest_beta_quantile(
                probability, *((right + prior, wrong + 1 - prior) for right, wrong in rates)
            )
            for probability, prior in (
                ((1 - confidence) / 2, 0.5),
                (1 - (1 - confidence) / 5, 0.75),
            )
        )
        # Without this, a small sample at 0 or 1 would put the estimate outside of its interval.
        return Interval(min(low, metrics.coverage), max(high, metrics.coverage))
    tail = _TAIL_SHARE * (1 - confidence)
    lows = [
        smallest_beta_quantile(tail, (right, wrong + 1)) if right else 0.0 for right, wrong in rates
    ]
    highs = [
        smallest_beta_quantile(1 - tail, (right + 1, wrong)) if wrong else 1.0
        for right, wrong in rates
    ]
    return Interval(min(lows), min(highs))


def rate_intervals(
    metrics: Metrics, confidence: float = CONFIDENCE, *, fitted: bool = False
) -> dict[str, Interval | None]:
    """Return intervals of TPR and TNR (Wilson) and of coverage, by the rate's name in `Metrics`.

    `fitted` tells whether the threshold was fitted to these labels, as in `coverage_interval`.
    """
    positives, negatives = metrics.tp + metrics.fn, metrics.tn + metrics.fp
    return {
        "coverage": coverage_interval(metrics, confidence, fitted=fitted),
        "true_positive_rate": wilson_interval(metrics.tp, positives, confidence),
        "true_negative_rate": wilson_interval(metrics.tn, negatives, confidence),
    }


def standard_error(
    values: NDArray[np.float64], clusters: NDArray[np.integer] | None = None
) -> float | None:
    """Return the standard error of the mean of values [n]; None for fewer than two.

    The formula is std / sqrt(n) with n − 1 degrees of freedom. With `clusters` (codes [n] from 0),
    values of one cluster may be dependent: sqrt(Σ d_c² · C / (C − 1)) / n, d_c the sum of a
    cluster's deviations from the mean (Cameron and Miller 2015, equation 11 for a mean); None for
    fewer than two clusters. Raises ValueError if the shapes differ.
    """
    if clusters is None:
        clusters = np.arange(len(values))
    if clusters.shape != values.shape:
        raise ValueError(f"{values.shape} values, {clusters.shape} clusters")
    _, codes = np.unique(clusters, return_inverse=True)
    count = int(codes.max()) + 1 if len(codes) else 0
    if count < 2:
        return None
    sums = np.bincount(codes, weights=values - values.mean(), minlength=count)
    return float(np.sqrt(np.dot(sums, sums) * count / (count - 1)) / len(values))


def rate_errors(
    codes: NDArray[np.int8],
    should_trigger: NDArray[np.bool_],
    share: NDArray[np.float32] | None = None,
    clusters: NDArray[np.integer] | None = None,
) -> dict[str, float | None]:
    """Return standard errors of TPR, TNR and accuracy, by the rate's name in `Metrics`.

    Takes outcome codes (int8 [N]) and labels (bool [N]). `share` is how often each prompt triggered
    over its epochs (float [N], NaN unknown): a prompt then counts by its share of right answers,
    and the error is that of the mean over prompts. `clusters` [N] as in `standard_error`.
    """
    right = (codes == Outcome.TP) | (codes == Outcome.TN)
    values = right.astype(np.float64)
    if share is not None:
        values = np.where(should_trigger, share, 1 - share).astype(np.float64)
    answered = (codes < Outcome.ERROR) & ~np.isnan(values)
    errors: dict[str, float | None] = {}
    for name, rows in (
        ("true_positive_rate", answered & should_trigger),
        ("true_negative_rate", answered & ~should_trigger),
        ("accuracy", answered),
    ):
        errors[name] = standard_error(values[rows], None if clusters is None else clusters[rows])
    return errors


def mcnemar_p_value(regressions: int, fixes: int) -> float:
    """Return McNemar's exact two-sided p-value of discordant pairs; 1.0 if there are none.

    Source: McNemar (1947) in its exact binomial form, min(1, 2·P(X ≤ min) with X ~ B(n, ½)). Raises
    ValueError for negative counts.
    """
    if regressions < 0 or fixes < 0:
        raise ValueError(f"{regressions} regressions, {fixes} fixes")
    discordant = regressions + fixes
    if discordant == 0:
        return 1.0
    return min(1.0, 2 * binomial_cdf(min(regressions, fixes), discordant, 0.5))
