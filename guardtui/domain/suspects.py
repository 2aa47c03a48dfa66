"""Doubtful labels, and the embedded engine's blind spot: rows that it alone gets wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.verdicts import Triggered, is_answered

LEAST_AGAINST = 2
"""Independent scanners that must contradict a label; a single one may simply be weak."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """Doubtful labels, and the engine's blind spot; `rows` and `blind_spot` are disjoint.

    `rows` (intp [k]) are doubtful, the most doubtful first. `against` and `agreeing` (intp [k])
    count the independent scanners that contradict and confirm each label. `blind_spot` (intp [m],
    ascending) are rows that only the embedded engine gets wrong.
    """

    rows: NDArray[np.intp]
    against: NDArray[np.intp]
    agreeing: NDArray[np.intp]
    blind_spot: NDArray[np.intp]

    def __len__(self) -> int:
        return int(self.rows.shape[0])


def suspects(
    should_trigger: NDArray[np.bool_],
    answers: NDArray[np.int8],
    *,
    engine: int | None = None,
    foreign: Callable[[NDArray[np.intp]], NDArray[np.bool_]] | None = None,
    distance: NDArray[np.floating] | None = None,
) -> Suspects:
    """Find labels (bool [N]: should trigger) that scanners contradict (answers int8 [S, N]).

    Each row of `answers` holds the answers of one independent scanner, values of `Triggered`;
    `engine` is the row of the embedded engine. A label is doubtful if at least two scanners
    contradict it, and more scanners contradict than confirm it.

    A row is in the engine's blind spot if only the engine contradicts the label and another scanner
    confirms it. It is also in the blind spot if no other scanner has an answer and the prompt is in
    another language than the definition: `foreign` tells this (bool [k]) for rows (intp [k]).

    Doubtful labels are sorted by the number of scanners against them (most first), then by those
    for them (fewest first), then by `distance` of the engine's score from its threshold (largest
    first; float [N], NaN unknown), then by prompt order. Raises ValueError if a shape differs.
    """
    if answers.shape[1:] != should_trigger.shape:
        raise ValueError(f"{answers.shape} answers for {should_trigger.shape} labels")
    answered = is_answered(answers)
    confirming = answered & ((answers == Triggered.YES) == should_trigger)
    contradicting = answered & ~confirming
    against = contradicting.sum(axis=0, dtype=np.intp)
    agreeing = confirming.sum(axis=0, dtype=np.intp)
    rows = np.flatnonzero((against >= LEAST_AGAINST) & (against > agreeing))
    far = np.zeros(len(rows))
    if distance is not None:
        if distance.shape != should_trigger.shape:
            raise ValueError(f"{distance.shape} distances for {should_trigger.shape} labels")
        far = np.nan_to_num(distance[rows].astype(np.float64), nan=-1.0)
    # lexsort sorts by its last key first.
    rows = rows[np.lexsort((rows, -far, agreeing[rows], -against[rows]))]
    blind = np.zeros(0, np.intp)
    if engine is not None:
        blind = np.flatnonzero(contradicting[engine] & (against == 1))
        spoken_for = agreeing[blind] > 0
        if foreign is not None:
            alone = blind[~spoken_for]
            spoken_for[~spoken_for] = foreign(alone)
        blind = blind[spoken_for]
    return Suspects(rows, against[rows], agreeing[rows], blind)
