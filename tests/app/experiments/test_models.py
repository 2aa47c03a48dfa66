"""Judges and decision models in experiments: what is sent, cached, paid for, and given up."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("aiohttp")

from guardtui.advice.experiment import Ending
from guardtui.app.experiments.answering import DefinitionRows
from guardtui.app.experiments.models import ModelAnswering
from guardtui.app.experiments.run import ExperimentRun
from guardtui.domain.verdicts import Failure, Verdict
from guardtui.http.decisions import Api
from guardtui.scanners.base import Progress, ScannerError, VerdictCache
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.session.caches import SqliteVerdicts
from tests.http.server import Received
from tests.scanners.models.decision_service import Service, serving
from tests.scanners.models.judges import Memory, asked, model, nothing, said

from .scripted import CANDIDATES, TOPIC, log_at, planned, prompts

PROMPTS = prompts(12)
TOPICS = [TOPIC.model_copy(update={"description": f"Tax, wording {n}"}) for n in range(10)]
WANTED = [DefinitionRows(n, topic, np.arange(12, dtype=np.intp)) for n, topic in enumerate(TOPICS)]
SERIAL = CallOptions(retries=0, concurrency=1)


def decision(service: Service, cache: VerdictCache | None = None, **options: Any) -> ModelAnswering:
    return ModelAnswering(DecisionOptions(service.address, **options), cache or Memory())


async def answers(
    guardrail: ModelAnswering, wanted: list[DefinitionRows] = WANTED
) -> dict[tuple[int, int], Verdict]:
    found: dict[tuple[int, int], Verdict] = {}

    def arrived(number: int, row: int, verdict: Verdict) -> None:
        assert (number, row) not in found
        found[number, row] = verdict

    async with guardrail:
        await guardrail.ask(wanted, PROMPTS, arrived, nothing)
    return found


async def test_a_decision_model_gets_one_request_for_each_text() -> None:
    async with serving() as service:
        guardrail = decision(service)
        found = await answers(guardrail)
        assert service.stats["requests"] == 12
        alone = await answers(decision(service), WANTED[3:4])
    assert len(found) == guardrail.calls == 120
    assert {row: one.score for (_, row), one in alone.items()} == {
        row: one.score for (number, row), one in found.items() if number == 3
    }


@pytest.mark.parametrize(("questions", "requests"), [(10, 12), (9, 24), (4, 36), (1, 120)])
async def test_questions_are_split_by_the_limit_of_a_request(questions: int, requests: int) -> None:
    async with serving(max_questions=questions) as service:
        assert len(await answers(decision(service, questions=questions))) == 120
        assert service.stats["requests"] == requests


async def test_each_text_gets_only_the_definitions_that_want_it() -> None:
    wanted = [
        DefinitionRows(1, TOPICS[1], np.array([0, 1, 2])),
        DefinitionRows(4, TOPICS[4], np.array([2, 5])),
    ]
    async with serving() as service:
        guardrail = decision(service)
        found = await answers(guardrail, wanted)
        assert service.stats["requests"] == 4
    assert set(found) == {(1, 0), (1, 1), (1, 2), (4, 2), (4, 5)}
    assert guardrail.calls == 5


async def test_cached_answers_are_no_calls(tmp_path: Path) -> None:
    with contextlib.closing(SqliteVerdicts(tmp_path)) as cache:
        async with serving(faults=["500@decisions=after:5"]) as service:
            first = await answers(decision(service, cache, calls=SERIAL))
            assert sum(one.decided for one in first.values()) == 50
            service.change(faults=[])
            service.forget()
            guardrail = decision(service, cache)
            found = await answers(guardrail)
            assert all(one.decided for one in found.values())
            assert service.stats["requests"] == 7
            assert guardrail.calls == 70
            known = decision(service, cache)
            assert len(await answers(known)) == 120
            assert known.calls == 0


async def test_answers_of_an_older_model_are_asked_for_again() -> None:
    cache = Memory()
    async with serving() as service:
        half = [DefinitionRows(one.number, one.topic, one.rows[:6]) for one in WANTED]
        await answers(decision(service, cache), half)
        service.forget()
        service.change(faults=["newer-model=1"])
        found = await answers(decision(service, cache))
    assert all(one.decided for one in found.values())


async def test_an_experiment_stops_when_another_version_of_the_model_answers(
    tmp_path: Path,
) -> None:
    log, some = log_at(tmp_path), prompts(40)
    async with serving() as service:
        settings = DecisionOptions(service.address).scanner().settings
        record = planned(log, some, CANDIDATES, settings)
        first = await ExperimentRun(log, record, some, decision(service)).run(100)
        assert "limit" in first.stopped
        service.change(faults=["newer-model=1"])
        record = log.experiments()[0]
        status = await ExperimentRun(log, record, some, decision(service)).run()
    assert "make a new experiment" in status.stopped
    assert log.experiments()[0].settings == record.settings


@pytest.mark.parametrize("fault", ["missing", "doubled", "out-of-range", "other-model"])
async def test_an_invalid_answer_is_a_failed_one(fault: str) -> None:
    async with serving(faults=[f"{fault}@decisions=every:4"]) as service:
        found = await answers(decision(service, calls=CallOptions(concurrency=1)))
    failed = [one for one in found.values() if one.failure is Failure.FAILED]
    assert len(failed) == 3 * {"missing": 1, "doubled": 1}.get(fault, 10)


async def test_spent_budget_leaves_questions_that_are_no_calls() -> None:
    async with serving() as service:
        guardrail = decision(service, calls=CallOptions(most_tokens=3000, concurrency=1))
        found = await answers(guardrail)
    unasked = [one for one in found.values() if one.failure is Failure.BUDGET]
    assert 0 < len(unasked) == 120 - guardrail.calls


async def test_a_rejected_key_ends_it_at_once() -> None:
    async with serving(faults=["401@decisions=1"]) as service:
        with pytest.raises(ScannerError, match="nothing could be asked"):
            await answers(decision(service))
        assert service.stats["requests"] <= 5


async def test_many_requests_without_a_verdict_end_it() -> None:
    some = [DefinitionRows(one.number, one.topic, one.rows) for one in WANTED]
    async with serving(faults=["500@decisions=after:1"]) as service:
        found = await answers(decision(service, calls=SERIAL, questions=1), some)
        assert service.stats["requests"] < 30
    assert len(found) < 30


async def test_system_one_accepts_the_limit_of_its_services() -> None:
    async with serving() as service:
        found = await answers(decision(service, api=Api.SYSTEM_ONE))
    assert all(one.decided for one in found.values())


async def test_a_judge_answers_for_all_definitions_in_one_pool() -> None:
    cache = Memory()
    seen: list[Progress] = []
    async with model() as server:
        options = JudgeOptions(
            (ModelAddress(f"{server.url}/v1", "a"),), calls=CallOptions(concurrency=4)
        )
        guardrail = ModelAnswering(options, cache)
        async with guardrail:
            await guardrail.ask(WANTED[:3], PROMPTS, lambda *_: None, seen.append)
        assert len(server.received) == guardrail.calls == 36
        again = ModelAnswering(options, cache)
        assert len(await answers(again, WANTED[:3])) == 36
        assert again.calls == 0
    last = seen[-1]
    assert (last.done, last.total) == (36, 36)
    assert last.traffic is not None
    used = last.traffic().used
    assert used is not None
    assert used.calls == 36


async def test_an_experiment_on_a_judge_proves_the_better_wording(tmp_path: Path) -> None:
    def judged(request: Received) -> Any:
        prompt = asked(request)
        missed = int(prompt.split()[-1]) % 5 < 2 and "A good one" not in str(request.json)
        return said(f"ANSWER: {'yes' if 'tax' in prompt and not missed else 'no'}")

    log, some = log_at(tmp_path), prompts()
    async with model(judged) as server:
        options = JudgeOptions(
            (ModelAddress(f"{server.url}/v1", "a"),), calls=CallOptions(concurrency=8)
        )
        record = planned(log, some, CANDIDATES, options.scanner().settings)
        guardrail = ModelAnswering(options, Memory())
        status = await ExperimentRun(log, record, some, guardrail).run()
    assert status.ending is Ending.BETTER
    assert status.best == len(CANDIDATES) - 1
    assert status.calls == len(server.received)
