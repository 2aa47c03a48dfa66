"""Survey of a prompt set: near-duplicates, and where another label would teach most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.duplicates import NEAR, Duplicates, StoppedError, near_duplicates
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import settled
from guardtui.domain.prompts import PromptSet
from guardtui.scanners.local.matrix import PromptMatrix
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import probability

Floats: TypeAlias = "NDArray[np.float32]"
Stopped = Callable[[], bool]

COMPARED = 200_000
"""Maximum number of prompts searched for near-duplicates: their vectors take 300 MB."""

_BLOCK = 8_192
_SEED = 11

SPOTS_AT_MOST = 8
MARKS = 3
"""Prompts of a suggestion."""

NEARBY = 0.5
"""Cosine from which prompts are on the same matter, so that the label of one informs the other."""

UNSURE = 1.5
"""Maximum distance to the threshold, as z, of a prompt near it: p from 0.18 to 0.82."""

_LEAST_SCORE = 0.05
_ASKED = 1_000
_NEIGHBOURS = 50_000


@dataclass(frozen=True, slots=True)
class LabelSuggestion:
    """A suggestion to label another prompt, similar to those of `rows`.

    `score` (0 to 1) is the mean of the rows' `spot_scores`. `belong` and `others` are the weights
    of the labels nearby. `near_threshold` counts the similar prompts near the threshold. `wanted`
    is the rarer label there.
    """

    score: float
    rows: tuple[int, ...]
    belong: float
    others: float
    near_threshold: int
    wanted: bool


@dataclass(frozen=True, eq=False)
class Survey:
    """Near-duplicates of a prompt set, and suggested labels, the most useful first."""

    prompts: PromptSet
    evaluation: Evaluation
    duplicates: Duplicates
    spots: tuple[LabelSuggestion, ...]


def survey(
    scanner: LocalScanner,
    prompts: PromptSet,
    evaluation: Evaluation,
    stopped: Stopped = lambda: False,
) -> Survey | None:
    """Survey a prompt set; None if stopped.

    Vectors and distances to the threshold are the engine's for the definition of
    `evaluation`, by any scanner. Deterministic. Raises ValueError if the evaluation is of other
    prompts, and ScannerError like a scan.
    """
    if len(evaluation.keys) != len(prompts) or not np.array_equal(evaluation.keys, prompts.keys):
        raise ValueError("the evaluation is of other prompts")
    scored = scanner.z(evaluation.topic, prompts, lambda progress: None, stopped)
    known = scanner.prompt_vectors(prompts, lambda progress: None, stopped)
    if scored is None or known is None:
        return None
    settings = scanner.settings_for(prompts)
    point = settled(settings, probability(scored[0]), prompts.expected)
    threshold = point.threshold or 0.0
    border = float(np.log(threshold) - np.log1p(-threshold)) if 0 < threshold < 1 else 0.0
    try:
        return survey_of(prompts, evaluation, known.matrix, scored[0] - np.float32(border), stopped)
    except StoppedError:
        return None


def survey_of(
    prompts: PromptSet,
    evaluation: Evaluation,
    matrix: PromptMatrix,
    margin: Floats,
    stopped: Stopped = lambda: False,
) -> Survey:
    """Survey from vectors [N, d] and z above the threshold [N]. Raises `StoppedError`."""
    return Survey(
        prompts,
        evaluation,
        _duplicates(prompts, matrix, stopped),
        _spots(matrix, prompts.expected, margin, stopped),
    )


def _duplicates(prompts: PromptSet, matrix: PromptMatrix, stopped: Stopped) -> Duplicates:
    """Return near-duplicates among at most 200 000 sampled prompts, as rows of the set."""
    count = len(prompts)
    rows = np.arange(count)
    if count > COMPARED:
        random = np.random.default_rng(_SEED)
        rows = np.sort(random.choice(count, COMPARED, replace=False))
    duplicates = near_duplicates(matrix.vectors(rows), prompts.expected[rows], stopped=stopped)
    pairs = (
        replace(pair, first=int(rows[pair.first]), second=int(rows[pair.second]))
        for pair in duplicates.pairs
    )
    return replace(duplicates, pairs=tuple(pairs))


def spot_scores(
    margin: NDArray[np.floating], belong: NDArray[np.floating], others: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return the use of a label near each prompt, 0 to 1: uncertainty · density · scarcity.

    The first two are information density (Settles and Craven 2008). The last is small near many
    labels of both kinds:

    - uncertainty 4 p (1 − p), p = 1 / (1 + e^−margin) with the margin as z above the threshold: 1
      on the threshold, a fifth at a distance of 3;
    - density w / (w + 2), with w = belong + others: small for isolated prompts;
    - scarcity 1 / (1 + min(belong, others)): large with few labels of the rarer class nearby.

    `belong` and `others` are the labels nearby of either kind, without the prompt's own, each
    weighted by (cos − 0.5) / 0.5 if this is positive. All are [n].
    """
    p = 0.5 + 0.5 * np.tanh(np.asarray(margin, np.float64) / 2)
    weight = np.asarray(belong, np.float64) + others
    scarcity = 1 / (1 + np.minimum(np.asarray(belong, np.float64), others))
    scores: NDArray[np.float64] = 4 * p * (1 - p) * (weight / (weight + 2)) * scarcity
    return scores


def labels_nearby(
    matrix: PromptMatrix, rows: NDArray[np.intp], expected: NDArray[np.bool_], stopped: Stopped
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight of true labels near each row (intp [n]), and that of false labels.

    For a set of more than 50 000, a sample stands for the others. Raises `StoppedError`.
    """
    count = len(matrix)
    others = np.arange(count)
    if count > _NEIGHBOURS:
        others = np.sort(np.random.default_rng(_SEED).choice(count, _NEIGHBOURS, replace=False))
    share = count / len(others)
    own = matrix.vectors(rows)
    positive, negative = np.zeros(len(rows)), np.zeros(len(rows))
    for start in range(0, len(others), _BLOCK):
        if stopped():
            raise StoppedError
        part = others[start : start + _BLOCK]
        weights = np.maximum((matrix.products(own, part) - NEARBY) / (1 - NEARBY), 0)
        weights[rows[:, None] == part[None, :]] = 0
        label = expected[part]
        positive += weights[:, label].sum(axis=1, dtype=np.float64) * share
        negative += weights[:, ~label].sum(axis=1, dtype=np.float64) * share
    return positive, negative


def _spots(
    matrix: PromptMatrix, expected: NDArray[np.bool_], margin: Floats, stopped: Stopped
) -> tuple[LabelSuggestion, ...]:
    """Return suggestions on different matters, best first.

    Each starts at the prompt with the highest score that is similar to no earlier one, and names
    the best-scored prompts like it.
    """
    rows = np.sort(np.argsort(np.abs(margin), kind="stable")[:_ASKED])
    belong, others = labels_nearby(matrix, rows, expected, stopped)
    scores = spot_scores(margin[rows], belong, others)
    unsure = np.abs(margin[rows]) <= UNSURE
    vectors = matrix.vectors(rows)
    left = np.ones(len(rows), bool)
    suggestions: list[LabelSuggestion] = []
    for index in np.argsort(-scores, kind="stable").tolist():
        if scores[index] < _LEAST_SCORE or len(suggestions) == SPOTS_AT_MOST:
            break
        if not left[index]:
            continue
        similar = left & (vectors @ vectors[index] >= NEARBY)
        similar[index] = True
        left &= ~similar
        near = int(np.count_nonzero(unsure & similar))
        alike = np.flatnonzero(similar)
        best = _apart(vectors, alike[np.argsort(-scores[alike], kind="stable")])
        score = float(scores[best].mean())
        if score < _LEAST_SCORE or not near:
            continue
        positive, negative = float(belong[best].mean()), float(others[best].mean())
        marks = tuple(rows[best].tolist())
        suggestions.append(
            LabelSuggestion(score, marks, positive, negative, near, positive < negative)
        )
    return tuple(sorted(suggestions, key=lambda spot: -spot.score))


def _apart(vectors: Floats, ordered: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first of these indexes that are not near-duplicates, at most `MARKS`."""
    chosen: list[int] = []
    for index in ordered.tolist():
        if all(float(vectors[index] @ vectors[other]) < NEAR for other in chosen):
            chosen.append(index)
        if len(chosen) == MARKS:
            break
    return np.asarray(chosen, np.intp)
