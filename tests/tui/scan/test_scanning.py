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
from guardtui.files.topic_files import load_topic
from guardtui.sandbox.judging import TopicMatcher
from guardtui.session.applied import AppliedLog
from guardtui.session.session import Decision
from guardtui.tui.guardrail.dialog import GuardrailDialog
from guardtui.tui.kit.dialogs import AnswersDialog, ChoiceDialog, ConfirmDialog
from tests.app.cloud import COUNT, KEY, PROMPTS, Cloud, remote
from tests.tui.airs_app import Play, playing
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import TOPIC, topic_path

__all__ = ["topic_path"]

Start = Callable[..., Awaitable[Cloud]]
OTHER = "Personal tax advice on money from the state"
WORSE = "Recipes for soup"


@pytest.fixture(scope="module")
def engine() -> TopicMatcher:
    return TopicMatcher()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks often, and nothing that happens by itself."""
    monkeypatch.setattr("guardtui.tui.main.screen.POLL_EVERY", 0.05)
    monkeypatch.setattr("guardtui.tui.results.feature.EXPLAIN_AFTER", 0)
    monkeypatch.setattr("guardtui.app.scan.run.SHOW_EVERY", 0.0)
    monkeypatch.setattr("guardtui.tui.main.workspace.DRAFT_EVERY", 10_000)
    monkeypatch.setattr("guardtui.tui.main.workspace.WATCH_EVERY", 10_000)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


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


async def test_the_first_scan_asks_and_cancel_sends_nothing(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await play.press("ctrl+r")
        await play.dialog()
        shown = play.frame
        assert "Profile sandbox at 127.0.0.1" in shown
        assert "+ " in shown  # what it changes
        assert "Tax advice" in shown.split("To have this definition in effect:")[1]
        assert f"{COUNT} prompts: 0 known, {COUNT} calls" in shown
        await play.press("escape")
        await play.ended()
        assert play.line == ""
        assert cloud.asked == 0
        assert cloud.pinned() == []
        assert cloud.sandbox.tenant.data.topics == []
        assert play.scans == []
        await play.press("ctrl+r")  # asks again
        await play.dialog()


async def test_a_scan_applies_the_definition_and_becomes_the_baseline(
    cloud: Cloud, topic_path: Path
) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await play.scan("g")
        assert cloud.pinned() == ["Personal tax advice"]
        assert [cloud.times(prompt) for prompt in PROMPTS] == [1] * COUNT
        (scan,) = play.scans
        assert scan.decision is Decision.KEEP
        assert play.shown == "airs"
        assert play.main.services.session.baseline is scan
        assert "regressions 0" in play.frame
        assert f"#1: {COUNT} prompts scanned" in play.line
        assert "AIRS sandbox at 127.0.0.1" in play.frame
        assert "r2" in play.frame.splitlines()[0]
        assert "proxy" not in play.frame
        stored = play.main.services.workspace.store.iterations()[-1]
        np.testing.assert_array_equal(
            stored.evaluation.verdicts.triggered, scan.evaluation.verdicts.triggered
        )
        ways = AppliedLog(play.main.services.workspace.store, _key(play)).ways()
        assert len(ways) == 1


def _key(play: Play) -> str:
    assert play.main.services.connections.connection is not None
    return play.main.services.connections.connection.key


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
        assert f"⚠ {COUNT - 3} open: estimates" in play.frame
        assert f"open {COUNT - 3}  errors 0" in play.frame
        assert "≈" in play.frame
        assert "· preview" not in play.frame
        cloud.turnstile.open()
        await play.ended()
        assert "open:" not in play.frame
        assert no_verdict(play) == []
        assert "≈" not in play.frame


@pytest.mark.exhaustive
async def test_a_change_that_never_comes_in_effect(start: Start, topic_path: Path) -> None:
    cloud = await start(propagation="1h")
    async with playing(topic_path, remote(cloud)) as play:
        await play.press("ctrl+r")
        await play.dialog()
        await play.press("g")
        await play.dialog(AnswersDialog)
        assert "the change is not in effect" in play.frame
        assert "Scan anyway" not in play.frame
        assert "waits until scans use revision 2" in play.line
        asked = play.app.screen
        await play.press("w")
        await play.until(lambda: play.app.screen not in (asked, play.main))
        await play.dialog(AnswersDialog)
        await play.press("escape")
        await play.ended()
        assert "not scanned: an older revision" in play.line
        assert cloud.asked == 0
        cloud.clock.advance(3600)
        await play.scan()  # it is in the profile already: nothing to ask
        assert cloud.asked == COUNT


# --- later scans, keep and discard ---------------------------------------------------------


async def test_keep_writes_the_file_and_turns_the_recorded_iteration(
    cloud: Cloud, topic_path: Path
) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await play.scan("g")
        await play.describe(OTHER)
        assert play.shown == "engine"
        await play.scan("g")
        assert [scan.decision for scan in play.scans] == [Decision.KEEP, Decision.UNDECIDED]
        assert cloud.pinned() == [OTHER]
        await play.press("f2")
        await play.until(
            lambda: (
                isinstance(play.app.screen, ConfirmDialog)
                or play.scans[-1].decision is Decision.KEEP
            )
        )
        if isinstance(play.app.screen, ConfirmDialog):
            await play.press("y")
        await play.until(lambda: not play.main.services.workspace.unsaved)
        await play.ended()
        assert [scan.decision for scan in play.scans] == [Decision.KEEP, Decision.KEEP]
        assert load_topic(topic_path).topic.description == OTHER
        stored = play.main.services.workspace.store.iterations()
        assert [iteration.decision for iteration in stored] == [Decision.KEEP] * 3
        count = len(play.told)
        await play.press("f2")
        await play.until(lambda: len(play.told) > count)
        assert "No changes since the last kept iteration" in play.told[-1]


@pytest.mark.exhaustive
async def test_consent_holds_after_a_restart(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await play.scan("t", "g")
        await play.describe(WORSE)
        await play.scan()
    async with playing(topic_path, remote(cloud)) as play:
        await play.ended()
        assert play.main.services.session.topic.description == WORSE  # the draft
        await play.press("f3")
        await play.until(lambda: cloud.pinned() == ["Personal tax advice"])


@pytest.mark.exhaustive
async def test_keep_all_the_same(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await play.scan("g")
        await play.describe("Advice on personal taxes")
        await play.scan("l")
        await play.press("f2")
        await play.dialog(AnswersDialog)
        await play.press("k")
        await play.until(
            lambda: (
                isinstance(play.app.screen, ConfirmDialog)
                or play.scans[-1].decision is Decision.KEEP
            )
        )
        if isinstance(play.app.screen, ConfirmDialog):
            await play.press("y")
        await play.until(lambda: play.scans[-1].decision is Decision.KEEP)
        assert not play.main.services.workspace.unsaved
        assert len(play.scans) == 2


async def test_a_preview_is_not_kept_unasked_where_airs_judges(
    cloud: Cloud, topic_path: Path
) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await play.scan("g")
        await play.describe(OTHER)
        await play.press("f2")
        await play.dialog(AnswersDialog)
        assert "AIRS has not scanned this definition" in play.frame
        await play.press("s")
        await play.dialog()
        await play.press("g")
        await play.ended()
        assert play.shown == "airs"
        assert play.main.services.workspace.unsaved


# --- what is missing -----------------------------------------------------------------------


async def test_errors_are_counted_and_only_they_are_retried(start: Start, topic_path: Path) -> None:
    cloud = await start(faults=["topic-error@sync=every:3"])
    async with playing(topic_path, remote(cloud)) as play:
        await play.scan("g")
        failed = len(no_verdict(play))
        assert 0 < failed < COUNT
        assert f"{failed} failed" in play.line
        assert "✗" in play.line
        assert [scan.decision for scan in play.scans] == [Decision.UNDECIDED]
        cloud.change(faults=[])
        before = cloud.asked
        await play.press("alt+m")
        await play.ended()
        assert cloud.asked == before + failed
        assert no_verdict(play) == []
        (scan,) = play.scans
        assert scan.decision is Decision.KEEP  # the first one that is complete
        assert play.main.services.workspace.store.iterations()[-1].decision is Decision.KEEP
        count = len(play.told)
        await play.press("alt+m")
        await play.until(lambda: len(play.told) > count)
        assert play.told[-1] == "Every prompt has a verdict."
        assert cloud.asked == before + failed


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
        await play.press("ctrl+r")  # in effect, and told before
        await play.ended()
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
        assert play.told[-2:] == ["Paused: no more requests are sent.", "The scan continues."]


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
        await play.scan()
        assert [cloud.times(prompt) for prompt in PROMPTS] == [1] * COUNT
        assert no_verdict(play) == []


@pytest.mark.exhaustive
async def test_quitting_during_a_change_lets_it_come_to_its_end(
    cloud: Cloud, topic_path: Path
) -> None:
    held, go = asyncio.Event(), asyncio.Event()
    usual = cloud.sandbox._work

    async def work(asked: Any, group: str) -> Any:
        if asked.endpoint == "topic" or group == "management":
            answer = await usual(asked, group)
            if cloud.sandbox.tenant.data.topics and not held.is_set():
                held.set()
                await go.wait()
            return answer
        return await usual(asked, group)

    cloud.sandbox._work = work  # type: ignore[method-assign]
    async with playing(topic_path, remote(cloud)) as play:
        await play.press("ctrl+r")
        await play.dialog()
        await play.press("g")
        await play.until(held.is_set)
        key = _key(play)
        await play.press("ctrl+q")
        async with asyncio.timeout(120):
            while play.app.return_code is None:
                await asyncio.sleep(0)
        go.set()
    assert cloud.pinned() == ["Personal tax advice"]
    assert len(AppliedLog(play.main.services.workspace.store, key).ways()) == 1


# --- what goes wrong -----------------------------------------------------------------------


async def test_no_credentials(cloud: Cloud, topic_path: Path) -> None:
    """A guardrail is asked for; the service says what is missing where nobody can be asked."""
    async with playing(topic_path, remote(cloud, {})) as play:
        await play.press("ctrl+r")
        await play.dialog(GuardrailDialog)
        assert "AIRS needs an API key: set PANW_AI_SEC_API_KEY" in play.frame
        await play.press("escape")
        await play.until(lambda: play.app.screen is play.main)
        assert play.line == ""
        play.main.services.scans.scan()
        await play.until(lambda: bool(play.told))
        await play.ended()
        assert "AIRS needs an API key: set PANW_AI_SEC_API_KEY" in play.told[0]
        assert "not scanned: AIRS needs an API key" in play.line
        await play.describe(OTHER)
        assert play.line == ""


async def test_a_wrong_key(cloud: Cloud, topic_path: Path) -> None:
    variables = {**cloud.scans, "PANW_AI_SEC_API_KEY": "a-wrong-key"}
    async with playing(topic_path, remote(cloud, variables)) as play:
        play.recording = True
        await play.scan("g")
        assert any("the API key is wrong, expired or revoked" in told for told in play.told)
        assert "not scanned" in play.line
        assert cloud.asked == 0
        assert play.scans == []
        assert "a-wrong-key" not in "".join(play.frames) + "".join(play.told)
        assert play.shown == "engine"


@pytest.mark.exhaustive
async def test_without_a_service_account_it_is_scanned_as_it_is(
    cloud: Cloud, topic_path: Path
) -> None:
    await cloud.applied_elsewhere(topic_path)
    async with playing(topic_path, remote(cloud, cloud.scans)) as play:
        await play.press("ctrl+r")
        await play.dialog()
        shown = play.frame
        assert "No service account is set" in shown
        assert "Apply" not in shown
        assert "without asking" not in shown
        await play.press("t", "g")
        await play.ended()
        assert no_verdict(play) == []
        assert len(play.scans) == 1
        await play.describe(OTHER)
        await play.scan()  # told before
        assert len(play.scans) == 2
        assert cloud.pinned() == ["Personal tax advice"]


@pytest.mark.exhaustive
async def test_several_profiles_are_a_choice(cloud: Cloud, topic_path: Path) -> None:
    cloud.sandbox.tenant._add_profile("[/b]\x1b[31mred\u202e", {})
    variables = {**cloud.environment, "PANW_AI_SEC_PROFILE_NAME": ""}
    async with playing(topic_path, remote(cloud, variables)) as play:
        await play.press("ctrl+r")
        await play.dialog(ChoiceDialog)
        await play.pilot.pause()
        assert "sandbox-directional" in play.frame
        codes = {ord(character) for character in play.frame} - {10}
        assert not codes & {*range(0x20), *range(0x7F, 0xA0), 0x202E}
        await play.press("escape")
        await play.ended()
        assert play.main.services.connections.connection is None
        await play.press("ctrl+r")
        await play.dialog(ChoiceDialog)
        await play.press("end", "enter")
        await play.dialog()
        await play.press("escape")  # another one, on second thoughts
        await play.ended()
        assert play.main.services.connections.connection is None
        await play.press("ctrl+r")
        await play.dialog(ChoiceDialog)
        await play.press("home", "down", "enter")
        await play.dialog()
        await play.press("g")
        await play.ended()
        assert cloud.pinned("sandbox") + cloud.pinned("sandbox-directional")
        assert no_verdict(play) == []
    async with playing(topic_path, remote(cloud, variables)) as play:
        await play.scan()  # the session knows which one
        assert no_verdict(play) == []


# --- restart, and what is shown ------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", first_is_fast((80, 24), (60, 20), (40, 15), (20, 5)))
async def test_small_screens(cloud: Cloud, topic_path: Path, size: tuple[int, int]) -> None:
    async with playing(topic_path, remote(cloud), size) as play:
        await play.press("ctrl+r")
        await play.dialog()
        shown = play.frame
        if size[0] >= 60:
            assert "scan (g)" in shown
            assert "Cancel (Esc)" in shown
            assert "without asking" in shown
        await play.press("t", "g")
        await play.ended()
        assert no_verdict(play) == []
        await play.press("f5", "f5", "f5")
        await play.describe(OTHER)
        cloud.turnstile.allow(2)
        await play.press("ctrl+r")
        await play.until(lambda: f"2/{COUNT}" in play.line)
        await play.press("alt+p")
        await play.until(lambda: "paused" in play.line)
        if size[0] >= 60:
            assert "paused" in play.frame
        await play.press("alt+z")
        await play.ended()


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


@pytest.mark.exhaustive
async def test_many_faults_at_once_end_with_verdicts(start: Start, topic_path: Path) -> None:
    cloud = await start(faults=["429=0.2", "500@sync=0.1", "reset@sync=0.1"], seed=3)
    async with playing(topic_path, remote(cloud)) as play:
        await play.scan("g")
        left = len(no_verdict(play))
        assert left == play.scans[-1].evaluation.metrics.missing
        assert play.scans[-1].evaluation.metrics.total == COUNT - left
        assert left < COUNT


@pytest.mark.exhaustive
async def test_a_wrong_secret(cloud: Cloud, topic_path: Path) -> None:
    variables = {**cloud.environment, "PANW_MGMT_CLIENT_SECRET": "not-the-secret"}
    async with playing(topic_path, remote(cloud, variables)) as play:
        play.recording = True
        await play.press("ctrl+r")
        await play.until(lambda: bool(play.told))
        await play.ended()
        assert "not scanned: " in play.line
        assert cloud.asked == 0
        assert "not-the-secret" not in "".join(play.frames) + "".join(play.told)


@pytest.mark.exhaustive
async def test_missing_profile_is_reported(cloud: Cloud, topic_path: Path) -> None:
    variables = {**cloud.environment, "PANW_AI_SEC_PROFILE_NAME": "[/b]no \x1b[31mred\u202e"}
    async with playing(topic_path, remote(cloud, variables)) as play:
        play.recording = True
        await play.press("ctrl+r")
        await play.until(lambda: bool(play.told))
        await play.ended()
        codes = {ord(character) for character in "".join(play.frames)} - {10}
        assert not codes & {*range(0x20), *range(0x7F, 0xA0), 0x202E}
        assert cloud.asked == 0


@pytest.mark.exhaustive
async def test_the_cable_is_pulled(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await begun(play, cloud)
        await cloud.stop()
        await play.ended()
        left = len(no_verdict(play))
        assert 0 < left <= COUNT - 3
        assert play.shown == "airs"
        assert "failed" in play.line or "stopped" in play.line or "open" in play.line
        cloud.turnstile.open()
        before = cloud.asked
        port = int(cloud.scans["PANW_AI_SEC_API_ENDPOINT"].rpartition(":")[2])
        await cloud.sandbox.start(port=port)
        await play.press("alt+m")
        await play.ended()
        assert cloud.asked == before + left
        assert no_verdict(play) == []


@pytest.mark.exhaustive
async def test_somebody_else_changed_the_profile(
    cloud: Cloud, topic_path: Path, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs.yaml"
    theirs.write_text(TOPIC.replace("Personal tax advice", "Theirs"), "utf-8")
    async with playing(topic_path, remote(cloud)) as play:
        await play.scan("t", "g")
        await play.describe(OTHER)
        await play.press("ctrl+@", "s", "a")
        await play.dialog()
        await cloud.applied_elsewhere(theirs)
        await play.press("g")
        await play.ended()
        assert any("changed" in told for told in play.told)
        assert cloud.pinned() == [OTHER]
