"""Verdicts of a scanner for every prompt as columns, and the resulting outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum, auto
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Triggered(IntEnum):
    """The scanner's answer for one prompt.

    NO_VERDICT: the scanner was asked without result. NOT_ASKED: the prompt was not requested.
    """

    NOT_ASKED = -2
    NO_VERDICT = -1
    NO = 0
    YES = 1


class Outcome(IntEnum):
    """A verdict compared with its label; no rate counts ERROR (no verdict) and OPEN (not asked)."""

    TP = 0
    TN = 1
    FP = 2
    FN = 3
    ERROR = 4
    OPEN = 5


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of a model: calls, tokens, and cost in the currency of the author's prices.

    `uncounted` is the number of calls for which the service reported no tokens; they count with
    their upper limit.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    uncounted: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
            self.uncounted + other.uncounted,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.calls - other.calls,
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.cost - other.cost,
            self.uncounted - other.uncounted,
        )


class Failure(Enum):
    """Reasons for a missing verdict that a scan distinguishes."""

    FAILED = auto()
    """The request failed, or its response cannot be used."""
    UNSENT = auto()
    """The prompt was never sent, which says nothing about the service."""
    UNREACHABLE = auto()
    """The connection failed."""
    BUDGET = auto()
    """The request was not made because it would exceed the author's budget."""
    REFUSED = auto()
    """The credential was rejected."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A scanner's answer for one prompt.

    - `problem`: why there is no verdict.
    - `failure`: its kind; None if the scanner answered properly but could not decide.
    - `note`: what an author should know about the verdict.
    - `doubtful`: the verdict may not be about the topic.
    - `reason`: the reason given by a judge, with or without a verdict.
    - `topics`: the topics that stopped the prompt.
    - `allowed_topics`: matching topics that let prompts through.
    - `revision`, `scan_id`: version of the guardrail and id of the call, if the service reports
      them.
    - `seconds`: duration of the call.
    - `score`: from 0 to 1, if the scanner gives one.
    """

    triggered: Triggered
    note: str = ""
    topics: tuple[str, ...] = ()
    reason: str = ""
    problem: str = ""
    failure: Failure | None = None
    doubtful: bool = False
    allowed_topics: tuple[str, ...] = ()
    revision: str = ""
    scan_id: str = ""
    seconds: float | None = None
    score: float | None = None

    @property
    def decided(self) -> bool:
        """Return whether there is a verdict."""
        return self.triggered >= Triggered.NO


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The verdicts of one evaluation; all columns have shape [N], in prompt set order.

    - `triggered`: int8, values of `Triggered`.
    - `score`: float32 from 0 to 1, NaN if unknown.
    - `matched`: int16; 0 the description, k example k, -1 unknown.
    - `errors`: why a row has no verdict; for an open row only if the scan ended before it.
    - `notes`: why a verdict is doubtful.
    - `stopped_by`: which topics of a profile stopped a row, if known.
    - `reasons`: the reasons given by a judge.
    - `used`: cost of requesting these verdicts now.
    - `repeats`: answers of the K epochs behind the verdicts, int8 [K, N].
    - `beyond_budget`: rows without a verdict because the author's budget was spent.
    """

    triggered: NDArray[np.int8]
    score: NDArray[np.float32]
    matched: NDArray[np.int16]
    errors: Mapping[int, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    stopped_by: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)
    used: Usage | None = None
    repeats: NDArray[np.int8] | None = None
    beyond_budget: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return int(self.triggered.shape[0])

    @cached_property
    def flaky(self) -> NDArray[np.bool_]:
        """Prompts whose verdicts differ between epochs, bool [N]."""
        if self.repeats is None:
            return np.zeros(len(self), bool)
        flaky: NDArray[np.bool_] = (self.repeats == Triggered.YES).any(axis=0)
        flaky &= (self.repeats == Triggered.NO).any(axis=0)
        return flaky

    def merged(self, newer: Verdicts) -> Verdicts:
        """Return these verdicts, replaced by newer ones for all rows that those requested.

        Raises ValueError if the numbers of prompts differ.
        """
        if len(self) != len(newer):
            raise ValueError(f"{len(self)} and {len(newer)} prompts")
        # Rows open in both take the reason of the newer scan, if it ended before them.
        requested = newer.triggered != Triggered.NOT_ASKED
        requested |= self.triggered == Triggered.NOT_ASKED
        later = set(np.flatnonzero(requested).tolist())

        def texts(old: Mapping[int, Any], new: Mapping[int, Any]) -> dict[int, Any]:
            both = {row: value for row, value in old.items() if row not in later}
            both.update((row, value) for row, value in new.items() if row in later)
            return both

        return Verdicts(
            triggered=np.where(requested, newer.triggered, self.triggered),
            score=np.where(requested, newer.score, self.score),
            matched=np.where(requested, newer.matched, self.matched),
            errors=texts(self.errors, newer.errors),
            notes=texts(self.notes, newer.notes),
            stopped_by=texts(self.stopped_by, newer.stopped_by),
            reasons=texts(self.reasons, newer.reasons),
            used=newer.used if self.used is None else self.used + (newer.used or Usage()),
            repeats=_merged_repeats(self.repeats, newer.repeats, requested),
            beyond_budget=(self.beyond_budget - later) | (newer.beyond_budget & later),
        )

    def completed(self, newer: Verdicts) -> Verdicts:
        """Return these verdicts with newer ones, but no answer replaced by a missing one."""
        lost = is_answered(self.triggered) & ~is_answered(newer.triggered)
        asked = np.where(lost, np.int8(Triggered.NOT_ASKED), newer.triggered)
        return self.merged(replace(newer, triggered=asked))


def spread(part: Verdicts, rows: NDArray[np.intp], count: int) -> Verdicts:
    """Return verdicts of `count` prompts from those of some rows (intp [n]); others NOT_ASKED.

    Messages of single rows and epochs move along; costs are left out.
    """
    triggered = np.full(count, Triggered.NOT_ASKED, np.int8)
    score, matched = np.full(count, np.nan, np.float32), np.full(count, -1, np.int16)
    triggered[rows], score[rows], matched[rows] = part.triggered, part.score, part.matched

    repeats = None
    if part.repeats is not None:
        repeats = np.full((len(part.repeats), count), Triggered.NOT_ASKED, np.int8)
        repeats[:, rows] = part.repeats

    def moved(texts: Mapping[int, Any]) -> dict[int, Any]:
        return {int(rows[row]): value for row, value in texts.items()}

    return Verdicts(
        triggered,
        score,
        matched,
        errors=moved(part.errors),
        notes=moved(part.notes),
        stopped_by=moved(part.stopped_by),
        reasons=moved(part.reasons),
        repeats=repeats,
    )


class VerdictColumns:
    """Verdicts of a running scan, collected by row; initially every row is NOT_ASKED."""

    def __init__(self, count: int) -> None:
        self._triggered = np.full(count, Triggered.NOT_ASKED, np.int8)
        self._score = np.full(count, np.nan, np.float32)
        self._not_asked: dict[int, str] = {}
        self._errors: dict[int, str] = {}
        self._notes: dict[int, str] = {}
        self._topics: dict[int, tuple[str, ...]] = {}
        self._reasons: dict[int, str] = {}
        self._beyond_budget: set[int] = set()

    @property
    def errors(self) -> int:
        """Number of rows without a verdict, except rows that were not requested."""
        return len(self._errors)

    @property
    def not_asked(self) -> NDArray[np.bool_]:
        """Rows that are NOT_ASKED, bool [N]."""
        rows: NDArray[np.bool_] = self._triggered == Triggered.NOT_ASKED
        return rows

    def put(self, rows: Sequence[int], verdict: Verdict, note: str = "") -> None:
        """Set the verdict of rows, and an optional note for the author."""
        self._triggered[rows] = verdict.triggered
        self._score[rows] = np.nan if verdict.score is None else verdict.score
        for row in rows:
            self._errors.pop(row, None)
            self._not_asked.pop(row, None)
        self._beyond_budget.difference_update(rows)
        if verdict.failure is Failure.BUDGET:
            self._beyond_budget.update(rows)
        if verdict.triggered is Triggered.NO_VERDICT:
            self._errors.update(dict.fromkeys(rows, verdict.problem))
        elif verdict.triggered is Triggered.NOT_ASKED:
            self._not_asked.update(dict.fromkeys(rows, verdict.problem))
        if note:
            self._notes.update(dict.fromkeys(rows, note))
        if verdict.topics:
            self._topics.update(dict.fromkeys(rows, verdict.topics))
        if verdict.reason:
            self._reasons.update(dict.fromkeys(rows, verdict.reason))

    def explain_not_asked(self, row: int, problem: str) -> None:
        """Set the reason why a row was not requested, unless it already has one."""
        self._not_asked.setdefault(row, problem)

    def verdicts(self, used: Usage | None = None) -> Verdicts:
        """Return the verdicts so far as a copy."""
        count = len(self._triggered)
        return Verdicts(
            triggered=self._triggered.copy(),
            score=self._score.copy(),
            matched=np.full(count, -1, np.int16),
            errors=self._not_asked | self._errors,
            notes=dict(self._notes),
            stopped_by=dict(self._topics),
            reasons=dict(self._reasons),
            used=used,
            beyond_budget=frozenset(self._beyond_budget),
        )


def _merged_repeats(
    old: NDArray[np.int8] | None, new: NDArray[np.int8] | None, requested: NDArray[np.bool_]
) -> NDArray[np.int8] | None:
    """Return the answers of epochs, newer ones for requested rows; missing ones NOT_ASKED."""
    if old is None and new is None:
        return None
    count = max(0 if repeats is None else len(repeats) for repeats in (old, new))
    answers = np.full((count, len(requested)), Triggered.NOT_ASKED, np.int8)
    if old is not None:
        answers[: len(old), ~requested] = old[:, ~requested]
    if new is not None:
        answers[: len(new), requested] = new[:, requested]
    return answers


def outcomes(should_trigger: NDArray[np.bool_], triggered: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return outcome codes, int8 [N], from labels (bool [N]) and answers (int8 [N]).

    Raises ValueError if the shapes differ.
    """
    if should_trigger.shape != triggered.shape:
        raise ValueError(f"{should_trigger.shape} labels, {triggered.shape} verdicts")
    # A table look-up is one pass: (label, answer − NOT_ASKED) → outcome.
    table = np.array([5, 4, 1, 2, 5, 4, 3, 0], dtype=np.int8)
    index = triggered - np.int8(Triggered.NOT_ASKED)
    index += should_trigger.view(np.int8) * np.int8(4)
    codes: NDArray[np.int8] = table.take(index)
    return codes


def is_answered(triggered: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return True for verdicts; `triggered` has values of `Triggered` and any shape."""
    answered: NDArray[np.bool_] = triggered >= Triggered.NO
    return answered


def is_correct(codes: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return True, bool [N], for TP and TN."""
    correct: NDArray[np.bool_] = codes <= Outcome.TN
    return correct


def is_wrong(codes: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return True, bool [N], for FP and FN; ERROR and OPEN are neither."""
    # FP and FN are neighbours: one comparison instead of two and their union.
    wrong: NDArray[np.bool_] = (codes.view(np.uint8) - np.uint8(Outcome.FP)) <= np.uint8(1)
    return wrong
