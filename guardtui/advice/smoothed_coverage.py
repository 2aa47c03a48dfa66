"""Smoothed, cautious coverage, which compares definitions on few prompts."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.operating_point import SLACK

Array: TypeAlias = "NDArray[np.floating]"

SMOOTH = 0.8
"""Width of the smoothed step over z, in natural logits, for up to `_FEW` of a class."""

CAUTION = 1.0
"""Standard errors subtracted from each rate before the smaller one is taken."""

_FEW = 15
_ROUNDING = 1e-9  # of rates that are equal as fractions


def smoothing(smaller: int) -> float:
    """Return the width of the step for this many prompts in the smaller class.

    With more prompts the step gets steeper, at the rate for density estimation (Silverman 1986,
    section 3.4), and the smoothed rates approach the rates themselves.
    """
    return SMOOTH * min(1.0, float((_FEW / max(smaller, 1)) ** 0.2))


def soft_matches(z: Array, cuts: Array, width: float) -> Array:
    """Return how far each prompt counts as a match, from 0 to 1, from z [c, n] and cuts [c]."""
    soft: Array = 0.5 + 0.5 * np.tanh((z - cuts[:, None]) * (0.5 / width))
    return soft


def cautious_coverage(soft: Array, ours: Array, theirs: Array) -> Array:
    """Return the smaller of the two rates, each `CAUTION` standard errors lower, [c].

    `soft` [c, n] is how far each prompt matches. `ours` and `theirs` [c, n] are weights of the
    prompts that belong to the topic and of the others: 0 or 1, or counts in a resample. A class
    without weight has rate 0.
    """
    counts = np.stack([ours.sum(axis=1), theirs.sum(axis=1)])
    safe = np.maximum(counts, 1.0)
    rates = np.stack([(soft * ours).sum(axis=1), ((1.0 - soft) * theirs).sum(axis=1)]) / safe
    rates = np.clip(rates, 0.0, 1.0)
    rates -= CAUTION * np.sqrt(rates * (1.0 - rates) / safe)
    rates[counts == 0] = 0.0
    smaller: Array = rates.min(axis=0)
    return smaller


def fitted_cuts(z: Array, ours: Array, theirs: Array) -> Array:
    """Return the operating point of each row of z [c, n]: the smallest matching z, [c].

    It is the middle of the cuts with the largest min(TPR, TNR), up to `SLACK` of a prompt of the
    smaller class, as in `fit_threshold`. Weights are as in `cautious_coverage`.
    """
    order = np.argsort(z, axis=1, kind="stable")
    ordered = np.take_along_axis(z, order, axis=1)
    below_ours = np.cumsum(np.take_along_axis(ours, order, axis=1), axis=1)
    below_theirs = np.cumsum(np.take_along_axis(theirs, order, axis=1), axis=1)
    many_ours = np.maximum(below_ours[:, -1:], _ROUNDING)
    many_theirs = np.maximum(below_theirs[:, -1:], _ROUNDING)
    # Cut k lies below the k-th prompt in order: all from it on match.
    missed = np.pad(below_ours, ((0, 0), (1, 0)))
    spared = np.pad(below_theirs, ((0, 0), (1, 0)))
    worth = np.minimum(1.0 - missed / many_ours, spared / many_theirs)
    # No cut lies between equal scores.
    worth[:, 1:-1][ordered[:, 1:] == ordered[:, :-1]] = -1.0
    slack = SLACK / np.minimum(many_ours, many_theirs)
    equal = worth >= worth.max(axis=1, keepdims=True) - slack - _ROUNDING
    first = equal.argmax(axis=1)
    last = equal.shape[1] - 1 - equal[:, ::-1].argmax(axis=1)
    rows = np.arange(len(z))
    ends = np.pad(ordered.astype(np.float64), ((0, 0), (1, 1)))
    ends[:, 0], ends[:, -1] = ends[:, 1] - 1.0, ends[:, -2] + 1.0
    cuts: Array = (ends[rows, first] + ends[rows, last + 1]) / 2
    return cuts
