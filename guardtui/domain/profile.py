"""A profile of several topics: which prompts it stops, and which topics stop them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdicts, is_answered

NO_ALLOW = "(no allow topic matched)"
"""Shown as the cause if a closed profile stops a prompt that no allow topic matches."""

BOTH_MATCHED = "an allow topic and a block topic both match; the allow topic is taken to win"
"""Note of a prompt whose verdict relies on reported, undocumented behaviour of services."""

_NONE, _NO, _YES = map(int, (Triggered.NO_VERDICT, Triggered.NO, Triggered.YES))

_BLOCK, _ALLOW = Intent.BLOCK, Intent.ALLOW

_Answers: TypeAlias = "NDArray[np.int8]"


class StoppedBy(Mapping[int, tuple[str, ...]]):
    """Mapping from each stopped row to the topics that stopped it, built lazily.

    `hits` (bool [T, N]) says which of the T `names` (`NO_ALLOW` may be among them) stopped which
    row.
    """

    def __init__(self, names: Sequence[str], hits: NDArray[np.bool_]) -> None:
        self._names, self._hits = tuple(names), hits
        self._stopped: NDArray[np.bool_] = np.logical_or.reduce(hits, axis=0)

    def __getitem__(self, row: int) -> tuple[str, ...]:
        if not (0 <= row < len(self._stopped) and self._stopped[row]):
            raise KeyError(row)
        return tuple(name for name, hit in zip(self._names, self._hits[:, row], strict=True) if hit)

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(self._stopped).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(self._stopped))

    def where(self, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Return the rows stopped by a topic whose name satisfies `wanted`, bool [N]."""
        chosen = [index for index, name in enumerate(self._names) if wanted(name)]
        stopped: NDArray[np.bool_] = np.logical_or.reduce(self._hits[chosen], axis=0)
        return stopped


def rows_stopped(verdicts: Verdicts, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Return the rows stopped by a topic whose name satisfies `wanted`, bool [N]."""
    stopped_by = verdicts.stopped_by
    if isinstance(stopped_by, StoppedBy):
        return stopped_by.where(wanted)
    stopped = np.zeros(len(verdicts), bool)
    stopped[[row for row, names in stopped_by.items() if any(map(wanted, names))]] = True
    return stopped


def only_others(topic: Topic, names: Sequence[str]) -> tuple[str, ...]:
    """Return the topics that stopped a prompt, or () if the topic under test is one of them."""
    if topic.name in names or NO_ALLOW in names:
        return ()
    return tuple(names)


def stopped_only_by_others(topic: Topic, verdicts: Verdicts) -> NDArray[np.bool_]:
    """Return rows stopped by other topics only, bool [N]; False if no topic is named."""
    stopped = np.zeros(len(verdicts), np.bool_)
    for row, names in verdicts.stopped_by.items():
        stopped[row] = bool(only_others(topic, names))
    return stopped


def combine(topic: Topic, own: Verdicts, companions: Sequence[tuple[Topic, Verdicts]]) -> Verdicts:
    """Return the verdicts of the whole profile on N prompts, from those of its topics.

    `own` are the verdicts of the topic under test; its scores and matched parts are kept. A prompt
    that an allow topic matches is let through. Any other prompt is stopped if a block topic matches
    it, or if the topic under test is an allow topic: a profile with an allow topic is assumed to be
    closed. If the topic under test is a block topic, prompts that match no topic pass. That an
    allow topic wins over a block topic is reported behaviour of services; such rows have a note.

    If a topic has no verdict on a prompt, neither has the profile, unless the other topics already
    decide. Without companions, `own` is returned. Raises ValueError if the numbers of prompts
    differ.
    """
    if not companions:
        return own
    for _, verdicts in companions:
        if len(verdicts) != len(own):
            raise ValueError(f"{len(own)} and {len(verdicts)} prompts")
    members = [(topic, own), *companions]
    blocks = [
        (member.name, matches_of(member, answers))
        for member, answers in members
        if member.intent is _BLOCK
    ]
    allows = [
        (member.name, matches_of(member, answers))
        for member, answers in members
        if member.intent is _ALLOW
    ]
    allowed = any_of([matches for _, matches in allows], len(own))
    blocked = any_of([matches for _, matches in blocks], len(own))
    triggered = decided(allowed, blocked, closed=topic.intent is _ALLOW)
    stopped = triggered == _YES
    names = [*(name for name, _ in blocks), NO_ALLOW]
    hits = np.stack([*((matches == _YES) & stopped for _, matches in blocks), stopped])
    hits[-1] &= ~hits[:-1].any(axis=0)
    return replace(
        own,
        triggered=triggered,
        errors=_errors(triggered, members),
        notes=_notes(own, (allowed == _YES) & (blocked == _YES)),
        stopped_by=StoppedBy(names, hits),
    )


def decided(allowed: _Answers, blocked: _Answers, *, closed: bool) -> _Answers:
    """Return what a profile does with each prompt, int8 [N], values of `Triggered`.

    `allowed` and `blocked` (int8 [N]) say whether an allow topic and a block topic match. Prompts
    that an allow topic matches are let through. Any other prompt is stopped if a block topic
    matches it, or if the profile is `closed`: it then lets nothing else through.
    """
    # Undecided rows are NOT_ASKED if one of the two is, otherwise NO_VERDICT.
    triggered = np.minimum(np.minimum(allowed, blocked), np.int8(_NONE))
    triggered[allowed == _YES] = _NO
    if closed:
        triggered[allowed == _NO] = _YES
    else:
        triggered[blocked == _NO] = _NO
        triggered[(allowed == _NO) & (blocked == _YES)] = _YES
    return triggered


def matches_of(topic: Topic, verdicts: Verdicts) -> _Answers:
    """Return whether each prompt is about the topic, int8 [N], values of `Triggered`."""
    triggered = verdicts.triggered
    if topic.intent is _BLOCK:
        return triggered
    # An allow topic stops the prompts that it does not match.
    return np.where(is_answered(triggered), np.int8(1) - triggered, triggered)


def any_of(answers: Sequence[_Answers], count: int) -> _Answers:
    """Return whether any answer is yes, int8 [N]; unknown if none is yes and one is unknown."""
    combined = np.zeros(count, np.int8)
    for answer in answers:
        combined = np.where(
            ~is_answered(answer) & (combined != _YES), np.minimum(answer, combined), combined
        )
        combined[answer == _YES] = _YES
    return combined


def _errors(triggered: _Answers, members: Sequence[tuple[Topic, Verdicts]]) -> dict[int, str]:
    """Return why rows have no verdict: the reason of the first topic without one.

    Its name comes first, except for the topic under test.
    """
    errors: dict[int, str] = {}
    for row in np.flatnonzero(~is_answered(triggered)).tolist():
        for index, (topic, verdicts) in enumerate(members):
            if verdicts.triggered[row] == triggered[row]:
                reason = verdicts.errors.get(row, "no verdict" if triggered[row] == _NONE else "")
                if reason:
                    errors[row] = f"{topic.name}: {reason}" if index else reason
                break
    return errors


def _notes(own: Verdicts, both: NDArray[np.bool_]) -> Mapping[int, str]:
    rows = np.flatnonzero(both).tolist()
    if not rows:
        return own.notes
    notes = dict.fromkeys(rows, BOTH_MATCHED)
    for row, note in own.notes.items():
        notes[row] = f"{note}; {BOTH_MATCHED}" if row in notes else note
    return notes
