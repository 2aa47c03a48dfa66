"""A topic put into effect and taken back, and others who change the profile meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered
from guardtui.http.errors import ServiceError
from guardtui.sandbox.policy import PER_CONTENT
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.lifecycle import (
    apply,
    create,
    plan,
    revert,
)
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.policy import for_sending
from guardtui.scanners.airs.policy_paths import PolicyPath, pinned
from guardtui.scanners.airs.undo_journal import UndoRecord

from .conftest import BAKING, BAKING_TOPIC, OTHER, TAX, TAX_TOPIC, Stage, allowing

CHANGED = TAX_TOPIC.model_copy(
    update={"description": BAKING_TOPIC.description, "examples": BAKING_TOPIC.examples}
)


async def test_new_topic_is_created_and_pinned(stage: Stage) -> None:
    shown = await plan(stage.management, TAX_TOPIC, "sandbox")
    assert await stage.management.topics() == []
    done = await apply(stage.management, TAX_TOPIC, "sandbox", shown=shown)
    assert done.changes == shown.changes
    assert done.changes == (
        "topic Tax advice is created",
        "a topic guardrail is added (entry 1), default allow",
        "topic Tax advice is added to the block list, revision 1",
    )
    assert (done.warnings, done.profile.revision, done.topic.revision) == ((), 2, 1)
    assert pinned(await stage.policy(), done.topic.topic_id) == ((PolicyPath(entry=0), "block", 1),)
    assert (await stage.scans.scan(TAX)).revision == done.profile.profile_id


async def test_changed_text_is_pinned_at_its_new_revision(stage: Stage) -> None:
    first = await apply(stage.management, TAX_TOPIC, "sandbox")
    done = await apply(stage.management, CHANGED, "sandbox")
    assert done.topic.topic_id == first.topic.topic_id
    assert done.changes == (
        "topic Tax advice gets a new text: revision 1 → 2",
        "topic Tax advice: revision 1 → 2",
    )
    assert pinned(await stage.policy(), done.topic.topic_id) == ((PolicyPath(entry=0), "block", 2),)
    assert (await stage.scans.scan(BAKING)).triggered is Triggered.YES
    assert (await stage.scans.scan(TAX)).triggered is Triggered.NO


async def test_unchanged_topic_sends_nothing(stage: Stage) -> None:
    first = await apply(stage.management, TAX_TOPIC, "sandbox")
    again = await apply(stage.management, TAX_TOPIC, "sandbox")
    assert (again.changes, again.warnings) == ((), ())
    assert again.profile == await stage.management.profile("sandbox")
    assert again.profile.revision == first.profile.revision
    assert again.topic.revision == 1
    back = await revert(stage.management, again.before)
    assert back.profile.revision == first.profile.revision
    assert (await stage.scans.scan(TAX)).triggered is Triggered.YES


async def test_directional_layout_is_applied(stage: Stage) -> None:
    done = await apply(stage.management, allowing(TAX_TOPIC), "sandbox-directional")
    policy = await stage.policy("sandbox-directional")
    assert pinned(policy, done.topic.topic_id) == (
        (PolicyPath(entry=0, direction="prompt"), "allow", 1),
    )
    assert policy["ai-security-profiles"][0]["content-type-mode"] == PER_CONTENT
    scanner = await stage.scanner("sandbox-directional")
    assert (await scanner.scan(OTHER)).triggered is Triggered.YES
    back = await revert(stage.management, done.before)
    assert for_sending(back.profile.policy) == for_sending(
        stage.sandbox.tenant.data.profiles[1].policy
    )


async def test_intent_changes_bucket_and_default(stage: Stage) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    done = await apply(stage.management, allowing(TAX_TOPIC), "sandbox")
    assert done.changes == (
        "topic Tax advice is moved to the allow list",
        "default for prompts that match no topic: allow → block",
    )
    assert (await stage.scans.scan(OTHER)).triggered is Triggered.YES


async def test_other_topics_stay_and_mixed_default_gives_a_warning(stage: Stage) -> None:
    baking = await apply(stage.management, allowing(BAKING_TOPIC), "sandbox")
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    assert done.warnings == (
        "the default stays block: prompts that match no topic are stopped, "
        "because the profile has topics to allow",
    )
    policy = await stage.policy()
    assert pinned(policy, baking.topic.topic_id) == ((PolicyPath(entry=0), "allow", 1),)
    asked = await apply(stage.management, TAX_TOPIC, "sandbox", set_default=True)
    assert asked.changes == ("default for prompts that match no topic: block → allow",)


async def test_revert_restores_text_and_pin(stage: Stage) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    await apply(stage.management, CHANGED, "sandbox")
    before = await stage.policy()
    third = await apply(
        stage.management, allowing(TAX_TOPIC.model_copy(update={"description": "Third"})), "sandbox"
    )
    kept = UndoRecord.model_validate_json(third.before.model_dump_json())
    back = await revert(stage.management, kept)
    assert await stage.policy() == before
    topic = await stage.management.topic("Tax advice")
    assert topic is not None
    assert (topic.description, topic.examples) == (CHANGED.description, CHANGED.examples)
    assert topic.revision == 4
    assert pinned(await stage.policy(), topic.topic_id) == ((PolicyPath(entry=0), "block", 2),)
    assert (await stage.scans.scan(BAKING)).triggered is Triggered.YES
    assert back.warnings == ()
    assert "topic Tax advice has its previous text again, as revision 4" in back.changes


async def test_revert_of_a_new_topic_removes_it_from_the_profile(stage: Stage) -> None:
    before = await stage.policy()
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    back = await revert(stage.management, done.before)
    assert await stage.policy() == before
    assert (
        back.changes[-1] == "topic Tax advice is removed from the profile, but stays in the tenant"
    )
    assert await stage.management.topic("Tax advice") is not None


async def test_revert_of_an_apply_killed_before_the_profile_says_that_nothing_used_the_topic(
    stage: Stage,
) -> None:
    before, records = await stage.policy(), list[UndoRecord]()

    def killed(record: UndoRecord | None) -> None:
        assert record is not None
        records.append(record)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        await apply(stage.management, TAX_TOPIC, "sandbox", journal=killed)
    back = await revert(stage.management, records[0])
    assert await stage.policy() == before
    assert back.changes == ("topic Tax advice stays in the tenant; the profile does not use it",)


async def test_revert_killed_before_the_topic_is_completed_by_the_next_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await apply(stage.management, CHANGED, "sandbox")
    before = await stage.policy()
    second = await apply(stage.management, TAX_TOPIC, "sandbox")

    async def killed(*_: Any, **__: Any) -> CustomTopic:
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(stage.management, "update_topic", killed)
        with pytest.raises(InterruptedError):
            await revert(stage.management, second.before)
    back = await revert(stage.management, second.before)
    assert await stage.policy() == before
    assert back.changes == ("topic Tax advice has its previous text again, as revision 3",)
    assert back.warnings == ()


async def test_revert_of_several_changes_restores_the_first_state(stage: Stage) -> None:
    first = await apply(stage.management, CHANGED, "sandbox")
    before = await stage.policy()
    second = await apply(stage.management, TAX_TOPIC, "sandbox")
    third = await apply(stage.management, allowing(CHANGED), "sandbox")
    back = await revert(stage.management, second.before.then(third.before))
    assert back.warnings == ()
    assert await stage.policy() == before
    topic = await stage.management.topic("Tax advice")
    assert topic is not None
    assert topic.description == CHANGED.description
    other = await apply(stage.management, BAKING_TOPIC, "sandbox")
    with pytest.raises(ValueError, match="different topics"):
        first.before.then(other.before)


async def test_revert_of_several_changes_keeps_foreign_ones(stage: Stage) -> None:
    first = await apply(stage.management, TAX_TOPIC, "sandbox")
    baking = await apply(stage.management, BAKING_TOPIC, "sandbox")
    second = await apply(stage.management, CHANGED, "sandbox")
    back = await revert(stage.management, first.before.then(second.before))
    policy = await stage.policy()
    assert pinned(policy, baking.topic.topic_id)
    assert not pinned(policy, first.topic.topic_id)
    assert "only this topic is restored" in back.warnings[0]


async def test_foreign_text_is_not_overwritten(stage: Stage) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    done = await apply(stage.management, CHANGED, "sandbox")
    theirs = await stage.management.update_topic(
        done.topic.topic_id, "Tax advice", "Theirs", ("x", "y")
    )
    back = await revert(stage.management, done.before)
    assert await stage.management.topic("Tax advice") == theirs
    assert "it was at revision 2, and is at 3 now; its newest text stays" in back.warnings[0]
    assert pinned(await stage.policy(), done.topic.topic_id) == ((PolicyPath(entry=0), "block", 1),)
    assert (await stage.scans.scan(TAX)).triggered is Triggered.YES


async def test_deleted_topic_is_reported(stage: Stage) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    done = await apply(stage.management, CHANGED, "sandbox-directional")
    await stage.management.force_delete_topic(done.topic.topic_id, "me@example.com")
    back = await revert(stage.management, done.before)
    assert "no longer exists" in back.warnings[-1]


async def test_foreign_change_is_reported_and_kept(stage: Stage) -> None:
    shown = await plan(stage.management, TAX_TOPIC, "sandbox")
    baking = await apply(stage.management, BAKING_TOPIC, "sandbox")
    done = await apply(stage.management, TAX_TOPIC, "sandbox", shown=shown)
    assert (
        "it was at revision 1 when shown, and is at 2 now; their changes stay" in done.warnings[0]
    )
    policy = await stage.policy()
    assert pinned(policy, baking.topic.topic_id)
    assert pinned(policy, done.topic.topic_id)
    # And on the way back.
    other = CHANGED.model_copy(update={"name": "Third"})
    third = await apply(stage.management, other, "sandbox")
    back = await revert(stage.management, done.before)
    assert any("the profile was changed since" in warning for warning in back.warnings)
    policy = await stage.policy()
    assert pinned(policy, baking.topic.topic_id)
    assert pinned(policy, third.topic.topic_id)
    assert not pinned(policy, done.topic.topic_id)


async def test_concurrent_write_is_reported(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    put = ManagementClient.update_profile

    async def late(self: ManagementClient, profile: SecurityProfile, policy: Any) -> Any:
        await put(self, profile, profile.policy)  # somebody else, just before
        return await put(self, profile, policy)

    monkeypatch.setattr(ManagementClient, "update_profile", late)
    done = await apply(stage.management, CHANGED, "sandbox")
    assert "the changes of revision 3 are overwritten" in done.warnings[0]


async def test_lost_response_is_looked_up(stage: Stage) -> None:
    for fault in ("500-after@topic-create", "500-after@profile-update", "cut@topic-update"):
        stage.change(faults=[f"{fault}=first:1"])
        topic = CHANGED if "topic-update" in fault else TAX_TOPIC
        name = "sandbox" if "profile" not in fault else "sandbox-directional"
        done = await apply(stage.management, topic, name)
        assert pinned(await stage.policy(name), done.topic.topic_id)
    assert [one.revision for one in await stage.management.topics()] == [2]
    rows = await stage.management.profiles()
    assert sorted(one.revision for one in rows if one.profile_name == "sandbox-directional") == [
        1,
        2,
    ]


async def test_unwritable_profile_error_names_the_completed_steps(stage: Stage) -> None:
    stage.change(faults=["500@profile-update=after:0"])
    with pytest.raises(ServiceError) as caught:
        await apply(stage.management, TAX_TOPIC, "sandbox")
    assert "the topic has revision 1, but the profile does not use it" in str(caught.value)


async def test_concurrently_created_topic_is_used(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = ManagementClient.create_topic

    async def late(self: ManagementClient, name: str, *rest: Any) -> Any:
        await create(self, name, "Theirs", ("x", "y"))
        return await create(self, name, *rest)

    monkeypatch.setattr(ManagementClient, "create_topic", late)
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    assert (done.topic.revision, done.topic.description) == (2, TAX_TOPIC.description)


@pytest.mark.parametrize(
    "topic",
    [
        TAX_TOPIC.model_copy(update={"description": "d" * 251}),
        TAX_TOPIC.model_copy(update={"examples": ("one",)}),
        Topic(),
    ],
)
async def test_invalid_definition_is_never_sent(stage: Stage, topic: Topic) -> None:
    for call in (plan, apply):
        with pytest.raises(AirsError, match="is not sent"):
            await call(stage.management, topic, "sandbox")
    assert await stage.management.topics() == []


async def test_unknown_profile_is_reported_before_sending(stage: Stage) -> None:
    with pytest.raises(AirsError, match=r"no profile is named 'x'; existing: sandbox, sandbox-d"):
        await apply(stage.management, TAX_TOPIC, "x")
    assert await stage.management.topics() == []


async def test_profile_without_a_path_changes_no_topic(stage: Stage) -> None:
    stage.sandbox.tenant.create_profile(
        {"profile_name": "empty", "policy": {"ai-security-profiles": []}}, empty_list=True
    )
    with pytest.raises(AirsError, match="no section for topics"):
        await apply(stage.management, TAX_TOPIC, "empty")
    assert await stage.management.topics() == []


async def test_forced_delete_remains_do_not_prevent_apply(stage: Stage) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    await stage.management.force_delete_topic(done.topic.topic_id, "me@example.com")
    again = await apply(stage.management, BAKING_TOPIC, "sandbox")
    assert pinned(await stage.policy(), again.topic.topic_id)
    assert (await stage.scans.scan(BAKING)).triggered is Triggered.YES


@pytest.mark.parametrize("fault", ["404@topic-list=after:0", "403@topic-list=after:0"])
async def test_tenant_with_older_paths_works(stage: Stage, fault: str) -> None:
    stage.change(faults=[fault, "404@profile-list=after:0", "404@topic-force=after:0"])
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    await revert(stage.management, done.before)
    await stage.management.force_delete_topic(done.topic.topic_id, "me@example.com")
    assert await stage.management.topics() == []


async def test_journal_gets_a_record_before_each_step(stage: Stage) -> None:
    records: list[UndoRecord | None] = []
    first = await apply(stage.management, TAX_TOPIC, "sandbox", journal=records.append)
    # A topic that is made has no id before, and nothing to give back.
    assert records == [first.before]
    records.clear()
    second = await apply(stage.management, CHANGED, "sandbox", journal=records.append)
    assert records == [second.before]  # what is known before is what comes of it
    records.clear()
    await apply(stage.management, CHANGED, "sandbox", journal=records.append)
    assert records == []  # nothing was sent


@pytest.mark.parametrize("fault", ["500@profile-update=after:0", "400@profile-update=after:0"])
async def test_interrupted_apply_can_be_reverted(stage: Stage, fault: str) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    before = await stage.policy()
    records: list[UndoRecord | None] = []
    stage.change(faults=[fault])
    with pytest.raises(ServiceError, match="the topic has revision 2"):
        await apply(stage.management, CHANGED, "sandbox", journal=records.append)
    stage.change(faults=[])
    assert records[-1] is not None
    shown = await revert(stage.management, records[-1], send=False)
    assert shown.changes == ("topic Tax advice gets its previous text: revision 2 → 3",)
    back = await revert(stage.management, records[-1])
    assert (shown.warnings, back.warnings) == ((), ())
    assert back.changes == ("topic Tax advice has its previous text again, as revision 3",)
    assert await stage.policy() == before
    topic = await stage.management.topic("Tax advice")
    assert topic is not None
    assert topic.description == TAX_TOPIC.description


async def test_revert_before_the_first_step_changes_nothing(stage: Stage) -> None:
    """The process ended before the text was sent: going back does nothing, and warns of nothing."""
    first = await apply(stage.management, TAX_TOPIC, "sandbox")
    records: list[UndoRecord | None] = []
    stage.change(faults=["400@topic-update=after:0"])
    with pytest.raises(ServiceError):
        await apply(stage.management, CHANGED, "sandbox", journal=records.append)
    assert len(records) == 2
    assert records[0] is not None
    assert records[1] is None  # the service refused: nothing is to be taken back
    stage.change(faults=[])
    back = await revert(stage.management, records[0])
    assert (back.changes, back.warnings) == ((), ())
    assert back.profile == first.profile


async def test_foreign_topic_change_is_reported(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = await apply(stage.management, TAX_TOPIC, "sandbox")
    shown = await plan(stage.management, CHANGED, "sandbox")
    topic_id = done.topic.topic_id
    await stage.management.update_topic(topic_id, "Tax advice", "Theirs", ("x", "y"))
    second = await apply(stage.management, CHANGED, "sandbox", shown=shown)
    assert "it is at revision 2 now, not the one shown" in second.warnings[0]
    update = ManagementClient.update_topic

    async def late(self: ManagementClient, *rest: Any, **more: Any) -> Any:
        await update(self, topic_id, "Tax advice", "Theirs again", ("x", "y"))
        return await update(self, *rest, **more)

    monkeypatch.setattr(ManagementClient, "update_topic", late)
    third = await apply(stage.management, TAX_TOPIC, "sandbox")
    assert "its text of revision 4 is not in effect" in third.warnings[0]


async def test_create_makes_only_the_topic(stage: Stage) -> None:
    made = await create(stage.management, TAX_TOPIC)
    assert (made.revision, made.description) == (1, TAX_TOPIC.description)
    with pytest.raises(AirsError, match="topic 'Tax advice' already exists, at revision 1"):
        await create(stage.management, CHANGED)
    stage.change(faults=["500-after@topic-create=first:1"])
    lost = await create(stage.management, BAKING_TOPIC)
    assert (lost.topic_name, lost.revision) == ("Baking", 1)
    assert len(await stage.management.topics()) == 2


async def test_missing_path_is_reported(stage: Stage) -> None:
    place = PolicyPath(entry=2, direction="prompt")
    with pytest.raises(
        AirsError, match=r"no section entry 3, prompt for topics; existing: entry 1$"
    ):
        await plan(stage.management, TAX_TOPIC, "sandbox", path=place)


async def test_ambiguous_paths_need_a_choice(stage: Stage) -> None:
    row = await stage.management.profile("sandbox")
    assert row is not None
    policy = row.policy
    policy["ai-security-profiles"].append({**policy["ai-security-profiles"][0], "kept": [None]})
    await stage.management.update_profile(row, policy)
    for call in (plan, apply):
        with pytest.raises(AirsError, match="choose one of entry 1; entry 2"):
            await call(stage.management, TAX_TOPIC, "sandbox")
    done = await apply(stage.management, TAX_TOPIC, "sandbox", path=PolicyPath(entry=1))
    entries = (await stage.policy())["ai-security-profiles"]
    assert entries[1]["kept"] == [None]
    assert pinned(await stage.policy(), done.topic.topic_id) == ((PolicyPath(entry=1), "block", 1),)


async def test_stepwise_revert_restores_each_state(stage: Stage) -> None:
    """What going back does itself counts as nobody else's change at the step before."""
    third = TAX_TOPIC.model_copy(update={"description": "Third"})
    states, ways = [await stage.policy()], []
    for topic in (TAX_TOPIC, CHANGED, third):
        ways.append((await apply(stage.management, topic, "sandbox")).before)
        states.append(await stage.policy())
    texts = [TAX_TOPIC.description, CHANGED.description]
    for number in (2, 1, 0):
        back = await revert(stage.management, ways[number])
        assert back.warnings == ()
        assert await stage.policy() == states[number]
        topic_now = await stage.management.topic("Tax advice")
        assert topic_now is not None
        assert topic_now.description == texts[max(0, number - 1)]
        if number:
            ways[number - 1] = ways[number - 1].after(ways[number], back)


async def test_stepwise_revert_keeps_foreign_changes(stage: Stage) -> None:
    first = await apply(stage.management, TAX_TOPIC, "sandbox")
    await stage.management.update_topic(first.topic.topic_id, "Tax advice", "Theirs", ("x", "y"))
    await apply(stage.management, BAKING_TOPIC, "sandbox")
    second = await apply(stage.management, CHANGED, "sandbox")
    back = await revert(stage.management, second.before)
    assert first.before.after(second.before, back) == first.before
