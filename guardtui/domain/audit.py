"""Audit of a profile of several topics against their prompt sets: totals and conflicts."""

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
"""Two topics overlap if this share of the prompts that either matches is matched by both."""

OVERLAP_AT_LEAST = 5
"""Minimum number of prompts that either topic must match before an overlap is reported."""

NOT_NAMED = "(no topic is named)"
"""Shown as the cause of a stop if the service does not name the topic."""

CONTRADICTORY = "contradictory"
"""Shown instead of an outcome if the labels contradict each other."""

_NONE, _NO, _YES = map(int, (Triggered.NO_VERDICT, Triggered.NO, Triggered.YES))

_Codes: TypeAlias = "NDArray[np.int8]"
_Flags: TypeAlias = "NDArray[np.bool_]"


class Label(IntEnum):
    """Label of a prompt in a topic's own prompt set: whether the prompt is about the topic."""

    UNLABELLED = -1
    NO = 0
    YES = 1
    BOTH = 2
    """The set contains the prompt with both labels."""


class Kind(StrEnum):
    """The kinds of conflict between topics."""

    STOPPED = "stopped by another topic"
    BOTH = "matched by an allow and a block topic"
    LABELS = "labels contradict"
    OVERLAP = "topics overlap"


@dataclass(frozen=True, eq=False)
class Member:
    """A topic of the profile, its labels, and the prompts it matches.

    All columns are over the N distinct prompts of all sets together. `labels` is int8 [N], values
    of `Label`. `matches` is int8 [N], values of `Triggered`: whether the prompt is about the topic.
    `lines` is int32 [N], 0 for prompts that are not in the topic's set. `source` is the file of its
    prompt set, or "". `repeats` counts rows of that file that repeat an earlier row. `given` is
    False for a topic that was not named by the caller but read from the profile.
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
        """Rows that its set labels unambiguously, intp [k]."""
        labelled = (self.labels == Label.NO) | (self.labels == Label.YES)
        return np.flatnonzero(labelled)

    @cached_property
    def should_trigger(self) -> _Flags:
        """Whether the topic should stop each of its own rows, bool [k]."""
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
        """Whether the topic has a prompt set."""
        return bool(len(self.own))


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

    kind: Kind
    first: int
    second: int
    rows: NDArray[np.intp]
    share: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True, eq=False)
class CrossRow:
    """Prompts of one topic's set with one label: how many each topic matches, and are stopped.

    `matched` (T counts) is in the order of the topics. `missing` prompts have no verdict.
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

    `stopped` (int8 [N], values of `Triggered`) holds the profile's verdicts. `errors` gives the
    reason why a row has no verdict or was not requested, `notes` why a verdict is doubtful. A
    `closed` profile stops every prompt that no topic matches. Prompts without a label for a topic
    are counted as not belonging to it. `undecided` are the rows whose outcome depends on that
    assumption.
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
        """Whether the profile should stop each prompt by the labels, bool [N]; unlabelled: no."""
        belongs = [(member.labels == Label.YES).astype(np.int8) for member in self.members]
        should_stop: _Flags = self._decided(belongs) == _YES
        return should_stop

    @cached_property
    def contradictory(self) -> _Flags:
        """Rows whose labels contradict each other, bool [N]; no rate counts them."""
        rows = self._any(Intent.ALLOW, Label.YES) & self._any(Intent.BLOCK, Label.YES)
        for member in self.members:
            rows |= member.labels == Label.BOTH
        return rows

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
        """Wrong rows that could be right if the topics' matches of unlabelled prompts are right.

        bool [N]. Prompts that belong to a topic according to its set are never undecided.
        """
        belongs = [
            np.where(member.labels == Label.UNLABELLED, member.matches, member.labels == Label.YES)
            for member in self.members
        ]
        rows: _Flags = is_wrong(self.codes) & (self._decided(belongs) == self.stopped)
        rows &= ~self.contradictory
        return rows & ~(self._any(Intent.ALLOW, Label.YES) | self._any(Intent.BLOCK, Label.YES))

    @cached_property
    def metrics_if_right(self) -> Metrics:
        """Metrics of the profile if all undecided rows are counted as right."""
        should_stop = np.where(self.undecided, self.stopped == _YES, self.should_stop)
        return metrics_of(outcomes(should_stop, self.stopped)[~self.contradictory])

    @cached_property
    def against_rule(self) -> NDArray[np.intp]:
        """Rows whose verdict contradicts the topics that the service reported, intp [k]."""
        explained = self._decided([member.matches for member in self.members])
        return np.flatnonzero(
            (explained != self.stopped) & is_answered(explained) & is_answered(self.stopped)
        )

    @property
    def idle(self) -> tuple[int, ...]:
        """Block topics without effect: a closed profile stops the same prompts without them."""
        return self._places(Intent.BLOCK) if self.closed and self._places(Intent.ALLOW) else ()

    @property
    def error_count(self) -> int:
        """Number of rows that were requested but have no verdict of the profile."""
        return int(np.count_nonzero(self.stopped == _NONE))

    @property
    def open_count(self) -> int:
        """Number of rows not requested because the scan ended before them."""
        return int(np.count_nonzero(self.stopped == Triggered.NOT_ASKED))

    # --- one topic ------------------------------------------------------------------------

    def in_profile(self, place: int) -> Metrics:
        """Metrics of the profile over one topic's own rows: `metrics`, for this set only."""
        own = self.members[place].own
        return metrics_of(self.codes[own][~self.contradictory[own]])

    def stopped_by(self, row: int) -> tuple[str, ...]:
        """What stopped a row: block topics or the profile's default; empty if the row passed."""
        if self.stopped[row] != _YES:
            return ()
        blocks = self._places(Intent.BLOCK)
        names = [self.name(index) for index in blocks if self.members[index].matches[row] == _YES]
        return tuple(names) or (NO_ALLOW if self.closed else NOT_NAMED,)

    def matched(self, row: int) -> tuple[str, ...]:
        """Names of the topics that matched a row."""
        return tuple(member.topic.name for member in self.members if member.matches[row] == _YES)

    def name(self, place: int) -> str:
        """Name of a topic."""
        return self.members[place].topic.name

    # --- conflicts ------------------------------------------------------------------------

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """All conflicts, ordered by kind, then by number of rows, most first."""
        conflicts = [*self._stopped_by_another(), *self._matched_by_both()]
        conflicts += [*self._contradicting_labels(), *self._overlaps()]
        kinds = list(Kind)
        return tuple(
            sorted(
                conflicts, key=lambda conflict: (kinds.index(conflict.kind), -len(conflict.rows))
            )
        )

    @cached_property
    def conflict_rows(self) -> _Flags:
        """Prompts in a conflict of any kind except overlap, bool [N]."""
        rows = np.zeros(len(self), bool)
        for conflict in self.conflicts:
            if conflict.kind is not Kind.OVERLAP:
                rows[conflict.rows] = True
        return rows

    @property
    def conflict_count(self) -> int:
        """Number of distinct prompts in conflict, plus the pairs of topics that overlap."""
        pairs = sum(conflict.kind is Kind.OVERLAP for conflict in self.conflicts)
        return int(np.count_nonzero(self.conflict_rows)) + pairs

    def _stopped_by_another(self) -> Iterator[Conflict]:
        for first, member in enumerate(self.members):
            passes = Label.NO if member.topic.intent is Intent.BLOCK else Label.YES
            rows = (member.labels == passes) & (self.stopped == _YES)
            if member.topic.intent is Intent.BLOCK:
                rows &= member.matches != _YES  # prompts that it stops itself are its own mistakes
            for second in self._places(Intent.BLOCK):
                other = self.members[second]
                # Prompts that belong to the other topic's set are rightly stopped, or have
                # contradictory labels, which is a conflict of its own.
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
            allow, block = self.members[first].labels, self.members[second].labels
            hit = (allow == Label.YES) & (block == Label.YES)
            if hit.any():
                yield Conflict(Kind.LABELS, first, second, np.flatnonzero(hit))

    def _overlaps(self) -> Iterator[Conflict]:
        for first, member in enumerate(self.members):
            for second in range(first + 1, len(self.members)):
                other = self.members[second]
                answered = is_answered(member.matches) & is_answered(other.matches)
                both = answered & (member.matches == _YES) & (other.matches == _YES)
                either = answered & ((member.matches == _YES) | (other.matches == _YES))
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
        """For each set and label: how many prompts each topic matches and the profile stops."""
        rows_of_table = []
        for index, member in enumerate(self.members):
            for label in (Label.YES, Label.NO):
                rows = member.labels == label
                count = int(np.count_nonzero(rows))
                if not count:
                    continue
                matched = tuple(
                    int(np.count_nonzero(other.matches[rows] == _YES)) for other in self.members
                )
                stopped = self.stopped[rows]
                rows_of_table.append(
                    CrossRow(
                        index,
                        label is Label.YES,
                        count,
                        matched,
                        int(np.count_nonzero(stopped == _YES)),
                        int(np.count_nonzero(~is_answered(stopped))),
                    )
                )
        return tuple(rows_of_table)

    # --- rows -----------------------------------------------------------------------------

    def outcome(self, row: int) -> str:
        """The profile's outcome on a row, or `CONTRADICTORY`."""
        return CONTRADICTORY if self.contradictory[row] else Outcome(int(self.codes[row])).name

    def rows_with(self, outcome: Outcome) -> NDArray[np.intp]:
        """Rows of one outcome whose labels do not contradict each other, intp [k]."""
        return np.flatnonzero((self.codes == outcome) & ~self.contradictory)

    def places_of(self, row: int) -> tuple[str, ...]:
        """Locations of a row: `file:line` for each set that labels it."""
        return tuple(
            dict.fromkeys(
                f"{member.source}:{int(member.lines[row])}"
                for member in self.members
                if member.lines[row]
            )
        )

    def _places(self, intent: Intent) -> tuple[int, ...]:
        return tuple(
            index for index, member in enumerate(self.members) if member.topic.intent is intent
        )

    def _mixed_pairs(self) -> Iterator[tuple[int, int]]:
        blocks = self._places(Intent.BLOCK)
        return ((first, second) for first in self._places(Intent.ALLOW) for second in blocks)

    def _any(self, intent: Intent, label: Label) -> _Flags:
        rows = np.zeros(len(self), bool)
        for index in self._places(intent):
            rows |= self.members[index].labels == label
        return rows

    def _decided(self, belongs: Sequence[_Codes]) -> _Codes:
        allows = [belongs[index] for index in self._places(Intent.ALLOW)]
        blocks = [belongs[index] for index in self._places(Intent.BLOCK)]
        count = len(self)
        return decided(any_of(allows, count), any_of(blocks, count), closed=self.closed)


def whole_profile(members: Sequence[Member], *, closed: bool, count: int) -> _Codes:
    """Verdicts of a profile on `count` prompts, derived from its topics' matches, int8 [count]."""
    allows = [member.matches for member in members if member.topic.intent is Intent.ALLOW]
    blocks = [member.matches for member in members if member.topic.intent is Intent.BLOCK]
    return decided(any_of(allows, count), any_of(blocks, count), closed=closed)


def labels_over(
    rows: NDArray[np.intp], expected: NDArray[np.bool_], count: int
) -> tuple[_Codes, int]:
    """Return labels (int8 [count]) for the prompts of one set, and the number of repeated rows.

    The set's prompts are at `rows` (intp [k]) with labels `expected` (bool [k]). Raises ValueError
    if the shapes differ.
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
