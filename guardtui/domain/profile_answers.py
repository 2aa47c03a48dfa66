"""Topic matches derived from a service's verdicts on a whole profile."""

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
    """Return whether a prompt was stopped (int8 [N]) without a block topic being named for it."""
    return any(not blocked.get(row) for row in np.flatnonzero(stopped == _YES).tolist())


def matches_told(
    topics: Sequence[Topic],
    stopped: NDArray[np.int8],
    blocked: Names,
    allowed: Names,
    *,
    closed: bool,
) -> list[NDArray[np.int8]]:
    """Return for each topic whether it matches each prompt, int8 [N], values of `Triggered`.

    `stopped` (int8 [N]) are the verdicts of the profile; `blocked` and `allowed` are the topics
    that the service named. A service need not name the allow topic that let a prompt through. With
    a single allow topic its match follows from the verdict; with several it stays unknown.
    """
    answered = is_answered(stopped)
    through = stopped == _NO
    blocks_named, allows_named = _named(blocked, len(stopped)), _named(allowed, len(stopped))
    allows = [topic for topic in topics if topic.intent is Intent.ALLOW]
    # Prompts that pass although a block topic matches, or although the profile is closed.
    let_through = through & ~allows_named & (blocks_named | closed)
    silent = through & ~allows_named & ~let_through & (not allows_named.any())
    columns = []
    for topic in topics:
        names = blocked if topic.intent is Intent.BLOCK else allowed
        matches = np.where(answered, np.int8(_NO), stopped)
        if topic.intent is Intent.BLOCK:
            matches[(stopped == _YES) & ~blocks_named & (not closed)] = _NONE
        else:
            matches[let_through] = _YES if len(allows) == 1 else _NONE
            matches[silent] = _NONE
        rows = [row for row, named in names.items() if topic.name in named and answered[row]]
        matches[rows] = _YES
        columns.append(matches)
    return columns


def _named(names: Names, count: int) -> NDArray[np.bool_]:
    flags = np.zeros(count, bool)
    flags[[row for row, topics in names.items() if topics]] = True
    return flags
