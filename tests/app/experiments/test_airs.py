"""Experiments on AIRS: one candidate after the other, and the state before at the end."""

from __future__ import annotations

import asyncio
import copy
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("aiohttp")

from guardtui.app.experiments.airs import AirsAnswering, choose_profile, most_applies
from guardtui.app.experiments.answering import DefinitionRows
from guardtui.app.experiments.interrupted import (
    Interrupted,
    interrupted,
    offer_reverts,
    revert_interrupted,
)
from guardtui.app.ports import Choose
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdict
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs import lifecycle
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.undo_journal import Reverted
from guardtui.scanners.base import Progress
from guardtui.session.applied import MAX_ENTRIES
from guardtui.session.caches import SqliteVerdicts
from tests.app.cloud import NO_FILE, PROMPTS, Cloud, RemoteBench, cloud, engine, remote
from tests.tui.tax_app import topic_path

__all__ = ["cloud", "engine", "topic_path"]

OURS = "Personal tax advice"
BAKING = Topic(
    name="Baking",
    description="Baking bread at home",
    examples=("How do I bake bread?", "How long does a cake bake?"),
)
ALL = np.arange(len(PROMPTS), dtype=np.intp)


class Trial(RemoteBench):
    """An experiment on the sandbox's profile, with the verdicts that arrived."""

    def __init__(self, cloud: Cloud, topic_path: Path) -> None:
        super().__init__(topic_path, remote(cloud))
        self.cloud, self.path = cloud, topic_path
        self.cache = SqliteVerdicts(topic_path.parent / "verdicts")
        self.told: list[str] = []
        self.steps: list[str] = []
        self.verdicts: dict[tuple[int, int], Verdict] = {}
        self.on_arrival: Callable[[], None] = lambda: None

    @property
    def topic(self) -> Topic:
        return self.session.topic

    def connect(self, profile: str = "sandbox") -> AirsConnection:
        options = self.connections.options
        return options.connect(options.configured(), profile)

    def answering(self, profile: str = "sandbox", production: str = "prod") -> AirsAnswering:
        return AirsAnswering(
            self.connect(profile),
            production,
            self.topic,
            self.path,
            self.workspace.store,
            self.changes,
            self.cache,
            tell=self.told.append,
        )

    def candidate(self, number: int) -> Topic:
        description = f"{OURS}, version {number}" if number else OURS
        return self.topic.model_copy(update={"description": description})

    def wanted(self, *numbers: int, rows: Any = ALL) -> list[DefinitionRows]:
        return [DefinitionRows(number, self.candidate(number), rows) for number in numbers]

    def arrived(self, number: int, row: int, verdict: Verdict) -> None:
        assert (number, row) not in self.verdicts
        self.verdicts[number, row] = verdict
        self.on_arrival()

    def report(self, progress: Progress) -> None:
        if not self.steps or self.steps[-1] != progress.phase:
            self.steps.append(progress.phase)

    async def ask(self, answering: AirsAnswering, *numbers: int, rows: Any = ALL) -> None:
        wanted = self.wanted(*numbers, rows=rows)
        await answering.ask(wanted, self.workspace.prompts, self.arrived, self.report)

    async def run(self, *steps: int | Callable[[], object]) -> None:
        """Make an experiment: a number asks about a definition, anything else is done."""
        async with self.answering() as answering:
            for step in steps:
                if isinstance(step, int):
                    await self.ask(answering, step)
                elif inspect.isawaitable(done := step()):
                    await done

    async def revert(self, found: Interrupted) -> Reverted:
        store = self.workspace.store
        return await revert_interrupted(found, self.connections.options, self.changes, store)

    def state(self, profile: str = "sandbox") -> Any:
        """The policy in effect, and the newest text of each topic."""
        tenant = self.cloud.sandbox.tenant
        row = next(row for row in tenant.latest() if row.profile_name == profile)
        texts = {
            topic.newest.topic_name: (topic.newest.description, topic.newest.examples)
            for topic in tenant.data.topics
        }
        return copy.deepcopy((row.policy, texts))

    @property
    def applies(self) -> int:
        """Changes of any profile so far."""
        answers = self.cloud.sandbox.control.stats.shown()["endpoints"]
        return sum(answers.get("profile-update", {}).values())

    @property
    def entries(self) -> Sequence[Any]:
        return self.changes.open_log(self.connect()).entries()


@pytest.fixture
async def trial(cloud: Cloud, topic_path: Path) -> Trial:
    trial = Trial(cloud, topic_path)
    await cloud.applied_elsewhere(topic_path)
    return trial


async def elsewhere(cloud: Cloud, topic: Topic, profile: str = "sandbox") -> None:
    """Have somebody else apply a topic."""
    settings = AirsSettings.load({}, cloud.environment, NO_FILE)
    async with ManagementClient(settings.management(), clock=cloud.clock) as client:
        await lifecycle.apply(client, topic, profile)


# --- the course of an experiment ---------------------------------------------------------


async def test_candidates_are_applied_in_turn_and_all_is_as_before_at_the_end(
    trial: Trial,
) -> None:
    before, applies = trial.state(), trial.applies
    async with trial.answering() as answering:
        await trial.ask(answering, 2, 0, 1)
        assert trial.cloud.pinned() == [trial.candidate(1).description]
        assert len(trial.entries) == 1
    assert len(trial.verdicts) == 3 * len(PROMPTS)
    assert all(verdict.decided for verdict in trial.verdicts.values())
    assert [step for step in trial.steps if step.startswith("waits")] == [
        "waits until scans use the current definition",  # which is in effect, so it is the first
        "waits until scans use candidate 2",
        "waits until scans use candidate 1",
    ]
    assert trial.applies - applies == 2 + 1  # the last one reverts
    assert trial.state() == before
    assert trial.entries == []
    assert trial.told == []
    assert answering.calls == 3 * len(PROMPTS)


async def test_a_definition_measured_again_is_only_pinned(trial: Trial) -> None:
    first, second = ALL[:4], ALL[4:]
    async with trial.answering() as answering:
        for rows in (first, second):
            await trial.ask(answering, 1, 2, rows=rows)
        topics = trial.cloud.sandbox.tenant.data.topics
        assert topics[0].newest.revision == 3
    assert topics[0].newest.revision == 4  # the text of before


async def test_cached_verdicts_need_neither_an_apply_nor_a_call(trial: Trial) -> None:
    async with trial.answering() as answering:
        await trial.ask(answering, 0, 1)
    asked, applies, known = trial.cloud.asked, trial.applies, dict(trial.verdicts)
    trial.verdicts.clear()
    async with trial.answering() as answering:
        await trial.ask(answering, 0, 1)
    assert (trial.cloud.asked, trial.applies, answering.calls) == (asked, applies, 0)
    assert {key: verdict.triggered for key, verdict in trial.verdicts.items()} == {
        key: verdict.triggered for key, verdict in known.items()
    }


async def test_a_candidate_is_asked_only_once_it_is_in_effect(trial: Trial) -> None:
    trial.cloud.change(propagation="9s")
    async with trial.answering() as answering:
        await trial.ask(answering, 1)
    judged = {verdict.revision for verdict in trial.verdicts.values()}
    tenant = trial.cloud.sandbox.tenant
    assert judged == {row.profile_id for row in tenant.data.profiles if row.revision == 3}


async def test_a_candidate_that_does_not_come_into_effect_ends_it_and_is_reverted(
    trial: Trial,
) -> None:
    before = trial.state()
    with pytest.raises(AirsError, match="candidate 1 is not in effect after 120 s"):
        await trial.run(0, lambda: trial.cloud.change(propagation="1h"), 1)
    assert {number for number, _ in trial.verdicts} == {0}
    assert trial.state() == before
    assert trial.entries == []


async def test_the_author_s_own_entries_stay_in_a_full_journal(trial: Trial) -> None:
    log = trial.changes.open_log(trial.connect())
    for number in range(MAX_ENTRIES):
        log.push({"own": number})
    async with trial.answering() as answering:
        await trial.ask(answering, 1, 2, rows=ALL[:2])
    assert [entry.way["own"] for entry in log.entries()] == [*range(MAX_ENTRIES)]


async def test_a_topic_that_is_new_is_taken_out_of_the_profile(
    cloud: Cloud, topic_path: Path
) -> None:
    trial = Trial(cloud, topic_path)
    before, _ = trial.state()
    answering = trial.answering()
    assert "The topic is created, and stays in the tenant, in no profile." in await answering.look()
    async with answering:
        await trial.ask(answering, 1, rows=ALL[:2])
        assert cloud.pinned() == [trial.candidate(1).description]
    assert trial.state()[0] == before


async def test_a_pause_applies_and_sends_nothing_until_it_goes_on(trial: Trial) -> None:
    async with trial.answering() as answering:
        trial.on_arrival = lambda: answering.hold(len(trial.verdicts) >= 2)
        asking = asyncio.create_task(trial.ask(answering, 1, 2, rows=ALL[:2]))
        while len(trial.verdicts) < 2:
            await asyncio.sleep(0.001)
        applies, requests = trial.applies, trial.cloud.requests
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert (trial.applies, trial.cloud.requests) == (applies, requests)
        trial.on_arrival = lambda: None
        answering.hold(False)
        await asking
    assert len(trial.verdicts) == 4


async def test_refused_scans_are_sent_again_as_in_any_scan(trial: Trial) -> None:
    trial.cloud.change(faults=["429@sync=every:3"])
    async with trial.answering() as answering:
        await trial.ask(answering, 1, 2)
    assert len(trial.verdicts) == 2 * len(PROMPTS)
    assert all(verdict.decided for verdict in trial.verdicts.values())


# --- what is said before -----------------------------------------------------------------


async def test_the_profile_in_production_is_named_as_such(trial: Trial) -> None:
    text = " ".join(await trial.answering(production="sandbox").look())
    assert "is the one in production: each candidate judges real traffic meanwhile" in text
    other = " ".join(await trial.answering("sandbox-directional").look())
    assert "production" not in other
    assert "They keep the revision of the topic that they pin: sandbox." in other


async def test_the_profile_is_chosen_from_a_list_that_ends_with_the_one_in_production(
    trial: Trial,
) -> None:
    options, author = trial.connections.options, trial.author
    author.answers += ["sandbox-directional", None]
    assert await choose_profile(author, options, "sandbox") == "sandbox-directional"
    assert await choose_profile(author, options, "sandbox") == ""
    question = author.questions[0]
    assert isinstance(question, Choose)
    other, production = question.names
    assert (other, production[:23]) == ("sandbox-directional", "sandbox · in production")
    author.answers.append(production)
    assert await choose_profile(author, options, "sandbox") == "sandbox"


async def test_other_profiles_judge_as_before_meanwhile(trial: Trial) -> None:
    production = trial.state()[0]
    async with trial.answering("sandbox-directional") as answering:
        await trial.ask(answering, 1, rows=ALL[:2])
        assert trial.state()[0] == production
        assert trial.cloud.pinned() == [OURS]


async def test_an_unknown_profile_is_refused_with_those_that_exist(trial: Trial) -> None:
    with pytest.raises(AirsError, match="no profile is named 'prod'; existing: sandbox, sandbox-"):
        await trial.answering("prod").look()


async def test_the_duration_is_by_a_measured_wait_once_there_is_one(trial: Trial) -> None:
    answering = trial.answering()
    # 10 at the first look, then 4 and 2, and the definition of before at both ends.
    assert most_applies(10) == 18
    assert answering.duration(18, 600) == (
        "at most 6 min: 18 applies of 12 s (assumed), 5 calls a second (assumed)"
    )
    trial.changes.open_log(trial.connect()).keep_wait(30.0)
    assert answering.duration(18, 600).startswith("at most 11 min: 18 applies of 30 s (measured)")


# --- ends that nobody planned ------------------------------------------------------------


async def test_stopping_in_the_middle_keeps_verdicts_and_reverts(trial: Trial) -> None:
    before = trial.state()

    async def work() -> None:
        async with answering:
            await trial.ask(answering, 1, 2)

    answering = trial.answering()
    task = asyncio.create_task(work())

    def stop() -> None:
        if len(trial.verdicts) == 3:
            task.cancel()

    trial.on_arrival = stop
    with pytest.raises(asyncio.CancelledError):
        await task
    assert 3 <= len(trial.verdicts) == answering.calls < 2 * len(PROMPTS)
    assert trial.state() == before
    assert trial.entries == []


async def test_stopping_while_a_candidate_is_applied_reverts_it(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = trial.state()

    async def work() -> None:
        async with trial.answering() as answering:
            await trial.ask(answering, 1)

    task = asyncio.create_task(work())
    usual = trial.cloud.sandbox._work

    async def stop_at_the_topic(asked: Any, group: str) -> Any:
        answer = await usual(asked, group)
        if asked.endpoint == "topic-update" and not task.cancelling():
            task.cancel()
        return answer

    monkeypatch.setattr(trial.cloud.sandbox, "_work", stop_at_the_topic)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert trial.state() == before
    assert trial.entries == []


@pytest.mark.parametrize("fault", ["500@profile-update=first:9", "403@topic-update=first:9"])
async def test_a_failing_management_ends_it_and_leaves_nothing(trial: Trial, fault: str) -> None:
    before = trial.state()

    async def ask_in_vain() -> None:
        trial.cloud.change(faults=[fault])
        with pytest.raises(ServiceError):
            await trial.ask(answering, 2)
        trial.cloud.change(faults=[])

    async with trial.answering() as answering:
        await trial.ask(answering, 1)
        await ask_in_vain()
    assert {number for number, _ in trial.verdicts} == {1}
    assert trial.state() == before
    assert trial.entries == []


async def test_a_revert_that_fails_is_told_with_the_command_that_reverts(trial: Trial) -> None:
    before = trial.state()
    with pytest.raises(
        AirsError, match=r"not reverted: .*\n  'guardtui topics revert .* --guardrail"
    ):
        await trial.run(1, lambda: trial.cloud.change(faults=["403@profile-update=1.0"]))
    assert len(trial.entries) == 1
    trial.cloud.change(faults=[])
    (found,) = interrupted(trial.workspace.store)
    await trial.revert(found)
    assert trial.state() == before
    assert trial.entries == []


async def test_a_change_of_the_profile_by_others_ends_it_and_stays(trial: Trial) -> None:
    with pytest.raises(AirsError, match="somebody else changed the profile sandbox during"):
        await trial.run(1, lambda: elsewhere(trial.cloud, BAKING), 2)
    assert sorted(trial.cloud.pinned()) == [BAKING.description, OURS]
    assert trial.entries == []
    assert any("only this topic is restored" in text for text in trial.told)


async def test_a_change_of_the_topic_by_others_ends_it_and_stays(trial: Trial) -> None:
    theirs = trial.topic.model_copy(update={"description": "Theirs"})
    with pytest.raises(AirsError, match="somebody else changed the topic Tax advice during"):
        await trial.run(1, lambda: elsewhere(trial.cloud, theirs, "sandbox-directional"), 2)
    _, texts = trial.state()
    assert trial.cloud.pinned() == [OURS]
    assert texts["Tax advice"][0] == "Theirs"
    assert trial.entries == []


async def test_a_pin_of_the_same_topic_by_others_stays(trial: Trial) -> None:
    theirs = trial.topic.model_copy(update={"description": "Theirs"})
    with pytest.raises(AirsError, match="somebody else changed the profile"):
        await trial.run(1, lambda: elsewhere(trial.cloud, theirs), 2)
    assert trial.cloud.pinned() == ["Theirs"]
    assert any("their pin stays" in text for text in trial.told)


async def test_verdicts_of_a_revision_by_others_do_not_count(trial: Trial) -> None:
    answering = await trial.answering().__aenter__()
    await trial.ask(answering, 1, rows=ALL[:2])
    await elsewhere(trial.cloud, BAKING)
    with pytest.raises(AirsError, match="somebody else changed the profile"):
        await trial.ask(answering, 1, rows=ALL[2:])
    assert len(trial.verdicts) == 2


async def test_a_change_by_others_while_prompts_are_sent_is_told_as_such(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardtui.scanners.remote.GIVE_UP_AFTER", 2)
    begun = asyncio.Event()
    trial.on_arrival = begun.set
    trial.cloud.turnstile.allow(1)

    async def ask() -> None:
        async with trial.answering() as answering:
            await trial.ask(answering, 1)

    asking = asyncio.create_task(ask())
    await begun.wait()
    await elsewhere(trial.cloud, BAKING)
    trial.cloud.turnstile.open()
    with pytest.raises(AirsError, match="somebody else changed the profile"):
        await asking
    assert len(trial.verdicts) == 1
    assert sorted(trial.cloud.pinned()) == [BAKING.description, OURS]


# --- killed ------------------------------------------------------------------------------


async def test_a_killed_experiment_is_found_and_reverted(trial: Trial) -> None:
    before = trial.state()
    answering = await trial.answering().__aenter__()
    await trial.ask(answering, 1, 2)
    assert interrupted(trial.workspace.store) == []  # its process still holds it
    answering._opened.close()  # as the end of a process does
    (found,) = interrupted(trial.workspace.store)
    assert found.text == (
        "An experiment on profile sandbox was interrupted; the profile still has candidate 2"
    )
    done = await trial.revert(found)
    assert done.warnings == ()
    assert trial.state() == before
    assert interrupted(trial.workspace.store) == []


@pytest.mark.parametrize("last", ["topic-update", "profile-update"])
async def test_a_kill_between_two_steps_is_reverted_exactly(trial: Trial, last: str) -> None:
    await elsewhere(trial.cloud, BAKING)  # an order of topics that has to be restored
    before = trial.state()
    answering = await trial.answering().__aenter__()
    await trial.ask(answering, 1, rows=ALL[:2])
    trial.cloud.change(faults=[f"403@{last}=1.0"])
    with pytest.raises(ServiceError):
        await trial.ask(answering, 2)
    trial.cloud.change(faults=[])
    answering._opened.close()  # as the end of a process does
    (found,) = interrupted(trial.workspace.store)
    done = await trial.revert(found)
    assert done.warnings == ()
    assert trial.state() == before


@pytest.mark.parametrize("answer", [True, False])
async def test_the_next_start_asks_whether_to_revert_a_killed_experiment(
    trial: Trial, *, answer: bool
) -> None:
    before = trial.state()
    answering = await trial.answering().__aenter__()
    await trial.ask(answering, 1, rows=ALL[:2])
    answering._opened.close()
    trial.author.answers.append(answer)
    store = trial.workspace.store
    await offer_reverts(store, trial.connections.options, trial.changes, trial.author)
    (question,) = trial.author.questions
    assert "the profile still has candidate 1" in str(question)
    assert (trial.state() == before) is answer
    assert trial.author.messages == (
        ["Profile sandbox is as before the experiment."] if answer else []
    )
    await offer_reverts(store, trial.connections.options, trial.changes, trial.author)
    assert len(trial.author.questions) == (1 if answer else 2)


async def test_a_killed_experiment_of_another_tenant_is_not_touched(trial: Trial) -> None:
    answering = await trial.answering().__aenter__()
    await trial.ask(answering, 1, rows=ALL[:2])
    answering._opened.close()
    (found,) = interrupted(trial.workspace.store)
    requests = trial.cloud.requests
    with pytest.raises(AirsError, match="of another tenant or service"):
        await trial.revert(replace(found, place="elsewhere"))
    assert trial.cloud.requests == requests


@pytest.mark.process
async def test_kill_9_loses_no_verdict_and_the_next_start_reverts_exactly(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before, texts = trial.state(), [trial.candidate(number).description for number in (1, 2)]
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "verdicts"))  # as this process has it
    trial.cloud.turnstile.allow(len(PROMPTS) + 3)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.app.experiments.airs_process", str(trial.path), *texts),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **trial.cloud.environment},
    )
    assert process.stdout is not None
    lines = [await process.stdout.readline() for _ in range(len(PROMPTS) + 3)]
    process.kill()
    await process.wait()
    assert trial.cloud.pinned() == texts[1:]
    (found,) = interrupted(trial.workspace.store)
    assert found.text.endswith("the profile still has candidate 2")
    assert (await trial.revert(found)).warnings == ()
    assert trial.state() == before
    trial.cloud.turnstile.open()
    asked = trial.cloud.asked
    async with trial.answering() as answering:
        await trial.ask(answering, 1, 2)
    assert trial.cloud.asked - asked == answering.calls <= len(PROMPTS) - 3
    for line in lines:
        number, row, triggered = map(int, line.split())
        assert trial.verdicts[number, row].triggered == triggered
    assert trial.state() == before
