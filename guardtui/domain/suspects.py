"""Labels in doubt, and rows that only the embedded engine gets wrong: its blind spot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.verdicts import Triggered, is_answered

LEAST_AGAINST = 2
"""Independent scanners that must contradict a label: of one alone it may be a weakness."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """Labels in doubt, and the engine's blind spot; `rows` and `blind_spot` share no row.

    `rows` (intp [k]) are in doubt, the most doubtful first; `against` and `agreeing` (intp [k])
    count the independent scanners that contradict and confirm each label. `blind_spot` (intp [m],
    ascending) are rows that the embedded engine alone gets wrong.
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
    """Find labels (as duty: bool [N]) that scanners contradict by their answers (int8 [S, N]).

    Each row of `answers` is that of one scanner, independent of the others, with the values of
    `Triggered`; `engine` is the row of the embedded engine. A label is in doubt when at least two
    scanners contradict it, and more than confirm it. It is the engine's blind spot when the engine
    alone contradicts it and another scanner confirms it, or when nobody else was asked and the
    prompt is in another language than the definition: `foreign` says so (bool [k]) of rows (intp
    [k]). Labels in doubt are sorted by the scanners against them, then by those for them, then by
    `distance`, that of the engine's score from its threshold (float [N], NaN: unknown), then by
    the order of the prompts. Raises ValueError when a shape differs.
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
    # The last key of lexsort is the first to sort by.
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
