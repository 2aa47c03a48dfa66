"""Many questions about each text: split by the limit, cached, and never of two models."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardtui.http.decisions import Api, DecisionQuestion
from guardtui.scanners.base import Progress, ScannerError
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.many import ManyQuestions
from guardtui.session.caches import SqliteVerdicts
from tests.scanners.models.judges import Memory

from .decision_service import Service, nothing, serving

TEXTS = [f"{'tax' if n % 2 else 'bread'} question {n}" for n in range(12)]
QUESTIONS = [
    DecisionQuestion(f"Is it about the topic?\nDefinition: tax, wording {n}") for n in range(10)
]


def many(service: Service, at_once: int = 200, **options: Any) -> ManyQuestions:
    return ManyQuestions(service.scanner(**options), QUESTIONS, TEXTS, at_once)


async def test_one_request_per_text_gives_the_same_answers() -> None:
    reported: list[Progress] = []
    async with serving() as service:
        answers = await many(service).run(reported.append)
        assert service.stats["requests"] == len(TEXTS)
        alone = ManyQuestions(service.scanner(), QUESTIONS[3:4], TEXTS, 1)
        single = await alone.run(nothing)
    assert answers.probabilities.shape == (len(QUESTIONS), len(TEXTS))
    assert not answers.missing
    assert np.array_equal(single.probabilities[0], answers.probabilities[3])
    assert (reported[-1].done, reported[-1].total) == (len(TEXTS), len(TEXTS))


@pytest.mark.parametrize(("at_once", "requests"), [(10, 12), (9, 24), (4, 36), (1, 120)])
async def test_questions_are_split_by_the_limit(at_once: int, requests: int) -> None:
    async with serving(max_questions=at_once) as service:
        asking = many(service, at_once)
        plan = asking.plan()
        assert (plan.requests, plan.questions, plan.known) == (requests, 120, 0)
        answers = await asking.run(nothing)
        assert service.stats["requests"] == requests
    assert not answers.missing
    assert plan.tokens > 0


async def test_equal_texts_are_sent_once() -> None:
    async with serving() as service:
        asking = ManyQuestions(service.scanner(), QUESTIONS, ["tax", "bread", "tax"], 200)
        answers = await asking.run(nothing)
        assert service.stats["requests"] == 2
    assert np.array_equal(answers.probabilities[:, 0], answers.probabilities[:, 2])


async def test_cached_questions_are_not_sent_again(tmp_path: Path) -> None:
    with contextlib.closing(SqliteVerdicts(tmp_path)) as cache:
        async with serving(faults=["500@decisions=after:5"]) as service:
            first = await many(
                service, cache=cache, calls=CallOptions(retries=0, concurrency=1)
            ).run(nothing)
            assert first.missing == 7 * len(QUESTIONS)
            assert sum(first.problems.values()) + first.unsent == first.missing
            service.change(faults=[])
            service.forget()
            asking = many(service, cache=cache)
            assert (asking.plan().requests, asking.plan().known) == (7, 50)
            again = await asking.run(nothing)
            assert not again.missing
            assert service.stats["requests"] == 7
            assert many(service, cache=cache).plan().requests == 0
            await many(service, cache=cache).run(nothing)
            assert service.stats["requests"] == 7


async def test_scan_uses_cached_answers_of_a_sweep() -> None:
    cache = Memory()
    async with serving() as service:
        await many(service, cache=cache).run(nothing)
        later = ManyQuestions(service.scanner(cache=cache), QUESTIONS[:1], TEXTS[:3], 1)
        assert later.plan().requests == 0


async def test_answers_of_an_older_model_are_requested_again() -> None:
    cache = Memory()
    async with serving() as service:
        half = ManyQuestions(service.scanner(cache=cache), QUESTIONS, TEXTS[:6], 200)
        await half.run(nothing)
        service.forget()
        service.change(faults=["newer-model=1"])
        answers = await many(service, cache=cache).run(nothing)
        assert not answers.missing
        assert service.stats["requests"] == len(TEXTS)


@pytest.mark.parametrize("fault", ["refused", "missing", "doubled", "out-of-range", "other-model"])
async def test_invalid_answer_counts_as_missing(fault: str) -> None:
    async with serving(faults=[f"{fault}@decisions=every:4"]) as service:
        answers = await many(service, calls=CallOptions(concurrency=1)).run(nothing)
    spoilt = {"missing": 1, "doubled": 1}.get(fault, len(QUESTIONS))
    assert answers.missing == 3 * spoilt
    assert sum(answers.problems.values()) == answers.missing
    assert answers.unsent == 0


@pytest.mark.exhaustive
async def test_faults_on_the_wire_lose_nothing() -> None:
    faults = ["429=0.2", "500=0.1", "reset=0.1", "slow=0.1", "rounded=0.5"]
    async with serving(faults=faults, retry_after="10ms", slow="20ms") as service:
        answers = await many(service, 4).run(nothing)
    assert not answers.missing


async def test_spent_budget_leaves_questions_unsent() -> None:
    async with serving() as service:
        asking = many(service, calls=CallOptions(most_tokens=3000, concurrency=1))
        answers = await asking.run(nothing)
    assert 0 < answers.missing < len(QUESTIONS) * len(TEXTS)
    used = answers.used
    assert used.input_tokens + used.output_tokens <= 3000


async def test_rejected_key_ends_the_run_at_once() -> None:
    async with serving(faults=["401@decisions=1"]) as service:
        with pytest.raises(ScannerError, match="nothing could be asked"):
            await many(service).run(nothing)
        assert service.stats["requests"] <= 5


async def test_system_one_accepts_the_limit_of_its_services() -> None:
    async with serving() as service:
        scanner = service.scanner(api=Api.SYSTEM_ONE)
        questions = [DecisionQuestion(f"Is it about tax, wording {n}?") for n in range(100)]
        asking = ManyQuestions(scanner, questions, TEXTS[:2], Api.SYSTEM_ONE.most_questions)
        assert asking.plan().requests == 4
        assert not (await asking.run(nothing)).missing
