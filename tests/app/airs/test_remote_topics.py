"""The topics of a tenant without a screen: viewed, copied, created, applied, reverted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from guardtui.app.airs.profile_changes import ShowChanges
from guardtui.app.airs.remote_topics import APPLY, CREATE, REVERT, Change, RemoteTopics, ShowTopic
from guardtui.app.airs.revert_steps import UnreadableJournalError
from guardtui.app.airs.tenant_topics import TenantTopics
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.ports import Choose, ChooseAnswer, Confirm
from guardtui.app.state import Connection, ScanStatus
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic
from tests.app.cloud import NO_FILE, Cloud, RemoteBench, cloud, engine, remote
from tests.tui.tax_app import topic_path

__all__ = ["cloud", "engine", "topic_path"]

BAKING = Topic(
    name="Baking",
    description="Baking bread at home",
    examples=("How do I bake bread?", "How long does a cake bake?"),
    intent=Intent.ALLOW,
)
OURS = "Personal tax advice"


class Desk(RemoteBench):
    """The topics of a tenant, and what was shown of them."""

    def __init__(self, topic_path: Path, options: RemoteOptions, *answers: Any) -> None:
        super().__init__(topic_path, options, *answers)
        self.scanning = False
        self.topics = RemoteTopics(
            self.context, self.connections, self.changes, lambda: self.scanning
        )
        self.shown: list[str] = []

    def show(self, text: str) -> None:
        self.shown.append(text)

    async def choose(self, *answers: Any) -> Change | None:
        self.author.answers.extend(answers)
        return await self.topics.choose(await self.managing(), self.show)

    async def managing(self) -> AirsConnection:
        connection = await self.topics.managing()
        assert connection is not None
        return connection

    async def apply(self, *answers: Any) -> str:
        self.author.answers.extend(answers)
        return await self.topics.apply(await self.managing(), self.show)

    async def revert(self, *answers: Any) -> str:
        self.author.answers.extend(answers)
        return await self.topics.revert(await self.managing(), self.show)

    async def topic(self, name: str) -> CustomTopic:
        listing = await self.topics.read(await self.managing())
        return next(topic for topic in listing.topics if topic.topic_name == name)

    @property
    def revision(self) -> int | None:
        known = self.store.state.connection
        return None if known is None else known.revision


@pytest.fixture
def desk(cloud: Cloud, topic_path: Path) -> Desk:
    return Desk(topic_path, remote(cloud))


async def elsewhere(cloud: Cloud, topic: Topic, *, applied: bool = True) -> None:
    """Have somebody else apply or create a topic."""
    settings = AirsSettings.load({}, cloud.environment, NO_FILE)
    async with ManagementClient(settings.management(), clock=cloud.clock) as client:
        if applied:
            await lifecycle.apply(client, topic, "sandbox")
        else:
            await lifecycle.create(client, topic)


# --- connecting ----------------------------------------------------------------------------


async def test_a_connection_is_published_with_its_revision(desk: Desk) -> None:
    assert desk.store.state.connection is None
    connection = await desk.managing()
    assert desk.store.state.connection == Connection("AIRS", connection.title)
    await desk.apply(True)
    assert desk.store.state.connection == Connection("AIRS", connection.title, 2, desk.topics.here)
    desk.connections.use(None)
    assert desk.store.state.connection is None


async def test_a_profile_that_is_not_named_is_chosen_from_those_of_the_tenant(
    cloud: Cloud, topic_path: Path
) -> None:
    options = remote(cloud, cloud.environment | {"PANW_AI_SEC_PROFILE_NAME": ""})
    desk = Desk(topic_path, options, None, "sandbox")
    assert await desk.connections.connected() is None
    assert isinstance(desk.author.questions[0], Choose)
    connection = await desk.connections.connected()
    assert connection is not None
    assert connection.profile == "sandbox"
    desk.connections.dismiss()  # only chosen, and nothing was done with it
    assert desk.connections.connection is None
    desk.connections.use(connection)
    desk.connections.remember(connection, agreed=False)
    again = Desk(topic_path, options)
    remembered = await again.connections.connected()
    assert remembered is not None
    assert remembered.profile == "sandbox"
    assert again.author.questions == []


async def test_topics_without_a_service_account_are_refused_with_its_variables(
    cloud: Cloud, topic_path: Path
) -> None:
    desk = Desk(topic_path, remote(cloud, cloud.scans))
    assert await desk.topics.managing() is None
    assert "PANW_MGMT_CLIENT_ID" in desk.author.messages[0]


async def test_keys_on_their_way_are_part_of_the_definition(desk: Desk) -> None:
    typed = desk.session.topic.model_copy(update={"description": "Typed just now"})
    desk.author.typing = typed, "description"
    await desk.managing()
    assert desk.topics.here == typed


# --- apply and revert ----------------------------------------------------------------------


async def test_apply_asks_with_what_changes_and_waits_until_scans_use_it(
    cloud: Cloud, desk: Desk
) -> None:
    assert await desk.apply(False) == ""
    assert cloud.pinned() == []
    assert await desk.apply(True) == ("Applied: revision 2 of the profile, and scans use it.")
    (_, question) = desk.author.questions
    assert isinstance(question, ShowChanges)
    assert (question.revision, question.changes[0]) == (1, "topic Tax advice is created")
    assert cloud.pinned() == [OURS]
    assert desk.shown[-1] == "waits until scans use revision 2 …"
    assert await desk.apply() == "The profile has this definition in effect already."


async def test_apply_that_is_late_asks_whether_to_wait_on(cloud: Cloud, desk: Desk) -> None:
    cloud.change(propagation="1h")
    done = await desk.apply(True, True, False)
    assert done.startswith("Applied: revision 2 of the profile; scans do not use it yet")
    assert [type(question) for question in desk.author.questions] == [ShowChanges, Confirm, Confirm]


async def test_an_invalid_definition_is_not_sent(cloud: Cloud, desk: Desk) -> None:
    desk.describe("")
    with pytest.raises(AirsError, match="Not sent: description is empty"):
        await desk.apply()
    assert cloud.requests == 0


async def test_revert_goes_back_one_apply_at_a_time(cloud: Cloud, desk: Desk) -> None:
    for description in ("First of all", "Then this"):
        desk.describe(description)
        await desk.apply(True)
    assert await desk.revert(True) == ("Reverted: revision 4 of the profile, and scans use it.")
    assert cloud.pinned() == ["First of all"]
    assert desk.revision == 4
    assert await desk.revert(True) == ("Reverted: revision 5 of the profile, and scans use it.")
    assert cloud.pinned() == []
    question = desk.author.questions[-1]
    assert isinstance(question, ShowChanges)
    assert question.reverts
    assert question.warnings == ()  # its own revert is no change by others
    assert "no apply to this profile to revert" in await desk.revert()


async def test_revert_shows_what_others_changed_since(cloud: Cloud, desk: Desk) -> None:
    await desk.apply(True)
    await elsewhere(cloud, BAKING.model_copy(update={"intent": Intent.BLOCK}))
    assert await desk.revert(False) == ""
    question = desk.author.questions[-1]
    assert isinstance(question, ShowChanges)
    assert any("it was at revision 2, and is at 3" in warning for warning in question.warnings)
    assert sorted(cloud.pinned()) == [BAKING.description, OURS]


async def test_an_unreadable_journal_changes_nothing(cloud: Cloud, desk: Desk) -> None:
    connection = await desk.managing()
    desk.changes.open_log(connection).push({"nonsense": 1})
    before = cloud.requests
    with pytest.raises(UnreadableJournalError):
        await desk.revert()
    assert cloud.requests == before
    assert len(desk.changes.open_log(connection).entries()) == 1


# --- create, delete, take over -------------------------------------------------------------


async def test_create_makes_a_topic_that_no_profile_uses(cloud: Cloud, desk: Desk) -> None:
    connection = await desk.managing()
    desk.author.answers.append(True)
    listing = await desk.topics.read(connection)
    done = await desk.topics.create(connection, listing, desk.show)
    assert done == "Created Tax advice, revision 1; no profile uses it yet."
    assert cloud.pinned() == []
    listing = await desk.topics.read(connection)
    assert listing.intent(listing.topics[0]) is None
    assert "already" in await desk.topics.create(connection, listing, desk.show)


async def test_a_copied_topic_is_one_step_that_undo_takes_back(cloud: Cloud, desk: Desk) -> None:
    await elsewhere(cloud, BAKING)
    before, topic = desk.session.topic, await desk.topic("Baking")
    line = "Baking r1 · allow r1"
    # Viewed, not copied, and the list is closed.
    assert await desk.choose(line, None, None) is None
    listed, viewed, again = desk.author.questions
    assert (
        listed
        == again
        == Choose("Topics in AIRS, profile sandbox, revision 2", (APPLY, CREATE, REVERT, line))
    )
    assert viewed == ShowTopic(topic, Intent.ALLOW, before)
    assert desk.store.state.topic == before
    assert await desk.choose(line, True) is None
    assert desk.store.state.topic == BAKING
    assert desk.author.messages[-1].startswith("Copied: ")
    assert await desk.choose(f"{line} · text as here", True) is None
    assert desk.author.messages[-1] == "The definition is the same already."
    desk.editing.undo()
    assert desk.store.state.topic == before


async def test_lines_say_which_pins_are_older_and_which_text_is_local(
    cloud: Cloud, desk: Desk
) -> None:
    settings = AirsSettings.load({}, cloud.environment, NO_FILE)
    await elsewhere(cloud, BAKING)
    await elsewhere(cloud, BAKING.model_copy(update={"name": "Tax advice"}), applied=False)
    async with ManagementClient(settings.management(), clock=cloud.clock) as client:
        known = await client.topic("Baking")
        assert known is not None
        await client.update_topic(known.topic_id, "Baking", "Only bread", known.examples)
    await desk.choose()
    (listed,) = desk.author.questions
    assert isinstance(listed, Choose)
    assert listed.names[3:] == (
        "Baking r2 · allow r1 older",
        "Tax advice r1 · not pinned · another text here",
    )


async def test_a_topic_without_a_pin_keeps_the_intent_of_the_definition(
    cloud: Cloud, desk: Desk
) -> None:
    await elsewhere(cloud, BAKING, applied=False)
    await desk.choose("Baking r1 · not pinned", True)
    assert desk.store.state.topic == BAKING.model_copy(update={"intent": Intent.BLOCK})


async def test_a_topic_with_line_breaks_is_not_copied(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = desk.session.topic
    topic = CustomTopic(topic_id="1", topic_name="Other", description="two\nlines")

    async def read(*_: Any) -> TenantTopics:
        return TenantTopics((topic,), None)

    monkeypatch.setattr("guardtui.app.airs.remote_topics.read_listing", read)
    with pytest.raises(AirsError, match="Not copied: description holds a line break"):
        await desk.choose(f"Other r{topic.revision} · not pinned", True)
    assert desk.session.topic == before


async def test_a_change_is_chosen_from_the_list(cloud: Cloud, desk: Desk) -> None:
    change = await desk.choose(APPLY)
    assert change is not None
    desk.author.answers.append(True)
    assert (await change(desk.show)).startswith("Applied: revision 2")
    assert cloud.pinned() == [OURS]


# --- one change at a time ------------------------------------------------------------------


async def test_no_change_begins_during_a_scan_or_another_change(cloud: Cloud, desk: Desk) -> None:
    connection = await desk.managing()
    desk.scanning = True
    with pytest.raises(AirsError, match="Stop the scan first"):
        await desk.topics.apply(connection, desk.show)
    desk.scanning = False
    asked, go = asyncio.Event(), asyncio.Event()

    async def ask(question: Any) -> Any:
        asked.set()
        await go.wait()
        return True

    desk.author.ask = ask  # type: ignore[method-assign]
    first = asyncio.create_task(desk.topics.apply(connection, desk.show))
    await asked.wait()
    with pytest.raises(AirsError, match="Another change in AIRS is under way"):
        await desk.topics.revert(connection, desk.show)
    go.set()
    assert (await first).startswith("Applied")
    assert cloud.pinned() == [OURS]


async def test_a_change_whose_caller_is_cancelled_is_finished(cloud: Cloud, desk: Desk) -> None:
    held, go = hold_after_the_topic(cloud)
    desk.author.answers.append(True)
    connection = await desk.managing()
    change = asyncio.create_task(desk.topics.apply(connection, desk.show))
    await held.wait()
    change.cancel()
    with pytest.raises(asyncio.CancelledError):
        await change
    assert desk.changes.is_busy
    go.set()
    await desk.changes.close()
    assert not desk.changes.is_busy
    assert cloud.pinned() == [OURS]
    assert len(desk.changes.open_log(connection).entries()) == 1


def hold_after_the_topic(cloud: Cloud) -> tuple[asyncio.Event, asyncio.Event]:
    """Hold the service after it has the topic and before the profile pins it."""
    held, go = asyncio.Event(), asyncio.Event()
    usual = cloud.sandbox._work

    async def work(asked: Any, group: str) -> Any:
        answer = await usual(asked, group)
        if cloud.sandbox.tenant.data.topics and not held.is_set():
            held.set()
            await go.wait()
        return answer

    cloud.sandbox._work = work  # type: ignore[method-assign]
    return held, go


# --- deployed for a scan, and restored -----------------------------------------------------


async def test_deploy_is_dismissed_when_scans_do_not_use_it(cloud: Cloud, desk: Desk) -> None:
    cloud.change(propagation="1h")
    connection, topic = await desk.managing(), desk.session.topic
    plan = await desk.changes.plan(connection, topic)
    assert await desk.deployment.deploy(connection, topic, plan) is None
    (question,) = desk.author.questions
    assert isinstance(question, ChooseAnswer)
    assert [name for _, name, _ in question.answers] == ["wait"]  # an older revision judged
    status = desk.store.state.scan
    assert status is not None
    assert (status.problem, status.step[:12]) == (True, "not scanned:")
    assert cloud.pinned() == [OURS]
    cloud.clock.advance(3600)
    plan = await desk.changes.plan(connection, topic)
    assert plan is not None
    assert plan.changes == ()


async def test_restore_does_nothing_without_consent(cloud: Cloud, desk: Desk) -> None:
    await desk.apply(True)
    desk.describe("Another text")
    desk.deployment.restore()
    await desk.jobs.finished()
    assert cloud.pinned() == [OURS]
    assert "best definition" not in "".join(desk.author.messages)


async def test_restore_deploys_the_definition_with_consent_also_after_a_restart(
    cloud: Cloud, topic_path: Path
) -> None:
    first = Desk(topic_path, remote(cloud))
    connection = await first.managing()
    first.connections.remember(connection, agreed=True)
    again = Desk(topic_path, remote(cloud))
    for messages in (["The profile has the best definition again."], []):
        again.author.messages.clear()
        again.deployment.restore()
        await again.jobs.finished()
        assert again.author.messages == messages  # the second time nothing is to be changed
    assert cloud.pinned() == [OURS]
    assert again.revision == 2
    assert again.author.questions == []


async def test_restore_that_fails_notifies_the_author(cloud: Cloud, desk: Desk) -> None:
    desk.connections.remember(await desk.managing(), agreed=True)
    cloud.change(faults=["403@topics=1.0"])
    desk.deployment.restore()
    await desk.jobs.finished()
    assert desk.author.messages[0].startswith("The best definition was not deployed again")
    assert desk.store.state.scan is None or not isinstance(desk.store.state.scan, ScanStatus)
