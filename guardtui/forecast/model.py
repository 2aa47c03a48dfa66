"""The model of a forecast: which prompts a guardrail fires on, learnt from its earlier verdicts.

Prompt i matches at definition D when g_i(D) > 0, with

    g_i(D) = w · f_i(D) + v · (f_i(D) − f̄_i) + b + δ(D) + r_i(D) + e.

f are the engine's features of the prompt at D, standardised at the first scan, and f̄_i their mean
over the scans; w says what tells prompts apart, v how an edit moves them otherwise than that. b is
the operating point and δ(D) its wandering with the definition. r_i is what this guardrail thinks
of this prompt, a Gaussian process over definitions: a share `LASTING` of it whatever the wording,
the rest as far as definitions are alike. e is the noise of repeated scans. The variance of r is 1.

Verdicts enter as probit observations by expectation propagation (Minka 2001; for probit,
Rasmussen & Williams 2006, section 3.6), one small Gaussian for each prompt, all prompts at once.
Given these, w, v, b and δ have a joint Gaussian posterior (generalised least squares), and the two
steps alternate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.forecast.definitions import likenesses
from guardtui.forecast.readings import Reading

Array: TypeAlias = "NDArray[np.floating]"

LASTING = 0.65
"""Share of the variance of r that stays whatever the wording."""
WANDERING = 0.1
"""Standard deviation of δ."""
NOISE = 0.005
"""Variance of e where no scan was repeated."""
SAME = 0.985
"""Cosine to an example from which on a prompt is that example: it matches, and teaches nothing."""

_BELIEF = 0.8  # mean of w for z; 0 for the other features
_WEIGHT_VARIANCE = 1.0
_MOVE_VARIANCE = 0.02
_LEVEL_VARIANCE = 25.0
_ROUNDS = 8
_DAMPING = 0.8
_SURE = 3.0  # g of a prompt that is an example, in standard deviations
_TINY = 1e-6


@dataclass(frozen=True, eq=False)
class Scan:
    """Verdicts at one definition: `matched` int8 [N], 1 match, 0 none, -1 not known."""

    reading: Reading
    matched: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Chances:
    """What is expected at one definition.

    `match` [N] is the probability that each prompt matches; `density` [N] its derivative by g, and
    `loadings` [N, q] those of g by what all prompts share, whose covariance is `shared` [q, q].
    """

    match: Array
    density: Array
    loadings: Array
    shared: Array

    def with_answers(self, matched: NDArray[np.int8]) -> Chances:
        """The same where some answers have come: `matched` int8 [N] as in `Scan`."""
        known = matched >= 0
        return Chances(
            np.where(known, matched, self.match),
            np.where(known, 0.0, self.density),
            self.loadings,
            self.shared,
        )

    def slope(self, group: NDArray[np.bool_]) -> Array:
        """Derivative of the mean probability of a group [N] by what all prompts share, [q]."""
        weights = (self.density * group).astype(np.float32)
        slope: Array = weights @ self.loadings / np.count_nonzero(group)
        return slope

    def among(self, group: NDArray[np.bool_]) -> Chances:
        """Return those of a group of prompts, bool [N]."""
        return Chances(self.match[group], self.density[group], self.loadings[group], self.shared)


class VerdictModel:
    """A model fitted to scans of one guardrail; safe to use from several threads."""

    def __init__(self, scans: Sequence[Scan], noise: float = NOISE) -> None:
        """Fit; takes about 0.1 s for 1,000 prompts and 10 scans.

        `scans` are at least one, all of the same prompts; `noise` is the variance of e.
        """
        self._readings = [scan.reading for scan in scans]
        self._noise = noise
        first = self._readings[0].columns.astype(np.float64)
        self._centre, self._spread = first.mean(axis=0), first.std(axis=0) + _TINY
        features = [self._standardised(reading) for reading in self._readings]
        self._usual = np.mean(features, axis=0)
        self._prior = likenesses(self._readings, self._readings) + _TINY * np.eye(len(scans))
        self._covariance = LASTING + (1 - LASTING) * self._prior
        known = np.stack(
            [(scan.matched >= 0) & (scan.reading.nearest < SAME) for scan in scans], axis=1
        )
        sign = np.stack([np.where(scan.matched > 0, 1.0, -1.0) for scan in scans], axis=1)
        self.asked = np.flatnonzero(known.any(axis=1))
        """Places of the prompts that have taught something, intp [n]."""
        design = self._design([columns[self.asked] for columns in features])
        self._fit(design, sign[self.asked], known[self.asked])

    def _standardised(self, reading: Reading) -> Array:
        columns: Array = (reading.columns - self._centre) / self._spread
        return columns

    def _design(self, features: Sequence[Array]) -> Array:
        """Rows of the regression, [N, K, q], q = 2 p + 1 + K: features, moves, level, wandering."""
        count, width = features[0].shape
        scans = len(features)
        design = np.zeros((count, scans, 2 * width + 1 + scans))
        for place, columns in enumerate(features):
            design[:, place, :width] = columns
            design[:, place, width : 2 * width] = columns - self._usual[self.asked]
            design[:, place, 2 * width] = 1.0
            design[:, place, 2 * width + 1 + place] = 1.0
        return design

    def _fit(self, design: Array, sign: Array, known: NDArray[np.bool_]) -> None:
        from scipy.special import ndtri  # beside the screen: it takes long to import

        precision, mean = self._beliefs(design.shape[2])
        level = 2 * len(self._centre)
        rate = np.clip((sign[known] > 0).mean(), 0.02, 0.98) if known.any() else 0.5
        weights = mean.copy()
        weights[level] = float(ndtri(rate)) * np.sqrt(1 + _BELIEF**2)
        # Sites: a Gaussian in place of each verdict, by precision and precision × mean.
        sites: Array = 0.3 * known
        shifts: Array = sites * (design @ weights)
        posterior = precision
        for number in range(_ROUNDS):
            sites, shifts = self._observed(
                design @ weights, sign, known, sites, shifts, _DAMPING if number else 1.0
            )
            solved = _without_prior(self._covariance, sites)
            told = _ratio(shifts, sites)
            moved = solved @ design
            posterior = precision + np.tensordot(design, moved, axes=((0, 1), (0, 1)))
            weights = np.linalg.solve(
                posterior, precision @ mean + np.tensordot(told, moved, axes=((0, 1), (0, 1)))
            )
        self._weights, self._weight_covariance = weights, np.linalg.inv(posterior)
        self._solved = solved
        # One row for each scan, so that a forecast is one product with them.
        rows = np.ascontiguousarray(moved.transpose(1, 0, 2), np.float32)
        self._moved = rows.reshape(moved.shape[1], -1)
        rest = np.where(sites > 0, told - design @ weights, 0.0)
        self._pulled = np.einsum("nkl,nl->nk", solved, rest)

    def _beliefs(self, width: int) -> tuple[Array, Array]:
        """Precision [q, q] and mean [q] of all weights before a verdict is seen."""
        features = len(self._centre)
        level = 2 * features
        precision = np.zeros((width, width))
        places = np.arange(features)
        precision[places, places] = 1 / _WEIGHT_VARIANCE
        precision[places + features, places + features] = 1 / _MOVE_VARIANCE
        precision[level, level] = 1 / _LEVEL_VARIANCE
        precision[level + 1 :, level + 1 :] = np.linalg.inv(WANDERING**2 * self._prior)
        mean = np.zeros(width)
        mean[0] = _BELIEF
        return precision, mean

    def _observed(
        self,
        expected: Array,
        sign: Array,
        known: NDArray[np.bool_],
        sites: Array,
        shifts: Array,
        damping: float,
    ) -> tuple[Array, Array]:
        """One parallel round of expectation propagation: new sites and shifts, [N, K]."""
        from scipy.special import log_ndtr

        prior = self._covariance
        solved = _without_prior(prior, sites)
        told = np.where(sites > 0, _ratio(shifts, sites) - expected, 0.0)
        mean = expected + np.einsum("nkl,nl->nk", solved, told) @ prior
        variance = np.diag(prior) - np.einsum("nkl,kl->nk", prior @ solved, prior)
        left = 1 / variance - sites
        usable = known & (left > _TINY)
        others = np.where(usable, 1 / np.where(usable, left, 1.0), 1.0)
        middle = (mean / variance - shifts) * others
        scale = np.sqrt(self._noise + others)
        z = sign * middle / scale
        steep = np.exp(-0.5 * z * z - 0.5 * np.log(2 * np.pi) - log_ndtr(z))
        new_mean = middle + sign * others * steep / scale
        new_variance = others - others**2 * steep * (z + steep) / (self._noise + others)
        new_variance = np.maximum(new_variance, _TINY)
        new_sites = np.maximum(1 / new_variance - 1 / others, 1e-8)
        new_shifts = new_mean / new_variance - middle / others
        return (
            np.where(usable, sites + damping * (new_sites - sites), sites),
            np.where(usable, shifts + damping * (new_shifts - shifts), shifts),
        )

    def chances(self, reading: Reading) -> Chances:
        """Forecast a definition; prompts that were never asked get what the others have taught."""
        from scipy.special import ndtr

        features = self._standardised(reading)
        count, width = features.shape
        alike = likenesses([reading], self._readings)[0]
        wanders = np.linalg.solve(self._prior, alike)
        # The last column is what the scans do not tell of this definition's δ.
        loadings = np.empty((count, len(self._weights) + 1), np.float32)
        loadings[:, :width] = features
        np.subtract(features, self._usual, out=loadings[:, width : 2 * width])
        loadings[:, 2 * width] = 1.0
        loadings[:, 2 * width + 1 : -1] = wanders
        loadings[:, -1] = 1.0
        mean = loadings[:, :-1] @ self._weights.astype(np.float32)
        variance = np.full(count, 1.0 + self._noise)
        toward = LASTING + (1 - LASTING) * alike
        asked = slice(None) if len(self.asked) == count else self.asked
        mean[asked] += self._pulled @ toward
        moved = toward.astype(np.float32) @ self._moved
        loadings[asked, :-1] -= moved.reshape(-1, len(self._weights))
        taught = self._solved.reshape(len(self._solved), -1) @ np.outer(toward, toward).ravel()
        variance[asked] = np.maximum(variance[asked] - taught, 1e-4)
        size = len(self._weights)
        shared = np.zeros((size + 1, size + 1))
        shared[:size, :size] = self._weight_covariance
        shared[size, size] = WANDERING**2 * max(0.0, 1.0 - float(wanders @ alike))
        spread = np.einsum("nq,nq->n", loadings @ shared.astype(np.float32), loadings)
        scale = np.sqrt(variance + spread)
        z = mean / scale
        z = np.where(reading.nearest >= SAME, np.maximum(z, _SURE), z)
        density = np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * scale)
        return Chances(ndtr(z), density, loadings, shared)


def _without_prior(prior: Array, sites: Array) -> Array:
    """(prior + diag(1 / sites))⁻¹ for each prompt, [N, K, K]; rows of sites of 0 are 0."""
    root = np.sqrt(sites)
    inner = np.eye(len(prior)) + root[:, :, None] * prior * root[:, None, :]
    solved: Array = root[:, :, None] * np.linalg.inv(inner) * root[:, None, :]
    return solved


def _ratio(shifts: Array, sites: Array) -> Array:
    return np.where(sites > 0, shifts / np.maximum(sites, 1e-12), 0.0)
