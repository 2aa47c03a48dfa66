"""An author and a place for work without a screen: what services are tested with."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from dataclasses import dataclass, field
from typing import Any

from guardtui.app.ports import Answer, Question, Severity
from guardtui.domain.topic import Topic


@dataclass
class ScriptedAuthor:
    """Answers from a list, oldest first; questions beyond it are dismissed. Keeps what it saw."""

    answers: list[Any] = field(default_factory=list)
    questions: list[Question[Any]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    typing: tuple[Topic, str] | None = None

    async def ask(self, question: Question[Answer]) -> Answer | None:
        self.questions.append(question)
        return self.answers.pop(0) if self.answers else None

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Severity = "information",
        seconds: float | None = None,
    ) -> None:
        self.messages.append(message)

    async def finish_typing(self) -> tuple[Topic, str] | None:
        typed, self.typing = self.typing, None
        return typed


class TaskJob:
    """A task as a job."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self.task = task
        self.is_cancelled = False

    @property
    def is_finished(self) -> bool:
        return self.task.done()

    def cancel(self) -> None:
        self.is_cancelled = True
        self.task.cancel()


class TaskJobs:
    """Jobs as plain tasks; `finished` waits until none is left and raises what one raised.

    Work of the groups `idle` is never begun: edits are measured, and pauses waited for, only where
    that is the subject.
    """

    def __init__(self, idle: Collection[str] = ("ideas", "measured")) -> None:
        self._idle = idle
        self._jobs: list[tuple[str, TaskJob]] = []

    def start(
        self, work: Coroutine[Any, Any, None], *, group: str, exclusive: bool = False
    ) -> TaskJob:
        if exclusive:
            self.cancel(group)
        if group in self._idle:
            work.close()
            work = asyncio.sleep(0)
        job = TaskJob(asyncio.ensure_future(work))
        self._jobs.append((group, job))
        return job

    def cancel(self, group: str) -> None:
        for name, job in self._jobs:
            if name == group and not job.is_finished:
                job.cancel()

    async def finished(self) -> None:
        while self._jobs:
            _, job = self._jobs.pop(0)
            try:
                await job.task
            except asyncio.CancelledError:
                if not job.is_cancelled:
                    raise
