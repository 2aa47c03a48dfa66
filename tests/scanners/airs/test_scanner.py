"""The AIRS scanner against the sandbox: true verdicts or reasons, and nothing is sent twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guardtui.domain.guardrail import AIRS, Guardrail
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.http.secret import Secret
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.lifecycle import Applied, apply
from guardtui.scanners.airs.scanner import OTHER_REVISION, ActiveRevision, AirsScanner
from guardtui.scanners.airs.scans import ScanClient
from guardtui.scanners.base import Progress, Scanner
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.remote import GIVE_UP_AFTER
from tests.scanners.models.judges import Memory, nothing, some, verdicts_of

from .conftest import BAKING, OTHER, TAX, TAX_TOPIC, Stage

SAMPLES = Path(__file__).parents[3] / "sample_data"


def sample(name: str) -> tuple[Topic, PromptSet]:
    return load_topic(SAMPLES / f"{name}.yaml").topic, load_prompts(SAMPLES / f"{name}.csv")


def scanner(stage: Stage, done: Applied | None = None, **more: Any) -> AirsScanner:
    now = None if done is None else ActiveRevision(done.profile)
    return AirsScanner(stage.settings, now, clock=stage.clock, **more)


def sent(stage: Stage) -> int:
    return int(stage.answered["prompts"]["asked"]["total"])


async def true_verdicts(topic: Topic, prompts: PromptSet) -> list[int]:
    local = await LocalScanner("static").scan(topic, prompts, nothing)
    return [int(one) for one in local.triggered]


@pytest.mark.parametrize("name", ["tax-advice", "airline-service"])
async def test_verdicts_equal_those_of_the_engine(stage: Stage, name: str) -> None:
    topic, prompts = sample(name)
    done = await apply(stage.management, topic, "sandbox")
    progress: list[Progress] = []
    airs: Scanner = scanner(stage, done)
    verdicts = await airs.scan(topic, prompts, progress.append)
    assert verdicts_of(verdicts) == await true_verdicts(topic, prompts)
    assert not verdicts.errors
    assert progress[-1] == Progress("scanning", len(prompts), len(prompts), 0)
    assert not airs.live
    assert (airs.settings.kind, airs.settings.threshold) == ("airs", None)
    assert airs.settings.guardrail == Guardrail(AIRS, profile="sandbox", sandbox=True)
    assert airs.settings.revision == f"{done.profile.revision} ({done.profile.profile_id})"


async def test_second_run_sends_nothing_and_a_fresh_one_all(stage: Stage, tmp_path: Path) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    prompts, cache = some(tmp_path, TAX, OTHER, TAX, BAKING), Memory()
    first = await scanner(stage, done, cache=cache).scan(TAX_TOPIC, prompts, nothing)
    assert (verdicts_of(first), sent(stage)) == ([1, 0, 1, 0], 3)  # equal prompts are one
    second = await scanner(stage, done, cache=cache).scan(TAX_TOPIC, prompts, nothing)
    assert (verdicts_of(second), sent(stage)) == ([1, 0, 1, 0], 3)
    # Without a look-up one prompt is sent, to learn which revision is in effect.
    await scanner(stage, cache=cache).scan(TAX_TOPIC, prompts, nothing)
    assert sent(stage) == 4
    await scanner(stage, done, cache=cache, fresh=True).scan(TAX_TOPIC, prompts, nothing)
    assert sent(stage) == 7


async def test_another_definition_or_revision_is_requested_again(
    stage: Stage, tmp_path: Path
) -> None:
    prompts, cache = some(tmp_path, TAX, OTHER), Memory()
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    await scanner(stage, done, cache=cache).scan(TAX_TOPIC, prompts, nothing)
    changed = TAX_TOPIC.model_copy(update={"description": "The capitals of countries in Europe"})
    await scanner(stage, done, cache=cache).scan(changed, prompts, nothing)
    assert sent(stage) == 4
    later = await apply(stage.management, changed, "sandbox")
    await scanner(stage, later, cache=cache).scan(changed, prompts, nothing)
    assert (sent(stage), len(cache.found)) == (6, 6)


async def test_verdicts_of_another_revision_do_not_count(stage: Stage, tmp_path: Path) -> None:
    prompts, cache = some(tmp_path, TAX, OTHER), Memory()
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(propagation="1h")
    changed = TAX_TOPIC.model_copy(update={"description": "Taxes"})
    later = await apply(stage.management, changed, "sandbox")
    verdicts = await scanner(stage, later, cache=cache).scan(changed, prompts, nothing)
    assert verdicts.errors == {0: OTHER_REVISION, 1: OTHER_REVISION}
    stage.change(propagation="0")
    stage.clock.advance(7200)
    again = await scanner(stage, later, cache=cache).scan(changed, prompts, nothing)
    assert (again.errors, sent(stage)) == ({}, 4)


async def test_permanently_failing_service_gets_no_more_requests(stage: Stage) -> None:
    topic, prompts = sample("tax-advice")
    done = await apply(stage.management, topic, "sandbox")
    stage.change(faults=["404=1"])
    verdicts = await scanner(stage, done).scan(topic, prompts, nothing)
    assert set(verdicts.errors) == set(range(len(prompts)))
    assert sent(stage) == 0
    requests = stage.answered["endpoints"]["sync"]["404"]
    assert GIVE_UP_AFTER <= requests <= GIVE_UP_AFTER + 2 * stage.settings.concurrency
    reasons = set(verdicts.errors.values())
    assert any("HTTP 404" in reason and not reason.startswith("not sent") for reason in reasons)
    assert any(reason.startswith("not sent: 20 prompts in a row") for reason in reasons)


async def test_key_that_is_refused_ends_the_scan_at_once(stage: Stage, tmp_path: Path) -> None:
    wrong = replace(stage.settings, api_key=Secret("wrong-key-of-mine"))
    airs = AirsScanner(wrong, clock=stage.clock)
    with pytest.raises(AirsError, match=r"nothing could be scanned: .*403") as raised:
        await airs.scan(TAX_TOPIC, some(tmp_path, TAX, OTHER), nothing)
    assert "wrong-key-of-mine" not in str(raised.value)


async def test_doubts_are_stored_with_verdicts(stage: Stage, tmp_path: Path) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(faults=["dlp-error=1"])
    cache = Memory()
    for _ in range(2):
        verdicts = await scanner(stage, done, cache=cache).scan(
            TAX_TOPIC, some(tmp_path, TAX, OTHER), nothing
        )
        assert verdicts_of(verdicts) == [1, 0]
        assert all("other detectors failed" in verdicts.notes[row] for row in (0, 1))
    assert sent(stage) == 2


async def test_cancelled_scan_keeps_its_answers(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    answers = 0
    never = asyncio.Event()

    async def scan(self: ScanClient, prompt: str, **_: Any) -> Verdict:
        nonlocal answers
        if answers >= 3:
            await never.wait()
        answers += 1
        return Verdict(Triggered.YES, revision=done.profile.profile_id)

    monkeypatch.setattr(ScanClient, "scan", scan)
    cache = Memory()
    third = asyncio.Event()

    def report(progress: Progress) -> None:
        if progress.done == 3:
            third.set()

    prompts = some(tmp_path, *(f"prompt {number}" for number in range(30)))
    task = asyncio.create_task(scanner(stage, done, cache=cache).scan(TAX_TOPIC, prompts, report))
    await third.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(cache.found) == 3


def test_scanner_requires_a_credential_and_a_profile(tmp_path: Path) -> None:
    from guardtui.scanners.airs.credentials import AirsSettings

    bare = AirsSettings.load({}, {}, tmp_path / "none.json")
    with pytest.raises(AirsError, match="PANW_AI_SEC_API_KEY"):
        AirsScanner(bare)
    keyed = AirsSettings.load({}, {"PANW_AI_SEC_API_KEY": "k"}, tmp_path / "none.json")
    with pytest.raises(AirsError, match="no security profile"):
        AirsScanner(keyed)
    with pytest.raises(ValueError, match="rate"):
        AirsScanner(replace(keyed, profile="x"), rate=0)
