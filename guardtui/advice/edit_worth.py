"""Significance of a measured edit, from its fixes and regressions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.evaluation import should_trigger
from guardtui.domain.metrics import Metrics
from guardtui.domain.significance import Pairs, Significance
from guardtui.domain.topic import Intent

_SEED = 11


def significance_of(
    duty: NDArray[np.bool_], before: NDArray[np.bool_], after: NDArray[np.bool_]
) -> Significance:
    """Return the significance of a change, from which prompts were and are correct, bool [n].

    `duty` are prompts that should trigger, bool [n]; all prompts have verdicts before and after.
    """
    code = 2 * before + after

    def cells(rows: NDArray[np.bool_]) -> tuple[int, int, int, int]:
        wrong, fixed, broken, right = np.bincount(code[rows], minlength=4).tolist()
        return right, broken, fixed, wrong

    pairs = Pairs(cells(duty), cells(~duty))
    fixes, regressions = (pairs.positive[cell] + pairs.negative[cell] for cell in (2, 1))
    return Significance(fixes, regressions, len(duty), pairs)


def significance_of_matches(
    expected: NDArray[np.bool_],
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    intent: Intent,
) -> Significance:
    """Return the same from labels and from which prompts match two definitions, bool [n] each."""
    # A match is correct if the label says so, for either intent.
    duty = should_trigger(expected, intent)
    return significance_of(duty, before == expected, after == expected)


def metrics_of_matches(
    expected: NDArray[np.bool_], matches: NDArray[np.bool_], intent: Intent
) -> Metrics:
    """Return metrics from labels and from which prompts match, both bool [n]."""
    hits = int(np.count_nonzero(expected & matches))
    belong, false = int(np.count_nonzero(expected)), int(np.count_nonzero(matches)) - hits
    others = len(expected) - belong
    if intent is Intent.BLOCK:
        return Metrics(tp=hits, tn=others - false, fp=false, fn=belong - hits)
    # An allow topic triggers on prompts that do not match: those that belong should not.
    return Metrics(tp=others - false, tn=hits, fp=belong - hits, fn=false)


def resamples(belongs: NDArray[np.bool_], count: int) -> NDArray[np.float64]:
    """Return how often each prompt is drawn, [1 + count, n]; once each in the first row.

    Each class keeps its size (the stratified bootstrap of B. Efron and R. J. Tibshirani, An
    Introduction to the Bootstrap, 1993, section 8.4). The same for the same labels, bool [n].
    """
    random = np.random.default_rng(_SEED)
    weights = np.ones((1 + count, len(belongs)))
    for members in (np.flatnonzero(belongs), np.flatnonzero(~belongs)):
        if len(members):
            equal = np.full(len(members), 1 / len(members))
            weights[1:, members] = random.multinomial(len(members), equal, count)
    return weights


def resampled_rates(
    right: NDArray[np.bool_],
    counted: NDArray[np.bool_],
    belongs: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return TPR and TNR of several sets of verdicts in each resample, [2, k, 1 + b].

    `right` and `counted` are bool [k, n]: which verdicts are right, and which prompts count.
    `belongs` are the labels, bool [n], and `weights` those of `resamples`, [1 + b, n]. A class
    without prompts that count has rate 0.
    """
    rates = []
    for members in (belongs, ~belongs):
        there = counted[:, members].astype(np.float64)
        drawn = weights[:, members].T
        rates.append((right[:, members] * there) @ drawn / np.maximum(there @ drawn, 1e-9))
    return np.stack(rates)
