"""What a service told of a whole profile, read as which topics match which prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, is_answered

_NONE, _NO, _YES = map(int, (Triggered.NO_VERDICT, Triggered.NO, Triggered.YES))

Names = Mapping[int, tuple[str, ...]]
"""Names of topics, by row."""


def seems_closed(stopped: NDArray[np.int8], blocked: Names) -> bool:
    """Whether a prompt was stopped (int8 [N]) though no topic to block is named for it."""
    return any(not blocked.get(row) for row in np.flatnonzero(stopped == _YES).tolist())


def matches_told(
    topics: Sequence[Topic],
    stopped: NDArray[np.int8],
    blocked: Names,
    allowed: Names,
    *,
    closed: bool,
) -> list[NDArray[np.int8]]:
    """For each topic whether it matches each prompt, int8 [N] with the values of `Triggered`.

    `stopped` (int8 [N]) are the verdicts of the profile, `blocked` and `allowed` the topics that
    the service named. It need not name an allow topic that let a prompt through: then that follows
    from the verdict where there is one allow topic only, and stays unknown where there are more.
    """
    answered = is_answered(stopped)
    through = stopped == _NO
    blocks_named, allows_named = _named(blocked, len(stopped)), _named(allowed, len(stopped))
    allows = [one for one in topics if one.intent is Intent.ALLOW]
    # What passes although a block topic matches, or although nothing passes by itself.
    let_through = through & ~allows_named & (blocks_named | closed)
    silent = through & ~allows_named & ~let_through & (not allows_named.any())
    found = []
    for topic in topics:
        names = blocked if topic.intent is Intent.BLOCK else allowed
        matches = np.where(answered, np.int8(_NO), stopped)
        if topic.intent is Intent.BLOCK:
            matches[(stopped == _YES) & ~blocks_named & (not closed)] = _NONE
        else:
            matches[let_through] = _YES if len(allows) == 1 else _NONE
            matches[silent] = _NONE
        rows = [row for row, told in names.items() if topic.name in told and answered[row]]
        matches[rows] = _YES
        found.append(matches)
    return found


def _named(names: Names, count: int) -> NDArray[np.bool_]:
    found = np.zeros(count, bool)
    found[[row for row, told in names.items() if told]] = True
    return found
