"""What single edits would bring: all of them measured, the best of them told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from guardtui.advice.candidates import Candidate, Kind, candidates
from guardtui.advice.measuring import Measured, Stopped, TopicScorer
from guardtui.advice.proposals import Halves, Proposal, halves_of, propose
from guardtui.domain.topic import Topic

MOST = 2000
"""Candidates that are measured, at most."""

LEAST_GAIN = 0.001
"""Of smoothed coverage: what brings less is no proposal."""

_EXAMPLE_KINDS = frozenset({Kind.ADD_EXAMPLE, Kind.SWAP_EXAMPLE, Kind.DROP_EXAMPLE})


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The best single edits of a definition, best first by what they bring on the search half.

    Of `found` candidates `measured` have been so far. `source` and `notes` tell how the prompts
    were split, and what is doubtful about that.
    """

    topic: Topic
    before: Halves
    proposals: tuple[Proposal, ...]
    found: int
    measured: int
    source: str
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every candidate was measured."""
        return self.measured == self.found


def shortlist(
    scorer: TopicScorer,
    topic: Topic,
    *,
    limit: int = 20,
    each: int = 6,
    most: int = MOST,
    stopped: Stopped = lambda: False,
    partial: Callable[[Shortlist], None] | None = None,
) -> Shortlist | None:
    """Measure all candidate edits of a definition; the best `limit`, `each` of a kind at most.

    Edits of examples need no encoder and come first: `partial` gets them while the new
    descriptions are still embedded. None when `stopped` said so, between slices of milliseconds
    (embedding: of some tens of texts).
    """
    base = scorer.measure([topic], stopped)
    if base is None:
        return None
    matches = scorer.matches(topic)
    found = candidates(topic, scorer.material(matches), most)
    before = matches, halves_of(base, 0, topic)
    start = float(base.objective[0])
    done: list[tuple[Candidate, float, Halves]] = []
    groups = (
        [one for one in found if one.kind in _EXAMPLE_KINDS],
        [one for one in found if one.kind not in _EXAMPLE_KINDS],
    )
    result: Shortlist | None = None
    for group in groups:
        if group:
            measured = scorer.measure([one.topic for one in group], stopped)
            if measured is None:
                return None
            done += _gaining(group, measured, start)
        best = _varied(sorted(done, key=lambda one: -one[1]), limit, each)
        proposals = []
        for one, gain, after in best:
            if stopped():
                return None
            proposals.append(propose(scorer, topic, before, [one], after, gain))
        result = Shortlist(
            topic=topic,
            before=before[1],
            proposals=tuple(proposals),
            found=len(found),
            measured=len(found) if group is groups[1] else len(group),
            source=scorer.split.source,
            notes=scorer.split.notes,
        )
        if partial is not None and group is groups[0]:
            partial(result)
    return result


def _gaining(
    group: Sequence[Candidate], measured: Measured, start: float
) -> list[tuple[Candidate, float, Halves]]:
    gains = measured.objective - start
    return [
        (group[row], float(gains[row]), halves_of(measured, row, group[row].topic))
        for row in np.flatnonzero(gains >= LEAST_GAIN).tolist()
    ]


def _varied(
    ranked: Sequence[tuple[Candidate, float, Halves]], limit: int, each: int
) -> list[tuple[Candidate, float, Halves]]:
    """The first `limit`, but no more than `each` of a kind: a list of one idea helps nobody."""
    count: dict[Kind, int] = {}
    kept: list[tuple[Candidate, float, Halves]] = []
    for one in ranked:
        kind = one[0].kind
        if count.get(kind, 0) < each and len(kept) < limit:
            count[kind] = count.get(kind, 0) + 1
            kept.append(one)
    return kept
