"""The wait until scans know a change: a probe again and again, up to a limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ServiceError


class Scanning(Protocol):
    """What asks for one verdict now; a `ScanClient`."""

    async def scan(self, prompt: str, *, topic: str = "", tr_id: str = "") -> Verdict:
        """Scan one prompt. Raises ServiceError."""


@dataclass(frozen=True, slots=True)
class Live:
    """Whether scans know a change. `seconds` from the first probe to the last.

    `revision_seen` is None where answers do not name the revision that judged.
    """

    live: bool
    reason: str
    probes: int
    seconds: float
    revision_seen: bool | None
    last: Verdict | None


Told = Callable[[int, float, str], None]
"""Told after each probe in vain: how many there were, seconds since the first, and the reason."""


def canary(topic: Topic) -> tuple[str, bool | None]:
    """A prompt to probe with, and whether it should trigger: an example of the topic's own.

    None (no expectation) for intent allow, where other topics and detectors decide as well.
    """
    prompt = topic.examples[0] if topic.examples else topic.description
    return prompt, True if topic.intent is Intent.BLOCK else None


async def wait_until_live(
    client: Scanning,
    prompt: str,
    *,
    profile_id: str,
    expected: bool | None = None,
    interval: float = 2.0,
    limit: float = 60.0,
    told: Told | None = None,
    clock: Clock = CLOCK,
) -> Live:
    """Probe with one prompt until the revision of this id answers, and as expected.

    At most `limit` seconds (0: one probe), a probe each `interval` seconds. Where answers name no
    revision only the expectation counts, and without one nothing is to be learned: it ends then.
    Raises ServiceError for what no waiting cures.
    """
    start, probes = clock.now(), 0
    last: Verdict | None = None
    seen: bool | None = None
    while True:
        probes += 1
        problem = ""
        try:
            last = await client.scan(prompt)
        except ServiceError as error:
            if error.final:
                raise
            problem = error.message
        else:
            seen = None if not last.revision else last.revision == profile_id.lower()
            problem = _not_yet(last, seen, expected)
        elapsed = clock.now() - start
        if not problem:
            return Live(True, "", probes, elapsed, seen, last)
        if elapsed + interval > limit or problem == _BLIND:
            return Live(False, problem, probes, elapsed, seen, last)
        if told is not None:
            told(probes, elapsed, problem)
        await clock.sleep(interval)


_BLIND = "answers do not name the revision, and nothing is expected of the probe"


def _not_yet(answer: Verdict, seen: bool | None, expected: bool | None) -> str:
    if seen is False:
        return "an older revision of the profile answers still"
    if seen and expected is None:
        return ""  # also of a profile without topics, which gives no verdict on any
    if not answer.decided:
        return answer.problem
    if expected is not None and (answer.triggered is Triggered.YES) is not expected:
        revision = "the new revision answers" if seen else "it is not said which revision answers"
        return f"{revision}, but the probe is {'not ' if expected else ''}stopped"
    if seen is None and expected is None:
        return _BLIND
    return ""
