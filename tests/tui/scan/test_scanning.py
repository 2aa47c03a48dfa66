"""Scans with AIRS: keys in, frames out, sandbox and session checked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("aiohttp")

from guardtui.domain.verdicts import Outcome
from guardtui.sandbox.judging import TopicMatcher
from guardtui.session.session import Decision
from tests.app.cloud import COUNT, KEY, PROMPTS, Cloud, remote
from tests.tui.airs_app import Play, engine, playing, quick
from tests.tui.tax_app import topic_path

__all__ = ["engine", "quick", "topic_path"]

Start = Callable[..., Awaitable[Cloud]]
OTHER = "Personal tax advice on money from the state"


@pytest.fixture
async def start(engine: TopicMatcher, tmp_path: Path) -> AsyncIterator[Start]:
    async with AsyncExitStack() as stack:
        clouds: list[Cloud] = []

        async def start_(**settings: Any) -> Cloud:
            cloud = Cloud(engine, tmp_path, **settings)
            await cloud.start()
            stack.push_async_callback(cloud.stop)
            clouds.append(cloud)
            return cloud

        yield start_
        assert [cloud.defects for cloud in clouds] == [[]] * len(clouds)


@pytest.fixture
async def cloud(start: Start) -> Cloud:
    return await start()


def no_verdict(play: Play) -> list[int]:
    """Rows without a verdict, for whatever reason."""
    assert play.main.state.evaluation is not None
    return np.flatnonzero(play.main.state.evaluation.codes >= Outcome.ERROR).tolist()


def open_rows(play: Play) -> int:
    """Number of prompts that were not sent."""
    assert play.main.state.evaluation is not None
    return play.main.state.evaluation.metrics.open


# --- the first scan ------------------------------------------------------------------------


async def test_verdicts_appear_while_it_runs(cloud: Cloud, topic_path: Path) -> None:
    cloud.turnstile.allow(3)
    async with playing(topic_path, remote(cloud)) as play:
        await play.press("ctrl+r")
        await play.dialog()
        await play.press("g")
        await play.until(lambda: play.shown == "airs" and open_rows(play) == COUNT - 3)
        await play.until(lambda: f"3/{COUNT}" in play.line)
        assert "in flight 5" in play.line
        assert play.scans == []
        assert f"{COUNT - 3} open" in play.frame
        assert "· preview" not in play.frame
        cloud.turnstile.open()
        await play.ended()
        assert "open:" not in play.frame
        assert no_verdict(play) == []
        assert "≈" not in play.frame


# --- later scans, keep and discard ---------------------------------------------------------


# --- what is missing -----------------------------------------------------------------------


async def test_only_added_prompts_are_scanned_by_the_next_step(
    cloud: Cloud, topic_path: Path
) -> None:
    cloud.turnstile.open()
    async with playing(topic_path, remote(cloud)) as play:
        await play.scan("g")
        main, added = play.main, "May I deduct a bicycle?"
        file = topic_path.with_suffix(".csv")
        with file.open("a", encoding="utf-8") as rows:
            rows.write(f'"{added}",true,block\n')
        await main.services.sync.look()
        await main.services.sync.look()  # the file has been written whole
        await play.until(lambda: len(main.state.prompts) == COUNT + 1)
        await play.until(lambda: "Scan 1 prompt that has no verdict" in play.frame)
        await play.press("ctrl+@", "y")
        await play.until(lambda: no_verdict(play) == [])
        await play.ended()
        assert cloud.times(added) == 1
        assert [cloud.times(prompt) for prompt in PROMPTS] == [1] * COUNT
        assert "that has no verdict" not in play.frame


# --- stopped, paused, cancelled ------------------------------------------------------------


async def begun(play: Play, cloud: Cloud, verdicts: int = 3) -> None:
    """A scan of which so many verdicts have come, and the others are under way."""
    cloud.turnstile.allow(verdicts)
    await play.press("ctrl+r")
    await play.dialog()
    await play.press("g")
    await play.until(
        lambda: (
            f"{verdicts}/{COUNT}" in play.line
            and cloud.turnstile.waiting == min(5, COUNT - verdicts)
            and len(no_verdict(play)) == COUNT - verdicts
        )
    )


async def test_stop_keeps_received_verdicts(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await begun(play, cloud)
        await play.press("alt+z")
        await play.ended()
        assert f"stopped: 3 of {COUNT} verdicts, kept" in play.line
        assert play.shown == "airs"
        assert open_rows(play) == COUNT - 3
        assert play.scans == []
        await play.until(lambda: cloud.turnstile.waiting == 0)
        cloud.turnstile.open()
        asked = {prompt: cloud.times(prompt) for prompt in PROMPTS}
        assert sum(asked.values()) == 3  # the others were held before they were counted
        await play.press("alt+m")
        await play.ended()
        assert [cloud.times(prompt) for prompt in PROMPTS] == [1] * COUNT
        assert no_verdict(play) == []
        assert [scan.decision for scan in play.scans] == [Decision.KEEP]


async def test_an_edit_cancels_the_scan_and_the_next_one_resumes(
    cloud: Cloud, topic_path: Path
) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        start = play.main.services.session.topic
        await begun(play, cloud)
        await play.press("tab", "x")
        await play.until(lambda: play.main.services.session.topic != start)
        await play.ended()
        assert not play.main.services.scans.results.scanning
        assert play.shown == "engine"
        assert cloud.asked == 3
        await play.press("ctrl+z")
        await play.until(lambda: play.main.services.session.topic == start)
        await play.ended()
        assert play.shown == "airs"  # what came is shown again
        cloud.turnstile.open()
        await play.scan("g")
        assert [cloud.times(prompt) for prompt in PROMPTS] == [1] * COUNT
        assert no_verdict(play) == []
        assert len(play.scans) == 1


async def test_nothing_is_sent_while_paused(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        cloud.turnstile.allow(0)
        await play.press("ctrl+r")
        await play.dialog()
        await play.press("g")
        await play.until(lambda: cloud.turnstile.waiting == 5)
        await play.press("alt+p")
        await play.until(lambda: "paused" in play.line)
        assert "⏸" in play.line
        cloud.turnstile.open()
        await play.until(lambda: f"5/{COUNT}" in play.line)  # those under way
        for _ in range(20):
            await play.pilot.pause()
        assert cloud.asked == 5
        await play.press("alt+p")
        await play.ended()
        assert cloud.asked == COUNT
        assert no_verdict(play) == []
        assert play.told[-3:-1] == ["Paused: no more requests are sent.", "The scan continues."]


async def test_quitting_during_a_scan(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await begun(play, cloud)
        await play.press("ctrl+q")
        async with asyncio.timeout(120):
            while play.app.return_code is None:
                await asyncio.sleep(0)
    assert play.app.return_code == 0
    cloud.turnstile.open()
    async with playing(topic_path, remote(cloud)) as play:
        await play.scan("g")
        assert [cloud.times(prompt) for prompt in PROMPTS] == [1] * COUNT
        assert no_verdict(play) == []


# --- what goes wrong -----------------------------------------------------------------------


# --- restart, and what is shown ------------------------------------------------------------


async def test_secrets_are_never_shown_or_saved(
    cloud: Cloud, topic_path: Path, own_folders: Path
) -> None:
    cloud.turnstile.allow(3)
    async with playing(topic_path, remote(cloud)) as play:
        play.recording = True
        await play.press("ctrl+r")
        await play.dialog()
        await play.press("t", "g")
        await play.until(lambda: f"3/{COUNT}" in play.line)
        cloud.turnstile.open()
        await play.ended()
        await play.describe(OTHER)
        await play.scan()
        assert KEY not in "".join(play.frames) + "".join(play.told)
        assert len(play.frames) > 3
    for folder in (topic_path.parent, own_folders):
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert files
        for file in files:
            assert KEY.encode() not in file.read_bytes(), file


@pytest.mark.exhaustive
async def test_texts_of_a_service_are_not_markup(
    cloud: Cloud, topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from guardtui.scanners.airs.errors import AirsError

    async with playing(topic_path, remote(cloud)) as play:

        async def fails(*_: object, **__: object) -> Any:
            raise AirsError("[/red]a name [link='x'")

        monkeypatch.setattr("guardtui.scanners.airs.connection.lifecycle.plan", fails)
        await play.press("ctrl+r")
        await play.until(lambda: bool(play.told))
        await play.ended()
        assert "[/red]a name" in play.line
