"""How alike two definitions are: what a verdict at one of them says about the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.forecast.readings import Reading

Array: TypeAlias = "NDArray[np.floating]"

DESCRIPTION_SHARE = 0.4
"""Share of the description; the examples have the rest."""
LENGTH = 0.35
"""1 − cosine of two texts at which they have e⁻¹ in common."""


def likeness(one: Reading, other: Reading) -> float:
    """1 for equal definitions, towards 0 for others.

    A definition answers as the sum of its texts does, so one example of four that is replaced
    leaves three quarters of the examples' share.
    """
    head = float(_alike(one.description[None], other.description[None])[0, 0])
    if not len(one.examples) or not len(other.examples):
        return head
    cross = float(_alike(one.examples, other.examples).mean())
    own = float(_alike(one.examples, one.examples).mean())
    others = float(_alike(other.examples, other.examples).mean())
    return DESCRIPTION_SHARE * head + (1 - DESCRIPTION_SHARE) * cross / float(np.sqrt(own * others))


def likenesses(rows: Sequence[Reading], columns: Sequence[Reading]) -> Array:
    """`likeness` of each pair, [rows, columns]."""
    return np.array([[likeness(one, other) for other in columns] for one in rows])


def _alike(one: NDArray[np.float32], other: NDArray[np.float32]) -> Array:
    """exp(−(1 − cosine) / LENGTH) of unit vectors [n, d] and [m, d], as [n, m]."""
    cosines = np.clip(one.astype(np.float64) @ other.T.astype(np.float64), -1.0, 1.0)
    alike: Array = np.exp((cosines - 1.0) / LENGTH)
    return alike
