"""Runs of experiments: what they ask, where they stop, and that nothing paid is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.experiment import Ending
from guardtui.app.experiments.planning import ExperimentError, gathered
from guardtui.app.experiments.status import ExperimentStatus
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Failure, Triggered, Verdict, is_answered
from guardtui.scanners.local.scanner import LocalScanner

from . import scripted
from .scripted import CANDIDATES, Scripted, better, log_at, planned, prompts, run_of, unmoved

FAILED = Verdict(Triggered.NO_VERDICT, problem="status 500", failure=Failure.FAILED)


async def test_the_better_candidate_is_better_with_fewer_calls_than_scanning_all(
    tmp_path: Path,
) -> None:
    some, guardrail = prompts(), Scripted()
    log = log_at(tmp_path)
    run = run_of(log, planned(log, some), some, guardrail)
    status = await run.run()
    assert status.ending is Ending.BETTER
    assert status.best == len(CANDIDATES) - 1
    assert status.calls == guardrail.calls < 0.6 * len(some) * (len(CANDIDATES) + 1)
    assert (guardrail.entered, guardrail.left) == (1, 1)
    kept = run.best()
    assert kept is not None
    assert kept.topic == CANDIDATES[-1].topic
    assert kept.metrics.coverage == 1
    assert kept.metrics.total == scripted.asked_of(guardrail, len(CANDIDATES))
    assert log.experiments()[0].ending == "BETTER"


async def test_nothing_is_better_of_a_guardrail_that_no_edit_moves(tmp_path: Path) -> None:
    some = prompts()
    log = log_at(tmp_path)
    run = run_of(log, planned(log, some), some, Scripted(unmoved))
    status = await run.run()
    assert status.ending is Ending.NOT_BETTER
    assert run.best() is None


async def test_a_stopped_run_goes_on_with_the_questions_that_are_left(tmp_path: Path) -> None:
    some, whole = prompts(), Scripted()
    log = log_at(tmp_path)
    expected = await run_of(log, planned(log, some), some, whole).run()
    record, asked = planned(log, some), []
    for stop_after in (37, 100, 1, None):
        guardrail = Scripted(stop_after=stop_after)
        run = run_of(log, log.experiments()[-1], some, guardrail)
        if stop_after is None:
            status = await run.run()
        else:
            with pytest.raises(asyncio.CancelledError):
                await run.run()
            assert run.status.stopped
        assert guardrail.left == 1
        asked += guardrail.asked
    assert asked == whole.asked
    assert (status.best, status.calls) == (expected.best, expected.calls)
    assert log.unfinished(record.topic, scripted.GUARDRAIL, some.fingerprint) is None


@pytest.mark.parametrize("limit", [1, 50, 120, 300])
async def test_the_limit_of_calls_is_never_exceeded_and_a_larger_one_goes_on(
    tmp_path: Path, limit: int
) -> None:
    some, guardrail = prompts(), Scripted()
    log = log_at(tmp_path)
    run = run_of(log, planned(log, some), some, guardrail)
    status = await run.run(limit)
    assert status.calls == limit
    assert f"limit of {limit} call" in status.stopped
    assert status.ending is None
    more = await run_of(log, log.experiments()[0], some, Scripted()).run()
    assert more.best == len(CANDIDATES) - 1


async def test_a_failed_answer_is_asked_for_once_more_and_proves_nothing(tmp_path: Path) -> None:
    some = prompts()

    def answer(topic: Topic, text: str, call: int) -> Verdict:
        return FAILED if text in ("tax question 7", "bread question 8") else better(topic, text, 0)

    guardrail = Scripted(answer)
    log = log_at(tmp_path)
    run = run_of(log, planned(log, some), some, guardrail)
    status = await run.run()
    assert status.best == len(CANDIDATES) - 1
    assert guardrail.asked.count((0, 7)) == 2
    assert not is_answered(run.evaluation(0).verdicts.triggered)[7]


@pytest.mark.parametrize("good_calls", [0, 150])
async def test_a_service_that_fails_gives_no_verdict_on_any_candidate(
    tmp_path: Path, good_calls: int
) -> None:
    some = prompts()
    guardrail = Scripted(
        lambda topic, text, call: FAILED if call > good_calls else better(topic, text, call)
    )
    log = log_at(tmp_path)
    run = run_of(log, planned(log, some), some, guardrail)
    status = await run.run()
    assert status.ending is None
    assert "answers failed: status 500" in status.stopped
    stored = log.verdicts(log.experiments()[0])
    assert sum((known.verdicts().triggered >= 0).sum() for known in stored.values()) == good_calls
    assert (await run_of(log, log.experiments()[0], some, Scripted()).run()).best is not None


async def test_snapshots_count_up_and_a_held_run_asks_nothing(tmp_path: Path) -> None:
    some, guardrail = prompts(60), Scripted()
    log = log_at(tmp_path)
    seen: list[ExperimentStatus] = []
    run = run_of(log, planned(log, some), some, guardrail)
    run._show = seen.append
    run.hold(True)
    task = asyncio.create_task(run.run())
    for _ in range(200):
        await asyncio.sleep(0)
    assert guardrail.calls == 0
    assert run.status.held
    run.hold(False)
    await task
    assert [one.calls for one in seen] == sorted(one.calls for one in seen)
    assert all(one.expected <= one.most for one in seen)


async def test_examples_of_a_candidate_do_not_count_for_it(tmp_path: Path) -> None:
    some = prompts(60)
    topic = scripted.TOPIC.model_copy(update={"examples": ("tax question 1",)})
    candidate = Candidate(topic, CandidateKind.ADD_EXAMPLE, "Add an example")
    guardrail = Scripted(unmoved)
    log = log_at(tmp_path)
    await run_of(log, planned(log, some, [candidate]), some, guardrail).run()
    assert (0, 1) in guardrail.asked
    assert (1, 1) not in guardrail.asked
    assert np.count_nonzero([number == 1 for number, _ in guardrail.asked]) > 0


def test_too_few_prompts_of_a_label_are_refused() -> None:
    engine = LocalScanner(encoder="static")
    examples = ("how do I file taxes", "what is a tax")
    topic = scripted.TOPIC.model_copy(update={"examples": examples})
    with pytest.raises(ExperimentError, match="only 9 of a label count"):
        gathered(topic, prompts(18), CANDIDATES, engine)
    assert gathered(topic, prompts(20), CANDIDATES, engine)


def test_an_experiment_of_other_prompts_is_refused(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    record = planned(log, prompts(120))
    for other in (prompts(118), prompts(124)):
        with pytest.raises(ExperimentError, match="the prompts were changed meanwhile"):
            run_of(log, record, other, Scripted())


async def test_a_prompt_that_always_fails_does_not_block_the_rest_of_a_scan(tmp_path: Path) -> None:
    some = prompts()

    def answer(topic: Topic, text: str, call: int) -> Verdict:
        return FAILED if text == "bread question 118" else better(topic, text, call)

    log = log_at(tmp_path)
    planned(log, some)
    run = run_of(log, log.experiments()[0], some, Scripted(answer))
    assert (await run.run(118)).stopped
    status = await run_of(log, log.experiments()[0], some, Scripted(answer)).run()
    assert status.ending is Ending.BETTER, status.stopped
