"""Embedding of a prompt set in parts, which edits do not interrupt."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator

import numpy as np

from guardtui.domain.prompts import PromptSet
from guardtui.scanners.base import Progress, ScannerError
from guardtui.scanners.local.embedding import EmbeddedPart, Grown, has_parts
from guardtui.scanners.local.scanner import LocalScanner


class Embedding:
    """Embeds one prompt set at a time with a scanner; a new one replaces it."""

    def __init__(self, scanner: LocalScanner) -> None:
        self._scanner = scanner
        self._newest: _EmbeddingTask | None = None

    @property
    def progress(self) -> Progress | None:
        """The newest progress of the running embedding, or None."""
        run = self._newest
        return None if run is None or run.task.done() else run.progress

    @property
    def started(self) -> float | None:
        """Start of the running embedding, as `time.monotonic`, or None."""
        run = self._newest
        return None if run is None or run.task.done() else run.started

    def missing(self, prompts: PromptSet) -> int:
        """Return how many of these prompts the running embedding has still to embed."""
        run = self._newest
        if run is None or run.task.done() or not run.is_of(prompts):
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
                await run.news()

    async def finish(self, prompts: PromptSet) -> None:
        """Embed these prompts, and wait for the end: done, failed, or replaced."""
        run = self._run_of(prompts)
        if run is not None:
            await asyncio.wait([run.task])

    def _run_of(self, prompts: PromptSet) -> _EmbeddingTask | None:
        if not has_parts(prompts) or self._scanner.has(prompts):
            return None
        run = self._newest
        if run is None or run.task.done() or not run.is_of(prompts):
            self.stop()
            run = self._newest = _EmbeddingTask(self._scanner, prompts)
        return run

    def stop(self) -> None:
        """Stop the running embedding; finished vectors are cached."""
        if self._newest is not None:
            self._newest.stop()

    async def close(self) -> None:
        """Stop, and wait for the end."""
        self.stop()
        if self._newest is not None:
            await asyncio.wait([self._newest.task])


class _EmbeddingTask:
    """The embedding of one prompt set, in a thread."""

    def __init__(self, scanner: LocalScanner, prompts: PromptSet) -> None:
        self.progress: Progress | None = None
        self.part: EmbeddedPart | None = None
        self.started = time.monotonic()
        self._scanner, self._prompts = scanner, prompts
        self._stop = threading.Event()
        self._news = asyncio.Event()
        self.task = asyncio.ensure_future(self._work())
        self.task.add_done_callback(lambda _: self._news.set())

    def is_of(self, prompts: PromptSet) -> bool:
        """Return whether these are its prompts, ignoring labels."""
        return np.array_equal(self._prompts.keys, prompts.keys)

    def stop(self) -> None:
        """Request the end."""
        self._stop.set()

    async def news(self) -> None:
        """Wait for a larger part or the end."""
        await self._news.wait()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()

        def grown(part: EmbeddedPart) -> None:
            with contextlib.suppress(RuntimeError):  # the app has ended
                loop.call_soon_threadsafe(self._grown, part)

        try:
            # The next evaluation fails for the same reason, and reports it.
            with contextlib.suppress(ScannerError):
                await asyncio.to_thread(self._embed, grown)
        finally:
            self._stop.set()

    def _embed(self, grown: Grown) -> None:
        self._scanner.prompt_vectors(self._prompts, self._note, self._stop.is_set, grown)

    def _note(self, progress: Progress) -> None:
        self.progress = progress

    def _grown(self, part: EmbeddedPart) -> None:
        self.part = part
        news, self._news = self._news, asyncio.Event()
        news.set()
