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

CLUSTERING = 2.0
"""Variance of a rate relative to independent errors: similar prompts err alike."""
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

    The rates are means of probabilities. Their joint distribution is approximated as normal:
    variances of single verdicts (times `CLUSTERING`) plus those of the parameters shared by all
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
    drawn = np.clip(rates + _standard_draws() @ np.linalg.cholesky(covariance).T, 0.0, 1.0)
    smaller = drawn.min(axis=1)
    share = np.array([belongs.mean(), 1 - belongs.mean()])
    better = None if before is None else float((smaller > before).mean())
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
    return _expected(min(rates[2:]) - min(rates[:2]), change)


def _alone(chances: MatchProbabilities, *, matches: bool) -> RateEstimate | None:
    if not len(chances.match):
        return None
    rate = float(chances.match.mean())
    slope = chances.slope(np.ones(len(chances.match), bool))
    variance = float(slope @ chances.shared @ slope) + _own_variance(chances.match)
    drawn = np.clip(rate + _standard_draws()[:, 0] * np.sqrt(variance), 0.0, 1.0)
    if matches:
        return _expected(rate, drawn)
    return _expected(1 - rate, 1 - drawn)


def _own_variance(match: Array) -> float:
    """Return the variance of the mean of verdicts, given the shared parameters."""
    return CLUSTERING * float((match * (1 - match)).sum()) / len(match) ** 2 + 1e-12


def _expected(value: float, drawn: Array) -> RateEstimate:
    low, high = np.quantile(drawn, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]).tolist()
    return RateEstimate(float(value), low, high)


@cache
def _standard_draws() -> Array:
    """Return standard normal draws [n, 2] from a fixed seed: equal input, equal intervals."""
    draws = np.random.default_rng(20).normal(size=(_DRAWS // 2, 2))
    return np.concatenate([draws, -draws])
