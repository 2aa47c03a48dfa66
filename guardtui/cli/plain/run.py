"""Run the plain mode: open a topic, read commands until the input ends, keep the draft."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Coroutine
from typing import Any

from guardtui.app.editing.topic_opening import OpenedTopic, open_with_engine
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.leaving import UnsavedError, exit_report, files_text
from guardtui.app.open_request import OpenRequest
from guardtui.app.services import Services
from guardtui.app.task_jobs import TaskJobs
from guardtui.cli import diagnostics, signals
from guardtui.cli.plain.author import PlainAuthor
from guardtui.cli.plain.commands import PlainCommands
from guardtui.cli.plain.texts import figures_text
from guardtui.cli.progress import progress_text
from guardtui.session.recent_topics import usual_topic
from guardtui.session.store import StoreError

_POLL = 0.25
_SAID_EVERY = 4.0
"""Seconds between two lines of progress."""


def run_plain(request: OpenRequest) -> int:
    """Open a topic as the app does, and run commands until the author quits; the exit code.

    Raises what `open_or_start` raises, `UnsavedError` if the draft cannot be kept, and
    KeyboardInterrupt.
    """
    topic, prompts = request.topic, request.prompts
    if topic is None:
        topic, prompts = usual_topic()
    if sys.stderr and sys.stderr.isatty():
        diagnostics.note(f"Opening {topic} …")  # the encoder takes a while
    opened = open_with_engine(topic, prompts, request)
    with asyncio.Runner() as runner:
        return PlainRun(runner, opened, request).run()


class PlainRun:
    """The commands of one topic; the event loop runs while a command does."""

    def __init__(self, runner: asyncio.Runner, opened: OpenedTopic, request: OpenRequest) -> None:
        self._runner, self._author = runner, PlainAuthor()
        # Edits are measured when the author asks for the next step. Metrics may never end.
        self._jobs = TaskJobs(idle=("ideas",), beside=("measured", "figures"))
        self._workspace = opened.workspace
        self._services = Services(
            opened.workspace,
            opened.scanner,
            request.remote or RemoteOptions(),
            request.metrics,
            self._author,
            self._jobs,
            resumed=opened.workspace.resume_draft(),
            threshold=opened.threshold,
        )
        self._services.preview.pause = 0
        self._commands = PlainCommands(self._services, self._author, self._jobs)
        self._said_at, self._said = 0.0, ""

    def run(self) -> int:
        """Run commands until the end of the input or `quit`; return the exit code."""
        try:
            self._perform(self._open())
            if self._author.is_interrupted:
                raise KeyboardInterrupt
            while (line := self._next_line()) is not None:
                if line:
                    self._perform(self._command(line))
        finally:
            self._runner.run(self._close())
            if not self._workspace.draft_is_safe:
                raise UnsavedError(self._workspace.topic_file.path, self._services.state.topic)
        return self._author.exit_code

    def _next_line(self) -> str | None:
        """Return the next line, or None at the end."""
        try:
            line = self._author.read()
        except EOFError:
            return None
        return None if line.lower() == "quit" else line

    def _perform(self, work: Coroutine[Any, Any, None]) -> None:
        """Do work of the event loop. Raises KeyboardInterrupt if it ends more than that."""
        self._said_at, self._said = time.monotonic(), ""
        self._runner.run(self._watched(work))
        ended = signals.ending()[1] != diagnostics.Exit.INTERRUPTED
        if ended or (self._author.is_interrupted and not self._author.is_typing):
            raise KeyboardInterrupt

    # --- the work -------------------------------------------------------------------------

    async def _open(self) -> None:
        self._author.say(files_text(self._workspace))
        self._services.companions.restore()
        await self._services.open()
        await self._jobs.finished()
        self._author.say(figures_text(self._services, whole=False))
        self._author.say("help lists the commands, quit ends.")

    async def _command(self, line: str) -> None:
        await self._look()
        await self._commands.run(line)
        await self._jobs.finished()
        await self._look()
        await self._services.sync.save_draft()

    async def _look(self) -> None:
        """Learn what other programs changed; a change counts once it is seen twice."""
        await self._services.sync.look()
        await self._services.decisions.learn()
        await self._jobs.finished()

    async def _watched(self, work: Coroutine[Any, Any, None]) -> None:
        """Do work with lines of progress; an interrupt cancels a scan, or else the work."""
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({task}, timeout=_POLL))[0]:
                self._show_progress()
        except asyncio.CancelledError:
            if not self._services.guardrail_in_use:
                task.cancel()
            self._author.is_interrupted = True
            await self._services.scans.finish()
            await asyncio.wait({task})
            self._author.say("Interrupted.")
        if not task.cancelled():
            task.result()

    def _show_progress(self) -> None:
        """Say on a terminal how far the work is, every few seconds."""
        services, now = self._services, time.monotonic()
        services.scans.poll()
        scan, engine = services.state.scan, services.engine.progress
        text = ""
        if scan is not None:
            text = f"{scan.who}: {progress_text(scan.progress) if scan.progress else scan.step}"
        elif engine is not None and engine.done < engine.total:
            text = progress_text(engine)
        is_new = bool(text) and text != self._said and now - self._said_at >= _SAID_EVERY
        if is_new and sys.stderr and sys.stderr.isatty():
            diagnostics.note(text)
            self._said_at, self._said = now, text

    async def _close(self) -> None:
        """Keep the draft, end all work, and say what is in the files."""
        with contextlib.suppress(StoreError):  # reported as an UnsavedError
            await asyncio.to_thread(self._workspace.save_draft, always=True)
        await self._services.close()
        await self._jobs.close()
        self._author.say(exit_report(self._workspace, self._services.state))
