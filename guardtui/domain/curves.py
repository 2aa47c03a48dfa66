"""Points of the curves of a sweep, thinned for drawing, lists and reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.metrics import RATES, Metrics
from guardtui.domain.sweep import Sweep
from guardtui.domain.topic import Intent

POINTS = 200
"""Default maximum number of points of a curve."""

_STEP = 0.001

LEAST_POINTS = 2 + 2 * len(RATES)
"""Number of fixed points: both ends, and the extremes of each rate."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A threshold and its metrics; the ROC curve is `false_positive_rate` and TPR.

    The same points make the precision-recall curve: recall is TPR.
    """

    threshold: float
    metrics: Metrics

    @property
    def false_positive_rate(self) -> float | None:
        """FP / (FP + TN), which is 1 − TNR."""
        metrics = self.metrics
        negatives = metrics.fp + metrics.tn
        return metrics.fp / negatives if negatives else None


def thinned(sweep: Sweep, most: int = POINTS, keep: tuple[int, ...] = ()) -> NDArray[np.intp]:
    """Return at most `most` cuts (intp, ascending) that stand for all of them.

    Both ends, the best cut, the extremes of each rate and `keep` are always included; the others
    are evenly spaced along the curve, so that TPR and TNR change little between neighbours, unless
    many prompts share a score. Raises ValueError if `most` is too small for the fixed points.
    """
    if len(sweep) <= most:
        return np.arange(len(sweep))
    fixed = {0, len(sweep) - 1, *keep}
    best = sweep.best()
    if best is not None:
        fixed.add(sweep.index(best))
    for name in RATES:
        values: NDArray[np.float64] = getattr(sweep, name)
        if not np.isnan(values).all():
            fixed |= {int(np.nanargmax(values)), int(np.nanargmin(values))}
    room = most - len(fixed)
    if room < 0:
        raise ValueError(f"{most} points cannot keep {len(fixed)} extremes")
    # TPR falls and TNR rises with the threshold (allow: the reverse), so TNR − TPR is monotone:
    # even steps of it are even steps along the curve.
    rise = np.zeros(len(sweep))
    if sweep.positives:
        rise -= sweep.true_positive_rate
    if sweep.negatives:
        rise += sweep.true_negative_rate
    if sweep.intent is Intent.ALLOW:
        rise = -rise
    even = np.searchsorted(rise, np.linspace(rise[0], rise[-1], room + 2)[1:-1])
    return np.unique(np.concatenate([even, np.fromiter(fixed, np.intp)]))


def curve_points(
    sweep: Sweep, most: int = POINTS, keep: tuple[int, ...] = ()
) -> tuple[CurvePoint, ...]:
    """Return the points of `thinned`, lowest threshold first; each is a cut of the sweep."""
    return tuple(
        CurvePoint(float(str(sweep.cuts[index])), sweep.metrics(int(index)))
        for index in thinned(sweep, most, keep)
    )


def neighbour(sweep: Sweep, threshold: float, direction: int) -> float:
    """Return the next threshold up (`direction` 1) or down (−1) with other verdicts.

    It is at least about 0.001 away, so that a large set is not traversed prompt by prompt.
    Returns the threshold itself at either end.
    """
    current = sweep.index(threshold)
    if direction > 0:
        index = max(current + 1, sweep.index(threshold + _STEP))
        return sweep.setting(index) if current < len(sweep) - 1 else threshold
    index = min(current - 1, sweep.index(threshold - _STEP))
    return sweep.setting(index) if current > 0 else threshold
