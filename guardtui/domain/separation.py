"""Separation: how well scores tell the two classes apart, whatever the threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.statistics import CONFIDENCE, Interval, wilson_interval

_LEAST = 2  # prompts of a class, so that there is a variance


@dataclass(frozen=True, eq=False, slots=True)
class Placements:
    """Where the prompts of each class stand among those of the other.

    `inside` float64 [m]: for each prompt that belongs to the topic, the share of the others with a
    lower score, ties a half; `outside` float64 [n]: for each other prompt, the share of those that
    belong with a higher score. Both in the order of the rows. The mean of either is the area under
    the ROC curve.
    """

    inside: NDArray[np.float64]
    outside: NDArray[np.float64]

    @property
    def area(self) -> float:
        """Area under the ROC curve."""
        return float(self.inside.mean())

    @property
    def variance(self) -> float | None:
        """Variance of the area (DeLong, DeLong and Clarke-Pearson 1988); None for tiny classes."""
        if min(len(self.inside), len(self.outside)) < _LEAST:
            return None
        return float(
            self.inside.var(ddof=1) / len(self.inside)
            + self.outside.var(ddof=1) / len(self.outside)
        )


@dataclass(frozen=True, slots=True)
class Separation:
    """Area under the ROC curve with its 95 % interval, None for fewer than two of a class.

    The chance that a prompt that belongs to the topic scores higher than one that does not.
    """

    area: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class SeparationChange:
    """Difference of two areas over the same prompts, with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def is_shown(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def placements(scores: NDArray[np.floating], belongs: NDArray[np.bool_]) -> Placements | None:
    """Return the placements of prompts by scores [N] and labels bool [N]; NaN rows are left out.

    None when a class has no prompt with a score.
    """
    known = ~np.isnan(scores)
    if not known.all():
        scores, belongs = scores[known], belongs[known]
    inside = int(np.count_nonzero(belongs))
    outside = len(scores) - inside
    if not inside or not outside:
        return None
    order = np.argsort(scores, kind="stable")
    ordered, label = scores[order], belongs[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    reached = np.concatenate(([0], np.cumsum(label)))  # of those that belong, below each row
    last = np.append(first[1:], len(ordered))
    counts = last - first
    # Below a group of ties, and half of the group itself.
    lower = (reached[first] + reached[last]) / 2
    share = np.empty(len(scores))
    share[order] = np.where(
        label,
        np.repeat((first + last) / 2 - lower, counts) / outside,
        np.repeat(inside - lower, counts) / inside,
    )
    return Placements(share[belongs], share[~belongs])


def separation(found: Placements) -> Separation:
    """Return the area with an interval on the logit scale.

    Where the classes are wholly apart the variance is 0 and says nothing: then the interval is
    Wilson's for as many trials as the smaller class has prompts.
    """
    area, variance = found.area, found.variance
    if variance is None:
        return Separation(area, None)
    if area in (0.0, 1.0) or variance == 0:
        count = min(len(found.inside), len(found.outside))
        return Separation(area, wilson_interval(round(area * count), count))
    from scipy import special

    reach = float(special.ndtri(0.5 + CONFIDENCE / 2)) * variance**0.5 / (area * (1 - area))
    centre = special.logit(area)
    return Separation(
        area, Interval(float(special.expit(centre - reach)), float(special.expit(centre + reach)))
    )


def separation_change(before: Placements, after: Placements) -> SeparationChange | None:
    """Return the change of the area, of the same prompts in the same order.

    By the paired test of DeLong et al. (1988). None for fewer than two prompts of a class. Raises
    ValueError when the numbers of prompts differ.
    """
    pair = (before.inside.shape, before.outside.shape)
    if pair != (after.inside.shape, after.outside.shape):
        raise ValueError(f"{pair} placements before, other numbers after")
    moved = Placements(after.inside - before.inside, after.outside - before.outside)
    variance = moved.variance
    if variance is None:
        return None
    from scipy import special

    value = moved.area
    reach = float(special.ndtri(0.5 + CONFIDENCE / 2)) * variance**0.5
    return SeparationChange(value, max(-1.0, value - reach), min(1.0, value + reach))
