"""Evaluation service for a prompt set and a scanner; the latest run wins, progress is polled."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import Guardrail, ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import VerdictColumns, Verdicts
from guardtui.scanners.base import FittedScanner, Progress, RemoteScanner, Report, Scanner, Traffic
from guardtui.session.epochs import Epochs

Choose: TypeAlias = "Callable[[Evaluation], NDArray[np.intp]]"
"""Chooses rows by an evaluation."""

NextRows: TypeAlias = "Callable[[Evaluation], Awaitable[NDArray[np.intp]]]"
"""Chooses the rows of the next round by the evaluation so far; no rows end the run."""


class Evaluator:
    """Runs evaluations of one scanner, one at a time.

    A new run cancels the previous one, which raises `asyncio.CancelledError` to its caller and
    leaves only cached work behind. `progress` always holds the latest snapshot, an immutable value
    set in one assignment, which a screen may read at any time.
    """

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.progress: Progress | None = None
        self._running: asyncio.Task[Evaluation] | None = None

    @property
    def busy(self) -> bool:
        """Return whether a run is in progress."""
        return self._running is not None and not self._running.done()

    async def evaluate(
        self, topic: Topic, prompts: PromptSet, report: Report | None = None
    ) -> Evaluation:
        """Evaluate the topic. Raises `ScannerError`, or `CancelledError` if a newer run started."""
        return await self._newest(self._run(topic, prompts, report))

    async def _newest(self, run: Coroutine[Any, Any, Evaluation]) -> Evaluation:
        self.cancel()
        task = asyncio.ensure_future(run)
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
        """Cancel the current run, if any."""
        if self._running is not None:
            self._running.cancel()

    async def close(self) -> None:
        """Cancel the current run and wait until it has ended."""
        running = self._running
        if running is not None:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

    def _storing(self, report: Report | None) -> Report:
        this_run = asyncio.current_task()

        def store(progress: Progress) -> None:
            if self._running is this_run:
                self.progress = progress
                if report is not None:
                    report(progress)

        return store

    async def _run(self, topic: Topic, prompts: PromptSet, report: Report | None) -> Evaluation:
        store = self._storing(report)
        while True:
            settings = self.scanner.settings
            evaluation = await evaluated(self.scanner, topic, prompts, store)
            # If the threshold changed meanwhile, scan again: verdicts must match their settings.
            if self.scanner.settings == settings:
                return evaluation


class RemoteEvaluator(Evaluator):
    """Runs evaluations of a remote scanner."""

    def __init__(self, scanner: RemoteScanner) -> None:
        super().__init__(scanner)
        self._remote = scanner
        self._request: tuple[Topic, PromptSet, Evaluation | None] | None = None
        self._latest: Progress | None = None
        self._traffic: Callable[[], Traffic] | None = None
        self._epochs: Epochs | None = None
        self._finished: list[Verdicts] = []
        self._earlier: Evaluation | None = None
        self.held = False

    def hold(self, held: bool) -> None:
        """Pause or resume sending requests."""
        self.held = held
        self._remote.hold(held)

    async def evaluate_rows(
        self,
        topic: Topic,
        prompts: PromptSet,
        rows: NDArray[np.intp] | None = None,
        onto: Evaluation | None = None,
        *,
        epochs: Epochs | None = None,
        repeated: Choose | None = None,
    ) -> Evaluation:
        """Evaluate these rows (intp [k]; None: all), in this order.

        With `epochs`, each row is requested several times, and the answers are reduced to one
        verdict. `repeated` then chooses the rows (intp) of the epochs after the first; None: all.

        `onto` is an earlier evaluation of the same definition on the same prompts; its verdicts are
        kept for rows that are not requested. Raises as `evaluate`, and ValueError if `onto` is for
        other prompts.
        """
        self._begin(topic, prompts, onto, epochs)
        return await self._newest(self._run_rows(topic, prompts, rows, onto, None, repeated))

    async def evaluate_in_rounds(
        self,
        topic: Topic,
        prompts: PromptSet,
        next_rows: NextRows,
        onto: Evaluation | None = None,
        *,
        epochs: Epochs | None = None,
    ) -> Evaluation:
        """Evaluate rows in rounds; `next_rows` chooses the rows of each by the results so far.

        `onto` and `epochs` are as in `evaluate_rows`, and so are the errors raised.
        """
        self._begin(topic, prompts, onto, epochs)
        return await self._newest(self._run_rounds(topic, prompts, next_rows, onto))

    def _begin(
        self, topic: Topic, prompts: PromptSet, onto: Evaluation | None, epochs: Epochs | None
    ) -> None:
        if onto is not None and onto.prompt_set != prompts.fingerprint:
            raise ValueError("the earlier evaluation is of other prompts")
        self._request, self._latest, self._traffic = (topic, prompts, onto), None, None
        self._epochs, self._finished, self._earlier = epochs, [], None

    def so_far(self) -> Evaluation | None:
        """Return the evaluation so far, also of a cancelled run; None before the first results."""
        progress, run = self._latest, self._request
        epochs = list(self._finished)
        if progress is not None and progress.partial is not None:
            epochs.append(progress.partial())
        if not epochs or run is None:
            return self._earlier
        topic, prompts, onto = run
        return _joined(topic, prompts, self._settings, self._combined(epochs), onto)

    @contextlib.contextmanager
    def handing_over(self, ended: Callable[[Evaluation], object]) -> Iterator[None]:
        """Give `ended` the verdicts so far of a scan that is interrupted or fails; it is quick."""
        try:
            yield
        except (asyncio.CancelledError, GuardtuiError):
            answered = self.so_far()
            if answered is not None and answered.metrics.total:
                ended(answered)
            raise

    @property
    def sent(self) -> int:
        """Number of requests of the newest scan, retries included, that were not refused (429)."""
        if self._traffic is None:
            return 0
        traffic = self._traffic()
        return traffic.sent - traffic.refused

    @property
    def _settings(self) -> ScannerSettings:
        return with_epochs(self._remote.settings, self._epochs)

    def _combined(self, epochs: Sequence[Verdicts]) -> Verdicts:
        return epochs[-1] if self._epochs is None else self._epochs.combine(epochs)

    async def _run_rounds(
        self, topic: Topic, prompts: PromptSet, next_rows: NextRows, onto: Evaluation | None
    ) -> Evaluation:
        nothing = VerdictColumns(len(prompts)).verdicts()
        current = onto or _evaluation(topic, prompts, self._settings, nothing)
        finished = Progress("scanning", 0, 0)

        def add(progress: Progress) -> None:
            """Store the progress of a round as that of all rounds so far."""
            self.progress = replace(
                progress,
                done=finished.done + progress.done,
                total=finished.done + progress.total,
                errors=finished.errors + progress.errors,
                known=finished.known + progress.known,
            )

        while len(rows := await next_rows(current)):
            self._request, self._latest, self._finished = (topic, prompts, current), None, []
            current = await self._run_rows(topic, prompts, rows, current, add, None)
            self._earlier = current
            finished = self.progress or finished
        return current

    async def _run_rows(
        self,
        topic: Topic,
        prompts: PromptSet,
        rows: NDArray[np.intp] | None,
        onto: Evaluation | None,
        report: Report | None,
        repeated: Choose | None,
    ) -> Evaluation:
        def store_latest(progress: Progress) -> None:
            self._latest = progress
            self._traffic = progress.traffic or self._traffic
            if report is not None:
                report(progress)

        store = self._storing(store_latest)
        settings = self._settings
        count = 1 if self._epochs is None else self._epochs.count
        for epoch in range(1, count + 1):

            def report_epoch(progress: Progress, epoch: int = epoch) -> None:
                phase = f"epoch {epoch} of {count}: {progress.phase}"
                store(progress if count == 1 else replace(progress, phase=phase))

            verdicts = await self._remote.scan(topic, prompts, report_epoch, rows=rows, epoch=epoch)
            self._finished.append(verdicts)
            self._latest = None
            if epoch == 1 and count > 1 and repeated is not None:
                rows = repeated(_joined(topic, prompts, settings, verdicts, onto))
                if not len(rows):
                    break
        return _joined(topic, prompts, settings, self._combined(self._finished), onto)


async def evaluated(
    scanner: Scanner, topic: Topic, prompts: PromptSet, report: Report
) -> Evaluation:
    """Evaluate with a scanner; a threshold that it fits is in the settings of the evaluation."""
    if isinstance(scanner, FittedScanner):
        return await scanner.evaluate(topic, prompts, report)
    settings = scanner.settings
    return _evaluation(topic, prompts, settings, await scanner.scan(topic, prompts, report))


def with_epochs(settings: ScannerSettings, epochs: Epochs | None) -> ScannerSettings:
    """Return the settings of a scanner with epochs, which compare with no others."""
    return replace(settings, guardrail=measured_with(settings.guardrail, epochs))


def measured_with(guardrail: Guardrail, epochs: Epochs | None) -> Guardrail:
    """Return a guardrail with its epochs, or unchanged without any."""
    if epochs is None:
        return guardrail
    return replace(guardrail, epochs=epochs.count, reducer=epochs.name)


def _joined(
    topic: Topic,
    prompts: PromptSet,
    settings: ScannerSettings,
    verdicts: Verdicts,
    onto: Evaluation | None,
) -> Evaluation:
    if onto is not None:
        verdicts = onto.verdicts.merged(verdicts)
    return _evaluation(topic, prompts, settings, verdicts)


def _evaluation(
    topic: Topic, prompts: PromptSet, settings: ScannerSettings, verdicts: Verdicts
) -> Evaluation:
    return Evaluation(
        topic=topic,
        settings=settings,
        prompt_set=prompts.fingerprint,
        keys=prompts.keys,
        expected=prompts.expected,
        verdicts=verdicts,
    )
