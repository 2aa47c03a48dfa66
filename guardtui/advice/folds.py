"""Gains that come true on other prompts: the whole choice of an edit, repeated on folds.

Each fold of the prompts is left out once. The edit is chosen on the others, as it would be if the
fold had not been labelled yet, and both definitions are judged on the fold at operating points that
were found without it. What all folds gain together is what the choice gains on prompts that had no
part in it (nested cross-validation: M. Stone, Cross-validatory choice and assessment of statistical
predictions, JRSS B 36, 1974).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate
from guardtui.advice.edit_worth import resampled_rates, resamples
from guardtui.advice.objective import Array, Gain, Objective, OwnPrompts, Rows, Stopped, unchanged
from guardtui.domain.sweep import stratified_folds
from guardtui.domain.topic import Topic

FOLDS = 5

REPEATS = 3
"""Number of partitions into folds, whose gains are averaged."""

LIKELY_FROM = 0.02
"""Gain on the folds from which an edit is proposed and not only guessed; at least as much as the
standard error of the gain."""

SHRINKAGE = 0.7
"""Share of the folds' gain that other prompts show where it is at least `LIKELY_FROM`.

The edits with a large gain on the folds are also the lucky ones. On the topics that were looked at
for it other prompts showed 0.60 of it, on topics that had no part 0.85 (`benchmarks/evidence.py`).
"""

_QUANTILE = 1.5  # half width of an interval that holds with `CONFIDENCE`, in standard deviations
_RESAMPLES = 400

Choice = Callable[[Objective], Candidate | None]
"""Chooses an edit by an objective; None if there is none worth its cost, or if stopped."""


def gain_of_choice(
    objective: Objective, topic: Topic, choose: Choice, stopped: Stopped = lambda: False
) -> Gain | None:
    """Return the gain in coverage on other prompts of the edit that `choose` finds.

    Returns None if stopped. Examples of either definition do not count.
    """
    rows = objective.rows
    belongs = objective.prompts.expected[rows]
    right = np.zeros((REPEATS, 2, len(rows)), bool)
    counted = np.ones((REPEATS, len(rows)), bool)
    for repeat in range(REPEATS):
        folds = stratified_folds(belongs, FOLDS, repeat, objective.prompts.keys[rows])
        for fold in range(FOLDS):
            inside = folds == fold
            if not inside.any():
                continue
            found = _judged(objective.on(rows[~inside]), topic, choose, rows[inside], stopped)
            if found is None:
                return None
            right[repeat][:, inside], counted[repeat, inside] = found
    changes = _changes(right, counted, belongs)
    value, spread = float(changes[0]), float(changes[1:].std())
    # Other prompts vary as much as these; the folds share prompts, and vary less than new ones.
    margin = _QUANTILE * math.sqrt(2.0) * spread
    likely = value >= max(LIKELY_FROM, spread)
    value = SHRINKAGE * value if likely else value
    return Gain(value, value - margin, value + margin, likely)


def _judged(
    objective: Objective, topic: Topic, choose: Choice, rows: Rows, stopped: Stopped
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return whether verdicts are right before and after the choice, bool [2, n], and which count.

    The choice and the operating points are those of the objective; `rows` are others, [n].
    """
    before = objective.appraise(unchanged(topic), stopped)
    chosen = choose(objective)
    if before is None or stopped():
        return None
    candidates = [unchanged(topic), chosen or unchanged(topic)]
    after = objective.appraise(candidates[1], stopped)
    if after is None:
        return None
    belongs = objective.prompts.expected[rows]
    right = np.stack(
        [
            objective.judge(candidate.topic, appraisal, rows) == belongs
            for candidate, appraisal in zip(candidates, (before, after), strict=True)
        ]
    )
    counts = OwnPrompts(objective.prompts, rows).counted(candidates)
    counted: NDArray[np.bool_] = np.logical_and.reduce(counts, axis=0)
    return right, counted


def _changes(
    right: NDArray[np.bool_], counted: NDArray[np.bool_], belongs: NDArray[np.bool_]
) -> Array:
    """Return the change of coverage over all folds, and that of resamples of the prompts, [1 + b].

    `right` is bool [repeats, 2, n], `counted` bool [repeats, n].
    """
    weights = resamples(belongs, _RESAMPLES)
    before, after = (
        resampled_rates(right[:, index], counted, belongs, weights).min(axis=0)
        for index in range(2)
    )
    changes: Array = (after - before).mean(axis=0)
    return changes
