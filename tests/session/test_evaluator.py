"""The evaluator runs one scan at a time, and a failed or cancelled one is never a result."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import (
    Outcome,
    Triggered,
    Verdicts,
    is_correct,
    is_wrong,
)
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.base import Progress, Report, ScannerError
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.evaluator import Evaluator, RemoteEvaluator
from guardtui.session.workspace import sample_folder
from tests.guardrails import other_settings

PROMPTS = load_prompts(sample_folder() / "tax-advice.csv")


class Slow:
    """A scanner that waits to be let go, and answers yes to every other prompt."""

    live = True
    settings = other_settings("slow", "slow-1")

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


async def ended(*tasks: asyncio.Future[object]) -> None:
    """Wait for tasks; a run that nobody cancels would let a test wait for ever."""
    _, waiting = await asyncio.wait(tasks, timeout=120)
    for task in waiting:
        task.cancel()
    assert not waiting


async def test_newest_run_cancels_the_previous_one() -> None:
    scanner = Slow()
    evaluator = Evaluator(scanner)
    old = await begun(evaluator, scanner, "old")
    new = await begun(evaluator, scanner, "new")
    await ended(old)
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


async def test_prompt_without_a_verdict_is_an_error_not_a_pass() -> None:
    scanner = Slow()
    evaluator = Evaluator(scanner)
    task = await begun(evaluator, scanner, "t")
    scanner.go["t"].set()
    await task
    evaluation = await evaluator.evaluate(Topic(name="t"), PROMPTS)
    assert evaluation.metrics.errors == 1
    assert evaluation.metrics.total == len(PROMPTS) - 1


async def test_failed_scan_gives_no_evaluation() -> None:
    scanner = Slow()
    scanner.fails = True
    evaluator = Evaluator(scanner)
    task = await begun(evaluator, scanner, "t")
    scanner.go["t"].set()
    with pytest.raises(ScannerError, match="the line is dead"):
        await task
    assert not evaluator.busy


async def test_closing_waits_for_the_current_run() -> None:
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


async def test_progress_is_ordered_and_cleared_at_the_end() -> None:
    scanner, told = Slow(), list[Progress]()
    scanner.go["t"] = asyncio.Event()
    scanner.go["t"].set()
    evaluator = Evaluator(scanner)
    await evaluator.evaluate(Topic(name="t"), PROMPTS, told.append)
    total = len(PROMPTS)
    assert told == [Progress("waiting", 0, total), Progress("waiting", total, total)]
    assert evaluator.progress is None


async def test_cancelled_run_reports_no_progress() -> None:
    class Talkative(Slow):
        def __init__(self) -> None:
            super().__init__()
            self.reports: list[Report] = []

        async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
            self.reports.append(report)
            return await super().scan(topic, prompts, report)

    scanner, told = Talkative(), list[Progress]()
    evaluator = Evaluator(scanner)
    old = asyncio.ensure_future(evaluator.evaluate(Topic(name="old"), PROMPTS, told.append))
    await scanner.started.wait()
    new = await begun(evaluator, scanner, "new")
    told.clear()
    scanner.reports[0](Progress("late", 5, 9))  # its thread has not noticed yet
    assert told == []
    assert evaluator.progress == Progress("waiting", 0, len(PROMPTS))
    scanner.reports[1](Progress("waiting", 7, 9))
    assert evaluator.progress == Progress("waiting", 7, 9)
    await ended(old)
    with pytest.raises(asyncio.CancelledError):
        await old
    await evaluator.close()
    assert new.done()


async def test_run_after_a_failed_one_succeeds() -> None:
    scanner = Slow()
    evaluator = Evaluator(scanner)
    scanner.go["t"] = asyncio.Event()
    scanner.go["t"].set()
    scanner.fails = True
    with pytest.raises(ScannerError):
        await evaluator.evaluate(Topic(name="t"), PROMPTS)
    scanner.fails = False
    assert (await evaluator.evaluate(Topic(name="t"), PROMPTS)).metrics.total == len(PROMPTS) - 1


async def test_last_of_many_edits_is_evaluated() -> None:
    scanner = LocalScanner("static")
    evaluator = Evaluator(scanner)
    text = "Personal tax advice"
    topics = [Topic(name="Tax", description=text[: end + 1]) for end in range(len(text))]
    runs = []
    for topic in topics:
        runs.append(asyncio.ensure_future(evaluator.evaluate(topic, PROMPTS)))
        await asyncio.sleep(0)
    *older, newest = await asyncio.gather(*runs, return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in older)
    assert isinstance(newest, Evaluation)
    assert newest.topic == topics[-1]
    assert newest.settings == scanner.settings
    fresh = LocalScanner("static").evaluate_now(topics[-1], PROMPTS)
    assert fresh is not None
    np.testing.assert_array_equal(newest.verdicts.score, fresh.verdicts.score)
    np.testing.assert_array_equal(newest.verdicts.triggered, fresh.verdicts.triggered)


async def test_no_verdict_is_neither_right_nor_wrong() -> None:
    scanner = Slow()
    evaluator = Evaluator(scanner)
    scanner.go["t"] = asyncio.Event()
    scanner.go["t"].set()
    evaluation = await evaluator.evaluate(Topic(name="t"), PROMPTS)
    assert evaluation.codes[1] == Outcome.ERROR
    assert not is_wrong(evaluation.codes)[1]
    assert not is_correct(evaluation.codes)[1]
    assert evaluation.verdicts.errors == {1: "timeout"}


async def test_settings_changed_during_a_scan_do_not_apply_to_its_verdicts() -> None:
    scanner = Slow()
    evaluator = Evaluator(scanner)
    task = await begun(evaluator, scanner, "t")
    scanner.settings = other_settings("slow", "slow-2")
    asked = scanner.started
    scanner.started = asyncio.Event()
    scanner.go["t"].set()
    evaluation = await task
    assert asked.is_set()
    assert scanner.started.is_set()  # asked once more
    assert getattr(evaluation, "settings", None) == other_settings("slow", "slow-2")


# --- scanners that are asked ---------------------------------------------------------------

TOPIC = Topic(name="t")
ALL = len(PROMPTS)


class Asked:
    """A remote scanner that answers yes to a row each time it is let, in the order asked."""

    live = False
    settings = other_settings("remote", "remote-1")

    def __init__(self) -> None:
        self.permits = asyncio.Semaphore(0)
        self.rows: list[list[int]] = []
        self.held: list[bool] = []
        self.fails_on: set[int] = set()
        self.cancelled = 0
        self.reports: list[Report] = []

    def hold(self, held: bool) -> None:
        self.held.append(held)

    def known(self, topic: Topic, prompts: PromptSet) -> NDArray[np.bool_]:
        return np.zeros(len(prompts), bool)

    async def scan(
        self,
        topic: Topic,
        prompts: PromptSet,
        report: Report,
        *,
        rows: NDArray[np.intp] | None = None,
        epoch: int = 1,
    ) -> Verdicts:
        wanted = list(range(len(prompts))) if rows is None else [int(row) for row in rows]
        self.rows.append(wanted)
        self.reports.append(report)
        answers = np.full(len(prompts), Triggered.NOT_ASKED, np.int8)
        errors: dict[int, str] = {}

        def partial() -> Verdicts:
            nothing, unknown = np.full(len(prompts), np.nan, np.float32), np.full(len(prompts), -1)
            return Verdicts(answers.copy(), nothing, unknown.astype(np.int16), dict(errors))

        for done, row in enumerate(wanted):
            report(Progress("asking", done, len(wanted), len(errors), partial=partial))
            try:
                await self.permits.acquire()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            if row in self.fails_on:
                errors[row] = "HTTP 503"
                answers[row] = Triggered.NO_VERDICT
            else:
                answers[row] = Triggered.YES
        report(Progress("asking", len(wanted), len(wanted), len(errors), partial=partial))
        return partial()

    def let(self, count: int) -> None:
        for _ in range(count):
            self.permits.release()


def rows(*numbers: int) -> NDArray[np.intp]:
    return np.array(numbers, np.intp)


async def settled(evaluator: RemoteEvaluator, done: int) -> None:
    """Wait until so many rows are told."""
    async with asyncio.timeout(120):
        while evaluator.progress is None or evaluator.progress.done < done:
            await asyncio.sleep(0)


async def test_only_chosen_rows_are_requested_and_others_stay_open() -> None:
    scanner = Asked()
    evaluator = RemoteEvaluator(scanner)
    scanner.let(2)
    evaluation = await evaluator.evaluate_rows(TOPIC, PROMPTS, rows(5, 2))
    assert scanner.rows == [[5, 2]]
    assert np.flatnonzero(evaluation.verdicts.triggered == Triggered.YES).tolist() == [2, 5]
    assert evaluation.metrics.total == 2
    assert (evaluation.metrics.open, evaluation.metrics.errors) == (ALL - 2, 0)
    assert evaluation.metrics.open == ALL - 2


async def test_partial_evaluation_is_available_during_a_run() -> None:
    scanner = Asked()
    evaluator = RemoteEvaluator(scanner)
    assert evaluator.so_far() is None
    task = asyncio.ensure_future(evaluator.evaluate_rows(TOPIC, PROMPTS, rows(4, 3, 1)))
    await settled(evaluator, 0)
    scanner.let(2)
    await settled(evaluator, 2)
    so_far = evaluator.so_far()
    assert so_far is not None
    assert so_far.metrics.total == 2
    assert so_far.codes[[0, 1]].tolist() == [Outcome.OPEN, Outcome.OPEN]
    assert (so_far.metrics.open, so_far.metrics.errors) == (ALL - 2, 0)
    assert (so_far.settings, so_far.topic) == (scanner.settings, TOPIC)
    assert so_far.prompt_set == PROMPTS.fingerprint
    scanner.let(1)
    evaluation = await task
    assert evaluation.metrics.total == 3
    assert so_far.metrics.total == 2  # what was shown does not change under the screen


async def test_results_of_a_stopped_run_are_kept() -> None:
    scanner = Asked()
    evaluator = RemoteEvaluator(scanner)
    task: asyncio.Task[object] = asyncio.ensure_future(evaluator.evaluate_rows(TOPIC, PROMPTS))
    await settled(evaluator, 0)
    scanner.let(3)
    await settled(evaluator, 3)
    evaluator.cancel()
    await ended(task)
    assert task.cancelled()
    assert evaluator.progress is None
    assert not evaluator.busy
    so_far = evaluator.so_far()
    assert so_far is not None
    assert so_far.metrics.total == 3
    scanner.reports[0](Progress("late", 9, 9))  # which has no verdicts to show
    assert evaluator.so_far() is not None


async def test_stopped_run_can_be_resumed() -> None:
    scanner = Asked()
    scanner.fails_on = {1}
    evaluator = RemoteEvaluator(scanner)
    scanner.let(3)
    first = await evaluator.evaluate_rows(TOPIC, PROMPTS, rows(0, 1, 2))
    assert first.verdicts.errors[1] == "HTTP 503"
    scanner.fails_on = set()
    scanner.let(1)
    task = asyncio.ensure_future(evaluator.evaluate_rows(TOPIC, PROMPTS, rows(1, 3), first))
    await settled(evaluator, 1)
    so_far = evaluator.so_far()
    assert so_far is not None
    assert so_far.metrics.total == 3  # row 1 is there by now, 0 and 2 were
    scanner.let(1)
    second = await task
    assert second.metrics.total == 4
    assert 1 not in second.verdicts.errors
    assert first.metrics.total == 2


async def test_earlier_verdict_is_kept_until_a_newer_one_arrives() -> None:
    scanner = Asked()
    evaluator = RemoteEvaluator(scanner)
    scanner.let(2)
    first = await evaluator.evaluate_rows(TOPIC, PROMPTS, rows(0, 1))
    task = asyncio.ensure_future(evaluator.evaluate_rows(TOPIC, PROMPTS, rows(0), first))
    await settled(evaluator, 0)
    so_far = evaluator.so_far()
    assert so_far is not None
    assert so_far.verdicts.triggered[0] == Triggered.YES
    scanner.let(1)
    await task


async def test_run_on_other_prompts_cannot_be_resumed() -> None:
    scanner = Asked()
    evaluator = RemoteEvaluator(scanner)
    scanner.let(ALL)
    first = await evaluator.evaluate_rows(TOPIC, PROMPTS)
    other = Evaluation(
        topic=TOPIC,
        settings=first.settings,
        prompt_set="another",
        keys=first.keys,
        expected=first.expected,
        verdicts=first.verdicts,
    )
    with pytest.raises(ValueError, match="other prompts"):
        await evaluator.evaluate_rows(TOPIC, PROMPTS, rows(0), other)
    assert len(scanner.rows) == 1


async def test_new_run_starts_without_results_of_the_last_one() -> None:
    scanner = Asked()
    evaluator = RemoteEvaluator(scanner)
    task: asyncio.Task[object] = asyncio.ensure_future(evaluator.evaluate_rows(TOPIC, PROMPTS))
    await settled(evaluator, 0)
    scanner.let(2)
    await settled(evaluator, 2)
    other = Topic(name="other")
    new = asyncio.ensure_future(evaluator.evaluate_rows(other, PROMPTS, rows(7)))
    await ended(task)
    await settled(evaluator, 0)
    so_far = evaluator.so_far()
    assert so_far is not None
    assert (so_far.topic, so_far.metrics.total) == (other, 0)
    assert scanner.cancelled == 1
    scanner.let(1)
    assert (await new).metrics.total == 1


async def test_hold_is_passed_to_the_scanner() -> None:
    scanner = Asked()
    evaluator = RemoteEvaluator(scanner)
    assert not evaluator.held
    evaluator.hold(True)
    assert evaluator.held
    evaluator.hold(False)
    assert scanner.held == [True, False]
