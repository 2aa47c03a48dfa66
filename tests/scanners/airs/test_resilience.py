"""Scans through what can happen on the way: no prompt lost, none counted twice, few sent twice."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import Triggered, Verdict, Verdicts
from guardtui.http.secret import Secret
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.lifecycle import apply
from guardtui.scanners.airs.scanner import ActiveRevision, AirsScanner
from guardtui.scanners.airs.scans import ScanClient
from guardtui.scanners.base import Progress
from guardtui.scanners.local.scanner import LocalScanner
from tests.scanners.models.judges import Memory, nothing, some, verdicts_of
from tests.tui.stages import first_is_fast

from .conftest import OTHER, TAX, TAX_TOPIC, Stage, Start
from .test_scanner import scanner, sent

MIXED = ["429=0.2", "500=0.05", "reset=0.02", "timeout=0.01", "topic-error=0.01"]


def many(tmp_path: Path, count: int) -> PromptSet:
    return some(tmp_path, *(f"{TAX if n % 3 else OTHER} {n}" for n in range(count)))


async def truth(prompts: PromptSet) -> list[int]:
    local = await LocalScanner("static").scan(TAX_TOPIC, prompts, nothing)
    return [int(one) for one in local.triggered]


def checked(verdicts: Verdicts, true: list[int]) -> int:
    """How many have no verdict; each other one has its true one."""
    missing = {row for row, one in enumerate(verdicts_of(verdicts)) if one < Triggered.NO}
    assert missing == set(verdicts.errors)
    assert all(verdicts.errors.values())
    wrong = [row for row, one in enumerate(verdicts_of(verdicts)) if one != true[row]]
    assert set(wrong) == missing
    return len(missing)


@pytest.mark.parametrize("seed", first_is_fast(1, 2))
async def test_mixed_faults_lose_nothing_and_count_nothing_twice(
    start: Start, tmp_path: Path, seed: int
) -> None:
    stage = await start(seed=seed)
    count = 250
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    prompts = many(tmp_path, count)
    true = await truth(prompts)
    stage.change(faults=MIXED, retry_after="20ms")
    before = stage.answered["requests"]
    progress: list[Progress] = []
    cache = Memory()
    verdicts = await scanner(stage, done, cache=cache, timeout=1.0).scan(
        TAX_TOPIC, prompts, progress.append
    )
    counts = stage.answered["endpoints"]["sync"]
    assert counts["429"] > 30
    assert {"200", "500", "reset", "gone"} <= set(counts)
    missing = checked(verdicts, true)
    assert 0 < missing < 0.05 * count
    assert len(cache.found) == count - missing
    assert stage.answered["requests"] - before <= 1.5 * count
    # Counted once each, and no more often than there are rows.
    assert [one.done for one in progress] == sorted(one.done for one in progress)
    assert (progress[-1].done, progress[-1].total, progress[-1].errors) == (count, count, missing)
    assert progress[-1].traffic is not None
    traffic = progress[-1].traffic()
    # A refusal that arrives after the timeout, on a busy machine, is not seen by the client.
    assert 0 <= counts["429"] - traffic.refused <= 3
    assert traffic.in_flight == 0
    # What has no verdict is asked for by the next run, and nothing else is.
    stage.change(faults=[])
    before = sent(stage)
    again = await scanner(stage, done, cache=cache).scan(TAX_TOPIC, prompts, nothing)
    assert checked(again, true) == 0
    assert sent(stage) - before == missing


async def test_rate_is_respected_at_the_service(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen by the service, one request after the other: no second has more than is allowed."""
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    arrivals: list[float] = []
    arrived = stage.sandbox.control.stats.begin_request

    def noted() -> None:
        arrivals.append(stage.clock.now())
        arrived()

    monkeypatch.setattr(stage.sandbox.control.stats, "begin_request", noted)
    airs = AirsScanner(
        replace(stage.settings, concurrency=1),
        ActiveRevision(done.profile),
        rate=10,
        clock=stage.clock,
    )
    verdicts = await airs.scan(TAX_TOPIC, many(tmp_path, 25), nothing)
    assert not verdicts.errors
    assert len(arrivals) == 25
    assert all(late - early > 1.0 for early, late in zip(arrivals, arrivals[10:], strict=False))
    # And it is used: 24 gaps of a tenth of a second.
    assert arrivals[-1] - arrivals[0] < 24 * 0.1 * 1.1


async def test_held_scan_sends_nothing_until_resumed(stage: Stage, tmp_path: Path) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(latency="5ms")
    prompts = many(tmp_path, 40)
    airs = scanner(stage, done, cache=Memory())
    some, held = asyncio.Event(), asyncio.Event()
    latest: list[Progress] = []

    def report(progress: Progress) -> None:
        latest[:] = [progress]
        if progress.done >= 10 and not some.is_set():
            some.set()
            airs.hold(True)
        traffic = None if progress.traffic is None else progress.traffic()
        if traffic is not None and traffic.held and not traffic.in_flight:
            held.set()

    task = asyncio.create_task(airs.scan(TAX_TOPIC, prompts, report))
    await held.wait()
    before = sent(stage)
    assert 10 <= before < 40
    # What was under way has arrived: as many verdicts as were sent, and the rest is told as open.
    for _ in range(200):
        await asyncio.sleep(0)
    assert latest[0].done == before == sent(stage)
    assert latest[0].partial is not None
    partial = latest[0].partial()
    assert partial.triggered.tolist().count(Triggered.NOT_ASKED) == 40 - before
    assert not partial.errors
    airs.hold(False)
    assert checked(await task, await truth(prompts)) == 0
    assert sent(stage) == 40


async def test_held_scan_is_cancelled_at_once(stage: Stage, tmp_path: Path) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    airs = scanner(stage, done)
    airs.hold(True)
    began = asyncio.Event()
    scan = airs.scan(TAX_TOPIC, many(tmp_path, 30), lambda _: began.set())
    task = asyncio.create_task(scan)
    await began.wait()
    task.cancel()
    async with asyncio.timeout(120):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert sent(stage) == 0


async def test_unreachable_service_is_reported_soon(stage: Stage, tmp_path: Path) -> None:
    await stage.sandbox.stop()
    with pytest.raises(AirsError, match=r"nothing could be scanned: cannot connect to 127\.0"):
        await scanner(stage).scan(TAX_TOPIC, many(tmp_path, 50), nothing)
    assert len(stage.clock.waits) < 5 * stage.settings.concurrency


async def test_lost_connection_ends_the_scan_without_losses(stage: Stage, tmp_path: Path) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    prompts, cache = many(tmp_path, 60), Memory()
    true = await truth(prompts)
    pulled: list[asyncio.Task[None]] = []

    def report(progress: Progress) -> None:
        if progress.done >= 20 and not pulled:
            pulled.append(asyncio.ensure_future(stage.sandbox.stop()))

    verdicts = await scanner(stage, done, cache=cache).scan(TAX_TOPIC, prompts, report)
    await pulled[0]
    missing = checked(verdicts, true)
    assert 0 < missing <= 40
    assert len(cache.found) == 60 - missing
    errors = Counter(verdicts.errors.values())
    assert sum(errors[one] for one in errors if one.startswith("not sent: ")) >= missing - 20
    assert any("cannot connect" in one for one in errors)


async def test_long_scan_keeps_only_its_results_in_memory(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory beyond the results: what 4 000 prompts more leave behind, in bytes."""

    async def scan(self: ScanClient, prompt: str, **_: Any) -> Verdict:
        await asyncio.sleep(0)
        return Verdict(Triggered.NO, scan_id=prompt * 20, revision="r")

    monkeypatch.setattr(ScanClient, "scan", scan)
    used: list[int] = []

    def report(progress: Progress) -> None:
        if progress.done in (500, 4500):
            gc.collect()
            used.append(tracemalloc.get_traced_memory()[0])

    prompts = many(tmp_path, 5000)
    tracemalloc.start()
    try:
        verdicts = await scanner(stage).scan(TAX_TOPIC, prompts, report)
    finally:
        tracemalloc.stop()
    assert not verdicts.errors
    assert used[1] - used[0] < 20_000


# In batches


async def test_batches_give_the_same_verdicts(start: Start, tmp_path: Path) -> None:
    stage = await start(poll_limit=10, pending="12s")
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    prompts, cache = many(tmp_path, 63), Memory()
    progress: list[Progress] = []
    airs = scanner(stage, done, cache=cache, batches=True)
    verdicts = await airs.scan(TAX_TOPIC, prompts, progress.append)
    assert checked(verdicts, await truth(prompts)) == 0
    counts = stage.answered["endpoints"]
    assert counts["async"] == {"200": 4}
    assert "sync" not in counts
    assert set(counts["results"]) == {"200"}
    assert progress[-1] == Progress("scanning", 63, 63, 0)
    assert progress[-1].traffic is not None
    assert progress[-1].traffic().sent == 4
    assert len(cache.found) == 63
    # The stopped ones name their topic, as in single scans.
    assert set(verdicts.stopped_by.values()) == {(TAX_TOPIC.name,)}
    await scanner(stage, done, cache=cache, batches=True).scan(TAX_TOPIC, prompts, nothing)
    assert stage.answered["endpoints"]["async"] == {"200": 4}


async def test_batches_learn_the_revision_from_one_scan(stage: Stage, tmp_path: Path) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(pending="0")
    prompts = many(tmp_path, 11)
    verdicts = await scanner(stage, batches=True).scan(TAX_TOPIC, prompts, nothing)
    assert checked(verdicts, await truth(prompts)) == 0
    counts = stage.answered["endpoints"]
    assert (counts["sync"], counts["async"]) == ({"200": 1}, {"200": 1})


async def test_no_batch_is_sent_while_held(stage: Stage, tmp_path: Path) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(pending="0")
    airs = scanner(stage, done, batches=True)
    airs.hold(True)
    began = asyncio.Event()
    prompts = many(tmp_path, 20)
    task = asyncio.create_task(airs.scan(TAX_TOPIC, prompts, lambda _: began.set()))
    await began.wait()
    for _ in range(200):
        await asyncio.sleep(0)
    assert "async" not in stage.answered["endpoints"]
    airs.hold(False)
    assert checked(await task, await truth(prompts)) == 0


async def test_key_that_is_refused_ends_batches_at_once(stage: Stage, tmp_path: Path) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    wrong = replace(stage.settings, api_key=Secret("wrong-key-of-mine"))
    airs = AirsScanner(wrong, ActiveRevision(done.profile), batches=True, clock=stage.clock)
    with pytest.raises(AirsError, match=r"nothing could be scanned: .*403"):
        await airs.scan(TAX_TOPIC, many(tmp_path, 50), nothing)
