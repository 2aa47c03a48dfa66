"""Waiting until scans use a changed profile: repeated probes, up to a limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs.scans import ScanClient


@dataclass(frozen=True, slots=True)
class PropagationResult:
    """Result of waiting until scans use a change, with the number of probes.

    `seconds` is the time from the first probe to the last. `revision_seen` is None if responses do
    not name the revision that judged.
    """

    live: bool
    reason: str
    probes: int
    seconds: float
    revision_seen: bool | None
    last: Verdict | None


ProbeReport = Callable[[int, float, str], None]
"""Called after each unsuccessful probe: number of probes, seconds since the first, and reason."""


def canary(topic: Topic) -> tuple[str, bool | None]:
    """Return an example of the topic as a probe, and whether it should trigger.

    None (no expectation) for intent allow, where other topics and detectors decide as well.
    """
    prompt = topic.examples[0] if topic.examples else topic.description
    return prompt, True if topic.intent is Intent.BLOCK else None


async def wait_until_live(
    client: ScanClient,
    prompt: str,
    *,
    profile_id: str,
    expected: bool | None = None,
    interval: float = 2.0,
    limit: float = 60.0,
    report: ProbeReport | None = None,
    clock: Clock = CLOCK,
) -> PropagationResult:
    """Probe with one prompt until the revision with this id answers as expected.

    Probes every `interval` seconds for at most `limit` seconds (0: one probe). If responses name no
    revision, only the expectation counts; without an expectation the wait ends at once. Raises
    ServiceError for failures that waiting cannot resolve.
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
            return PropagationResult(True, "", probes, elapsed, seen, last)
        if elapsed + interval > limit or problem == _BLIND:
            return PropagationResult(False, problem, probes, elapsed, seen, last)
        if report is not None:
            report(probes, elapsed, problem)
        await clock.sleep(interval)


_BLIND = "answers do not name the revision, and the probe has no expected verdict"


def _not_yet(answer: Verdict, seen: bool | None, expected: bool | None) -> str:
    if seen is False:
        return "an older revision of the profile still answers"
    if seen and expected is None:
        return ""  # even without a verdict, as from a profile without topics
    if not answer.decided:
        return answer.problem
    if expected is not None and (answer.triggered is Triggered.YES) is not expected:
        revision = "the new revision answers" if seen else "the answer does not name its revision"
        return f"{revision}, but the probe is {'not ' if expected else ''}stopped"
    if seen is None and expected is None:
        return _BLIND
    return ""
