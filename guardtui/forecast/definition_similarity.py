"""Similarity of two definitions: how much verdicts on one say about the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.forecast.engine_features import EngineFeatures

Array: TypeAlias = "NDArray[np.floating]"

DESCRIPTION_SHARE = 0.4
"""Weight of the description; the examples have the rest."""
LENGTH = 0.35
"""1 − cosine of two texts at which their similarity is e⁻¹."""


def likeness(first: EngineFeatures, second: EngineFeatures) -> float:
    """Return the similarity of two definitions: 1 if equal, towards 0 otherwise.

    A definition responds like the sum of its texts: replacing one of four examples leaves three
    quarters of the examples' share.
    """
    head = float(_alike(first.description[None], second.description[None])[0, 0])
    if not len(first.examples) or not len(second.examples):
        return head
    cross = float(_alike(first.examples, second.examples).mean())
    own = float(_alike(first.examples, first.examples).mean())
    others = float(_alike(second.examples, second.examples).mean())
    return DESCRIPTION_SHARE * head + (1 - DESCRIPTION_SHARE) * cross / float(np.sqrt(own * others))


def likenesses(rows: Sequence[EngineFeatures], columns: Sequence[EngineFeatures]) -> Array:
    """Return the `likeness` of each pair, [rows, columns]."""
    return np.array([[likeness(row, column) for column in columns] for row in rows])


def _alike(first: NDArray[np.float32], second: NDArray[np.float32]) -> Array:
    """Return exp(−(1 − cosine) / LENGTH) of unit vectors [n, d] and [m, d], as [n, m]."""
    cosines = np.clip(first.astype(np.float64) @ second.T.astype(np.float64), -1.0, 1.0)
    alike: Array = np.exp((cosines - 1.0) / LENGTH)
    return alike
