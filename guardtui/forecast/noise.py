"""How often a guardrail contradicts itself: scans of one definition compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guardtui.forecast.model import NOISE, Chances, Scan

_LARGEST = 4.0
_POINTS, _SHARES = np.polynomial.hermite_e.hermegauss(21)


@dataclass(frozen=True, slots=True)
class Repeats:
    """Prompts that were asked twice at the same definition, and how many answers differed."""

    pairs: int
    differing: int


def repeats(scans: Sequence[Scan], same: Sequence[object]) -> Repeats:
    """Compare each scan with the next one of the same definition; `same` names definitions."""
    pairs = differing = 0
    for place, scan in enumerate(scans):
        later = [other for other in range(place + 1, len(scans)) if same[other] == same[place]]
        if later:
            other = scans[later[0]]
            both = (scan.matched >= 0) & (other.matched >= 0)
            pairs += int(both.sum())
            differing += int((scan.matched[both] != other.matched[both]).sum())
    return Repeats(pairs, differing)


def noise_of(found: Repeats, chances: Chances) -> float:
    """Return the variance of the noise by which repeated scans would differ as often as they did.

    Two answers to one prompt differ with probability E[2 Φ(g/s)(1 − Φ(g/s))], g ~ N(m, 1), s² the
    noise. One differing pair in twenty is added in advance, so that a handful proves no perfection.
    """
    if not found.pairs:
        return NOISE
    from scipy.optimize import brentq  # beside the screen: it takes long to import
    from scipy.special import ndtr, ndtri

    share = (found.differing + NOISE) / (found.pairs + 1)
    # Means of g in units of its own spread; a noiseless probability of the forecast tells them.
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
