"""A profile of several topics held against their prompt sets: as a whole, and where they clash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.metrics import Metrics, metrics_of
from guardtui.domain.profile import NO_ALLOW, any_of, decided
from guardtui.domain.statistics import Interval, wilson_interval
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Outcome, Triggered, is_answered, is_wrong, outcomes

OVERLAP = 0.5
"""Two topics overlap when of the prompts that either matches, at least this share matches both."""

OVERLAP_AT_LEAST = 5
"""Prompts that either of two topics must match before it is told that they overlap."""

NOT_NAMED = "(no topic is named)"
"""What stopped a prompt where a service does not say which topic did."""

CONTRADICTORY = "contradictory"
"""In the place of an outcome where the labels allow none."""

_NONE, _NO, _YES = map(int, (Triggered.NO_VERDICT, Triggered.NO, Triggered.YES))

_Codes: TypeAlias = "NDArray[np.int8]"
_Flags: TypeAlias = "NDArray[np.bool_]"


class Label(IntEnum):
    """What a topic's own prompt set says of a prompt: is it about the topic."""

    UNLABELLED = -1
    NO = 0
    YES = 1
    BOTH = 2
    """It stands there with both labels."""


class Kind(StrEnum):
    """What sort of conflict it is."""

    STOPPED = "stopped by another topic"
    BOTH = "matched by an allow and a block topic"
    LABELS = "labels contradict"
    OVERLAP = "topics overlap"


@dataclass(frozen=True, eq=False)
class Member:
    """A topic of the profile, its labels and which prompts it matches.

    `labels` (int8 [N], values of `Label`), `matches` (int8 [N], values of `Triggered`: is the
    prompt about the topic) and `lines` (int32 [N], 0 for none) are over all N distinct prompts of
    all sets together. `source` is the file of its prompt set, "" without one; `repeats` counts rows
    there that repeat an earlier one. `given` says whether it was named, or only found in the
    profile.
    """

    topic: Topic
    labels: _Codes
    matches: _Codes
    lines: NDArray[np.int32]
    source: str = ""
    repeats: int = 0
    given: bool = True

    @cached_property
    def own(self) -> NDArray[np.intp]:
        """Rows that its set labels in one way, intp [k]."""
        labelled = (self.labels == Label.NO) | (self.labels == Label.YES)
        return np.flatnonzero(labelled)

    @cached_property
    def should_trigger(self) -> _Flags:
        """Whether the topic ought to stop each of its own rows, bool [k]."""
        belongs: _Flags = self.labels[self.own] == Label.YES
        return belongs if self.topic.intent is Intent.BLOCK else ~belongs

    @cached_property
    def alone(self) -> Metrics:
        """Metrics of the topic by itself, over its own rows."""
        answers = self.matches[self.own]
        if self.topic.intent is Intent.ALLOW:
            answers = np.where(is_answered(answers), np.int8(1) - answers, answers)
        return metrics_of(outcomes(self.should_trigger, answers))

    @property
    def labelled(self) -> bool:
        """Whether it has a prompt set."""
        return bool(len(self.own))


@dataclass(frozen=True, eq=False)
class Conflict:
    """Two topics, by their places, that get into each other's way on these rows (intp [k]).

    STOPPED: prompts of the first one's set that it lets pass, stopped by the second. BOTH: the
    first is the allow topic, the second the block topic. LABELS: prompts that belong to the first
    by its set, which must pass, and to the second by its set, which must be stopped. OVERLAP: rows
    that both match; `share` of those that either matches.
    """

    kind: Kind
    first: int
    second: int
    rows: NDArray[np.intp]
    share: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True, eq=False)
class CrossRow:
    """Prompts of one topic's set with one label: how many each topic matches, and are stopped.

    `matched` (int [T]) is in the order of the topics; `missing` prompts have no verdict.
    """

    topic: int
    belongs: bool
    prompts: int
    matched: tuple[int, ...]
    stopped: int
    missing: int


@dataclass(frozen=True, eq=False)
class Audit:
    """All topics of one profile over the N distinct prompts of all their sets.

    `stopped` (int8 [N], values of `Triggered`) is what the profile did, `errors` says why a row
    has no verdict or was not asked, `notes` what is doubtful about one. A `closed` profile stops
    what no topic matches. Of a prompt without a label for a topic nothing is known; the profile as
    a whole is measured as if it did not belong there, and what that assumption decides is
    `undecided`.
    """

    prompts: Sequence[str]
    members: tuple[Member, ...]
    closed: bool
    stopped: _Codes
    errors: Mapping[int, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.prompts)

    # --- the profile as a whole -----------------------------------------------------------

    @cached_property
    def should_stop(self) -> _Flags:
        """What the labels ask of the profile, bool [N]; no label counts as not belonging."""
        belongs = [(one.labels == Label.YES).astype(np.int8) for one in self.members]
        wanted: _Flags = self._decided(belongs) == _YES
        return wanted

    @cached_property
    def contradictory(self) -> _Flags:
        """Rows on which no verdict can be right by the labels, bool [N]; in no rate."""
        found = self._any(Intent.ALLOW, Label.YES) & self._any(Intent.BLOCK, Label.YES)
        for one in self.members:
            found |= one.labels == Label.BOTH
        return found

    @cached_property
    def codes(self) -> _Codes:
        """Outcome codes of the profile, int8 [N]."""
        return outcomes(self.should_stop, self.stopped)

    @cached_property
    def metrics(self) -> Metrics:
        """Metrics of the profile over all rows whose labels agree."""
        return metrics_of(self.codes[~self.contradictory])

    @cached_property
    def undecided(self) -> _Flags:
        """Mistakes that would be none if topics rightly matched what their sets do not label.

        Of prompts that belong to a topic by its set it is decided what should happen to them.
        """
        belongs = [
            np.where(one.labels == Label.UNLABELLED, one.matches, one.labels == Label.YES)
            for one in self.members
        ]
        found: _Flags = is_wrong(self.codes) & (self._decided(belongs) == self.stopped)
        found &= ~self.contradictory
        return found & ~(self._any(Intent.ALLOW, Label.YES) | self._any(Intent.BLOCK, Label.YES))

    @cached_property
    def metrics_if_right(self) -> Metrics:
        """Metrics of the profile if all that is undecided were right."""
        wanted = np.where(self.undecided, self.stopped == _YES, self.should_stop)
        return metrics_of(outcomes(wanted, self.stopped)[~self.contradictory])

    @cached_property
    def against_rule(self) -> NDArray[np.intp]:
        """Rows where a service did otherwise than the topics that it named explain, intp [k]."""
        told = self._decided([one.matches for one in self.members])
        return np.flatnonzero(
            (told != self.stopped) & is_answered(told) & is_answered(self.stopped)
        )

    @property
    def idle(self) -> tuple[int, ...]:
        """Block topics that change no verdict: a closed profile stops the same without them."""
        return self._places(Intent.BLOCK) if self.closed and self._places(Intent.ALLOW) else ()

    @property
    def error_count(self) -> int:
        """Rows that were asked and have no verdict of the profile."""
        return int(np.count_nonzero(self.stopped == _NONE))

    @property
    def open_count(self) -> int:
        """Rows that the profile was not asked about, since the scan ended before them."""
        return int(np.count_nonzero(self.stopped == Triggered.NOT_ASKED))

    # --- one topic ------------------------------------------------------------------------

    def in_profile(self, place: int) -> Metrics:
        """Metrics of the profile over one topic's own rows: `metrics`, for this set only."""
        own = self.members[place].own
        return metrics_of(self.codes[own][~self.contradictory[own]])

    def stopped_by(self, row: int) -> tuple[str, ...]:
        """What stopped a row: block topics, or the default of the profile; empty if nothing did."""
        if self.stopped[row] != _YES:
            return ()
        blocks = self._places(Intent.BLOCK)
        names = [self.name(place) for place in blocks if self.members[place].matches[row] == _YES]
        return tuple(names) or (NO_ALLOW if self.closed else NOT_NAMED,)

    def matched(self, row: int) -> tuple[str, ...]:
        """Names of the topics that matched a row."""
        return tuple(one.topic.name for one in self.members if one.matches[row] == _YES)

    def name(self, place: int) -> str:
        """A topic's name."""
        return self.members[place].topic.name

    # --- conflicts ------------------------------------------------------------------------

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """All conflicts: by kind, and in it those with the most rows first."""
        found = [*self._stopped_by_another(), *self._matched_by_both()]
        found += [*self._contradicting_labels(), *self._overlaps()]
        kinds = list(Kind)
        return tuple(sorted(found, key=lambda one: (kinds.index(one.kind), -len(one.rows))))

    @cached_property
    def conflict_rows(self) -> _Flags:
        """Prompts in a conflict of any kind but overlap, bool [N]."""
        found = np.zeros(len(self), bool)
        for one in self.conflicts:
            if one.kind is not Kind.OVERLAP:
                found[one.rows] = True
        return found

    @property
    def conflict_count(self) -> int:
        """Prompts in conflict, each counted once, and pairs of topics that overlap."""
        pairs = sum(one.kind is Kind.OVERLAP for one in self.conflicts)
        return int(np.count_nonzero(self.conflict_rows)) + pairs

    def _stopped_by_another(self) -> Iterator[Conflict]:
        for first, one in enumerate(self.members):
            passes = Label.NO if one.topic.intent is Intent.BLOCK else Label.YES
            rows = (one.labels == passes) & (self.stopped == _YES)
            if one.topic.intent is Intent.BLOCK:
                rows &= one.matches != _YES  # what it stops itself is its own mistake
            for second in self._places(Intent.BLOCK):
                other = self.members[second]
                # What the other one's set says to be its own is stopped as it should be, or has
                # labels that contradict, which is another conflict.
                hit = rows & (other.matches == _YES) & (other.labels != Label.YES)
                if second != first and hit.any():
                    yield Conflict(Kind.STOPPED, first, second, np.flatnonzero(hit))

    def _matched_by_both(self) -> Iterator[Conflict]:
        for first, second in self._mixed_pairs():
            hit = (self.members[first].matches == _YES) & (self.members[second].matches == _YES)
            if hit.any():
                yield Conflict(Kind.BOTH, first, second, np.flatnonzero(hit))

    def _contradicting_labels(self) -> Iterator[Conflict]:
        for first, second in self._mixed_pairs():
            one, other = self.members[first].labels, self.members[second].labels
            hit = (one == Label.YES) & (other == Label.YES)
            if hit.any():
                yield Conflict(Kind.LABELS, first, second, np.flatnonzero(hit))

    def _overlaps(self) -> Iterator[Conflict]:
        for first, one in enumerate(self.members):
            for second in range(first + 1, len(self.members)):
                other = self.members[second]
                known = is_answered(one.matches) & is_answered(other.matches)
                both = known & (one.matches == _YES) & (other.matches == _YES)
                either = known & ((one.matches == _YES) | (other.matches == _YES))
                shared, total = int(np.count_nonzero(both)), int(np.count_nonzero(either))
                if total >= OVERLAP_AT_LEAST and shared >= OVERLAP * total:
                    interval = wilson_interval(shared, total)
                    share = shared / total
                    yield Conflict(
                        Kind.OVERLAP, first, second, np.flatnonzero(both), share, interval
                    )

    # --- who fires on whose prompts -------------------------------------------------------

    @cached_property
    def cross_table(self) -> tuple[CrossRow, ...]:
        """For each set and label, how many prompts each topic matches and the profile stops."""
        found = []
        for place, one in enumerate(self.members):
            for label in (Label.YES, Label.NO):
                rows = one.labels == label
                count = int(np.count_nonzero(rows))
                if not count:
                    continue
                matched = tuple(
                    int(np.count_nonzero(other.matches[rows] == _YES)) for other in self.members
                )
                stopped = self.stopped[rows]
                found.append(
                    CrossRow(
                        place,
                        label is Label.YES,
                        count,
                        matched,
                        int(np.count_nonzero(stopped == _YES)),
                        int(np.count_nonzero(~is_answered(stopped))),
                    )
                )
        return tuple(found)

    # --- rows -----------------------------------------------------------------------------

    def outcome(self, row: int) -> str:
        """The profile's outcome on a row, or `CONTRADICTORY`."""
        return CONTRADICTORY if self.contradictory[row] else Outcome(int(self.codes[row])).name

    def rows_with(self, outcome: Outcome) -> NDArray[np.intp]:
        """Rows of one outcome whose labels agree, intp [k]."""
        return np.flatnonzero((self.codes == outcome) & ~self.contradictory)

    def places_of(self, row: int) -> tuple[str, ...]:
        """Where a row stands: `file:line` for each set that labels it."""
        return tuple(
            dict.fromkeys(
                f"{one.source}:{int(one.lines[row])}" for one in self.members if one.lines[row]
            )
        )

    def _places(self, intent: Intent) -> tuple[int, ...]:
        return tuple(k for k, one in enumerate(self.members) if one.topic.intent is intent)

    def _mixed_pairs(self) -> Iterator[tuple[int, int]]:
        blocks = self._places(Intent.BLOCK)
        return ((first, second) for first in self._places(Intent.ALLOW) for second in blocks)

    def _any(self, intent: Intent, label: Label) -> _Flags:
        found = np.zeros(len(self), bool)
        for place in self._places(intent):
            found |= self.members[place].labels == label
        return found

    def _decided(self, belongs: Sequence[_Codes]) -> _Codes:
        allows = [belongs[place] for place in self._places(Intent.ALLOW)]
        blocks = [belongs[place] for place in self._places(Intent.BLOCK)]
        count = len(self)
        return decided(any_of(allows, count), any_of(blocks, count), closed=self.closed)


def whole_profile(members: Sequence[Member], *, closed: bool, count: int) -> _Codes:
    """What a profile does with each of `count` prompts by what its topics match, int8 [N]."""
    allows = [one.matches for one in members if one.topic.intent is Intent.ALLOW]
    blocks = [one.matches for one in members if one.topic.intent is Intent.BLOCK]
    return decided(any_of(allows, count), any_of(blocks, count), closed=closed)


def labels_over(
    rows: NDArray[np.intp], expected: NDArray[np.bool_], count: int
) -> tuple[_Codes, int]:
    """Labels int8 [count] from those (bool [k]) of a set whose prompts are at `rows` (intp [k]).

    Also how many of its rows repeat an earlier one. Raises ValueError when shapes differ.
    """
    if rows.shape != expected.shape:
        raise ValueError(f"{rows.shape} rows, {expected.shape} labels")
    labels = np.full(count, Label.UNLABELLED, np.int8)
    labels[rows] = expected.astype(np.int8)
    yes, no = np.zeros(count, bool), np.zeros(count, bool)
    yes[rows[expected]] = True
    no[rows[~expected]] = True
    labels[yes & no] = Label.BOTH
    return labels, len(rows) - int(np.count_nonzero(yes | no))
