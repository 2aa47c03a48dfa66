"""The wait until scans know a change has an end, and says why it was in vain."""

from __future__ import annotations

import pytest

from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.scanners.airs.answers import no_verdict
from guardtui.scanners.airs.lifecycle import apply
from guardtui.scanners.airs.propagation import canary, wait_until_live
from tests.http.times import JumpClock

from .conftest import OTHER, TAX, TAX_TOPIC, Stage, allowing


async def test_wait_ends_when_the_new_revision_answers(stage: Stage) -> None:
    stage.change(propagation="11s")
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    prompt, expected = canary(TAX_TOPIC)
    live = await wait_until_live(
        stage.scans, prompt, profile_id=done.profile.profile_id, expected=expected,
        clock=stage.clock,
    )  # fmt: skip
    assert (live.live, live.reason, live.revision_seen) == (True, "", True)
    assert live.probes > 1
    assert live.last is not None
    assert live.last.triggered is Triggered.YES


async def test_wait_ends_at_the_limit(stage: Stage) -> None:
    stage.change(propagation="1h")
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    live = await wait_until_live(
        stage.scans, TAX, profile_id=done.profile.profile_id, limit=20.0, interval=5.0,
        clock=stage.clock,
    )  # fmt: skip
    assert (live.live, live.revision_seen, live.probes) == (False, False, 5)
    assert live.reason == "an older revision of the profile still answers"
    assert live.seconds == pytest.approx(20.0, abs=1)


async def test_unexpected_probe_result_is_reported(stage: Stage) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    live = await wait_until_live(
        stage.scans, OTHER, profile_id=done.profile.profile_id, expected=True, limit=4.0,
        clock=stage.clock,
    )  # fmt: skip
    assert (live.live, live.revision_seen) == (False, True)
    assert live.reason == "the new revision answers, but the probe is not stopped"


class Probes:
    def __init__(self, *steps: Verdict | ServiceError) -> None:
        self.steps = list(steps)

    async def scan(self, prompt: str) -> Verdict:
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, ServiceError):
            raise step
        return step


async def test_answers_without_a_revision_need_an_expectation() -> None:
    probes = Probes(Verdict(Triggered.NO), no_verdict("no verdict"), Verdict(Triggered.YES))
    live = await wait_until_live(probes, "x", profile_id="p", expected=True, clock=JumpClock())
    assert (live.live, live.probes, live.revision_seen) == (True, 3, None)
    blind = await wait_until_live(
        Probes(Verdict(Triggered.YES)), "x", profile_id="p", clock=JumpClock()
    )
    assert not blind.live
    assert "no expected verdict" in blind.reason


async def test_transient_probe_failures_are_retried() -> None:
    passing = ServiceError(ErrorKind.SERVER, "HTTP 500")
    live = await wait_until_live(
        Probes(passing, Verdict(Triggered.YES, revision="p")),
        "x",
        profile_id="P",
        clock=JumpClock(),
    )
    assert (live.live, live.probes) == (True, 2)
    final = ServiceError(ErrorKind.CREDENTIALS, "HTTP 403", final=True)
    with pytest.raises(ServiceError, match="403"):
        await wait_until_live(Probes(final), "x", profile_id="p", clock=JumpClock())
    never = await wait_until_live(Probes(passing), "x", profile_id="p", clock=JumpClock())
    assert (never.live, never.reason, never.last) == (False, "HTTP 500", None)


def test_canary_is_an_example_of_the_topic() -> None:
    assert canary(TAX_TOPIC) == (TAX_TOPIC.examples[0], True)
    assert canary(allowing(TAX_TOPIC)) == (TAX_TOPIC.examples[0], None)
