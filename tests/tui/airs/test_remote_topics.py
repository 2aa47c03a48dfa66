"""The topics of the tenant on the screen: keys, frames, the sandbox and the undo journal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen

pytest.importorskip("aiohttp")

from guardtui.app.tenant_topics import TenantTopics, read_listing
from guardtui.domain.topic import Intent, Topic
from guardtui.sandbox.judging import TopicMatcher
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic
from guardtui.session.applied import AppliedLog
from guardtui.tui.airs.dialogs import ChangesDialog, RemoteTopicsDialog, TopicTextDialog
from guardtui.tui.kit.dialogs import ConfirmDialog, LineDialog
from tests.app.cloud import NO_FILE, Cloud, remote
from tests.tui.airs_app import Play, playing
from tests.tui.tax_app import topic_path

__all__ = ["topic_path"]

TITLE = "Topics in AIRS"
THEIRS = Topic(
    name="Tax advice",
    description="Personal tax advice from a bank",
    examples=("How can I pay less tax?", "What may I deduct?"),
)
BAKING = Topic(
    name="Baking",
    description="Baking bread at home",
    examples=("How do I bake bread?", "How long does a cake bake?"),
    intent=Intent.ALLOW,
)


@pytest.fixture(scope="module")
def engine() -> TopicMatcher:
    return TopicMatcher()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that happens by itself."""
    monkeypatch.setattr("guardtui.tui.main.screen.POLL_EVERY", 0.2)
    monkeypatch.setattr("guardtui.tui.results.feature.EXPLAIN_AFTER", 0)
    monkeypatch.setattr("guardtui.tui.main.workspace.DRAFT_EVERY", 10_000)
    monkeypatch.setattr("guardtui.tui.main.workspace.WATCH_EVERY", 10_000)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


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


async def there(cloud: Cloud) -> TenantTopics:
    """What the tenant has, looked up apart from the app."""
    async with managing(cloud) as client:
        return TenantTopics(tuple(await client.topics()), await client.profile("sandbox"))


async def applied(cloud: Cloud, topic: Topic) -> None:
    async with managing(cloud) as client:
        await lifecycle.apply(client, topic, "sandbox")


def topic_of(listing: TenantTopics, name: str) -> CustomTopic:
    return next(topic for topic in listing.topics if topic.topic_name == name)


async def shows(play: Play, kind: type[Screen[Any]], text: str = "") -> str:
    """Wait until a screen is in front and a text stands in it; the frame then."""
    await play.until(
        lambda: (
            isinstance(play.app.screen, kind) and play.app.screen.is_mounted and text in play.frame
        )
    )
    await play.pilot.pause()
    return play.frame


async def opened(play: Play, keys: str = "ctrl+@ r t") -> str:
    """Open the list, and wait until it is read."""
    await play.press(*keys.split())
    await shows(play, RemoteTopicsDialog)
    screen = play.app.screen
    assert isinstance(screen, RemoteTopicsDialog)
    await play.until(lambda: screen.listing is not None)
    await play.pilot.pause()
    return play.frame


def log_of(play: Play) -> AppliedLog:
    assert play.main.services.connections.connection is not None
    return AppliedLog(
        play.main.services.workspace.store, play.main.services.connections.connection.key
    )


def header_revision(play: Play) -> int | None:
    """The profile's revision in the header, which lies behind the list."""
    known = play.main.state.connection
    return None if known is None else known.revision


async def done(play: Play, text: str) -> str:
    """Wait until the list tells what was done, nothing is under way, and it is read anew."""
    await shows(play, RemoteTopicsDialog, text)
    await play.until(
        lambda: (
            play.main.services.remote_topics.refusal == ""
            and not any(
                worker.group == "load" and not worker.is_finished for worker in play.app.workers
            )
        )
    )
    await play.pilot.pause()
    return play.frame


# --- the list ------------------------------------------------------------------------------


async def test_the_list_shows_revisions_pins_and_the_local_topic(
    cloud: Cloud, topic_path: Path
) -> None:
    await applied(cloud, THEIRS)
    await applied(cloud, BAKING)
    async with managing(cloud) as client:
        await lifecycle.create(client, replace_name(BAKING, "Cakes"))
        known = await client.topic("Baking")
        assert known is not None
        await client.update_topic(known.topic_id, "Baking", "Only bread", known.examples)
    async with playing(topic_path, remote(cloud)) as play:
        frame = await opened(play)
        assert "revision 3 · 3 topics" in frame
        assert "│   Baking     r2   allow r1 older   " in frame
        assert "│   Cakes      r1   not pinned   " in frame
        assert "│ → Tax advice r1   block r1 · another text here   " in frame
        assert play.app.screen.topic.topic_name == "Tax advice"  # type: ignore[attr-defined]
        play.main.services.editing.replace(
            play.main.services.session.topic.model_copy(update=dict(THEIRS))
        )
        await play.press("l")
        await shows(play, RemoteTopicsDialog, "block r1 · text as here")


def replace_name(topic: Topic, name: str) -> Topic:
    return topic.model_copy(update={"name": name})


@pytest.mark.exhaustive
async def test_loading_is_shown_and_can_be_closed_at_once(cloud: Cloud, topic_path: Path) -> None:
    cloud.manages.clear()
    async with playing(topic_path, remote(cloud)) as play:
        await play.press("ctrl+@", "r", "t")
        await shows(play, RemoteTopicsDialog, "loading")
        await play.press("escape")
        await play.until(lambda: play.app.screen is play.main)
        assert not [worker for worker in play.app.workers if worker.group in ("load", "remote")]


@pytest.mark.exhaustive
async def test_a_failure_is_shown_in_the_dialog_and_reloading_helps(
    cloud: Cloud, topic_path: Path
) -> None:
    cloud.change(faults=["403@topics=1.0"])
    async with playing(topic_path, remote(cloud)) as play:
        await play.press("ctrl+@", "r", "t")
        frame = await shows(play, RemoteTopicsDialog, "lacks the permission")
        assert "✗ " in frame
        await play.press("enter", "d")
        await shows(play, RemoteTopicsDialog, "There is no topic to choose.")
        cloud.change(faults=[])
        await play.press("l")
        await shows(play, RemoteTopicsDialog, "There are no topics yet")


async def test_names_of_others_are_inert_and_no_markup(cloud: Cloud, topic_path: Path) -> None:
    async with managing(cloud) as client:
        hostile = "[red]x[/red] [/] \x1b]52;c;aGk=\x07 \u202eend"
        await client.create_topic(hostile, f"{hostile} text", (hostile, "b"))
    async with playing(topic_path, remote(cloud)) as play:
        frame = await opened(play)
        assert "[red]x[/red] [/] ␛]52;c;aGk=␇ ⟪RLO⟫" in frame
        await play.press("enter")
        frame = await shows(play, TopicTextDialog, "␇ ⟪RLO⟫end text")
        assert "\x1b" not in frame
        assert "\u202e" not in frame
        await play.press("escape", "d")
        await shows(play, ConfirmDialog, "[red]x[/red] [/] ␛]52")
        await play.press("y")
        await done(play, "Deleted [red]x[/red] [/] ␛]52")


@pytest.mark.exhaustive
async def test_missing_topics_of_the_profile_are_reported(
    cloud: Cloud, topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await applied(cloud, BAKING)

    async def without_topics(*arguments: Any) -> TenantTopics:
        return replace(await read_listing(*arguments), topics=())

    monkeypatch.setattr("guardtui.app.remote_topics.read_listing", without_topics)
    async with playing(topic_path, remote(cloud)) as play:
        assert "! the profile names what the tenant does not have: Baking" in await opened(play)


@pytest.mark.exhaustive
async def test_a_missing_service_account_is_reported(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud, cloud.scans)) as play:
        for keys in ("ctrl+@ r t", "ctrl+@ r r"):
            play.told.clear()
            await play.press(*keys.split())
            await play.until(lambda: any("need a service account" in one for one in play.told))
        assert play.app.screen is play.main


@pytest.mark.exhaustive
async def test_missing_credentials_are_reported(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud, {})) as play:
        await play.press("ctrl+right_square_bracket")
        await play.until(lambda: any("PANW_AI_SEC_API_KEY" in one for one in play.told))
        assert play.app.screen is play.main


# --- taken over ----------------------------------------------------------------------------


async def test_a_topic_is_shown_word_by_word_and_taken_over_as_one_edit(
    cloud: Cloud, topic_path: Path
) -> None:
    await applied(cloud, THEIRS.model_copy(update={"intent": Intent.ALLOW}))
    async with playing(topic_path, remote(cloud)) as play:
        before = play.main.services.session.topic
        await opened(play)
        await play.press("enter")
        frame = await shows(play, TopicTextDialog, "description")
        assert "Personal tax advice{+ from a bank+}" in frame
        assert "[-block-]{+allow+}" in frame
        assert "example 1    How can I pay less tax?" in frame
        assert "deduct" in frame
        await play.press("escape")
        await shows(play, RemoteTopicsDialog)
        assert play.main.services.session.topic == before
        await play.press("enter")
        await shows(play, TopicTextDialog)
        await play.press("t")
        await play.until(lambda: play.app.screen is play.main)
        wanted = THEIRS.model_copy(update={"intent": Intent.ALLOW})
        await play.until(lambda: play.main.services.session.topic == wanted)
        assert any("Loaded: description +12 bytes" in one for one in play.told)
        await play.press("ctrl+z")
        await play.until(lambda: play.main.services.session.topic == before)


@pytest.mark.exhaustive
async def test_without_a_pin_the_intent_stays_as_here(cloud: Cloud, topic_path: Path) -> None:
    async with managing(cloud) as client:
        await lifecycle.create(client, BAKING)
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        await play.press("enter")
        await shows(play, TopicTextDialog, "stays block: the profile does not say")
        await play.press("t")
        wanted = BAKING.model_copy(update={"intent": Intent.BLOCK})
        await play.until(lambda: play.main.services.session.topic == wanted)


@pytest.mark.exhaustive
@pytest.mark.parametrize("broken", ["two\nlines", "long " * 500])
async def test_a_topic_that_is_too_large_is_not_taken_over(
    cloud: Cloud, topic_path: Path, broken: str
) -> None:
    listing = TenantTopics(
        (CustomTopic(topic_id="1", topic_name="Tax advice", description=broken),), None
    )

    async def read(*_: Any) -> TenantTopics:
        return listing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("guardtui.app.remote_topics.read_listing", read)
        async with playing(topic_path, remote(cloud)) as play:
            before = play.main.services.session.topic
            assert "there is no such profile" in await opened(play)
            await play.press("enter")
            await shows(play, TopicTextDialog)
            await play.press("t")
            if "\n" in broken:
                await shows(
                    play, RemoteTopicsDialog, "✗ Not loaded: description holds a line break"
                )
            else:
                assert "cannot be taken over" in await shows(play, TopicTextDialog)
            assert play.main.services.session.topic == before


# --- changes -------------------------------------------------------------------------------


async def test_apply_shows_its_changes_and_deploys_the_definition(
    cloud: Cloud, topic_path: Path
) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        await play.press("p")
        frame = await shows(play, ChangesDialog, "topic Tax advice is created")
        assert "block list" in frame
        await play.press("escape")
        await shows(play, RemoteTopicsDialog)
        assert (await there(cloud)).topics == ()
        await play.press("p")
        await shows(play, ChangesDialog)
        await play.press("y")
        frame = await done(play, "Applied: revision 2 of the profile, and scans use it.")
        assert "block r1 · text as here" in frame
        assert header_revision(play) == 2
        assert cloud.pinned() == ["Personal tax advice"]
        assert len(log_of(play).ways()) == 1
        await play.press("p")
        await done(play, "has this definition in effect already")


@pytest.mark.exhaustive
async def test_closing_the_list_early_finishes_the_change(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        await play.press("p")
        await shows(play, ChangesDialog)
        cloud.manages.clear()
        await play.press("y")
        await shows(play, RemoteTopicsDialog, "applies the definition")
        await play.press("escape")
        await play.until(lambda: play.app.screen is play.main)
        assert cloud.pinned() == []
        cloud.manages.set()
        await play.until(lambda: any("Applied: revision 2" in one for one in play.told))
        assert cloud.pinned() == ["Personal tax advice"]
        assert len(log_of(play).ways()) == 1


async def test_a_definition_over_its_limits_is_not_sent(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await play.describe("")
        await opened(play)
        sent = cloud.requests
        for key in ("p", "c"):
            await play.press(key)
            await done(play, "Not sent: description is empty")
        assert (await there(cloud)).topics == ()
        assert cloud.requests > sent  # the list was read anew


@pytest.mark.exhaustive
async def test_create_attaches_to_nothing_and_refuses_a_name_that_is_there(
    cloud: Cloud, topic_path: Path
) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        await play.press("c")
        await shows(play, ConfirmDialog, "Create the topic Tax advice")
        await play.press("y")
        frame = await done(play, "Created Tax advice, revision 1; no profile uses it yet.")
        assert "not pinned · text as here" in frame
        result = await there(cloud)
        assert result.profile is not None
        assert (result.profile.revision, len(result.topics)) == (1, 1)
        await play.press("c")
        await done(play, "The topic Tax advice exists already")


@pytest.mark.exhaustive
async def test_create_refuses_a_name_taken_meanwhile(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        async with managing(cloud) as client:
            await lifecycle.create(client, THEIRS)
        await play.press("c")
        await shows(play, ConfirmDialog)
        await play.press("y")
        await done(play, "✗ topic 'Tax advice' already exists, at revision 1")
        assert topic_of(await there(cloud), "Tax advice").description == THEIRS.description


@pytest.mark.exhaustive
async def test_delete_asks_and_for_one_that_profiles_have_wants_an_address(
    cloud: Cloud, topic_path: Path
) -> None:
    await applied(cloud, THEIRS)
    async with managing(cloud) as client:
        await lifecycle.create(client, BAKING)
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        await play.press("d")
        assert "sandbox: revision 2 (in effect)" in await shows(play, LineDialog)
        await play.press(*"nobody", "enter")
        await shows(play, LineDialog, "! not a valid e-mail address")
        await play.press("escape")
        await shows(play, RemoteTopicsDialog)
        assert len((await there(cloud)).topics) == 2
        await play.press("d")
        await shows(play, LineDialog)
        await play.press(*"me@example.com", "enter")
        await done(play, "Deleted Tax advice, also from all profiles.")
        assert [topic.topic_name for topic in (await there(cloud)).topics] == ["Baking"]
        assert cloud.pinned() == []
        await play.press("d")
        await shows(play, ConfirmDialog, "Delete topic Baking (revision 1)? This cannot be undone.")
        await play.press("y")
        await done(play, "Deleted Baking.")
        assert (await there(cloud)).topics == ()


@pytest.mark.exhaustive
async def test_reverting_goes_back_step_by_step(cloud: Cloud, topic_path: Path) -> None:
    await applied(cloud, THEIRS)
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        for text, revision in (("First of all", 3), ("Then this", 4)):
            play.main.services.editing.replace(
                play.main.services.session.topic.model_copy(update={"description": text})
            )
            await play.press("p")
            await shows(play, ChangesDialog)
            await play.press("y")
            await done(play, f"Applied: revision {revision}")
        assert cloud.pinned() == ["Then this"]
        await play.press("r")
        frame = await shows(play, ChangesDialog, "Take back")
        assert "gets its previous text: revision 3 → 4" in frame
        await play.press("y")
        frame = await done(play, "Reverted: revision 5 of the profile, and scans use it")
        assert header_revision(play) == 5
        assert cloud.pinned() == ["First of all"]
        assert "r4   block r2 · another text here" in frame  # not "older": the text is the same
        assert len(log_of(play).ways()) == 1
        await play.press("escape")
        await play.until(lambda: play.app.screen is play.main)
        # The other key; that this app went back itself is no change of others.
        await play.press("ctrl+circumflex_accent")
        frame = await shows(play, ChangesDialog)
        assert "changed since" not in frame
        await play.press("y")
        await play.until(lambda: any("Reverted: revision 6" in one for one in play.told))
        assert cloud.pinned() == [THEIRS.description]
        assert log_of(play).ways() == []
        assert "127.0.0.1 r6" in play.frame
        play.told.clear()
        await play.press("ctrl+@", "r", "r")
        await play.until(
            lambda: any("no apply to this profile to revert" in one for one in play.told)
        )
        await opened(play)
        await play.press("r")
        await done(play, "no apply to this profile to revert")


@pytest.mark.exhaustive
async def test_changes_by_others_are_shown_before_reverting(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        await play.press("p")
        await shows(play, ChangesDialog)
        await play.press("y")
        await done(play, "Applied")
        await applied(cloud, BAKING.model_copy(update={"intent": Intent.BLOCK}))
        await play.press("r")
        frame = await shows(play, ChangesDialog)
        assert "⚠ the profile was changed since: it was at revision 2, and is at 3" in frame
        await play.press("y")
        await done(play, "Reverted: revision 4")
        assert cloud.pinned() == [BAKING.description]


@pytest.mark.exhaustive
async def test_an_unreadable_undo_journal_changes_nothing(cloud: Cloud, topic_path: Path) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        log_of(play).push({"nonsense": 1})
        await play.press("r")
        await done(play, "✗ the journal entry of the last apply cannot be read")
        assert len(log_of(play).ways()) == 1


@pytest.mark.exhaustive
async def test_a_failed_change_is_reported_and_the_list_is_loaded_again(
    cloud: Cloud, topic_path: Path
) -> None:
    async with playing(topic_path, remote(cloud)) as play:
        await opened(play)
        await play.press("p")
        await shows(play, ChangesDialog)
        cloud.change(faults=["403@profile-update=1.0"])
        await play.press("y")
        frame = await done(play, "the profile does not use it")
        assert "✗ " in frame
        assert "not pinned · text as here" in frame
        assert cloud.pinned() == []
        # Of what was done the way back is known.
        assert len(log_of(play).ways()) == 1


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
        await play.until(lambda: any("Stop the scan first" in one for one in play.told))
        await opened(play)
        for key in ("p", "r"):
            play.app.screen.show_status("")  # type: ignore[attr-defined]
            await play.pilot.pause()
            await play.press(key)
            await shows(play, RemoteTopicsDialog, "Stop the scan first")
        assert play.main.services.scans.results.scanning
        cloud.turnstile.open()
        await play.press("escape")
        await play.ended()


@pytest.mark.exhaustive
async def test_it_fits_a_small_screen(cloud: Cloud, topic_path: Path) -> None:
    await applied(cloud, replace_name(THEIRS, "A name that goes on and on, and then on " * 2))
    async with playing(topic_path, remote(cloud), size=(60, 20)) as play:
        frame = await opened(play)
        assert "A name that g" in frame
        assert "… r1   block r1" in frame
        await play.press("p")
        frame = await shows(play, ChangesDialog, "Apply (y)")
        await play.press("escape", "d")
        frame = await shows(play, LineDialog, "Delete anyway (Enter)")
        assert "your e-mail address" in frame
