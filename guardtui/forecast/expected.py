"""Expected rates of a forecast, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.estimates import BOUNDED_RATES, RateEstimate
from guardtui.forecast.model import MatchProbabilities

Array: TypeAlias = "NDArray[np.floating]"

VARIANCE = 2.0
"""Variance of the rates relative to that of the model: similar prompts err alike."""
DEGREES = 3
"""Degrees of freedom of the distribution of the rates: large errors are frequent."""
FIRST_SCAN_WIDTH = 0.7
"""Width of the intervals of a first scan relative to the model's, which allow for an edit."""
_DRAWS = 2_000
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class ExpectedRates:
    """True positive rate, true negative rate, coverage and accuracy.

    A rate is None if its class has no prompt. `better` is the probability that coverage is higher
    than the one it was compared with, or None.
    """

    tpr: RateEstimate | None
    tnr: RateEstimate | None
    coverage: RateEstimate | None
    accuracy: RateEstimate | None
    better: float | None = None

    @property
    def by_name(self) -> dict[str, RateEstimate | None]:
        """The rates by the names of `BOUNDED_RATES`."""
        rates = (self.coverage, self.tpr, self.tnr, self.accuracy)
        return dict(zip(BOUNDED_RATES, rates, strict=True))


def expected_rates(
    chances: MatchProbabilities, belongs: NDArray[np.bool_], before: float | None = None
) -> ExpectedRates:
    """Return the rates expected for prompts that belong to the topic or not, bool [N].

    The rates are means of probabilities. Their joint distribution is approximated as a multivariate
    t with `DEGREES` degrees of freedom (Lange, Little and Taylor 1989) and `VARIANCE` times the
    covariance of the model: variances of single verdicts plus those of the parameters shared by all
    prompts (delta method), so that a shift of the operating point moves both rates against each
    other. `before` is the coverage to compare with. For `allow` topics the rates swap; coverage is
    the same.
    """
    if belongs.all() or not belongs.any():
        matches = bool(belongs.any())
        rate = _alone(chances, matches=matches)
        return ExpectedRates(rate if matches else None, None if matches else rate, None, rate)
    rates = np.array([chances.match[belongs].mean(), 1 - chances.match[~belongs].mean()])
    slopes = np.stack([chances.slope(belongs), -chances.slope(~belongs)])
    covariance = slopes @ chances.shared @ slopes.T
    covariance += np.diag([_own_variance(chances.match[group]) for group in (belongs, ~belongs)])
    ends = [_certain(chances.match[belongs]), _certain(chances.match[~belongs])]
    least, most = (ends[0][0], 1 - ends[1][1]), (ends[0][1], 1 - ends[1][0])
    drawn = np.clip(rates + _t_draws() @ np.linalg.cholesky(covariance).T, least, most)
    smaller = drawn.min(axis=1)
    share = np.array([belongs.mean(), 1 - belongs.mean()])
    better = None if before is None else _probability_above(drawn, belongs, before)
    return ExpectedRates(
        _expected(rates[0], drawn[:, 0]),
        _expected(rates[1], drawn[:, 1]),
        _expected(rates.min(), smaller),
        _expected(rates @ share, drawn @ share),
        better,
    )


def expected_change(
    before: MatchProbabilities, after: MatchProbabilities, belongs: NDArray[np.bool_]
) -> RateEstimate | None:
    """Return the change of coverage expected from one definition to another; None without a class.

    Both are of the same model: what its parameters leave open cancels as far as it is common. The
    last parameter is each definition's own.
    """
    if belongs.all() or not belongs.any():
        return None
    both, size = (before, after), len(before.shared)
    rates, slopes, variances = [], [], []
    for index, chances in enumerate(both):
        for group, sign in ((belongs, 1.0), (~belongs, -1.0)):
            match = chances.match[group]
            rates.append(match.mean() if sign > 0 else 1 - match.mean())
            slope = np.zeros(size + 1)
            own = sign * chances.slope(group)
            slope[: size - 1], slope[size - 1 + index] = own[:-1], own[-1]
            slopes.append(slope)
            variances.append(_own_variance(match))
    shared = np.zeros((size + 1, size + 1))
    shared[:size, :size] = before.shared
    shared[size, size] = after.shared[-1, -1]
    stacked = np.stack(slopes)
    covariance = stacked @ shared @ stacked.T + np.diag(variances)
    normal = np.random.default_rng(20).normal(size=(_DRAWS, 4))
    drawn = np.clip(rates + normal @ np.linalg.cholesky(covariance).T, 0.0, 1.0)
    change = drawn[:, 2:].min(axis=1) - drawn[:, :2].min(axis=1)
    return _expected(float(min(rates[2:]) - min(rates[:2])), change)


def _probability_above(drawn: Array, belongs: NDArray[np.bool_], before: float) -> float:
    """Return the probability that coverage is above `before`, from drawn rates [n, 2].

    Rates are rounded to whole prompts: often no verdict of the smaller rate changes.
    """
    counts = np.array([np.count_nonzero(belongs), np.count_nonzero(~belongs)])
    coverage = (np.rint(drawn * counts) / counts).min(axis=1)
    return float((coverage > before + 1e-9).mean())


def averaged_with_counts(
    rates: ExpectedRates, belongs: NDArray[np.bool_], matched: NDArray[np.int8]
) -> ExpectedRates:
    """Return the rates of a first scan: the average of the model's with those of its answers.

    `matched` int8 [N] are the answers so far (negative if open), on prompts that are like the open
    ones. The model is shrunk to what the features say, counting is not, and their errors differ: a
    class without errors counts three times as much as the model. For coverage the two rates are
    shrunk towards each other by half of the variance of their difference (James and Stein; Efron
    and Morris 1975), since the smaller of two estimates is too low. Intervals are as wide as
    `FIRST_SCAN_WIDTH` of the model's, and half a prompt wider; as in `coverage_interval`, the ends
    of coverage are the smaller ones.
    """

    def averaged(rate: RateEstimate | None, group: NDArray[np.bool_]) -> RateEstimate | None:
        answered = int(np.count_nonzero(group & (matched >= 0)))
        if rate is None or not answered:
            return rate
        right = int(np.count_nonzero(group & (matched == belongs)))
        total = int(np.count_nonzero(group))
        weight = 0.75 if right == answered else 0.5
        value = (1 - weight) * rate.value + weight * right / answered
        low = value - FIRST_SCAN_WIDTH * (rate.value - rate.low) - 0.5 / total
        high = value + FIRST_SCAN_WIDTH * (rate.high - rate.value) + 0.5 / total
        return RateEstimate(
            value, max(low, right / total), min(high, 1 - (answered - right) / total)
        )

    tpr, tnr = averaged(rates.tpr, belongs), averaged(rates.tnr, ~belongs)
    if tpr is None or tnr is None or rates.accuracy is None:
        return ExpectedRates(tpr, tnr, None, tpr or tnr)
    variance = 0.0
    for rate, group in ((tpr, belongs), (tnr, ~belongs)):
        answered, total = np.count_nonzero(group & (matched >= 0)), np.count_nonzero(group)
        spread = max(rate.value * (1 - rate.value), 0.01)
        variance += spread * (1 - answered / total) / max(1, int(answered))
    apart = abs(tpr.value - tnr.value)
    shrunk = apart * variance / (variance + 2 * apart**2) if apart else 0.0
    high = min(tpr.high, tnr.high)
    value = min(min(tpr.value, tnr.value) + shrunk / 2, high)
    coverage = RateEstimate(value, min(tpr.low, tnr.low), high)
    share = float(belongs.mean())
    accuracy = RateEstimate(
        *(
            share * first + (1 - share) * second
            for first, second in (
                (tpr.value, tnr.value),
                (tpr.low, tnr.low),
                (tpr.high, tnr.high),
            )
        )
    )
    return ExpectedRates(tpr, tnr, coverage, accuracy, rates.better)


def _alone(chances: MatchProbabilities, *, matches: bool) -> RateEstimate | None:
    if not len(chances.match):
        return None
    rate = float(chances.match.mean())
    slope = chances.slope(np.ones(len(chances.match), bool))
    variance = float(slope @ chances.shared @ slope) + _own_variance(chances.match)
    drawn = np.clip(rate + _t_draws()[:, 0] * np.sqrt(variance), *_certain(chances.match))
    if matches:
        return _expected(rate, drawn)
    return _expected(1 - rate, 1 - drawn)


def _certain(match: Array) -> tuple[float, float]:
    """Return the smallest and the largest possible share of matches: answers are certain."""
    return float((match == 1).mean()), float((match > 0).mean())


def _own_variance(match: Array) -> float:
    """Return the variance of the mean of verdicts, given the shared parameters."""
    return float((match * (1 - match)).sum()) / len(match) ** 2 + 1e-12


def _expected(value: float, drawn: Array) -> RateEstimate:
    low, high = np.quantile(drawn, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]).tolist()
    return RateEstimate(float(value), low, high)


@cache
def _t_draws() -> Array:
    """Return draws [n, 2] of the t distribution from a fixed seed: equal input, equal intervals."""
    generator = np.random.default_rng(20)
    draws = generator.normal(size=(_DRAWS // 2, 2))
    scale = VARIANCE * (DEGREES - 2) / generator.chisquare(DEGREES, (_DRAWS // 2, 1))
    draws *= np.sqrt(scale)
    return np.concatenate([draws, -draws])
