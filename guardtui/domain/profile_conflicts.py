"""Conflicts between the topics of a profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.profile_labels import Label, ProfileMember
from guardtui.domain.statistics import Interval, wilson_interval
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Triggered, is_answered

OVERLAP = 0.5
"""Two topics overlap if this share of the prompts that either matches is matched by both."""

OVERLAP_AT_LEAST = 5
"""Minimum number of prompts that either topic must match before an overlap is reported."""

_YES = int(Triggered.YES)


class ConflictKind(StrEnum):
    """The kinds of conflict between topics."""

    STOPPED = "stopped by another topic"
    BOTH = "matched by an allow and a block topic"
    LABELS = "labels contradict"
    OVERLAP = "topics overlap"


@dataclass(frozen=True, eq=False)
class Conflict:
    """Two topics (indices of members) that conflict on these rows (intp [k]).

    - STOPPED: prompts that should pass according to the first topic's set, but are stopped by the
      second topic.
    - BOTH: prompts matched by both; the first is the allow topic, the second the block topic.
    - LABELS: prompts that belong to both topics according to their sets, although the first topic
      allows and the second blocks.
    - OVERLAP: prompts matched by both; `share` is their share of the prompts that either matches.
    """

    kind: ConflictKind
    first: int
    second: int
    rows: NDArray[np.intp]
    share: float | None = None
    interval: Interval | None = None


def find_conflicts(
    members: Sequence[ProfileMember], stopped: NDArray[np.int8]
) -> tuple[Conflict, ...]:
    """Return all conflicts, ordered by kind, then by number of rows, most first.

    `stopped` (int8 [N], values of `Triggered`) holds the profile's verdicts.
    """
    conflicts = [
        *_stopped_by_another(members, stopped),
        *_of_mixed_pairs(members),
        *_overlaps(members),
    ]
    kinds = list(ConflictKind)
    return tuple(
        sorted(conflicts, key=lambda conflict: (kinds.index(conflict.kind), -len(conflict.rows)))
    )


def _stopped_by_another(
    members: Sequence[ProfileMember], stopped: NDArray[np.int8]
) -> Iterator[Conflict]:
    for first, member in enumerate(members):
        passes = Label.NO if member.topic.intent is Intent.BLOCK else Label.YES
        rows = (member.labels == passes) & (stopped == _YES)
        if member.topic.intent is Intent.BLOCK:
            rows &= member.matches != _YES  # prompts that it stops itself are its own mistakes
        for second, other in enumerate(members):
            if second == first or other.topic.intent is not Intent.BLOCK:
                continue
            # Prompts that belong to the other topic's set are rightly stopped, or have
            # contradictory labels, which is a conflict of its own.
            hit = rows & (other.matches == _YES) & (other.labels != Label.YES)
            if hit.any():
                yield Conflict(ConflictKind.STOPPED, first, second, np.flatnonzero(hit))


def _of_mixed_pairs(members: Sequence[ProfileMember]) -> Iterator[Conflict]:
    """Yield what every allow topic and every block topic both match, or both label as theirs."""
    for first, allow in enumerate(members):
        for second, block in enumerate(members):
            if allow.topic.intent is not Intent.ALLOW or block.topic.intent is not Intent.BLOCK:
                continue
            for kind, rows in (
                (ConflictKind.BOTH, (allow.matches == _YES) & (block.matches == _YES)),
                (ConflictKind.LABELS, (allow.labels == Label.YES) & (block.labels == Label.YES)),
            ):
                if rows.any():
                    yield Conflict(kind, first, second, np.flatnonzero(rows))


def _overlaps(members: Sequence[ProfileMember]) -> Iterator[Conflict]:
    for first, member in enumerate(members):
        for second in range(first + 1, len(members)):
            other = members[second]
            answered = is_answered(member.matches) & is_answered(other.matches)
            both = answered & (member.matches == _YES) & (other.matches == _YES)
            either = answered & ((member.matches == _YES) | (other.matches == _YES))
            shared, total = int(np.count_nonzero(both)), int(np.count_nonzero(either))
            if total >= OVERLAP_AT_LEAST and shared >= OVERLAP * total:
                yield Conflict(
                    ConflictKind.OVERLAP,
                    first,
                    second,
                    np.flatnonzero(both),
                    shared / total,
                    wilson_interval(shared, total),
                )
