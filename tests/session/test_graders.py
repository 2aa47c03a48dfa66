"""Grading models: each prompt is requested once, and a model that only fails is disabled."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from guardtui.scanners.base import verdict_key
from guardtui.scorer.state import Message, Output
from guardtui.session.caches import open_answers
from guardtui.session.graders import (
    GIVE_UP_AFTER,
    GraderError,
    Graders,
    KeptGrader,
    NotAskedError,
    ScoreError,
)


class Model:
    """Answers with how often it was asked, or fails."""

    def __init__(self, fails: int = 0) -> None:
        self.prompts: list[object] = []
        self.fails = fails
        self.gate: asyncio.Event | None = None

    async def generate(self, input: object) -> Output:  # noqa: A002
        self.prompts.append(input)
        if self.gate is not None:
            await self.gate.wait()
        if len(self.prompts) <= self.fails:
            raise RuntimeError("broken")
        return Output(f"answer {len(self.prompts)}")


async def test_cached_answer_is_not_requested_again(tmp_path: Path) -> None:
    model, cache = Model(), open_answers(tmp_path)
    grader = KeptGrader("url#m", model, cache)
    assert (await grader.generate("p")).completion == "answer 1"
    assert (await grader.generate("p")).completion == "answer 1"
    assert (await KeptGrader("url#m", Model(), cache).generate("p")).completion == "answer 1"
    assert (len(model.prompts), grader.sent, grader.cached) == (1, 1, 1)


async def test_cached_answer_of_another_model_is_not_used(tmp_path: Path) -> None:
    cache, other = open_answers(tmp_path), Model()
    await KeptGrader("url#m", Model(), cache).generate("p")
    await KeptGrader("url#n", other, cache).generate("p")
    assert other.prompts == ["p"]


async def test_fresh_requests_once_and_caches_the_answer(tmp_path: Path) -> None:
    cache, model = open_answers(tmp_path), Model()
    cache.keep(verdict_key("m", "p"), "old")
    grader = KeptGrader("m", model, cache, fresh=True)
    assert (await grader.generate("p")).completion == "answer 1"
    assert (await grader.generate("p")).completion == "answer 1"
    assert cache.find(verdict_key("m", "p")) == "answer 1"


async def test_pending_prompt_is_not_requested_twice() -> None:
    model = Model()
    model.gate = asyncio.Event()
    grader = KeptGrader("m", model, None)
    calls = [asyncio.create_task(grader.generate("p")) for _ in range(3)]
    while not model.prompts:
        await asyncio.sleep(0)
    model.gate.set()
    assert [one.completion for one in await asyncio.gather(*calls)] == ["answer 1"] * 3
    assert len(model.prompts) == 1


async def test_cancelled_caller_does_not_cancel_others(tmp_path: Path) -> None:
    model, cache = Model(), open_answers(tmp_path)
    model.gate = asyncio.Event()
    grader = KeptGrader("m", model, cache)
    first = asyncio.create_task(grader.generate("p"))
    second = asyncio.create_task(grader.generate("p"))
    while not model.prompts:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    model.gate.set()
    assert (await second).completion == "answer 1"
    assert first.cancelled()
    assert model.prompts == ["p"]


async def test_answer_without_a_waiting_caller_is_cached(tmp_path: Path) -> None:
    model, cache = Model(), open_answers(tmp_path)
    model.gate = asyncio.Event()
    grader = KeptGrader("m", model, cache)
    only = asyncio.create_task(grader.generate("p"))
    while not model.prompts:
        await asyncio.sleep(0)
    only.cancel()
    model.gate.set()
    await grader.settle()
    assert cache.find(verdict_key("m", "p")) == "answer 1"


async def test_closing_cancels_pending_requests(tmp_path: Path) -> None:
    model, cache = Model(), open_answers(tmp_path)
    model.gate = asyncio.Event()
    grader = KeptGrader("m", model, cache)
    only = asyncio.create_task(grader.generate("p"))
    while not model.prompts:
        await asyncio.sleep(0)
    await grader.close()
    await asyncio.wait([only])
    assert only.cancelled()
    assert cache.find(verdict_key("m", "p")) is None


async def test_messages_are_passed_on_and_not_cached(tmp_path: Path) -> None:
    model = Model()
    grader = KeptGrader("m", model, open_answers(tmp_path))
    message = [Message("user", "p", attachments=["picture"])]
    assert (await grader.generate(message)).completion == "answer 1"
    assert (await grader.generate(message)).completion == "answer 2"


async def test_model_that_only_fails_is_disabled(tmp_path: Path) -> None:
    model = Model(fails=1000)
    grader = KeptGrader("m", model, open_answers(tmp_path))
    for number in range(GIVE_UP_AFTER):
        with pytest.raises(GraderError, match="m: broken"):
            await grader.generate(str(number))
    with pytest.raises(NotAskedError, match="had failed 10 times"):
        await grader.generate("one more")
    assert len(model.prompts) == GIVE_UP_AFTER


async def test_answer_between_failures_keeps_the_model_enabled() -> None:
    model = Model(fails=GIVE_UP_AFTER - 1)
    grader = KeptGrader("m", model, None)
    for number in range(GIVE_UP_AFTER - 1):
        with pytest.raises(GraderError):
            await grader.generate(str(number))
    assert (await grader.generate("now")).completion == f"answer {GIVE_UP_AFTER}"
    model.fails = 1000
    for number in range(GIVE_UP_AFTER):
        with pytest.raises(GraderError, match="broken"):
            await grader.generate(f"again {number}")


async def test_empty_answer_is_an_error(tmp_path: Path) -> None:
    class Silent:
        async def generate(self, input: object) -> Output:  # noqa: A002
            return Output(" \n")

    cache = open_answers(tmp_path)
    with pytest.raises(GraderError, match="returned an empty answer"):
        await KeptGrader("m", Silent(), cache).generate("p")
    assert cache.find(verdict_key("m", "p")) is None


def test_invalid_model_name_is_an_error() -> None:
    def make(name: str) -> tuple[str, Model]:
        if name == "nix":
            raise ValueError("no model")
        return name.strip(), Model()

    graders = Graders(make)
    assert graders.get(" a") is graders.get("a ")
    with pytest.raises(ScoreError, match="no model"):
        graders.get("nix")
