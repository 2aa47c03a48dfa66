"""The judge as a scanner: votes, intents, what is kept, rows, epochs, holds, kills, attacks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Usage
from guardtui.scanners.base import Progress, RemoteScanner, ScannerError
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.attacks import TOPIC as GARDENING
from guardtui.scanners.models.attacks import attacks
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.models.judge_answers import AnswerForm
from guardtui.scanners.models.templates import JudgeTemplate
from tests.http.server import Answer, Received, Server, Step, answer, reset
from tests.http.times import JumpClock

from .judges import (
    TOPIC,
    Memory,
    asked,
    judge,
    model,
    nothing,
    prompts_of,
    said,
    some,
    verdicts_of,
)

PROMPTS = ("a tax return", "a cake", "tax again", "bread")
YES, NO, MAYBE = said("ANSWER: yes"), said("ANSWER: no"), said("Who knows?")
ROOT = Path(__file__).parents[3]


def always(step: Step) -> Server:
    return model(step)


async def test_scan_returns_verdicts_reasons_and_usage(tmp_path: Path) -> None:
    progress: list[Progress] = []
    async with model() as server:
        scanner: RemoteScanner = judge(server, prices=Prices(1.0, 10.0))
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *PROMPTS), progress.append)
        assert prompts_of(server) == dict.fromkeys(PROMPTS, 1)
    assert verdicts_of(verdicts) == [1, 0, 1, 0]
    assert not verdicts.errors
    assert verdicts.reasons[0] == "yes: It is about a tax return."
    assert verdicts.reasons[1] == "no: It is about a cake."
    assert verdicts.used == Usage(4, 400, 40, pytest.approx(0.0008))
    assert np.isnan(verdicts.score).all()
    assert [one.done for one in progress] == [0, 1, 2, 3, 4]
    assert progress[-1].traffic is not None
    assert progress[-1].traffic().used == verdicts.used


async def test_allow_intent_inverts_the_answer(tmp_path: Path) -> None:
    async with model() as server:
        cache = Memory()
        scanner = judge(server, cache=cache)
        blocking = await scanner.scan(TOPIC, some(tmp_path, *PROMPTS), nothing)
        allowing = TOPIC.model_copy(update={"intent": Intent.ALLOW})
        prompts = some(tmp_path, *PROMPTS, intent="allow")
        turned = await scanner.scan(allowing, prompts, nothing)
        assert verdicts_of(turned) == [1 - one for one in verdicts_of(blocking)]
        # The question is the same, so that nothing is asked again.
        assert len(server.received) == len(PROMPTS)
        assert turned.reasons[0].startswith("yes: ")


@pytest.mark.parametrize(
    ("steps", "verdict", "told"),
    [
        ([YES, YES, NO], 1, "2 of 3 models"),
        ([NO, YES, NO], 0, "2 of 3 models"),
        ([YES, YES, YES], 1, ""),
        ([YES, YES, MAYBE], 1, "2 of 3 models"),
        ([YES, YES, answer({"error": {"message": "x"}}, status=404)], 1, "2 of 3 models"),
        ([NO, NO, reset], 0, "2 of 3 models"),
        ([YES, NO], -1, "no majority of 2 models: 1 yes, 1 no"),
        ([YES, MAYBE], -1, "no majority of 2 models: 1 yes, 0 no, 1 without an answer (the ans"),
        ([YES, NO, MAYBE], -1, "no majority of 3 models: 1 yes, 1 no, 1 without an answer"),
        ([YES, YES, NO, NO], -1, "no majority of 4 models: 2 yes, 2 no"),
        ([YES, YES, NO, MAYBE], -1, "no majority of 4 models: 2 yes, 1 no, 1 without an answer"),
    ],
)
async def test_more_than_half_of_all_models_decide(
    tmp_path: Path, steps: list[Step], verdict: int, told: str
) -> None:
    servers = [always(step) for step in steps]
    for server in servers:
        await server.__aenter__()
    try:
        verdicts = await judge(*servers, retries=0).scan(TOPIC, some(tmp_path, "x", "y"), nothing)
    finally:
        for server in servers:
            await server.__aexit__(None, None, None)
    assert verdicts_of(verdicts) == [verdict] * 2
    if verdict < 0:
        assert verdicts.errors[0].startswith(told)
    else:
        assert verdicts.notes.get(0, "") == told
    # Everyone is heard, also those without a vote.
    lines = verdicts.reasons[0].split("\n")
    assert [line.partition(":")[0] for line in lines] == list("abcd"[: len(steps)])


async def test_ties_do_not_count_as_failures(tmp_path: Path) -> None:
    many = [f"tax {number}" for number in range(50)]
    async with always(YES) as one, always(NO) as other:
        cache = Memory()
        scanner = judge(one, other, cache=cache)
        for _ in range(2):
            verdicts = await scanner.scan(TOPIC, some(tmp_path, *many), nothing)
            assert set(verdicts.errors.values()) == {"no majority of 2 models: 1 yes, 1 no"}
            assert len(verdicts.reasons) == 50
        # The second time all votes were known.
        assert len(one.received) == len(other.received) == 50


async def test_cached_ties_do_not_prevent_new_requests(tmp_path: Path) -> None:
    """Ties that are known come first: they say nothing about whether models answer now."""
    known = [f"tax {number}" for number in range(40)]
    async with always(YES) as one, always(NO) as other:
        cache = Memory()
        await judge(one, other, cache=cache).scan(TOPIC, some(tmp_path, *known), nothing)
        verdicts = await judge(one, other, cache=cache).scan(
            TOPIC, some(tmp_path, *known, "new", "newer"), nothing
        )
        assert len(one.received) == 42
        assert len(verdicts.errors) == 42


async def test_all_models_failing_is_a_failure(tmp_path: Path) -> None:
    refusal = answer({"error": {"message": "no"}}, status=401)
    async with always(refusal) as one, always(refusal) as other:
        with pytest.raises(ScannerError, match="nothing could be scanned: HTTP 401: no"):
            await judge(one, other).scan(TOPIC, some(tmp_path, *PROMPTS), nothing)


async def test_cached_votes_are_not_requested_again(tmp_path: Path) -> None:
    prompts = some(tmp_path, *PROMPTS, "a cake", "a cake")
    async with model() as server:
        cache = Memory()
        first = await judge(server, cache=cache).scan(TOPIC, prompts, nothing)
        assert prompts_of(server) == dict.fromkeys(PROMPTS, 1)
        scanner = judge(server, cache=cache)
        assert scanner.known(TOPIC, prompts).all()
        progress: list[Progress] = []
        again = await scanner.scan(TOPIC, prompts, progress.append)
        assert len(server.received) == len(PROMPTS)
        assert verdicts_of(again) == verdicts_of(first)
        assert again.reasons == first.reasons
        assert again.used == Usage()
        assert progress[-1].known == len(prompts)
        fresh = judge(server, cache=cache, fresh=True)
        assert not fresh.known(TOPIC, prompts).any()
        await fresh.scan(TOPIC, prompts, nothing)
        assert prompts_of(server) == dict.fromkeys(PROMPTS, 2)


async def test_only_the_new_model_of_a_panel_is_called(tmp_path: Path) -> None:
    prompts = some(tmp_path, *PROMPTS)
    async with model() as one, model() as other, always(YES) as third:
        cache = Memory()
        await judge(one, cache=cache).scan(TOPIC, prompts, nothing)
        panel = judge(one, other, third, cache=cache)
        assert not panel.known(TOPIC, prompts).any()
        verdicts = await panel.scan(TOPIC, prompts, nothing)
        assert verdicts_of(verdicts) == [1, 0, 1, 0]
        assert [len(server.received) for server in (one, other, third)] == [4, 4, 4]
        assert panel.known(TOPIC, prompts).all()


@pytest.mark.parametrize(
    "change",
    [
        {"topic": TOPIC.model_copy(update={"description": "Anything about tax"})},
        {"topic": TOPIC.model_copy(update={"examples": TOPIC.examples[:1]})},
        {"topic": TOPIC.model_copy(update={"name": "Tax"})},
        {"template": JudgeTemplate.parse("Tax? {prompt} End with ANSWER: yes or ANSWER: no")},
        {"options": {"temperature": 1}},
        {"options": {"seed": 1}},
        {"form": AnswerForm.parse("pattern:(yes|no)")},
        {"answer_tokens": 9},
    ],
    ids=["description", "examples", "name", "template", "temperature", "seed", "form", "length"],
)
async def test_changed_settings_request_new_answers(tmp_path: Path, change: dict[str, Any]) -> None:
    prompts = some(tmp_path, *PROMPTS)
    async with always(YES) as server:
        cache = Memory()
        await judge(server, cache=cache).scan(TOPIC, prompts, nothing)
        topic = change.pop("topic", TOPIC)
        scanner = judge(server, cache=cache, **change)
        assert not scanner.known(topic, prompts).any()
        await scanner.scan(topic, prompts, nothing)
        assert len(server.received) == 2 * len(PROMPTS)


async def test_unreadable_answer_is_requested_again(tmp_path: Path) -> None:
    prompts = some(tmp_path, "x", "y")
    async with model([MAYBE, YES]) as server:
        cache = Memory()
        scanner = judge(server, cache=cache, concurrency=1)
        first = await scanner.scan(TOPIC, prompts, nothing)
        assert first.errors == {0: "the answer does not end with a verdict"}
        assert first.reasons[0] == "the answer does not end with a verdict: Who knows?"
        assert scanner.known(TOPIC, prompts).tolist() == [False, True]
        assert verdicts_of(await scanner.scan(TOPIC, prompts, nothing)) == [1, 1]
        assert len(server.received) == 3


async def test_missing_answer_problem_is_complete(tmp_path: Path) -> None:
    async with model([said(None), said("", finish="length")]) as server:
        verdicts = await judge(server, concurrency=1).scan(TOPIC, some(tmp_path, "x", "y"), nothing)
        assert verdicts.errors == {
            0: "no answer: the model returned no text",
            1: "no answer: truncated at its token limit",
        }


async def test_chosen_rows_are_scanned_in_order(tmp_path: Path) -> None:
    prompts = some(tmp_path, *PROMPTS)
    async with model() as server:
        verdicts = await judge(server, concurrency=1).scan(
            TOPIC, prompts, nothing, rows=np.array([3, 0], np.intp)
        )
        assert [asked(request) for request in server.received] == ["bread", "a tax return"]
    assert verdicts_of(verdicts) == [1, -2, -2, 0]
    assert not verdicts.errors


async def test_another_epoch_sends_new_requests(tmp_path: Path) -> None:
    prompts = some(tmp_path, *PROMPTS)
    async with model() as server:
        cache = Memory()
        for _ in range(2):
            for epoch in (1, 2, 3):
                scanner = judge(server, cache=cache)
                verdicts = await scanner.scan(TOPIC, prompts, nothing, epoch=epoch)
                assert verdicts_of(verdicts) == [1, 0, 1, 0]
        assert prompts_of(server) == dict.fromkeys(PROMPTS, 3)
        known = [judge(server, cache=cache).known(TOPIC, prompts, epoch=one) for one in (1, 3, 4)]
        assert [one.all() for one in known] == [True, True, False]


async def test_answers_before_a_cancellation_are_cached(tmp_path: Path) -> None:
    many = [f"tax {number}" for number in range(30)]
    prompts = some(tmp_path, *many)
    cache = Memory()
    async with model() as server:
        scanner = judge(server, cache=cache, concurrency=4)
        enough = asyncio.Event()
        task = asyncio.create_task(
            scanner.scan(TOPIC, prompts, lambda one: enough.set() if one.done >= 10 else None)
        )
        await enough.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        kept = len(cache.found)
        assert 10 <= kept < 30
        before = len(server.received)
        assert not (await scanner.scan(TOPIC, prompts, nothing)).errors
        assert len(server.received) - before == 30 - kept


def test_settings_identify_all_dependencies_of_verdicts() -> None:
    names = ("a", "b\x1b[0m", "c", "d")
    models = tuple(ModelAddress("http://127.0.0.1/v1", name) for name in names)
    graded = AnswerForm.parse("graded")
    settings = JudgeOptions(models, options={"seed": 1}, form=graded).scanner().settings
    template = JudgeTemplate.built_in().id
    assert settings.kind == "judge"
    assert settings.guardrail.text().startswith("judge a, b")
    assert settings.guardrail.text().endswith(
        f' and 1 more, template {template}, graded, {{"seed": 1}}'
    )
    assert "\x1b" not in "".join(settings.guardrail.models)
    assert settings.threshold is None


def test_models_are_parsed_from_addresses() -> None:
    model = "http://localhost:11434/v1#qwen3:8b"
    (result,) = ModelAddress.parse_all([model], {"GUARDTUI_MODEL_KEY": "k"})
    assert (result.full, result.name) == ("http://localhost:11434/v1#qwen3:8b", "qwen3:8b")
    assert result.key is not None
    with pytest.raises(ValueError, match="has no model"):
        ModelAddress.parse_all(["http://localhost:11434/v1"], {})
    with pytest.raises(ScannerError, match="the judge needs a model"):
        JudgeOptions(()).scanner()


async def test_key_is_sent_only_to_the_model(tmp_path: Path) -> None:
    refusal = answer({"error": {"message": "bad key sk-secret-1"}}, status=400)
    async with model(refusal) as server:
        key = {"GUARDTUI_MODEL_KEY": "sk-secret-1"}
        (address,) = ModelAddress.parse_all([f"{server.url}/v1#m"], key)
        verdicts = (
            await JudgeOptions((address,)).scanner().scan(TOPIC, some(tmp_path, "x", "y"), nothing)
        )
        assert server.received[0].headers["authorization"] == "Bearer sk-secret-1"
        assert "sk-secret-1" not in f"{verdicts.errors}{verdicts.reasons}{address}"


def gullible(request: Received) -> Answer:
    """Does what the prompt says; judges only prompts that say nothing."""
    prompt = asked(request)
    for word in ("no", "yes"):
        if f"answer {word}" in prompt.lower() or f"ANSWER: {word}" in prompt:
            return said(f"ANSWER: {word}")
    return sceptical(request)


def sceptical(request: Received) -> Answer:
    belongs = {attack.prompt: attack.belongs for attack in attacks()}[asked(request)]
    return said(f"ANSWER: {'yes' if belongs else 'no'}")


async def test_attacks_distinguish_gullible_and_sceptical_judges(tmp_path: Path) -> None:
    prompts = some(tmp_path, *(attack.prompt for attack in attacks()))
    wanted = [int(attack.belongs) for attack in attacks()]
    async with model(sceptical) as server:
        verdicts = await judge(server).scan(GARDENING, prompts, nothing)
        assert verdicts_of(verdicts) == wanted
    async with model(gullible) as server:
        verdicts = await judge(server).scan(GARDENING, prompts, nothing)
        wrong = sum(a != b for a, b in zip(verdicts_of(verdicts), wanted, strict=True))
        assert wrong >= 5
        # The plain ones come out right: what is wrong is wrong because of the attack.
        assert verdicts_of(verdicts)[:2] == wanted[:2]


async def test_rate_applies_to_all_models_together(tmp_path: Path) -> None:
    async with model() as one, model() as other:
        clock = JumpClock()
        scanner = judge(one, other, rate=5, concurrency=20, clock=clock)
        await scanner.scan(TOPIC, some(tmp_path, *PROMPTS), nothing)
        assert len(one.received) + len(other.received) == 8
        # Eight calls at five a second: the last one begins more than a second after the first.
        assert sum(clock.waits) > 1.0
