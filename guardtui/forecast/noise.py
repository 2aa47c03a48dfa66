"""Self-consistency of a guardrail, from repeated scans of one definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guardtui.forecast.model import NOISE, MatchProbabilities, ScannedDefinition

_LARGEST = 4.0
_POINTS, _SHARES = np.polynomial.hermite_e.hermegauss(21)


@dataclass(frozen=True, slots=True)
class Repeats:
    """Prompts that were judged twice at the same definition, and how many answers differed."""

    pairs: int
    differing: int


def repeats(scans: Sequence[ScannedDefinition], same: Sequence[object]) -> Repeats:
    """Compare each scan with the next of the same definition; `same` identifies definitions."""
    pairs = differing = 0
    for index, scan in enumerate(scans):
        later = [other for other in range(index + 1, len(scans)) if same[other] == same[index]]
        if later:
            other = scans[later[0]]
            both = (scan.matched >= 0) & (other.matched >= 0)
            pairs += int(both.sum())
            differing += int((scan.matched[both] != other.matched[both]).sum())
    return Repeats(pairs, differing)


def noise_of(counted: Repeats, chances: MatchProbabilities) -> float:
    """Return the noise variance that explains how often repeated scans differed.

    Two answers to one prompt differ with probability E[2 Φ(g/s)(1 − Φ(g/s))], g ~ N(m, 1), s² the
    noise. A prior of `NOISE` differing pairs in one pair is added, so that a few equal pairs do not
    prove perfect consistency.
    """
    if not counted.pairs:
        return NOISE
    from scipy.optimize import brentq  # imported here because it is slow
    from scipy.special import ndtr, ndtri

    share = (counted.differing + NOISE) / (counted.pairs + 1)
    # Means of g in units of its own spread, from the noiseless probability of the forecast.
    middle = np.clip(chances.match, 1e-6, 1 - 1e-6)
    grid = ndtri(middle)[:, None] + _POINTS

    def surplus(noise: float) -> float:
        fires = ndtr(grid / np.sqrt(noise))
        expected = (2 * fires * (1 - fires)) @ _SHARES / _SHARES.sum()
        return float(expected.mean()) - share

    if surplus(NOISE) >= 0:
        return NOISE
    if surplus(_LARGEST) <= 0:
        return _LARGEST
    return float(brentq(surplus, NOISE, _LARGEST, xtol=1e-3))
