"""A profile of several topics: which prompts it stops as a whole, and which topics stop them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdicts, is_answered

NO_ALLOW = "(no allow topic matched)"
"""What stops a prompt where a profile lets only that pass which a topic allows."""

BOTH_MATCHED = "an allow topic and a block topic both match; the allow topic is taken to win"
"""The note of a prompt whose verdict rests on what services are only reported to do."""

_NONE, _NO, _YES = map(int, (Triggered.NO_VERDICT, Triggered.NO, Triggered.YES))

_BLOCK, _ALLOW = Intent.BLOCK, Intent.ALLOW

_Answers: TypeAlias = "NDArray[np.int8]"


class StoppedBy(Mapping[int, tuple[str, ...]]):
    """Which topics stopped each row, worked out for the rows that are looked at.

    `hits` (bool [T, N]) says which of the `names` (T of them, `NO_ALLOW` among them) stopped which
    row; rows that nothing stopped are not in the mapping.
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
        """Rows that a topic stopped whose name is wanted, bool [N]."""
        chosen = [place for place, name in enumerate(self._names) if wanted(name)]
        found: NDArray[np.bool_] = np.logical_or.reduce(self._hits[chosen], axis=0)
        return found


def rows_stopped(verdicts: Verdicts, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Rows that a topic stopped whose name is wanted, bool [N]."""
    stopped_by = verdicts.stopped_by
    if isinstance(stopped_by, StoppedBy):
        return stopped_by.where(wanted)
    found = np.zeros(len(verdicts), bool)
    found[[row for row, names in stopped_by.items() if any(map(wanted, names))]] = True
    return found


def only_others(topic: Topic, names: Sequence[str]) -> tuple[str, ...]:
    """The topics that stopped a prompt where the one under test had no part in it, else none."""
    if topic.name in names or NO_ALLOW in names:
        return ()
    return tuple(names)


def stopped_only_by_others(topic: Topic, verdicts: Verdicts) -> NDArray[np.bool_]:
    """Rows that were stopped, but not by this topic, bool [N]; none where nobody is named."""
    stopped = np.zeros(len(verdicts), np.bool_)
    for row, names in verdicts.stopped_by.items():
        stopped[row] = bool(only_others(topic, names))
    return stopped


def combine(topic: Topic, own: Verdicts, companions: Sequence[tuple[Topic, Verdicts]]) -> Verdicts:
    """Verdicts of the whole profile on N prompts, from those of its topics each by itself.

    `own` are the verdicts of the topic under test, whose scores and matched parts stay. A prompt
    that a topic allows is let through. Any other is stopped when it matches a topic to block, and
    when the topic under test is one to allow: applying that one makes a profile let nothing else
    through, and applying one to block makes it let through what matches none. That an allow topic
    wins over a block topic is what services are reported to do; such rows have a note.

    A topic without a verdict on a prompt leaves the profile without one, unless the others decide
    already. Without companions `own` is given back. Raises ValueError for verdicts on another
    number of prompts.
    """
    if not companions:
        return own
    for _, one in companions:
        if len(one) != len(own):
            raise ValueError(f"{len(own)} and {len(one)} prompts")
    members = [(topic, own), *companions]
    blocks = [(one.name, matches_of(one, said)) for one, said in members if one.intent is _BLOCK]
    allows = [(one.name, matches_of(one, said)) for one, said in members if one.intent is _ALLOW]
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
    """What a profile does with each prompt, int8 [N] with the values of `Triggered`.

    `allowed` and `blocked` (int8 [N]) say whether an allow topic and whether a block topic matches.
    What an allow topic matches is let through; any other prompt is stopped when a block topic
    matches it, and when the profile is `closed`: it then lets nothing else through.
    """
    # What stays undecided was not asked where one of the two was not.
    triggered = np.minimum(np.minimum(allowed, blocked), np.int8(_NONE))
    triggered[allowed == _YES] = _NO
    if closed:
        triggered[allowed == _NO] = _YES
    else:
        triggered[blocked == _NO] = _NO
        triggered[(allowed == _NO) & (blocked == _YES)] = _YES
    return triggered


def matches_of(topic: Topic, verdicts: Verdicts) -> _Answers:
    """Whether each prompt is about the topic, int8 [N] with the values of `Triggered`."""
    triggered = verdicts.triggered
    if topic.intent is _BLOCK:
        return triggered
    # What an allow topic does not match is what it stops.
    return np.where(is_answered(triggered), np.int8(1) - triggered, triggered)


def any_of(answers: Sequence[_Answers], count: int) -> _Answers:
    """Whether any says yes, int8 [N]; unknown where none does and one does not know."""
    found = np.zeros(count, np.int8)
    for one in answers:
        found = np.where(~is_answered(one) & (found != _YES), np.minimum(one, found), found)
        found[one == _YES] = _YES
    return found


def _errors(triggered: _Answers, members: Sequence[tuple[Topic, Verdicts]]) -> dict[int, str]:
    """Why rows have no verdict: the reason of the first topic without one, under its name.

    That of the topic under test stands as it is.
    """
    errors: dict[int, str] = {}
    for row in np.flatnonzero(~is_answered(triggered)).tolist():
        for place, (topic, verdicts) in enumerate(members):
            if verdicts.triggered[row] == triggered[row]:
                reason = verdicts.errors.get(row, "no verdict" if triggered[row] == _NONE else "")
                if reason:
                    errors[row] = f"{topic.name}: {reason}" if place else reason
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
