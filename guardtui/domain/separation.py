"""Separation: how well scores distinguish the two classes, independent of the threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.distributions import normal_quantile
from guardtui.domain.statistics import CONFIDENCE, Interval, wilson_interval

_LEAST = 2  # prompts of a class; fewer have no variance


@dataclass(frozen=True, eq=False, slots=True)
class Placements:
    """Position of each prompt's score among the scores of the other class.

    `inside` float64 [m]: for each prompt that belongs to the topic, the share of other prompts with
    a lower score; ties count half. `outside` float64 [n]: for each other prompt, the share of
    belonging prompts with a higher score. Both are in row order. The mean of either is the area
    under the ROC curve.
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
    """Area under the ROC curve with its 95 % interval (None if a class has fewer than two prompts).

    The area is the probability that a prompt of the topic scores higher than another prompt.
    """

    area: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class SeparationChange:
    """Difference of two areas over the same prompts, with its 95 % interval."""

    value: float
    low: float
    high: float


def placements(scores: NDArray[np.floating], belongs: NDArray[np.bool_]) -> Placements | None:
    """Return the placements of prompts from scores [N] and labels bool [N]; NaN is skipped.

    None if a class has no prompt with a score.
    """
    scored = ~np.isnan(scores)
    if not scored.all():
        scores, belongs = scores[scored], belongs[scored]
    inside = int(np.count_nonzero(belongs))
    outside = len(scores) - inside
    if not inside or not outside:
        return None
    order = np.argsort(scores, kind="stable")
    ordered, label = scores[order], belongs[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    reached = np.concatenate(([0], np.cumsum(label)))  # belonging prompts below each row
    last = np.append(first[1:], len(ordered))
    counts = last - first
    # Prompts below a group of ties, plus half of the group itself.
    lower = (reached[first] + reached[last]) / 2
    share = np.empty(len(scores))
    share[order] = np.where(
        label,
        np.repeat((first + last) / 2 - lower, counts) / outside,
        np.repeat(inside - lower, counts) / inside,
    )
    return Placements(share[belongs], share[~belongs])


def separation(placements: Placements) -> Separation:
    """Return the area with an interval on the logit scale.

    If the classes are perfectly separated, the variance is 0 and uninformative. The interval is
    then Wilson's, with the size of the smaller class as the number of trials.
    """
    area, variance = placements.area, placements.variance
    if variance is None:
        return Separation(area, None)
    if area in (0.0, 1.0) or variance == 0:
        count = min(len(placements.inside), len(placements.outside))
        return Separation(area, wilson_interval(round(area * count), count))
    reach = float(normal_quantile(0.5 + CONFIDENCE / 2)) * variance**0.5 / (area * (1 - area))
    centre = math.log(area / (1 - area))
    low, high = (0.5 + 0.5 * math.tanh(logit / 2) for logit in (centre - reach, centre + reach))
    return Separation(area, Interval(low, high))


def separation_change(before: Placements, after: Placements) -> SeparationChange | None:
    """Return the change of the area for the same prompts in the same order.

    Uses the paired test of DeLong et al. (1988). None if a class has fewer than two prompts. Raises
    ValueError if the numbers of prompts differ.
    """
    pair = (before.inside.shape, before.outside.shape)
    if pair != (after.inside.shape, after.outside.shape):
        raise ValueError(f"{pair} placements before, other numbers after")
    moved = Placements(after.inside - before.inside, after.outside - before.outside)
    variance = moved.variance
    if variance is None:
        return None
    value = moved.area
    reach = float(normal_quantile(0.5 + CONFIDENCE / 2)) * variance**0.5
    return SeparationChange(value, max(-1.0, value - reach), min(1.0, value + reach))
