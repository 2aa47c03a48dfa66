"""Labels that may be wrong: prompts of which every verdict that was ever given says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from guardtui.domain.late import late
from guardtui.domain.verdicts import Triggered, is_answered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

LEAST_VOICES = 2
"""A single voice against a label says more about that voice."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """Rows whose label may be wrong, the most suspicious first, and what speaks against each.

    `rows` are intp [k]; `voices` (intp [k]) how many voices contradict, of which `scanners`
    (intp [k]) judge the definition of now.
    """

    rows: NDArray[np.intp]
    voices: NDArray[np.intp]
    scanners: NDArray[np.intp]

    def __len__(self) -> int:
        return int(self.rows.shape[0])


def suspects(
    should_trigger: NDArray[np.bool_],
    answers: Sequence[NDArray[np.int8]] | NDArray[np.int8],
    history: Iterable[NDArray[np.int8]],
    *,
    speakers: Sequence[int] | None = None,
    distance: NDArray[np.floating] | None = None,
) -> Suspects:
    """Rows where every answer of a scanner, now and in the history, contradicts the label.

    `answers` are int8 [S, N] of `Triggered`, those of each scanner on the definition of now, and
    `history` those of iterations, int8 [I, N], by the intent of now; NO_VERDICT says nothing.
    `speakers` (S + I of them) names whose each is: what the same speaker says twice counts as one
    voice, and contradicts when all of it does. Without them each is a voice of its own. Rows with
    fewer than two voices are left out.

    Most voices come first, then the greatest `distance` (float [N]) of the embedded engine's score
    from its threshold (NaN or None: unknown, and last), then the order of the prompts. Raises
    ValueError when a shape differs.
    """
    shape = should_trigger.shape
    right = np.zeros(shape, bool)
    voices, scanners = np.zeros(shape, np.intp), np.zeros(shape, np.intp)
    heard: dict[int, NDArray[np.bool_]] = {}
    now = len(answers)
    for place, said in enumerate(chain(answers, history)):
        if said.shape != shape:
            raise ValueError(f"{said.shape} answers for {shape} labels")
        spoke = is_answered(said)
        right |= spoke & ((said == Triggered.YES) == should_trigger)
        if speakers is not None:
            before = heard.get(speakers[place])
            heard[speakers[place]] = spoke if before is None else before | spoke
            if before is not None:
                spoke = spoke & ~before
        voices += spoke
        if place < now:
            scanners += spoke
    rows = np.flatnonzero(~right & (voices >= LEAST_VOICES))
    if distance is None:
        far = np.zeros(len(rows))
    else:
        if distance.shape != shape:
            raise ValueError(f"{distance.shape} distances for {shape} labels")
        far = np.nan_to_num(distance[rows].astype(np.float64), nan=-1.0)
    # The last key of lexsort is the first to sort by.
    order = np.lexsort((rows, -far, -voices[rows]))
    rows = rows[order]
    return Suspects(rows, voices[rows], scanners[rows])
