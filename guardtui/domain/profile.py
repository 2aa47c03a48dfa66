"""The rules of a profile of several topics: which prompts it stops, and which topics stop them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdicts, is_answered

MOST_TOPICS = 20
"""Maximum number of topics in a profile."""

NO_ALLOW = "(no allow topic matched)"
"""Shown as the cause if a closed profile stops a prompt that no allow topic matches."""

NOT_NAMED = "(no topic is named)"
"""Shown as the cause of a stop if the service does not name the topic."""

BOTH_MATCHED = "an allow topic and a block topic both match; the allow topic is taken to win"
"""Note of a prompt whose verdict relies on reported, undocumented behaviour of services."""

_NONE, _NO, _YES = map(int, (Triggered.NO_VERDICT, Triggered.NO, Triggered.YES))

_BLOCK, _ALLOW = Intent.BLOCK, Intent.ALLOW

_Answers: TypeAlias = "NDArray[np.int8]"


class StoppedBy(Mapping[int, tuple[str, ...]]):
    """Mapping from each stopped row to the topics that stopped it, built lazily.

    `hits` (bool [T, N]) says which of the T `names` (`NO_ALLOW` or `NOT_NAMED` may be among them)
    stopped which row.
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


def closed_by_default(topics: Iterable[Topic]) -> bool:
    """Return whether a profile that names no default stops what no topic matches.

    It does if any of its topics is an allow topic.
    """
    return any(topic.intent is _ALLOW for topic in topics)


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
