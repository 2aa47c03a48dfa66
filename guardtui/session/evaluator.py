"""Prompt set × scanner → evaluation, as a service: progress to be polled, the newest run wins."""

from __future__ import annotations

import asyncio
import contextlib

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Progress, Report, Scanner


class Evaluator:
    """Runs evaluations of one scanner, one at a time.

    A new run cancels the one before it, which then raises `asyncio.CancelledError` to its caller
    and leaves nothing behind but cached work. `progress` always holds the newest snapshot, a
    frozen value written in one assignment, to be read as often as a screen likes.
    """

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.progress: Progress | None = None
        self._running: asyncio.Task[Evaluation] | None = None

    @property
    def busy(self) -> bool:
        """Whether a run is under way."""
        return self._running is not None and not self._running.done()

    async def evaluate(
        self, topic: Topic, prompts: PromptSet, report: Report | None = None
    ) -> Evaluation:
        """Evaluate the topic; raises `ScannerError`, or `CancelledError` when a newer run began."""
        self.cancel()
        task = asyncio.ensure_future(self._run(topic, prompts, report))
        self._running = task
        try:
            return await task
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            if self._running is task:
                self._running = None
                self.progress = None

    def cancel(self) -> None:
        """Stop the run under way, if any."""
        if self._running is not None:
            self._running.cancel()

    async def close(self) -> None:
        """Stop and wait until nothing runs any more."""
        running = self._running
        if running is not None:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

    async def _run(self, topic: Topic, prompts: PromptSet, report: Report | None) -> Evaluation:
        this_run = asyncio.current_task()

        def store(progress: Progress) -> None:
            if self._running is this_run:
                self.progress = progress
                if report is not None:
                    report(progress)

        while True:
            settings = self.scanner.settings
            verdicts = await self.scanner.scan(topic, prompts, store)
            # A threshold moved meanwhile: verdicts must be recorded with what they were made with.
            if self.scanner.settings == settings:
                break
        return Evaluation(
            topic=topic,
            settings=settings,
            prompt_set=prompts.fingerprint,
            keys=prompts.keys,
            expected=prompts.expected,
            verdicts=verdicts,
        )
