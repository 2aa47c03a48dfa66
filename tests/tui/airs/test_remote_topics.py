"""The topics of the tenant on the screen: viewed and copied, and changes with their questions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen
from textual.widgets import OptionList

pytest.importorskip("aiohttp")

from guardtui.app.airs.tenant_topics import TenantTopics
from guardtui.domain.topic import Intent, Topic
from guardtui.sandbox.judging import TopicMatcher
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic
from guardtui.session.applied import AppliedLog
from guardtui.tui.kit.dialogs import AnswersDialog, ChoiceDialog
from tests.app.cloud import NO_FILE, Cloud, remote
from tests.tui.airs_app import Play, engine, playing, quick
from tests.tui.tax_app import topic_path

__all__ = ["engine", "quick", "topic_path"]

TITLE = "Topics in AIRS"
THEIRS = Topic(
    name="Tax advice",
    description="Personal tax advice from a bank",
    examples=("How can I pay less tax?", "What may I deduct?"),
)


@pytest.fixture
async def cloud(engine: TopicMatcher, tmp_path: Path) -> AsyncIterator[Cloud]:
    cloud = Cloud(engine, tmp_path)
    await cloud.start()
    yield cloud
    await cloud.stop()
    assert cloud.defects == []


@asynccontextmanager
async def managing(cloud: Cloud) -> AsyncIterator[ManagementClient]:
    settings = AirsSettings.load({}, cloud.environment, NO_FILE)
    async with ManagementClient(settings.management(), clock=cloud.clock) as client:
        yield client


async def applied(cloud: Cloud, topic: Topic) -> None:
    async with managing(cloud) as client:
        await lifecycle.apply(client, topic, "sandbox")


async def shows(play: Play, kind: type[Screen[Any]], text: str = "") -> str:
    """Wait until a screen is in front and a text stands in it; the frame then."""
    await play.until(
        lambda: (
            isinstance(play.app.screen, kind) and play.app.screen.is_mounted and text in play.frame
        )
    )
    await play.pilot.pause()
    return play.frame


async def opened(play: Play) -> str:
    """Open the list."""
    await play.press("ctrl+@", "r", "t")
    return await shows(play, ChoiceDialog, TITLE)


async def chosen(play: Play, text: str) -> None:
    """Choose the entry that contains the text."""
    entries = play.app.screen.query_one(OptionList)
    texts = [str(entries.get_option_at_index(n).prompt) for n in range(entries.option_count)]
    index = next(n for n, entry in enumerate(texts) if text in entry)
    await play.press("home", *["down"] * index, "enter")


async def told(play: Play, text: str) -> None:
    await play.until(lambda: any(text in message for message in play.told))


def log_of(play: Play) -> AppliedLog:
    connection = play.main.services.connections.connection
    assert connection is not None
    return AppliedLog(play.main.services.workspace.store, connection.key)


async def test_a_topic_is_shown_word_by_word_and_copied_as_one_edit(
    cloud: Cloud, topic_path: Path
) -> None:
    await applied(cloud, THEIRS.model_copy(update={"intent": Intent.ALLOW}))
    async with managing(cloud) as client:
        hostile = "[red]x[/red] [/] \x1b]52;c;aGk=\x07 \u202eend"
        await client.create_topic(hostile, f"{hostile} text", (hostile, "b"))
    async with playing(topic_path, remote(cloud)) as play:
        before = play.main.services.session.topic
        frame = await opened(play)
        assert "Apply your definition to the profile" in frame
        assert "[red]x[/red] [/] ␛]52;c;aGk=␇ ⟪RLO⟫end r1 · not pinned" in frame
        assert "Tax advice r1 · allow r1 · another text here" in frame
        await chosen(play, "[red]x[/red]")
        frame = await shows(play, AnswersDialog, "␇ ⟪RLO⟫end text")
        assert "\x1b" not in frame
        assert "\u202e" not in frame
        await play.press("escape")
        await shows(play, ChoiceDialog)
        await chosen(play, "Tax advice r1")
        frame = await shows(play, AnswersDialog, "description")
        assert "Personal tax advice{+ from a bank+}" in frame
        assert "[-block-]{+allow+}" in frame
        assert "example 1    How can I pay less tax?" in frame
        await play.press("t")
        await play.until(lambda: play.app.screen is play.main)
        wanted = THEIRS.model_copy(update={"intent": Intent.ALLOW})
        await play.until(lambda: play.main.services.session.topic == wanted)
        await told(play, "Copied: description +12 bytes")
        await play.press("ctrl+z")
        await play.until(lambda: play.main.services.session.topic == before)


async def test_apply_shows_its_changes_and_revert_goes_back(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        await chosen(play, "Apply your definition")
        frame = await shows(play, AnswersDialog, "topic Tax advice is created")
        assert "block list" in frame
        await play.press("y")
        await told(play, "Applied: revision 2 of the profile, and scans use it.")
        assert cloud.pinned() == ["Personal tax advice"]
        known = play.main.state.connection
        assert known is not None
        assert known.revision == 2
        assert len(log_of(play).ways()) == 1
        await play.press("ctrl+@", "r", "r")
        await shows(play, AnswersDialog, "Revert in AIRS")
        await play.press("y")
        await told(play, "Reverted: revision 3")
        assert cloud.pinned() == []


@pytest.mark.exhaustive
async def test_a_topic_that_is_too_large_is_not_copied(cloud: Cloud, topic_path: Path) -> None:
    listing = TenantTopics(
        (CustomTopic(topic_id="1", topic_name="Tax advice", description="long " * 500),), None
    )

    async def read(*_: Any) -> TenantTopics:
        return listing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("guardtui.app.airs.remote_topics.read_listing", read)
        async with playing(topic_path, remote(cloud)) as play:
            before = play.main.services.session.topic
            assert "no such profile" in await opened(play)
            await chosen(play, "Tax advice")
            await shows(play, AnswersDialog, "The text of revision")
            await play.press("t")
            assert "cannot be copied" in await shows(play, AnswersDialog, "The text of revision")
            assert play.main.services.session.topic == before


async def test_changes_are_refused_during_a_scan(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        cloud.turnstile.allow(1)
        await play.press("ctrl+r")
        await play.dialog()
        await play.press("g")
        await play.until(
            lambda: play.main.services.scans.results.scanning and cloud.turnstile.waiting > 0
        )
        await play.press("ctrl+@", "r", "r")
        await told(play, "Stop the scan first")
        play.told.clear()
        await opened(play)
        await chosen(play, "Apply your definition")
        await told(play, "Stop the scan first")
        assert play.main.services.scans.results.scanning
        cloud.turnstile.open()
        await play.ended()
