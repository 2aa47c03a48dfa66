"""The evaluator runs one scan at a time, and a failed or cancelled one is never a result."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.base import Progress, Report, ScannerError
from guardtui.session.evaluator import Evaluator
from guardtui.session.workspace import sample_folder

PROMPTS = load_prompts(sample_folder() / "tax-advice.csv")


class Slow:
    """A scanner that waits to be let go, and answers yes to every other prompt."""

    live = True
    settings = ScannerSettings("slow", "slow-1")

    def __init__(self) -> None:
        self.go: dict[str, asyncio.Event] = {}
        self.started = asyncio.Event()
        self.cancelled: list[str] = []
        self.fails = False

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        report(Progress("waiting", 0, len(prompts)))
        self.started.set()
        try:
            await self.go.setdefault(topic.name, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled.append(topic.name)
            raise
        if self.fails:
            raise ScannerError("the line is dead")
        report(Progress("waiting", len(prompts), len(prompts)))
        answers = np.zeros(len(prompts), np.int8)
        answers[::2] = Triggered.YES
        answers[1] = Triggered.NO_VERDICT
        nothing = np.full(len(prompts), np.nan, np.float32)
        return Verdicts(answers, nothing, np.full(len(prompts), -1, np.int16), {1: "timeout"})


async def begun(evaluator: Evaluator, scanner: Slow, name: str) -> asyncio.Task[object]:
    scanner.started.clear()
    task: asyncio.Task[object] = asyncio.ensure_future(
        evaluator.evaluate(Topic(name=name), PROMPTS)
    )
    await scanner.started.wait()
    return task


async def test_the_newest_run_cancels_the_one_before() -> None:
    scanner = Slow()
    evaluator = Evaluator(scanner)
    old = await begun(evaluator, scanner, "old")
    new = await begun(evaluator, scanner, "new")
    with pytest.raises(asyncio.CancelledError):
        await old
    assert scanner.cancelled == ["old"]
    assert evaluator.busy
    assert evaluator.progress == Progress("waiting", 0, len(PROMPTS))
    scanner.go["new"].set()
    evaluation = await new
    assert getattr(evaluation, "topic", None) == Topic(name="new")
    assert not evaluator.busy
    assert evaluator.progress is None


async def test_a_prompt_without_a_verdict_is_an_error_not_a_pass() -> None:
    scanner = Slow()
    evaluator = Evaluator(scanner)
    task = await begun(evaluator, scanner, "t")
    scanner.go["t"].set()
    await task
    evaluation = await evaluator.evaluate(Topic(name="t"), PROMPTS)
    assert evaluation.metrics.errors == 1
    assert evaluation.metrics.total == len(PROMPTS) - 1


async def test_a_failed_scan_is_no_evaluation() -> None:
    scanner = Slow()
    scanner.fails = True
    evaluator = Evaluator(scanner)
    task = await begun(evaluator, scanner, "t")
    scanner.go["t"].set()
    with pytest.raises(ScannerError, match="the line is dead"):
        await task
    assert not evaluator.busy


async def test_closing_waits_for_the_end() -> None:
    scanner = Slow()
    evaluator = Evaluator(scanner)
    task = await begun(evaluator, scanner, "t")
    await evaluator.close()
    assert scanner.cancelled == ["t"]
    with pytest.raises(asyncio.CancelledError):
        await task
    await evaluator.close()


async def test_cancelling_the_caller_cancels_the_scan() -> None:
    scanner = Slow()
    evaluator = Evaluator(scanner)
    task = await begun(evaluator, scanner, "t")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert scanner.cancelled == ["t"]
