"""One model on a real socket: options it refuses, faults, lies, repetitions, and what they cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guardtui.domain.verdicts import Usage
from guardtui.scanners.base import ScannerError
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.judge_answers import AnswerForm
from tests.http.server import Received, Step, answer, reset, sends, silence

from .judges import (
    TOPIC,
    Memory,
    asked,
    judge,
    model,
    nothing,
    prompts_of,
    refused,
    said,
    some,
    truthful,
    verdicts_of,
)

PROMPTS = ("a tax return", "a cake", "tax again", "bread")
TRUE = [1, 0, 1, 0]


def options(request: Received) -> dict[str, Any]:
    return {key: value for key, value in request.json.items() if key not in ("model", "messages")}


def refusing(*rules: tuple[Callable[[dict[str, Any]], bool], Step]) -> Callable[[Received], Step]:
    """Truthful where no rule has anything against the options."""

    def respond(request: Received) -> Step:
        for against, step in rules:
            if against(options(request)):
                return step
        return truthful(request)

    return respond


async def test_first_call_requests_structured_output_at_temperature_0(tmp_path: Path) -> None:
    async with model() as server:
        await judge(server, answer_tokens=77).scan(TOPIC, some(tmp_path, "x", "y"), nothing)
        sent = options(server.received[0])
    assert sent["temperature"] == 0
    assert sent["max_tokens"] == 77
    assert sent["response_format"]["type"] == "json_schema"
    assert sent.keys() == {"temperature", "max_tokens", "response_format"}
    assert server.received[0].target == "/v1/chat/completions"


OPENAI_TOKENS = refused(
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead.",
    param="max_tokens",
    code="unsupported_parameter",
)


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        (
            [(lambda sent: "max_tokens" in sent, OPENAI_TOKENS)],
            {"max_completion_tokens", "temperature", "response_format"},
        ),
        (
            [
                (
                    lambda sent: "temperature" in sent,
                    refused(
                        "Unsupported value: 'temperature' does not support 0 with this model.",
                        param="temperature",
                    ),
                )
            ],
            {"max_tokens", "response_format"},
        ),
        (
            [
                (lambda sent: "max_tokens" in sent, OPENAI_TOKENS),
                (lambda sent: "temperature" in sent, refused("temperature is not supported")),
                (
                    lambda sent: "response_format" in sent,
                    refused("Invalid parameter", param="response_format.json_schema"),
                ),
            ],
            {"max_completion_tokens"},
        ),
        # Services that do not say what it is, or say it in their own way.
        (
            [(lambda sent: "response_format" in sent, refused("structured output: no grammar"))],
            {"max_tokens", "temperature"},
        ),
        (
            [
                (
                    lambda sent: "temperature" in sent,
                    answer(
                        {
                            "detail": [
                                {
                                    "loc": ["body", "temperature"],
                                    "msg": "Extra inputs are not permitted",
                                }
                            ]
                        },
                        status=422,
                    ),
                )
            ],
            {"max_tokens", "response_format"},
        ),
    ],
    ids=["max_tokens", "temperature", "all", "unnamed", "fastapi"],
)
async def test_rejected_option_is_omitted_from_later_calls(
    tmp_path: Path, rules: list[Any], left: set[str]
) -> None:
    async with model(refusing(*rules)) as server:
        scanner = judge(server, concurrency=1)
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *PROMPTS), nothing)
        assert verdicts_of(verdicts) == TRUE
        assert [options(one).keys() for one in server.received[-3:]] == [left] * 3
        # The first prompt was asked once more for each refusal, the others once.
        assert len(server.received) == len(PROMPTS) + len(rules)
        before = len(server.received)
        await scanner.scan(TOPIC, some(tmp_path, "another", "tax"), nothing)
        assert len(server.received) == before + 2
        assert verdicts.used == Usage(4, 400, 40)


async def test_concurrent_calls_share_learnt_options(tmp_path: Path) -> None:
    rules = [(lambda sent: "response_format" in sent, refused("no response_format here"))]
    many = [f"tax {number}" for number in range(20)]
    async with model(refusing(*rules)) as server:
        verdicts = await judge(server, concurrency=8).scan(TOPIC, some(tmp_path, *many), nothing)
        assert not verdicts.errors
        assert max(prompts_of(server).values()) == 2
        assert all("temperature" in options(one) for one in server.received)


@pytest.mark.parametrize(
    "message",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context "
        "length is 400 tokens and your request has 300 input tokens",
        "The response was filtered due to the prompt triggering the content management policy",
        "This model's maximum context length is 8192 tokens; temperature was fine",
    ],
)
async def test_rejected_prompt_does_not_change_options(tmp_path: Path, message: str) -> None:
    def respond(request: Received) -> Step:
        return refused(message) if asked(request) == "a cake" else truthful(request)

    async with model(respond) as server:
        verdicts = await judge(server, concurrency=1).scan(
            TOPIC, some(tmp_path, "a cake", *PROMPTS[2:]), nothing
        )
        assert verdicts_of(verdicts) == [-1, 1, 0]
        assert verdicts.errors[0].startswith("HTTP 400: ")
        assert options(server.received[-1]).keys() == {
            "max_tokens", "temperature", "response_format",
        }  # fmt: skip
        assert len(server.received) == 3


async def test_author_options_are_never_omitted(tmp_path: Path) -> None:
    rules = [
        (lambda sent: "seed" in sent, refused("seed is not supported", param="seed")),
    ]
    async with model(refusing(*rules)) as server:
        scanner = judge(server, options={"seed": 7, "temperature": 0.5})
        verdicts = await scanner.scan(TOPIC, some(tmp_path, "x", "y"), nothing)
        assert verdicts.errors == dict.fromkeys((0, 1), "HTTP 400: seed is not supported")
        assert [options(one)["seed"] for one in server.received] == [7, 7]
        assert options(server.received[0])["temperature"] == 0.5
        assert '"seed": 7' in scanner.settings.guardrail.options


@pytest.mark.parametrize(
    "name", ["max_tokens", "max_completion_tokens", "n", "stream", "messages", "model"]
)
def test_reserved_and_invalid_options_are_rejected(name: str) -> None:
    with pytest.raises(ScannerError, match=f"{name} cannot be set"):
        judge(model(), options={name: 1})
    with pytest.raises(ScannerError, match="not valid JSON"):
        judge(model(), options={"seed": float("nan")})


async def test_transport_faults_are_retried(tmp_path: Path) -> None:
    faults: list[Step] = [
        answer({"error": {"message": "slow down"}}, status=429, retry_after="2"),
        answer({"error": {"message": "loading"}}, status=503),
        reset,
        answer({"error": {"message": "rate", "code": 429}}),
        answer({"error": {"message": "upstream"}}),
        sends(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"),
    ]
    async with model([*faults, said("ANSWER: yes"), said("ANSWER: no")]) as server:
        scanner = judge(server, concurrency=1, retries=len(faults))
        progress: list[Any] = []
        verdicts = await scanner.scan(TOPIC, some(tmp_path, "x", "y"), progress.append)
        assert verdicts_of(verdicts) == [1, 0]
        assert len(server.received) == len(faults) + 2
        traffic = progress[-1].traffic()
        assert (traffic.sent, traffic.retries, traffic.refused) == (8, 6, 1)
        # A connection that broke and an error in an answer may have cost: they count in full.
        assert verdicts.used is not None
        assert (verdicts.used.calls, verdicts.used.uncounted) == (5, 3)


@pytest.mark.parametrize(
    ("step", "told", "calls"),
    [
        (answer({"error": {"message": "bad model"}}, status=404), "HTTP 404: bad model", 1),
        (answer({"choices": []}), "the answer is not a chat completion: it has no choices", 1),
        (answer(["hello"]), "is not a chat completion: it is not a JSON object", 1),
        (answer({"error": {"message": "down"}}, status=500), "HTTP 500: down", 3),
        (reset, "broke", 3),
        (sends(b"nonsense\r\n\r\n"), "does not answer in HTTP", 3),
        (sends(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n<html>hi!"), "it is a web page", 1),
    ],
    ids=["404", "empty", "list", "500", "reset", "no http", "page"],
)
async def test_failing_model_is_reported_and_retries_end(
    tmp_path: Path, step: Step, told: str, calls: int
) -> None:
    async with model(step) as server:
        scanner = judge(server, retries=2, concurrency=1)
        verdicts = await scanner.scan(TOPIC, some(tmp_path, "x", "y"), nothing)
        assert verdicts_of(verdicts) == [-1, -1]
        assert told in verdicts.errors[0]
        assert prompts_of(server) == {"x": calls, "y": calls}


async def test_silent_model_times_out(tmp_path: Path) -> None:
    async with model(silence) as server:
        scanner = judge(server, retries=1, timeout=0.5)
        verdicts = await scanner.scan(TOPIC, some(tmp_path, "x", "y"), nothing)
        assert "within 0.5 s" in verdicts.errors[0]
        assert prompts_of(server) == {"x": 2, "y": 2}
        assert verdicts.used is not None
        assert verdicts.used.uncounted == 4


async def test_model_without_usable_answers_is_given_up(tmp_path: Path) -> None:
    many = [f"tax {number}" for number in range(60)]
    async with model(said("I would rather not say.")) as server:
        verdicts = await judge(server).scan(TOPIC, some(tmp_path, *many), nothing)
        assert len(server.received) < 30
        assert verdicts.errors[0] == "the answer does not end with a verdict"
        assert verdicts.reasons[0].endswith("with a verdict: I would rather not say.")
        assert verdicts.errors[59].startswith("not sent: 20 prompts in a row got no verdict")


@pytest.mark.parametrize("usage", [(100, 50), None], ids=["counted", "uncounted"])
async def test_run_stops_before_it_exceeds_the_budget(
    tmp_path: Path, usage: tuple[int, int] | None
) -> None:
    many = [f"tax {number}" for number in range(60)]
    async with model(lambda request: said("ANSWER: yes", usage)) as server:
        cache = Memory()
        limits = {"prices": Prices(1.0, 10.0), "most_cost": 0.02, "answer_tokens": 60}
        scanner = judge(server, cache=cache, concurrency=8, **limits)
        budget = scanner.budget
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *many), nothing)
        done = len(server.received)
        assert 1 < done < 60
        assert sorted(verdicts_of(verdicts)) == [-2] * (60 - done) + [1] * done
        assert len(verdicts.errors) == 60 - done
        assert all(
            told.startswith("not sent: the call could exceed the budget of 0.02")
            for told in verdicts.errors.values()
        )
        assert budget.spent == verdicts.used
        assert budget.spent.cost <= 0.02
        if usage:
            # What is counted lets it go nearly to the end: 0.0006 for a call.
            assert done >= 26
            assert budget.spent.cost == pytest.approx(done * 0.0006)
        # Another run has money of its own, and goes on where this one was.
        rest = judge(server, cache=cache, answer_tokens=60)
        assert not (await rest.scan(TOPIC, some(tmp_path, *many), nothing)).errors
        assert max(prompts_of(server).values()) == 1


async def test_retry_needs_its_part_of_the_budget(tmp_path: Path) -> None:
    """A model that never answers in time is paid for each time: five calls are too many."""
    async with model(silence) as server:
        scanner = judge(server, most_tokens=9_000, answer_tokens=500, timeout=0.5, retries=5)
        budget = scanner.budget
        verdicts = await scanner.scan(TOPIC, some(tmp_path, "x", "y"), nothing)
        assert all("exceed the budget of 9000 tokens" in error
                   for error in verdicts.errors.values())  # fmt: skip
        assert 2 <= len(server.received) < 6
        assert budget.spent.calls == budget.spent.uncounted == len(server.received)
        assert budget.spent.input_tokens + budget.spent.output_tokens <= 9_000


async def test_cancelled_call_counts_only_if_it_was_sent(
    tmp_path: Path,
) -> None:
    async with model(silence) as server:
        scanner = judge(server, concurrency=2)
        task = asyncio.create_task(scanner.scan(TOPIC, some(tmp_path, *PROMPTS), nothing))
        async with asyncio.timeout(120):
            while len(server.received) < 2:
                await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (scanner.budget.spent.calls, scanner.budget.spent.uncounted) == (2, 2)
        scanner.hold(True)
        began = asyncio.Event()
        task = asyncio.create_task(
            scanner.scan(TOPIC, some(tmp_path, *PROMPTS), lambda _: began.set())
        )
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert scanner.budget.spent.calls == 2


async def test_graded_form_reads_grades(tmp_path: Path) -> None:
    def respond(request: Received) -> Step:
        (message,) = request.json["messages"]
        assert "response_format" not in request.json
        assert "The text belongs to the topic 'Tax advice'" in message["content"]
        prompt = asked(request)
        if prompt == "bread":
            return said("I cannot say.")
        return said(f"About {prompt}.\nGRADE: {'C' if 'tax' in prompt else 'I'}")

    async with model(respond) as server:
        scanner = judge(server, form=AnswerForm.parse("graded"))
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *PROMPTS), nothing)
    assert verdicts_of(verdicts) == [1, 0, 1, -1]
    assert verdicts.errors == {3: "the answer has no grade"}
    assert verdicts.reasons[0] == "yes: About a tax return.\nGRADE: C"
    assert verdicts.used == Usage(4, 400, 40)


async def test_author_pattern_reads_answers(tmp_path: Path) -> None:
    def respond(request: Received) -> Step:
        assert "response_format" not in request.json
        return said(f"<verdict>{'YES' if 'tax' in asked(request) else 'NO'}</verdict> bye")

    async with model(respond) as server:
        scanner = judge(server, form=AnswerForm.parse("pattern:<verdict>(yes|no)</verdict>"))
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *PROMPTS), nothing)
        assert verdicts_of(verdicts) == TRUE
        assert "pattern:<verdict>" in scanner.settings.guardrail.form
