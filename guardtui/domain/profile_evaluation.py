"""Evaluation of a profile of several topics on labelled prompts: totals, topics, conflicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.metrics import Metrics, metrics_of
from guardtui.domain.profile import (
    BOTH_MATCHED,
    NO_ALLOW,
    NOT_NAMED,
    StoppedBy,
    any_of,
    decided,
    matches_of,
)
from guardtui.domain.profile_conflicts import Conflict, ConflictKind, find_conflicts
from guardtui.domain.profile_labels import Label, ProfileMember, ProfilePrompts
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Outcome, Triggered, Verdicts, is_answered, is_wrong, outcomes

NO_VERDICT, NOT_ASKED = "no verdict", "not asked"
"""Reasons of rows without a verdict for which nothing else is known."""

CONTRADICTORY = "contradictory"
"""Shown instead of an outcome if the labels contradict each other."""

_NONE, _NO, _YES = map(int, (Triggered.NO_VERDICT, Triggered.NO, Triggered.YES))

_Codes: TypeAlias = "NDArray[np.int8]"
_Flags: TypeAlias = "NDArray[np.bool_]"


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
class ProfileEvaluation:
    """All topics of one profile over N prompts (String [N]), usually those of all their sets.

    `stopped` (int8 [N], values of `Triggered`) holds the profile's verdicts. `errors` gives the
    reason why a row has no verdict or was not requested, `notes` why a verdict is doubtful. A
    `closed` profile stops every prompt that no topic matches. Prompts without a label for a topic
    are counted as not belonging to it. `undecided` are the rows whose outcome depends on that
    assumption.
    """

    prompts: Sequence[str] | pl.Series
    members: tuple[ProfileMember, ...]
    closed: bool
    stopped: _Codes
    errors: Mapping[int, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.prompts)

    @cached_property
    def texts(self) -> list[str]:
        """The N prompts as a list."""
        return list(self.prompts)

    # --- the profile as a whole -----------------------------------------------------------

    @cached_property
    def should_stop(self) -> _Flags:
        """Return which prompts the labels say to stop, bool [N]; False without a label."""
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
    def stopped_by(self) -> StoppedBy:
        """What stopped each row: block topics, or the profile's default."""
        stopped = self.stopped == _YES
        blocks = [self.members[index] for index in self._indices(Intent.BLOCK)]
        hits = np.stack([*((member.matches == _YES) & stopped for member in blocks), stopped])
        hits[-1] &= ~hits[:-1].any(axis=0)
        names = [member.topic.name for member in blocks]
        return StoppedBy([*names, NO_ALLOW if self.closed else NOT_NAMED], hits)

    @property
    def idle(self) -> tuple[int, ...]:
        """Block topics without effect: a closed profile stops the same prompts without them."""
        return self._indices(Intent.BLOCK) if self.closed and self._indices(Intent.ALLOW) else ()

    @property
    def error_count(self) -> int:
        """Number of rows that were requested but have no verdict of the profile."""
        return int(np.count_nonzero(self.stopped == _NONE))

    @property
    def open_count(self) -> int:
        """Number of rows not requested because the scan ended before them."""
        return int(np.count_nonzero(self.stopped == Triggered.NOT_ASKED))

    # --- one topic ------------------------------------------------------------------------

    def in_profile(self, index: int) -> Metrics:
        """Metrics of the profile over one topic's own rows: `metrics`, for this set only."""
        own = self.members[index].own
        return metrics_of(self.codes[own][~self.contradictory[own]])

    def matched(self, row: int) -> tuple[str, ...]:
        """Names of the topics that matched a row."""
        return tuple(member.topic.name for member in self.members if member.matches[row] == _YES)

    def name(self, index: int) -> str:
        """Name of a topic."""
        return self.members[index].topic.name

    # --- conflicts ------------------------------------------------------------------------

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """All conflicts, ordered by kind, then by number of rows, most first."""
        return find_conflicts(self.members, self.stopped)

    @cached_property
    def conflict_rows(self) -> _Flags:
        """Prompts in a conflict of any kind except overlap, bool [N]."""
        rows = np.zeros(len(self), bool)
        for conflict in self.conflicts:
            if conflict.kind is not ConflictKind.OVERLAP:
                rows[conflict.rows] = True
        return rows

    @property
    def conflict_count(self) -> int:
        """Number of distinct prompts in conflict, plus the pairs of topics that overlap."""
        pairs = sum(conflict.kind is ConflictKind.OVERLAP for conflict in self.conflicts)
        return int(np.count_nonzero(self.conflict_rows)) + pairs

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

    def locations(self, row: int) -> tuple[str, ...]:
        """Locations of a row: `file:line` for each set that labels it."""
        return tuple(
            dict.fromkeys(
                f"{member.source}:{int(member.lines[row])}"
                for member in self.members
                if member.lines[row]
            )
        )

    def _indices(self, intent: Intent) -> tuple[int, ...]:
        return tuple(
            index for index, member in enumerate(self.members) if member.topic.intent is intent
        )

    def _any(self, intent: Intent, label: Label) -> _Flags:
        rows = np.zeros(len(self), bool)
        for index in self._indices(intent):
            rows |= self.members[index].labels == label
        return rows

    def _decided(self, matches: Sequence[_Codes]) -> _Codes:
        return _decided(self.members, matches, closed=self.closed)

    # --- one topic under test -------------------------------------------------------------

    def verdicts(self, own: Verdicts) -> Verdicts:
        """Return the profile's verdicts with the scores and matched parts of one topic's `own`.

        A row that an allow topic and a block topic match has a note: that the allow topic wins is
        reported behaviour of services.
        """
        matches = [member.matches for member in self.members]
        both = _any_of(self.members, matches, Intent.ALLOW) == _YES
        both &= _any_of(self.members, matches, Intent.BLOCK) == _YES
        notes = dict(own.notes)
        for row in np.flatnonzero(both).tolist():
            notes[row] = f"{notes[row]}; {BOTH_MATCHED}" if row in notes else BOTH_MATCHED
        return replace(
            own,
            triggered=self.stopped,
            errors={row: reason for row, reason in self.errors.items() if reason != NOT_ASKED},
            notes=notes,
            stopped_by=self.stopped_by,
        )


def evaluate_scans(
    prompts: ProfilePrompts,
    verdicts: Sequence[Verdicts],
    *,
    closed: bool,
    under_test: Topic | None = None,
) -> ProfileEvaluation:
    """Return the evaluation of a profile whose topics were scanned one by one.

    A row without a verdict has the reason of the first topic without one. The topic's name comes
    first, except for the topic `under_test`. Raises ValueError if the numbers of topics or prompts
    differ.
    """
    members = []
    for member, own in zip(prompts.members, verdicts, strict=True):
        if len(own) != len(prompts):
            raise ValueError(f"{len(prompts)} and {len(own)} prompts")
        members.append(replace(member, matches=matches_of(member.topic, own)))
    stopped = _decided(members, [member.matches for member in members], closed=closed)
    reasons: dict[int, str] = {}
    for row in np.flatnonzero(~is_answered(stopped)).tolist():
        reasons[row] = NOT_ASKED if stopped[row] == Triggered.NOT_ASKED else NO_VERDICT
        for member, own in zip(members, verdicts, strict=True):
            if own.triggered[row] == stopped[row]:
                reason = own.errors.get(row, reasons[row])
                if reason != NOT_ASKED and member.topic is not under_test:
                    reason = f"{member.topic.name}: {reason}"
                reasons[row] = reason
                break
    notes = {row: note for own in verdicts for row, note in own.notes.items()}
    return ProfileEvaluation(
        prompts.prompts.prompts, tuple(members), closed, stopped, reasons, notes
    )


def _decided(
    members: Sequence[ProfileMember], matches: Sequence[_Codes], *, closed: bool
) -> _Codes:
    """Return what a profile does with each prompt, int8 [N], if its topics match like this."""
    allowed = _any_of(members, matches, Intent.ALLOW)
    blocked = _any_of(members, matches, Intent.BLOCK)
    return decided(allowed, blocked, closed=closed)


def _any_of(members: Sequence[ProfileMember], matches: Sequence[_Codes], intent: Intent) -> _Codes:
    """Return whether a topic of this intent matches each prompt, int8 [N]."""
    columns = [
        column
        for member, column in zip(members, matches, strict=True)
        if member.topic.intent is intent
    ]
    return any_of(columns, len(matches[0]) if matches else 0)
