"""Distribution functions of statistics: normal, binomial, beta and t, by numpy alone.

They are those of `scipy.stats` to at least nine digits. scipy itself would add a fifth to the size
of an installation, and a fifth of a second to every command that shows a figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_erfc = np.frompyfunc(math.erfc, 1, 1)
_log_gamma = np.frompyfunc(math.lgamma, 1, 1)
_inverse_normal = np.frompyfunc(NormalDist().inv_cdf, 1, 1)

_FAR = -25.0  # below it, the distribution function soon is too small for a float
_CONVERGED = 1e-15
_TINY = 1e-300  # instead of 0 in a denominator
_LARGEST_LOGIT = 700.0


def _floats(values: Any) -> NDArray[np.float64]:
    return np.asarray(values, np.float64)


def normal_cdf(x: ArrayLike) -> NDArray[np.float64]:
    """Return Φ(x), the standard normal distribution function, in the shape of `x`."""
    return 0.5 * _floats(_erfc(_floats(x) * -math.sqrt(0.5)))


def log_normal_cdf(x: ArrayLike) -> NDArray[np.float64]:
    """Return log Φ(x) in the shape of `x`, also where Φ(x) is too small for a float.

    There it is the asymptotic series of Abramowitz and Stegun (1964), 26.2.12.
    """
    values = _floats(x)
    near, far = np.maximum(values, _FAR), np.minimum(values, _FAR)
    tail = 0.5 * _floats(_erfc(np.abs(near) * math.sqrt(0.5)))
    square = 1 / far**2
    series = 1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)))
    far_logs = -0.5 * far**2 - np.log(-far) - 0.5 * math.log(2 * math.pi) + np.log(series)
    return np.where(values < _FAR, far_logs, np.log(np.where(values > 0, 1 - tail, tail)))


def normal_quantile(probability: ArrayLike) -> NDArray[np.float64]:
    """Return x with Φ(x) = `probability`, in its shape; ValueError unless all are in (0, 1)."""
    return _floats(_inverse_normal(_floats(probability)))


def log_choose(whole: ArrayLike, part: ArrayLike) -> NDArray[np.float64]:
    """Return logarithms of binomial coefficients, 0 ≤ `part` ≤ `whole`."""
    whole, part = _floats(whole), _floats(part)
    logs = [_floats(_log_gamma(count + 1)) for count in (whole, part, whole - part)]
    return logs[0] - logs[1] - logs[2]


def binomial_pmf(hits: ArrayLike, trials: ArrayLike, rate: float) -> NDArray[np.float64]:
    """Return P(X = `hits`), X ~ B(`trials`, `rate`) with 0 < `rate` < 1; 0 for negative hits."""
    hits, trials = np.broadcast_arrays(_floats(hits), _floats(trials))
    right = np.clip(hits, 0, trials)
    logs = log_choose(trials, right)
    logs += right * math.log(rate) + (trials - right) * math.log1p(-rate)
    return np.where(right == hits, np.exp(logs), 0.0)


def binomial_cdf(hits: int, trials: int, rate: float) -> float:
    """Return P(X ≤ `hits`) for X ~ B(`trials`, `rate`), 0 ≤ hits ≤ trials and 0 < `rate` < 1."""
    if hits == trials:
        return 1.0
    logit = math.log1p(-rate) - math.log(rate)
    return _beta_at(logit, trials - hits, hits + 1)[0]


def binomial_cdf_along(hits: NDArray[np.floating], rate: float) -> NDArray[np.float64]:
    """Return P(X ≤ hits[n]), X ~ B(n, `rate`), for n = 0, 1, … as float64 in the shape of `hits`.

    The first of `hits` is at most 0; each next one is equal or one greater.
    """
    chances = binomial_pmf(hits, np.arange(len(hits)), rate)
    # One trial more makes one hit more of those that had as many as are allowed.
    return np.cumsum(
        np.where(np.diff(hits, prepend=-1) > 0, chances, 0.0)
        - rate * np.concatenate(([0.0], chances[:-1]))
    )


def smallest_beta_quantile(probability: float, *shapes: tuple[float, float]) -> float:
    """Return a quantile of the smallest of independent variables Beta(a, b), by Newton's method.

    `shapes` are their (a, b), all above 0; with one of them, it is the quantile of Beta(a, b).
    """
    return 1 / (1 + math.exp(-_quantile_logit(probability, shapes)))


def t_critical(tail: float, freedom: float) -> float:
    """Return t with P(T > t) = `tail`, Student's t with `freedom` degrees; 0 < `tail` < 0.5."""
    logit = _quantile_logit(2 * tail, [(freedom / 2, 0.5)])
    return math.sqrt(freedom) * math.exp(-logit / 2)


def _quantile_logit(probability: float, shapes: Sequence[tuple[float, float]]) -> float:
    """Return the logit of a quantile of the smallest of beta variables.

    The logit of the distribution function is nearly linear in that of its argument, in the tails
    exactly so: Newton's method takes few steps, and never leaves the bracket of the bisection.
    """
    target = math.log(probability) - math.log1p(-probability)
    low, high = -_LARGEST_LOGIT, _LARGEST_LOGIT
    logit = min(math.log(a / b) for a, b in shapes)
    step = math.inf
    while abs(step) > 1e-12 * (1 + abs(logit)) and high - low > 1e-12:
        survival, hazard = 0.0, 0.0
        for a, b in shapes:
            below, above, density = _beta_at(logit, a, b)
            survival += math.log(above) if above < 0.5 else math.log1p(-below)
            hazard += density / above
        below = max(-math.expm1(survival), _TINY)
        surplus = math.log(below) - survival - target
        low, high = (logit, high) if surplus < 0 else (low, logit)
        step = -surplus * below / max(hazard, _TINY)
        if not low < logit + step < high:
            step = (low + high) / 2 - logit
        logit += step
    return logit


def _beta_at(logit: float, a: float, b: float) -> tuple[float, float, float]:
    """Return distribution function, its complement and density of the logit of Beta(a, b).

    Source: the continued fraction of Abramowitz and Stegun (1964), 26.5.8, by the method of Lentz
    (1976), on the side where it converges fast.
    """
    log_large = -math.log1p(math.exp(-abs(logit)))
    logs = (log_large, log_large - abs(logit))
    log_x, log_rest = logs if logit > 0 else logs[::-1]
    density = math.exp(
        a * log_x + b * log_rest + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    )
    x = math.exp(log_x)
    mirrored = x > (a + 1) / (a + b + 2)
    if mirrored:
        x, a, b = math.exp(log_rest), b, a
    fraction = denominator = 1 / (1 - (a + b) * x / (a + 1))
    numerator, factor, number = 1.0, math.inf, 0
    while abs(factor - 1) > _CONVERGED:
        number += 1
        double = a + 2 * number
        for term in (
            number * (b - number) * x / ((double - 1) * double),
            -(a + number) * (a + b + number) * x / (double * (double + 1)),
        ):
            denominator = 1 / ((1 + term * denominator) or _TINY)
            numerator = (1 + term / numerator) or _TINY
            factor = denominator * numerator
            fraction *= factor
    inside = min(1.0, max(_TINY, density * fraction / a))
    outside = max(_TINY, 1 - inside)
    return (outside, inside, density) if mirrored else (inside, outside, density)
