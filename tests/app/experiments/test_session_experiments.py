"""Experiments of a session: planned with the author, run beside the editing, and kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.experiment import Ending
from guardtui.advice.experiment_candidates import EDITS
from guardtui.app.advice.wording_trials import TypeWordings, WordingRequest
from guardtui.app.experiments.guardrail import AskedGuardrail
from guardtui.app.experiments.planning import Design
from guardtui.app.experiments.session_experiments import UNDER_WAY
from guardtui.app.experiments.status import ExperimentPlan
from guardtui.app.ports import ChooseAnswer, Confirm
from guardtui.app.scan.record import record
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import calls_text, capitalized
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Usage, Verdict, VerdictColumns
from guardtui.scanners.base import ScannerError
from guardtui.session.experiments import ExperimentRecord
from guardtui.session.session import Decision
from tests.app.bench import written
from tests.app.headless import Loop

from .scripted import SETTINGS, Answer, Scripted, verdict

WORDINGS = WordingRequest("Anything on bread\nAll good questions of taxes")
BETTER = "All good questions of taxes"


def better(topic: Topic, text: str, call: int) -> Verdict:
    """Answer rightly for a description with “good”, else miss those of few words."""
    belongs = any(word in text for word in ("tax", "income"))
    missed = any(f"in {number} words" in text for number in range(0, 15, 2))
    return verdict(yes=belongs and ("good" in topic.description or not missed))


def unmoved(topic: Topic, text: str, call: int) -> Verdict:
    return better(topic.model_copy(update={"description": ""}), text, call)


class Fake:
    """The guardrails of experiments; `made` are those that were asked, newest last."""

    who = "prod"
    is_named = True
    planned: tuple[str, ScannerSettings | None] = ("prod", SETTINGS)

    def __init__(self, answer: Answer = better) -> None:
        self.answer = answer
        self.stop_after: int | None = None
        self.changes: tuple[str, ...] = ("Profile test has each candidate in turn.",)
        self.asked_of: list[Scripted] = []
        self.answered = SETTINGS

    def made(self, record: ExperimentRecord) -> bool:
        return record.is_of(SETTINGS.guardrail)

    async def asked(
        self, topic: Topic, prompts: PromptSet, resumed: ExperimentRecord | None
    ) -> AskedGuardrail:
        self.asked_of.append(Scripted(self.answer, stop_after=self.stop_after))
        self.asked_of[-1].settings = self.answered
        return AskedGuardrail(
            self.asked_of[-1],
            SETTINGS.titled("prod"),
            "prod",
            lambda calls: f"cost {calls}",
            lambda candidates, calls: f"about {candidates} min",
            self.changes,
        )


@asynccontextmanager
async def session(
    folder: Path, *answers: object, answer: Answer = better
) -> AsyncIterator[tuple[Loop, Fake]]:
    path = folder / "tax.yaml"
    async with Loop(path if path.exists() else written(folder, 15), *answers) as loop:
        fake = Fake(answer)
        loop.services.experiments.guardrails = fake  # type: ignore[assignment]
        yield loop, fake


async def test_an_experiment_is_planned_run_and_its_better_edit_kept(tmp_path: Path) -> None:
    async with session(tmp_path, WORDINGS, 5000) as (loop, fake):
        experiments = loop.services.experiments
        before = loop.state.topic
        experiments.begin()
        await loop.settle()
        typed, plan = loop.author.questions
        assert isinstance(typed, TypeWordings)
        assert typed.tried_on == "prod"
        assert isinstance(plan, ExperimentPlan)
        assert len(plan.candidates) == 2
        assert 150 < plan.expected < plan.most <= 450
        assert (plan.cost, plan.duration) == (f"cost {plan.expected}", "about 2 min")
        assert plan.changes == "Profile test has each candidate in turn."
        status = loop.state.experiment
        assert status is not None
        assert status.ending is Ending.BETTER
        assert "prod: 1 edit is shown to be better" in loop.author.messages[-1]
        # The definition that it began with is recorded as a scan.
        scan = loop.services.session.iterations[-1]
        assert (scan.evaluation.topic, scan.decision) == (before, Decision.KEEP)
        assert scan.evaluation.settings.guardrail.title == "prod"
        assert loop.services.workspace.store.template("t1") == "Is it about {topic}?"
        assert experiments.found_better
        assert await experiments.keep()
        await loop.settle()
        assert loop.state.topic.description == BETTER
        kept = loop.services.session.iterations[-1]
        assert (kept.evaluation.topic, kept.decision) == (loop.state.topic, Decision.KEEP)
        assert BETTER in (tmp_path / "tax.yaml").read_text("utf-8")
        assert loop.state.experiment is None
        (record,) = experiments._log.experiments()
        assert record.kept == 2
        loop.services.editing.undo()
        assert loop.state.topic == before
        assert fake.asked_of[0].left == 1


async def test_nothing_is_offered_where_nothing_is_better(tmp_path: Path) -> None:
    async with session(tmp_path, WORDINGS, 5000, answer=unmoved) as (loop, _):
        loop.services.experiments.begin()
        await loop.settle()
        assert "nothing is to be kept" in loop.author.messages[-1]
        assert not loop.services.experiments.found_better
        assert not await loop.services.experiments.keep()
        assert loop.author.messages[-1] == "No edit is shown to be better."
        assert loop.services.experiments.next_step.startswith("Test up to"), "the engine's edits"


async def test_edits_that_the_guardrail_has_tested_in_vain_are_not_the_next_step(
    tmp_path: Path,
) -> None:
    async with session(tmp_path, WordingRequest(), 5000, answer=unmoved) as (loop, _):
        experiments = loop.services.experiments
        assert experiments.next_step.startswith("Test up to")
        experiments.begin()
        await loop.settle()
        assert "nothing is to be kept" in loop.author.messages[-1]
        assert experiments.next_step == ""
        other = loop.state.topic.model_copy(update={"description": "Other words"})
        loop.services.editing.replace(other)
        await loop.settle()
        assert experiments.next_step.startswith("Test up to")


@pytest.mark.parametrize("answers", [(), (WORDINGS,), (WORDINGS, None)])
async def test_dismissed_questions_send_and_store_nothing(
    tmp_path: Path, answers: tuple[object, ...]
) -> None:
    async with session(tmp_path, *answers) as (loop, fake):
        experiments = loop.services.experiments
        experiments.begin()
        await loop.settle()
        assert [one.calls for one in fake.asked_of] == [0]
        assert experiments._log.experiments() == []
        assert loop.state.experiment is None
        assert not experiments.under_way


async def test_without_wordings_the_edits_of_the_engine_are_tried(tmp_path: Path) -> None:
    async with session(tmp_path, WordingRequest(), None) as (loop, _):
        loop.services.experiments.begin()
        await loop.settle()
        plan = loop.author.questions[-1]
        assert isinstance(plan, ExperimentPlan)
        assert plan.candidates
        assert all(one.topic.description == loop.state.topic.description for one in plan.candidates)


async def running(loop: Loop, fake: Fake, calls: int) -> None:
    """Wait until the guardrail was asked so often, and pause it there."""
    async with asyncio.timeout(60):
        while not fake.asked_of or fake.asked_of[-1].calls < calls:
            await asyncio.sleep(0.001)
    loop.services.experiments.pause()


async def test_editing_goes_on_and_a_stopped_experiment_is_resumed_without_a_call_twice(
    tmp_path: Path,
) -> None:
    async with session(tmp_path, WORDINGS, 5000, True, "resume", 5000) as (loop, fake):
        experiments, scans = loop.services.experiments, loop.services.scans
        before = loop.state.topic
        experiments.begin()
        await running(loop, fake, 40)
        assert "Paused" in loop.author.messages[-1]
        experiments.begin()
        assert loop.author.messages[-1] == UNDER_WAY
        loop.services.editing.type(before.model_copy(update={"description": "Edited"}))
        experiments.poll()
        now = loop.state.experiment
        assert now is not None
        assert now.held
        assert (now.topic, loop.state.topic.description) == (before, "Edited")
        assert experiments.running
        assert not scans.under_way
        experiments.stop()
        await loop.settle()
        stopped = loop.state.experiment
        assert stopped is not None
        assert stopped.stopped == "stopped"
        assert isinstance(loop.author.questions[-1], Confirm)
        # Of another definition nothing is unfinished.
        assert await experiments.unfinished() == ""
        loop.services.editing.undo()
        assert "is unfinished: " in await experiments.unfinished()
        assert "Go on with the experiment on judge prod" in experiments.next_step
        experiments.begin()
        await loop.settle()
        assert isinstance(loop.author.questions[-2], ChooseAnswer)
        status = loop.state.experiment
        assert status is not None
        assert status.ending is Ending.BETTER
        first, second = fake.asked_of
        assert not {*first.asked} & {*second.asked}
        assert status.calls == first.calls + second.calls


async def test_an_experiment_that_was_killed_is_offered_at_opening(tmp_path: Path) -> None:
    async with session(tmp_path, WORDINGS, 5000) as (loop, fake):
        fake.stop_after = 30
        loop.services.experiments.begin()
        with pytest.raises(asyncio.CancelledError):
            await loop.settle()
    async with session(tmp_path, "resume", 5000) as (loop, fake):
        assert "is unfinished: 30 calls made" in await loop.services.experiments.unfinished()
        loop.services.experiments.begin()
        await loop.settle()
        status = loop.state.experiment
        assert status is not None
        assert status.ending is Ending.BETTER
        assert (0, 0) not in fake.asked_of[0].asked or status.calls > 30


async def test_prompts_that_change_during_the_plan_get_no_verdicts_of_others(
    tmp_path: Path,
) -> None:
    async with session(tmp_path, WORDINGS) as (loop, fake):
        workspace = loop.services.workspace
        before, path = workspace.prompts, tmp_path / "tax.csv"

        async def ask(question: object) -> object:
            if not isinstance(question, ExperimentPlan):
                return WORDINGS
            lines = path.read_text("utf-8").splitlines()
            path.write_text("\n".join([lines[0], *lines[2:], ""]), "utf-8")
            changed = workspace.changed_prompts() or workspace.changed_prompts()
            assert changed is not None
            workspace.adopt_prompts(changed)
            return 5000

        loop.author.ask = ask  # type: ignore[assignment]
        loop.services.experiments.begin()
        await loop.settle()
        status = loop.state.experiment
        assert status is not None
        assert status.ending is Ending.BETTER
        (made,) = loop.services.experiments._log.experiments()
        assert made.prompt_set == before.fingerprint != workspace.prompts.fingerprint
        assert {row for _, row in fake.asked_of[0].asked} == {*range(len(before))}
        scans = [one.evaluation for one in loop.services.session.iterations]
        assert not [one for one in scans if one.settings.guardrail == SETTINGS.guardrail]


async def test_a_partial_scan_is_completed_with_its_model_usage_and_topics(tmp_path: Path) -> None:
    async with session(tmp_path, WORDINGS, 5000) as (loop, fake):
        prompts, topic = loop.services.workspace.prompts, loop.state.topic
        columns = VerdictColumns(len(prompts))
        for row, text in enumerate(prompts.prompts.to_list()[:100]):
            found = replace(better(topic, text, 0), topics=("Tax", "Other") if row == 1 else ())
            columns.put([row], found, "")
        answered = replace(SETTINGS.guardrail, answered_by="m-2026")
        partial = Evaluation(
            topic,
            ScannerSettings(answered),
            prompts.fingerprint,
            prompts.keys,
            prompts.expected,
            replace(columns.verdicts(), used=Usage(calls=100, input_tokens=5000)),
        )
        await record(loop.services.workspace, partial)
        fake.answered = ScannerSettings(answered)
        loop.services.experiments.begin()
        await loop.settle()
        status = loop.state.experiment
        assert status is not None
        assert status.ending is Ending.BETTER, status.stopped
        verdicts = loop.services.session.iterations[-1].evaluation.verdicts
        assert verdicts.used is not None
        assert verdicts.used.input_tokens == 5000
        assert verdicts.stopped_by[1] == ("Tax", "Other")
        assert not (verdicts.triggered < 0).any()


async def test_a_limit_of_calls_is_kept_and_more_go_on(tmp_path: Path) -> None:
    async with session(tmp_path, WordingRequest(BETTER), 60, "resume", 5000) as (loop, _):
        experiments = loop.services.experiments
        experiments.begin()
        await loop.settle()
        status = loop.state.experiment
        assert status is not None
        assert status.calls == 60
        assert "limit of 60 calls" in status.stopped
        assert "it can go on" in loop.author.messages[-1]
        experiments.begin()
        await loop.settle()
        plan = loop.author.questions[-1]
        assert isinstance(plan, ExperimentPlan)
        assert loop.state.experiment is not None
        assert loop.state.experiment.ending is Ending.BETTER


async def test_an_experiment_with_a_service_that_fails_says_why(tmp_path: Path) -> None:
    def failing(topic: Topic, text: str, call: int) -> Verdict:
        raise ScannerError("no answer")

    async with session(tmp_path, WORDINGS, 5000, answer=failing) as (loop, fake):
        loop.services.experiments.begin()
        await loop.settle()
        status = loop.state.experiment
        assert status is not None
        assert status.stopped == "no answer"
        assert "no answer" in loop.author.messages[-1]
        assert fake.asked_of[0].left == 1


async def test_kept_edits_replace_later_ones_with_consent_only(tmp_path: Path) -> None:
    async with session(tmp_path, WORDINGS, 5000, None, True) as (loop, _):
        experiments = loop.services.experiments
        experiments.begin()
        await loop.settle()
        edited = loop.state.topic.model_copy(update={"description": "Edited"})
        loop.services.editing.type(edited)
        assert not await experiments.keep()
        assert loop.state.topic == edited
        assert await experiments.keep()
        await loop.settle()
        assert loop.state.topic.description == BETTER
        loop.services.editing.undo()
        assert loop.state.topic == edited


async def test_the_next_step_names_guardrail_and_calls_without_a_request(tmp_path: Path) -> None:
    async with session(tmp_path) as (loop, fake):
        state = loop.services.state
        design = Design(
            state.prompts,
            state.topic,
            (Candidate(state.topic, CandidateKind.COMPLETE, ""),) * EDITS,
        )
        calls = capitalized(calls_text(design.calls(None).expected))  # as the plan of so many says
        step = loop.services.experiments.next_step
        assert step == f"Test up to {EDITS} edits on prod. {calls}"
        fake.planned = "AIRS", None  # the author chooses it first
        step = loop.services.experiments.next_step
        assert step == f"Test up to {EDITS} edits on AIRS. {calls}"
        assert fake.asked_of == []
        fake.is_named = False
        assert loop.services.experiments.next_step == ""


async def test_opening_another_topic_asks_and_stops_the_experiment(tmp_path: Path) -> None:
    async with session(tmp_path, WORDINGS, 5000, None, True) as (loop, fake):
        loop.services.experiments.begin()
        await running(loop, fake, 20)
        assert not await loop.services.let_go("other")
        assert await loop.services.let_go("other")
        assert not loop.services.experiments.under_way
        assert fake.asked_of[0].left == 1
