"""The model of a forecast: which prompts trigger, learnt from a guardrail's earlier verdicts.

Prompt i matches at definition D if g_i(D) > 0, with

    g_i(D) = w · f_i(D) + v · (f_i(D) − f̄_i) + b + c · y_i + δ(D) + r_i(D) + e.

f are the engine's features of the prompt at D, standardised at the first scan, and f̄_i their mean
over the scans. w are the weights of differences between prompts, v the additional weights of
differences between edits. b is the operating point and δ(D) its variation with the definition, and
with the amount of its text. y_i is the label, 1 or −1: a guardrail that is often right
where the engine is not follows it, which tells most of prompts that were never asked. r_i is this
guardrail's deviation for this prompt, a Gaussian process over definitions: a share `LASTING` of it
is independent of the wording, the rest is correlated as definitions are similar. e is the noise of
repeated scans. The variance of r is 1.

Verdicts enter as probit observations by expectation propagation (Minka 2001; for probit, Rasmussen
& Williams 2006, section 3.6), with one small Gaussian for each prompt, all prompts at once. Given
these, w, v, b, c and δ have a joint Gaussian posterior (generalised least squares), and the two
steps alternate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.distributions import log_normal_cdf, normal_cdf, normal_quantile
from guardtui.domain.forecast_record import Repeats
from guardtui.forecast.engine_features import EngineFeatures

Array: TypeAlias = "NDArray[np.floating]"

LASTING = 0.65
"""Share of the variance of r that is independent of the wording."""
WANDERING = 0.3
"""Standard deviation of δ."""
AMOUNT = 0.7
"""Standard deviation of the slope of δ by the logarithm of the number of words.

More text matches more or less of everything: how much differs from guardrail to guardrail.
"""
NOISE = 0.005
"""Variance of e if no scan was repeated."""
DESCRIPTION_SHARE = 0.4
"""Weight of the description; the examples have the rest."""
LENGTH = 0.35
"""1 − cosine of two texts at which their similarity is e⁻¹."""
SAME = 0.985
"""A prompt with this cosine to an example counts as that example: it matches, and is not fitted."""

_BELIEF = 0.4  # mean of w for the cosines of the engine's encoder; 0 for the other features
_BELIEVED = 3  # their number
_WEIGHT_VARIANCE = 0.1
_MOVE_VARIANCE = 0.1
_LEVEL_VARIANCE = 25.0
_LABEL_VARIANCE = 4.0
_ROUNDS = 8
_DAMPING = 0.8
_SURE = 3.0  # minimum g of a prompt that is an example, in standard deviations
_LEAST_SPREAD = 0.02  # of a feature: one that is equal for all prompts must not count endlessly
_TINY = 1e-6


@dataclass(frozen=True, eq=False)
class ScannedDefinition:
    """Verdicts at one definition: `matched` int8 [N], 1 match, 0 no match, -1 unknown."""

    reading: EngineFeatures
    matched: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class MatchProbabilities:
    """Match probabilities at one definition.

    `match` [N] is the probability that each prompt matches, `density` [N] its derivative with
    respect to g. `loadings` [N, q] are the derivatives of g with respect to the shared parameters,
    whose covariance is `shared` [q, q].
    """

    match: Array
    density: Array
    loadings: Array
    shared: Array

    def with_answers(self, matched: NDArray[np.int8]) -> MatchProbabilities:
        """Return these with some answers known: `matched` int8 [N] as in `ScannedDefinition`."""
        answered = matched >= 0
        return MatchProbabilities(
            np.where(answered, matched, self.match),
            np.where(answered, 0.0, self.density),
            self.loadings,
            self.shared,
        )

    def slope(self, group: NDArray[np.bool_]) -> Array:
        """Return the gradient of a group's mean probability [N] by the shared parameters, [q]."""
        weights = (self.density * group).astype(np.float32)
        slope: Array = weights @ self.loadings / np.count_nonzero(group)
        return slope

    def among(self, group: NDArray[np.bool_]) -> MatchProbabilities:
        """Return the chances of a group of prompts, bool [N]."""
        # Laid out as before, so that sums are rounded in the same order.
        loadings = np.compress(group, self.loadings.T, axis=1).T
        return MatchProbabilities(self.match[group], self.density[group], loadings, self.shared)


class VerdictModel:
    """A model fitted to scans of one guardrail; safe to use from several threads."""

    def __init__(self, scans: Sequence[ScannedDefinition], noise: float = NOISE) -> None:
        """Fit the model; takes about 0.1 s for 1,000 prompts and 10 scans.

        `scans` has at least one scan, all of the same prompts. `noise` is the variance of e.
        """
        self._readings = [scan.reading for scan in scans]
        self._noise = noise
        first = self._readings[0].columns.astype(np.float64)
        spread = np.maximum(first.std(axis=0), _LEAST_SPREAD)
        self._centre, self._spread = (
            first.mean(axis=0).astype(np.float32),
            spread.astype(np.float32),
        )
        features = [self._standardised(reading).astype(np.float64) for reading in self._readings]
        self._usual = np.mean(features, axis=0)
        self._usual_rows = np.ascontiguousarray(self._usual.T, np.float32)
        self._prior = likenesses(self._readings, self._readings) + _TINY * np.eye(len(scans))
        self._amounts = np.array([self._amount(reading) for reading in self._readings])
        self._levels = WANDERING**2 * self._prior + AMOUNT**2 * np.outer(
            self._amounts, self._amounts
        )
        self._covariance = LASTING + (1 - LASTING) * self._prior
        answered = np.stack(
            [(scan.matched >= 0) & (scan.reading.nearest < SAME) for scan in scans], axis=1
        )
        sign = np.stack([np.where(scan.matched > 0, 1.0, -1.0) for scan in scans], axis=1)
        self.asked = np.flatnonzero(answered.any(axis=1))
        """Indices of the prompts that the model was fitted to, intp [n]."""
        self._label = self._readings[0].label
        design = self._design([columns[self.asked] for columns in features])
        self._fit(design, sign[self.asked], answered[self.asked])

    def _amount(self, reading: EngineFeatures) -> float:
        """Return the logarithm of the number of words relative to the first scan."""
        return float(np.log((1 + reading.words) / (1 + self._readings[0].words)))

    def _standardised(self, reading: EngineFeatures) -> NDArray[np.float32]:
        columns: NDArray[np.float32] = (reading.columns - self._centre) / self._spread
        return columns

    def _design(self, features: Sequence[Array]) -> Array:
        """Return the regressors, [N, K, q], q = 2 p + 2 + K.

        They are features, moves, level, label and wandering.
        """
        count, width = features[0].shape
        scans = len(features)
        design = np.zeros((count, scans, 2 * width + 2 + scans))
        for scan, columns in enumerate(features):
            design[:, scan, :width] = columns
            design[:, scan, width : 2 * width] = columns - self._usual[self.asked]
            design[:, scan, 2 * width] = 1.0
            design[:, scan, 2 * width + 1] = self._label[self.asked]
            design[:, scan, 2 * width + 2 + scan] = 1.0
        return design

    def _fit(self, design: Array, sign: Array, answered: NDArray[np.bool_]) -> None:
        precision, mean = self._beliefs(design.shape[2])
        level = 2 * len(self._centre)
        rate = np.clip((sign[answered] > 0).mean(), 0.02, 0.98) if answered.any() else 0.5
        weights = mean.copy()
        weights[level] = float(normal_quantile(rate)) * np.sqrt(1 + mean.sum() ** 2)
        # Sites: Gaussian approximations of the verdicts, by precision and precision × mean.
        sites: Array = 0.3 * answered
        shifts: Array = sites * (design @ weights)
        posterior = precision
        for number in range(_ROUNDS):
            sites, shifts = self._observed(
                design @ weights, sign, answered, sites, shifts, _DAMPING if number else 1.0
            )
            solved = _without_prior(self._covariance, sites)
            targets = _ratio(shifts, sites)
            moved = solved @ design
            posterior = precision + np.tensordot(design, moved, axes=((0, 1), (0, 1)))
            weights = np.linalg.solve(
                posterior, precision @ mean + np.tensordot(targets, moved, axes=((0, 1), (0, 1)))
            )
        self._weights, self._weight_covariance = weights, np.linalg.inv(posterior)
        # Other rows of a forecast's derivatives follow from these (see `_condition`).
        self._moved, self._solved = _rows(moved[:, :, : len(self._centre)]), _rows(solved)
        rest = np.where(sites > 0, targets - design @ weights, 0.0)
        self._pulled = np.einsum("nkl,nl->nk", solved, rest)

    def _beliefs(self, width: int) -> tuple[Array, Array]:
        """Return precision [q, q] and mean [q] of the prior of all weights."""
        features = len(self._centre)
        level = 2 * features
        precision = np.zeros((width, width))
        indices = np.arange(features)
        precision[indices, indices] = 1 / _WEIGHT_VARIANCE
        precision[indices + features, indices + features] = 1 / _MOVE_VARIANCE
        precision[level, level] = 1 / _LEVEL_VARIANCE
        precision[level + 1, level + 1] = 1 / _LABEL_VARIANCE
        precision[level + 2 :, level + 2 :] = np.linalg.inv(self._levels)
        mean = np.zeros(width)
        mean[: min(_BELIEVED, features)] = _BELIEF
        return precision, mean

    def _observed(
        self,
        expected: Array,
        sign: Array,
        answered: NDArray[np.bool_],
        sites: Array,
        shifts: Array,
        damping: float,
    ) -> tuple[Array, Array]:
        """Run one parallel round of expectation propagation; return sites and shifts, [N, K]."""
        prior = self._covariance
        solved = _without_prior(prior, sites)
        residuals = np.where(sites > 0, _ratio(shifts, sites) - expected, 0.0)
        mean = expected + np.einsum("nkl,nl->nk", solved, residuals) @ prior
        variance = np.diag(prior) - np.einsum("nkl,kl->nk", prior @ solved, prior)
        cavity_precision = 1 / variance - sites
        usable = answered & (cavity_precision > _TINY)
        cavity_variance = np.where(usable, 1 / np.where(usable, cavity_precision, 1.0), 1.0)
        middle = (mean / variance - shifts) * cavity_variance
        scale = np.sqrt(self._noise + cavity_variance)
        z = sign * middle / scale
        steep = np.exp(-0.5 * z * z - 0.5 * np.log(2 * np.pi) - log_normal_cdf(z))
        new_mean = middle + sign * cavity_variance * steep / scale
        new_variance = cavity_variance - cavity_variance**2 * steep * (z + steep) / (
            self._noise + cavity_variance
        )
        new_variance = np.maximum(new_variance, _TINY)
        new_sites = np.maximum(1 / new_variance - 1 / cavity_variance, 1e-8)
        new_shifts = new_mean / new_variance - middle / cavity_variance
        return (
            np.where(usable, sites + damping * (new_sites - sites), sites),
            np.where(usable, shifts + damping * (new_shifts - shifts), shifts),
        )

    def chances(self, reading: EngineFeatures) -> MatchProbabilities:
        """Forecast a definition; prompts without any verdict follow the shared parameters."""
        alike = likenesses([reading], self._readings)[0]
        amount = self._amount(reading)
        covered = WANDERING**2 * alike + AMOUNT**2 * amount * self._amounts
        wanders = np.linalg.solve(self._levels, covered)
        toward = LASTING + (1 - LASTING) * alike
        count, size = len(reading.columns), len(self._weights)
        rows = self._derivatives(reading, wanders)
        mean = self._weights.astype(np.float32) @ rows[:-1]
        variance = np.full(count, 1.0 + self._noise)
        asked = slice(None) if len(self.asked) == count else self.asked
        mean[asked] += self._pulled @ toward
        variance[asked] -= self._condition(rows, asked, toward.astype(np.float32))
        np.maximum(variance, 1e-4, out=variance)
        shared = np.zeros((size + 1, size + 1))
        shared[:size, :size] = self._weight_covariance
        shared[size, size] = max(
            0.0, WANDERING**2 + (AMOUNT * amount) ** 2 - float(wanders @ covered)
        )
        spread = np.einsum("qn,qn->n", shared.astype(np.float32) @ rows, rows)
        scale = np.sqrt(variance + spread)
        z = mean / scale
        z = np.where(reading.nearest >= SAME, np.maximum(z, _SURE), z)
        density = np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * scale)
        return MatchProbabilities(normal_cdf(z), density, rows.T, shared)

    def _derivatives(self, reading: EngineFeatures, wanders: Array) -> NDArray[np.float32]:
        """Return the derivatives of g by the shared parameters without any verdict, [q + 1, N].

        The last row is the part of this definition's δ that the scans do not determine.
        """
        moves = self._standardised(reading).T - self._usual_rows
        width, count = moves.shape
        rows = np.empty((len(self._weights) + 1, count), np.float32)
        np.add(moves, self._usual_rows, out=rows[:width])
        rows[width : 2 * width] = moves
        rows[2 * width] = 1.0
        rows[2 * width + 1] = self._label
        rows[2 * width + 2 : -1] = wanders[:, None]
        rows[-1] = 1.0
        return rows

    def _condition(
        self,
        rows: NDArray[np.float32],
        asked: slice | NDArray[np.intp],
        toward: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Subtract what the verdicts say about r from the derivatives [q + 1, N] of their prompts.

        Returns the variance of r that they explain, [n]. `toward` [K] are the covariances of r at
        this definition and the scans.
        """
        width, scans = len(self._centre), len(toward)
        pulls = (toward @ self._solved).reshape(scans, -1)  # weight of each verdict, [K, n]
        features = (toward @ self._moved).reshape(width, -1)
        whole = pulls.sum(axis=0)
        rows[:width, asked] -= features
        # Σ pull · (f − f̄) is the same sum without the mean of each prompt.
        rows[width : 2 * width, asked] -= features - self._usual_rows[:, asked] * whole
        rows[2 * width, asked] -= whole
        rows[2 * width + 1, asked] -= self._label[asked] * whole
        rows[2 * width + 2 : -1, asked] -= pulls
        explained: NDArray[np.float32] = toward @ pulls
        return explained


def _rows(values: Array) -> NDArray[np.float32]:
    """Return [n, K, m] as one row for each scan, [K, m · n]: a forecast is a product with them."""
    rows = np.ascontiguousarray(values.transpose(1, 2, 0), np.float32)
    return rows.reshape(len(rows), -1)


def _without_prior(prior: Array, sites: Array) -> Array:
    """Return (prior + diag(1 / sites))⁻¹ per prompt, [N, K, K]; rows with site 0 are 0."""
    root = np.sqrt(sites)
    inner = np.eye(len(prior)) + root[:, :, None] * prior * root[:, None, :]
    solved: Array = root[:, :, None] * np.linalg.inv(inner) * root[:, None, :]
    return solved


def _ratio(shifts: Array, sites: Array) -> Array:
    return np.where(sites > 0, shifts / np.maximum(sites, 1e-12), 0.0)


# --- similarity of definitions: how much verdicts on one say about the other ------------------


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


# --- noise: the self-consistency of a guardrail, from repeated scans of one definition --------

_LARGEST = 4.0
_POINTS, _SHARES = np.polynomial.hermite_e.hermegauss(21)


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
    share = (counted.differing + NOISE) / (counted.pairs + 1)
    # Means of g in units of its own spread, from the noiseless probability of the forecast.
    middle = np.clip(chances.match, 1e-6, 1 - 1e-6)
    grid = normal_quantile(middle)[:, None] + _POINTS

    def surplus(noise: float) -> float:
        fires = normal_cdf(grid / np.sqrt(noise))
        expected = (2 * fires * (1 - fires)) @ _SHARES / _SHARES.sum()
        return float(expected.mean()) - share

    low, high = NOISE, _LARGEST
    if surplus(low) >= 0:
        return low
    if surplus(high) <= 0:
        return high
    while high - low > 1e-3:
        middle_noise = (low + high) / 2
        low, high = (middle_noise, high) if surplus(middle_noise) < 0 else (low, middle_noise)
    return (low + high) / 2
