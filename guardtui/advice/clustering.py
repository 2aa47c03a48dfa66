"""Groups of vectors by direction: k-means on the sphere, with the number of groups chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.errors import GuardtuiError

Floats: TypeAlias = "NDArray[np.float32]"
Stopped = Callable[[], bool]

GROUPS_AT_MOST = 24
"""Maximum number of groups that stay readable."""

_CHOSEN_ON = 1_200
"""Sample size for choosing the number of groups: all cosines take 6 MB."""

_BEGUN_ON = 3_000
"""Sample size for the first iterations from several starts."""

_STEPS = 30
_STEPS_OF_ALL = 12
_STARTS = 3
_BLOCK = 8_192
_SAME = 1e-4


class StoppedError(GuardtuiError):
    """The computation was stopped."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of N vectors: `labels` intp [N] of indexes in `centres`, float32 unit rows [k, d].

    Each vector belongs to the centre of the largest cosine, no group is empty, and the groups are
    numbered by size, largest first. `silhouette` is the mean silhouette (cosine distance) of the
    sample on which k was chosen, None for a single group.
    """

    labels: NDArray[np.intp]
    centres: Floats
    silhouette: float | None

    def __len__(self) -> int:
        return len(self.centres)


def group_vectors(
    vectors: Floats, *, most: int | None = None, seed: int = 0, stopped: Stopped = lambda: False
) -> Grouping:
    """Group unit vectors [N, d] by spherical k-means (Dhillon and Modha 2001).

    Starts are drawn by k-means++ (Arthur and Vassilvitskii 2007) with `seed`, so that the same
    vectors always give the same groups. Above 3 000 vectors, the starts come from a sample.

    k is at most `most`, which is √N up to 24 by default, and at least a third of that, since two
    halves are not informative. It is chosen on a sample of at most 1 200: the largest k whose mean
    silhouette (Rousseeuw 1987) is within one standard error of the best one's.

    Raises `StoppedError` if `stopped` says so, and ValueError without vectors.
    """
    count = len(vectors)
    if not count:
        raise ValueError("no vectors to group")
    random = np.random.default_rng(seed)
    limit = min(GROUPS_AT_MOST, int(count**0.5)) if most is None else min(most, count)
    sample = vectors
    if count > _CHOSEN_ON:
        sample = vectors[np.sort(random.choice(count, _CHOSEN_ON, replace=False))]
    wanted, silhouette = _choose(sample, limit, random, stopped)
    if count > _BEGUN_ON:
        begun = vectors[np.sort(random.choice(count, _BEGUN_ON, replace=False))]
        _, centres = _best_of(begun, wanted, random, stopped)
        labels, centres, _ = _refine(vectors, centres, _STEPS_OF_ALL, stopped)
    else:
        labels, centres = _best_of(vectors, wanted, random, stopped)
    labels, centres = _without_empty(labels, centres)
    order = np.argsort(-np.bincount(labels, minlength=len(centres)), kind="stable")
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return Grouping(rank[labels], centres[order], silhouette)


def assign(vectors: Floats, centres: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the nearest centre of each vector, intp [N], and its cosine, float32 [N]."""
    labels = np.empty(len(vectors), np.intp)
    nearest = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ centres.T
        best = cosines.argmax(axis=1)
        labels[start : start + _BLOCK] = best
        nearest[start : start + _BLOCK] = cosines[np.arange(len(best)), best]
    return labels, nearest


def silhouettes(cosines: Floats, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return silhouettes [n] by cosine distance, from all cosines [n, n]; 0 in a group of one.

    (b − a) / max(a, b) with a the mean distance to the others of its own group, and b the smallest
    mean distance to another group (Rousseeuw 1987). Raises ValueError for fewer than two groups.
    """
    groups, labels = np.unique(labels, return_inverse=True)
    count = len(labels)
    if len(groups) < 2:
        raise ValueError("silhouettes need two groups")
    member = np.zeros((count, len(groups)), np.float32)
    rows = np.arange(count)
    member[rows, labels] = 1
    sizes = member.sum(axis=0, dtype=np.float64)
    sums = sizes - (cosines @ member).astype(np.float64)
    own = sums[rows, labels] - (1 - np.diagonal(cosines).astype(np.float64))
    others = sizes[labels] - 1
    inner = np.maximum(own, 0) / np.maximum(others, 1)
    means = np.maximum(sums, 0) / sizes
    means[rows, labels] = np.inf
    outer = means.min(axis=1)
    largest = np.maximum(inner, outer)
    values: NDArray[np.float64] = np.divide(
        outer - inner, largest, out=np.zeros(count), where=largest > 0
    )
    values[others == 0] = 0
    return values


def _choose(
    sample: Floats, limit: int, random: np.random.Generator, stopped: Stopped
) -> tuple[int, float | None]:
    """Return the number of groups, and the mean silhouette it has on the sample."""
    if limit < 2:
        return 1, None
    cosines = sample @ sample.T
    if float(cosines.min()) > 1 - _SAME:
        return 1, None  # all are the same text
    tried: list[tuple[int, float, float]] = []
    for wanted in _numbers(limit):
        labels, _ = _best_of(sample, wanted, random, stopped, starts=1)
        if len(np.unique(labels)) < 2:
            continue
        values = silhouettes(cosines, labels)
        tried.append((wanted, float(values.mean()), float(values.std() / len(values) ** 0.5)))
    if not tried:
        return 1, None
    _, best, error = max(tried, key=lambda trial: trial[1])
    number, mean, _ = max(trial for trial in tried if trial[1] >= best - error)
    return number, mean


def _numbers(limit: int) -> list[int]:
    """Return numbers of groups to try, from a third of the most on, in steps of about a quarter."""
    numbers, number = [], max(2, limit // 3)
    while number < limit:
        numbers.append(number)
        number += max(1, number // 4)
    return [*numbers, limit]


def _best_of(
    vectors: Floats,
    wanted: int,
    random: np.random.Generator,
    stopped: Stopped,
    starts: int = _STARTS,
) -> tuple[NDArray[np.intp], Floats]:
    """Return the best of a few starts, by the sum of cosines: labels [N] and centres [k, d]."""
    best: tuple[NDArray[np.intp], Floats, float] | None = None
    for _ in range(starts if wanted > 1 else 1):
        begun = _starts(vectors, wanted, random, stopped)
        refined = _refine(vectors, begun, _STEPS, stopped)
        if best is None or refined[2] > best[2]:
            best = refined
    assert best is not None  # noqa: S101 - there was a start
    return best[:2]


def _without_empty(labels: NDArray[np.intp], centres: Floats) -> tuple[NDArray[np.intp], Floats]:
    kept, labels = np.unique(labels, return_inverse=True)
    return labels, centres[kept]


def _refine(
    vectors: Floats, centres: Floats, steps: int, stopped: Stopped
) -> tuple[NDArray[np.intp], Floats, float]:
    """Return labels, centres and the sum of cosines after at most `steps` steps."""
    labels, nearest = assign(vectors, centres)
    total = float(nearest.sum(dtype=np.float64))
    for _ in range(steps):
        if stopped():
            raise StoppedError
        newer = _centres(vectors, labels, nearest, centres)
        newer_labels, near = assign(vectors, newer)
        gained = float(near.sum(dtype=np.float64)) - total
        if gained <= 0:
            break  # the previous centres are as good, and the labels belong to them
        changed = int(np.count_nonzero(newer_labels != labels))
        labels, nearest, centres = newer_labels, near, newer
        total += gained
        # A few last changes are negligible.
        if changed * 1000 < len(labels):
            break
    return labels, centres, total


def _centres(vectors: Floats, labels: NDArray[np.intp], nearest: Floats, centres: Floats) -> Floats:
    """Return the directions of the means of the groups.

    An empty group restarts at the farthest vector.
    """
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels, minlength=len(centres))
    newer = centres.copy()
    far = iter(np.argsort(nearest, kind="stable").tolist())
    start = 0
    for group, count in enumerate(counts.tolist()):
        if count:
            total = vectors[order[start : start + count]].sum(axis=0)
            length = float(np.linalg.norm(total))
            if length > _SAME:
                newer[group] = total / length
        else:
            newer[group] = vectors[next(far)]
        start += count
    return newer


def _starts(vectors: Floats, wanted: int, random: np.random.Generator, stopped: Stopped) -> Floats:
    """Return centres [k, d] drawn by k-means++, with probability by squared distance.

    Greedy: each time, the candidate with the smallest sum of distances is used.
    """
    chosen = [int(random.integers(len(vectors)))]
    tries = 2 + int(np.log(wanted))
    distance = _distances(vectors, chosen)[0]
    while len(chosen) < wanted:
        if stopped():
            raise StoppedError
        total = np.cumsum(distance)
        if total[-1] <= _SAME:
            break
        drawn = np.searchsorted(total, random.random(tries) * total[-1], side="right")
        drawn = np.minimum(drawn, len(vectors) - 1)
        left = np.minimum(_distances(vectors, drawn.tolist()), distance)
        best = int(left.sum(axis=1).argmin())
        chosen.append(int(drawn[best]))
        distance = left[best]
    centres: Floats = vectors[chosen]
    return centres.copy()


def _distances(vectors: Floats, rows: list[int]) -> NDArray[np.float64]:
    """Return 1 − cos of all vectors to some of them, [n, N]: half the squared distance."""
    # Without BLAS, whose threads wait for each other on a busy machine.
    cosines = np.stack([np.einsum("ij,j->i", vectors, vectors[row]) for row in rows])
    return np.maximum(1 - cosines.astype(np.float64), 0)
