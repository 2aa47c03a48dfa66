"""The engine of a workspace: scanner, companion topics, embedding, evaluations."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from guardtui.app.ports import Author
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.metrics import Metrics
from guardtui.domain.operating_point import (
    LABELS_AT_LEAST,
    ThresholdFit,
    as_rule,
    fit_threshold,
    is_fitted,
    own_fit,
)
from guardtui.domain.prompts import PromptSet
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import spread
from guardtui.scanners.base import Progress, ScannerError
from guardtui.scanners.local.embedding import EmbeddedPart, has_parts
from guardtui.scanners.local.encoder import load_encoder
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.evaluator import Evaluator
from guardtui.session.profile_scans import WithCompanions


class Embedding:
    """Embeds one prompt set at a time with a scanner; a new one replaces it."""

    def __init__(self, scanner: LocalScanner) -> None:
        self._scanner = scanner
        self._newest: _EmbeddingTask | None = None

    @property
    def running(self) -> _EmbeddingTask | None:
        """The running embedding, or None."""
        run = self._newest
        return None if run is None or run.task.done() else run

    def missing(self, prompts: PromptSet) -> int:
        """Return how many of these prompts the running embedding has still to embed."""
        run = self.running
        if run is None or not run.is_of(prompts):
            return 0
        return len(prompts) - (0 if run.progress is None else run.progress.done)

    async def parts(self, prompts: PromptSet) -> AsyncIterator[EmbeddedPart]:
        """Embed these prompts; yield the newest part whenever it grows, until the end.

        Cancelling this does not stop the embedding. Sets too small for parts, and prompts that the
        scanner has already, yield nothing.
        """
        run, seen = self._run_of(prompts), None
        while run is not None:
            part = run.part
            if part is not None and part is not seen:
                seen = part
                yield part
            elif run.task.done():
                return
            else:
                await run.news.wait()

    async def finish(self, prompts: PromptSet) -> None:
        """Embed these prompts, and wait for the end: done, failed, or replaced."""
        run = self._run_of(prompts)
        if run is not None:
            await asyncio.wait([run.task])

    def _run_of(self, prompts: PromptSet) -> _EmbeddingTask | None:
        if not has_parts(prompts) or self._scanner.has(prompts):
            return None
        run = self.running
        if run is None or not run.is_of(prompts):
            self.stop()
            run = self._newest = _EmbeddingTask(self._scanner, prompts)
        return run

    def stop(self) -> None:
        """Stop the running embedding; finished vectors are cached."""
        if self._newest is not None:
            self._newest.stop.set()

    async def close(self) -> None:
        """Stop, and wait for the end."""
        self.stop()
        if self._newest is not None:
            await asyncio.wait([self._newest.task])


class _EmbeddingTask:
    """The embedding of one prompt set, in a thread, until `stop` is set.

    `news` is set, and replaced by a new event, when there is a larger part or the end.
    """

    def __init__(self, scanner: LocalScanner, prompts: PromptSet) -> None:
        self.progress: Progress | None = None
        self.part: EmbeddedPart | None = None
        self.started = time.monotonic()
        self.stop, self.news = threading.Event(), asyncio.Event()
        self._scanner, self._prompts = scanner, prompts
        self.task = asyncio.ensure_future(self._work())
        self.task.add_done_callback(lambda _: self.news.set())

    def is_of(self, prompts: PromptSet) -> bool:
        """Return whether these are its prompts, ignoring labels."""
        return np.array_equal(self._prompts.keys, prompts.keys)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()

        def note(progress: Progress) -> None:
            self.progress = progress

        def take(part: EmbeddedPart) -> None:
            self.part = part
            news, self.news = self.news, asyncio.Event()
            news.set()

        def grown(part: EmbeddedPart) -> None:
            with contextlib.suppress(RuntimeError):  # the app has ended
                loop.call_soon_threadsafe(take, part)

        try:
            # The next evaluation fails for the same reason, and reports it.
            with contextlib.suppress(ScannerError):
                await asyncio.to_thread(
                    self._scanner.prompt_vectors, self._prompts, note, self.stop.is_set, grown
                )
        finally:
            self.stop.set()


class Engine:
    """Evaluates definitions with the embedded scanner; a new evaluation cancels an older one."""

    def __init__(self, scanner: LocalScanner, author: Author) -> None:
        self._author = author
        self.scanner = scanner
        """The embedded scanner, for the edited topic only."""
        self.measuring = WithCompanions(scanner)
        """The same scanner together with the other topics of the profile."""
        self.evaluator = Evaluator(self.measuring)
        self._embedding = Embedding(scanner)
        self._started = 0.0
        self._part: _Part | None = None
        self._closed = False

    @property
    def progress(self) -> Progress | None:
        """The newest progress of the current run, or None."""
        run = self._embedding.running
        return (None if run is None else run.progress) or self.evaluator.progress

    @property
    def started(self) -> float:
        """Start of the current run or the last evaluation, as `time.monotonic`."""
        run = self._embedding.running
        return self._started if run is None else run.started

    def use(self, scanner: LocalScanner) -> None:
        """Use another embedded scanner."""
        self.evaluator.cancel()
        self._embedding.stop()
        self._embedding, self._part = Embedding(scanner), None
        self.scanner = scanner
        before = self.measuring
        self.measuring = WithCompanions(scanner, before.companions, before.closed)
        self.evaluator = Evaluator(self.measuring)

    def has_judged(self, evaluation: Evaluation, topic: Topic, prompts: PromptSet) -> bool:
        """Return whether this is a complete evaluation of the definition by the current engine."""
        settings = self.scanner.settings_for(prompts)
        rule = as_rule(self.measuring.together(settings))
        return (
            evaluation.key.same_subject(topic, prompts.fingerprint)
            and as_rule(evaluation.settings) == rule
            and not evaluation.is_of_a_part
        )

    async def evaluate(self, topic: Topic, prompts: PromptSet) -> Evaluation | None:
        """Evaluate a definition; None, with a message, if the scanner fails.

        Also None after `close`.
        """
        self._started = time.monotonic()
        try:
            await asyncio.to_thread(self._load)
            return None if self._closed else await self.evaluator.evaluate(topic, prompts)
        except ScannerError as error:
            self._author.notify(str(error), title="Scan failed", severity="error")
            return None

    async def parts(self, topic: Topic, prompts: PromptSet) -> AsyncIterator[Evaluation]:
        """Yield evaluations on the prompts embedded so far, until all are embedded.

        The first prompts are a fair sample. The others are open in these evaluations.
        """
        async for embedded in self._embedding.parts(prompts):
            part = self._part
            if part is None or part.embedded is not embedded:
                await asyncio.to_thread(self._load)
                part = self._part = _Part(self.scanner, prompts, embedded)
            yield await part.evaluate(topic, prompts, self.measuring)
        self._part = None

    async def embed(self, prompts: PromptSet) -> None:
        """Embed a large prompt set; edits do not cancel it."""
        await self._embedding.finish(prompts)

    def waiting(self, prompts: PromptSet) -> str:
        """Return in words how many prompts are not embedded yet, or ""."""
        missing = self._embedding.missing(prompts)
        if not missing:
            return ""
        return f"{missing} of {count_text(len(prompts), 'prompt')} are still being embedded"

    def _load(self) -> None:
        """Import and load the slow modules in a thread; quick after the first time."""
        self.scanner.load()
        load_encoder(self.scanner.encoder_name)
        rate_intervals(Metrics(1, 1, 0, 0), fitted=True)

    def evaluate_now(self, topic: Topic, prompts: PromptSet) -> Evaluation:
        """Evaluate a definition without companions. Blocks. Raises ScannerError."""
        evaluation = self.scanner.evaluate_now(topic, prompts)
        if evaluation is None:
            raise ScannerError("the scan was stopped")
        return evaluation

    def fitted(
        self,
        topic: Topic,
        prompts: PromptSet,
        belongs: NDArray[np.bool_] | None = None,
        known: NDArray[np.bool_] | None = None,
        *,
        least: int = LABELS_AT_LEAST,
    ) -> ThresholdFit | str:
        """Return the threshold fitted to the labels, or why it cannot be fitted. Blocks.

        `belongs` (bool [N]) replaces the labels, only `known` rows (bool [N]) count, and each class
        needs `least` of them.
        """
        if waiting := self.waiting(prompts):
            return waiting
        labels = prompts.expected if belongs is None else belongs
        rows = np.ones(len(prompts), np.bool_) if known is None else known
        try:
            evaluation = self.evaluate_now(topic, prompts)
            verdicts = evaluation.verdicts
            scores = np.where(rows, verdicts.score, np.float32(np.nan))
            judged = replace(evaluation, expected=labels, verdicts=replace(verdicts, score=scores))
            return fit_threshold(judged, self.scanner.built_in_threshold, least=least)
        except (ValueError, ScannerError) as error:
            return str(error)

    def own_fit(self, evaluation: Evaluation) -> ThresholdFit | None:
        """Return the fit behind the threshold of an evaluation by this engine, or None."""
        if not is_fitted(evaluation.settings):
            return None
        return own_fit(evaluation, self.scanner.built_in_threshold)

    async def close(self) -> None:
        """Stop the current run and wait for its end; later evaluations return None."""
        self._closed = True
        await self._embedding.close()
        await self.evaluator.close()


class _Part:
    """The prompts embedded so far, as a prompt set with a scanner."""

    def __init__(self, scanner: LocalScanner, prompts: PromptSet, embedded: EmbeddedPart) -> None:
        self.embedded = embedded
        self._engine, self._scanner = scanner, scanner.beside()
        self._prompts = replace(prompts, frame=prompts.frame[embedded.rows])
        self._scanner.adopt(self._prompts.keys, embedded.vectors)
        self._measuring = WithCompanions(self._scanner)

    async def evaluate(self, topic: Topic, prompts: PromptSet, whole: WithCompanions) -> Evaluation:
        """Evaluate a definition on all prompts; those not embedded yet are open."""
        self._scanner.follow(self._engine)
        self._measuring.use(whole.companions, whole.closed)
        part = await self._measuring.evaluate(topic, self._prompts, lambda progress: None)
        return Evaluation(
            topic,
            part.settings,
            prompts.fingerprint,
            prompts.keys,
            prompts.expected,
            spread(part.verdicts, self.embedded.rows, len(prompts)),
        )
