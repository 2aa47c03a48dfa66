"""Survey of a prompt set: clusters with error rates, near-duplicates, suggested labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.clustering import Grouping, StoppedError, assign, group_vectors
from guardtui.advice.duplicates import NEAR, Duplicates, near_duplicates
from guardtui.advice.typical_words import typical_words
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import Metrics, metrics_of
from guardtui.domain.operating_point import settled
from guardtui.domain.prompts import PromptSet
from guardtui.domain.statistics import Interval, wilson_interval
from guardtui.scanners.local.matrix import PromptMatrix
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import probability

Floats: TypeAlias = "NDArray[np.float32]"
Stopped = Callable[[], bool]

FITTED_ON = 20_000
"""Maximum number of clustered prompts; the others of a larger set join the nearest cluster."""

COMPARED = 200_000
"""Maximum number of prompts searched for near-duplicates: their vectors take 300 MB."""

NAME_WORDS = 3

_READ_FOR_WORDS = 2_000
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


@dataclass(frozen=True, eq=False)
class Cluster:
    """Similar prompts: `rows` (intp [n], ascending) of the prompt set.

    `number` counts from 1, by size. `words` are its typical words, and `central` is the row of its
    most central prompt. `belong` counts true labels, `metrics` outcomes.
    """

    number: int
    rows: NDArray[np.intp]
    words: tuple[str, ...]
    central: int
    belong: int
    metrics: Metrics

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def name(self) -> str:
        """Display name: its number and first words, which are foreign text."""
        return " ".join([f"{self.number}", ", ".join(self.words[:NAME_WORDS])]).strip()

    @property
    def others(self) -> int:
        """Number of false labels."""
        return self.size - self.belong

    @property
    def lacks(self) -> str:
        """ "no negatives", "no positives" or ""; by label, whatever the intent."""
        if not self.others:
            return "no negatives"
        return "" if self.belong else "no positives"

    @property
    def mistakes(self) -> int:
        return self.metrics.fp + self.metrics.fn

    @property
    def error_rate(self) -> float | None:
        """(FP + FN) / prompts with a verdict; None without any."""
        return self.mistakes / self.metrics.total if self.metrics.total else None

    @property
    def error_interval(self) -> Interval | None:
        """Wilson's interval of the error rate."""
        return wilson_interval(self.mistakes, self.metrics.total)

    @property
    def false_positive_rate(self) -> tuple[float | None, Interval | None]:
        """FP / (FP + TN), and Wilson's interval of it."""
        return _rate(self.metrics.fp, self.metrics.fp + self.metrics.tn)

    @property
    def false_negative_rate(self) -> tuple[float | None, Interval | None]:
        """FN / (FN + TP), and Wilson's interval of it."""
        return _rate(self.metrics.fn, self.metrics.fn + self.metrics.tp)


def _rate(hits: int, total: int) -> tuple[float | None, Interval | None]:
    return (hits / total if total else None), wilson_interval(hits, total)


@dataclass(frozen=True, slots=True)
class LabelSuggestion:
    """A suggestion to label another prompt, similar to those of `rows`.

    `score` (0 to 1) is the mean of the rows' `spot_scores`. `belong` and `others` are the weights
    of the labels nearby. `near_threshold` counts the cluster's prompts near the threshold. `wanted`
    is the rarer label there.
    """

    cluster: int
    score: float
    rows: tuple[int, ...]
    belong: float
    others: float
    near_threshold: int
    wanted: bool


@dataclass(frozen=True, eq=False)
class Survey:
    """Survey of a prompt set; clusters with the worst error rate first.

    `labels` (intp [N]) are the number of the cluster of each prompt. `silhouette` is the mean
    silhouette of the grouping, None for a single cluster.
    """

    prompts: PromptSet
    evaluation: Evaluation
    clusters: tuple[Cluster, ...]
    labels: NDArray[np.intp]
    silhouette: float | None
    duplicates: Duplicates
    spots: tuple[LabelSuggestion, ...]

    def cluster(self, number: int) -> Cluster:
        """Return the cluster of a number. Raises KeyError."""
        for cluster in self.clusters:
            if cluster.number == number:
                return cluster
        raise KeyError(number)


def survey(
    scanner: LocalScanner,
    prompts: PromptSet,
    evaluation: Evaluation,
    stopped: Stopped = lambda: False,
) -> Survey | None:
    """Survey a prompt set; None if stopped.

    Error rates are those of `evaluation`, by any scanner. Vectors and distances to the threshold
    are the embedded engine's for the same definition. Deterministic. Raises ValueError if the
    evaluation is of other prompts, and ScannerError like a scan.
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
    count = len(prompts)
    rows = np.arange(count)
    if count > FITTED_ON:
        random = np.random.default_rng(_SEED)
        rows = np.sort(random.choice(count, FITTED_ON, replace=False))
    fitted = matrix.vectors(rows)
    grouping = group_vectors(fitted, stopped=stopped)
    if count <= FITTED_ON:
        labels, nearest = assign(fitted, grouping.centres)
    else:
        labels, nearest = _assign_all(matrix, count, grouping, stopped)
    clusters = _clusters(prompts, evaluation, labels, nearest, len(grouping))
    duplicates = _duplicates(prompts, matrix, fitted, stopped)
    spots = _spots(matrix, prompts.expected, labels + 1, margin, stopped)
    worst_first = sorted(clusters, key=_worst_first)
    return Survey(
        prompts,
        evaluation,
        tuple(worst_first),
        labels + 1,
        grouping.silhouette,
        duplicates,
        spots,
    )


def _duplicates(
    prompts: PromptSet, matrix: PromptMatrix, fitted: Floats, stopped: Stopped
) -> Duplicates:
    """Return near-duplicates among at most 200 000 sampled prompts, as rows of the set."""
    count = len(prompts)
    if count == len(fitted):
        return near_duplicates(fitted, prompts.expected, stopped=stopped)
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


def _worst_first(cluster: Cluster) -> tuple[float, int, int]:
    rate = cluster.error_rate
    # Of equal rates, the cluster with more mistakes; clusters without verdicts are last.
    return (1.0 if rate is None else -rate), -cluster.mistakes, cluster.number


def _assign_all(
    matrix: PromptMatrix, count: int, grouping: Grouping, stopped: Stopped
) -> tuple[NDArray[np.intp], Floats]:
    labels, nearest = np.empty(count, np.intp), np.empty(count, np.float32)
    for start in range(0, count, _BLOCK):
        if stopped():
            raise StoppedError
        stop = min(start + _BLOCK, count)
        part = matrix.vectors(np.arange(start, stop))
        labels[start:stop], nearest[start:stop] = assign(part, grouping.centres)
    return labels, nearest


def _clusters(
    prompts: PromptSet,
    evaluation: Evaluation,
    labels: NDArray[np.intp],
    nearest: Floats,
    count: int,
) -> list[Cluster]:
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=count))
    members = np.split(order, ends[:-1])
    random = np.random.default_rng(_SEED)
    texts = []
    for rows in members:
        read = rows
        if len(rows) > _READ_FOR_WORDS:
            read = np.sort(random.choice(rows, _READ_FOR_WORDS, replace=False))
        texts.append(prompts.prompts[read].to_list())
    clusters = []
    for number, (rows, words) in enumerate(zip(members, typical_words(texts), strict=True), 1):
        if not len(rows):
            continue
        clusters.append(
            Cluster(
                number,
                rows,
                words,
                int(rows[int(nearest[rows].argmax())]),
                int(np.count_nonzero(prompts.expected[rows])),
                metrics_of(evaluation.codes[rows]),
            )
        )
    return clusters


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
    matrix: PromptMatrix,
    expected: NDArray[np.bool_],
    labels: NDArray[np.intp],
    margin: Floats,
    stopped: Stopped,
) -> tuple[LabelSuggestion, ...]:
    """Return the best spot of each cluster, best first, with its prompts of the highest scores."""
    rows = np.sort(np.argsort(np.abs(margin), kind="stable")[:_ASKED])
    belong, others = labels_nearby(matrix, rows, expected, stopped)
    scores = spot_scores(margin[rows], belong, others)
    vectors = matrix.vectors(rows)
    suggestions = []
    for number in np.unique(labels[rows]).tolist():
        inside = np.flatnonzero(labels[rows] == number)
        best = _apart(vectors, inside[np.argsort(-scores[inside], kind="stable")])
        score = float(scores[best].mean())
        near = int(np.count_nonzero(np.abs(margin[rows[inside]]) <= UNSURE))
        if score < _LEAST_SCORE or not near:
            continue
        positive, negative = float(belong[best].mean()), float(others[best].mean())
        marks = tuple(rows[best].tolist())
        suggestions.append(
            LabelSuggestion(number, score, marks, positive, negative, near, positive < negative)
        )
    return tuple(sorted(suggestions, key=lambda spot: (-spot.score, spot.cluster))[:SPOTS_AT_MOST])


def _apart(vectors: Floats, ordered: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first of these indexes that are not near-duplicates, at most `MARKS`."""
    chosen: list[int] = []
    for index in ordered.tolist():
        if all(float(vectors[index] @ vectors[other]) < NEAR for other in chosen):
            chosen.append(index)
        if len(chosen) == MARKS:
            break
    return np.asarray(chosen, np.intp)
