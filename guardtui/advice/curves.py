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


def thinned(found: Sweep, most: int = POINTS, keep: tuple[int, ...] = ()) -> NDArray[np.intp]:
    """Return at most `most` cuts (intp, ascending) that stand for all of them.

    Both ends, the best cut, the extremes of each rate and `keep` are always included; the others
    are evenly spaced along the curve, so that TPR and TNR change little between neighbours, unless
    many prompts share a score. Raises ValueError if `most` is too small for the fixed points.
    """
    if len(found) <= most:
        return np.arange(len(found))
    fixed = {0, len(found) - 1, *keep}
    best = found.best()
    if best is not None:
        fixed.add(found.place(best))
    for name in RATES:
        values: NDArray[np.float64] = getattr(found, name)
        if not np.isnan(values).all():
            fixed |= {int(np.nanargmax(values)), int(np.nanargmin(values))}
    room = most - len(fixed)
    if room < 0:
        raise ValueError(f"{most} points cannot keep {len(fixed)} extremes")
    # TPR falls and TNR rises with the threshold (allow: the reverse), so their difference goes
    # one way: even steps of it are even steps along the curve.
    way = np.zeros(len(found))
    if found.positives:
        way -= found.true_positive_rate
    if found.negatives:
        way += found.true_negative_rate
    if found.intent is Intent.ALLOW:
        way = -way
    even = np.searchsorted(way, np.linspace(way[0], way[-1], room + 2)[1:-1])
    return np.unique(np.concatenate([even, np.fromiter(fixed, np.intp)]))


def curve_points(
    found: Sweep, most: int = POINTS, keep: tuple[int, ...] = ()
) -> tuple[CurvePoint, ...]:
    """The points of `thinned`, by threshold, lowest first; each threshold is a cut of the sweep."""
    return tuple(
        CurvePoint(float(str(found.cuts[place])), found.metrics(int(place)))
        for place in thinned(found, most, keep)
    )


def neighbour(found: Sweep, threshold: float, way: int, least: float = 0.001) -> float:
    """Return the next threshold up (`way` 1) or down (−1) that gives other verdicts than this one.

    At least about `least` away, so that a large set is not traversed prompt by prompt. Returns the
    threshold itself if there is none.
    """
    here = found.place(threshold)
    if way > 0:
        place = max(here + 1, found.place(threshold + least))
        return found.setting(place) if here < len(found) - 1 else threshold
    place = min(here - 1, found.place(threshold - least))
    return found.setting(place) if here > 0 else threshold
