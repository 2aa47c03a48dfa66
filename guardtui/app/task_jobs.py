"""Jobs as tasks of an event loop, for services without a screen."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any


class TaskJob:
    """A task as a job."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self.task = task
        self.is_cancelled = False

    @property
    def is_finished(self) -> bool:
        """Return whether it has ended."""
        return self.task.done()

    def cancel(self) -> None:
        """Cancel it."""
        self.is_cancelled = True
        self.task.cancel()


class TaskJobs:
    """Runs work as tasks; work of the groups `beside` is not waited for, of `idle` never begun."""

    def __init__(self, *, idle: Collection[str] = (), beside: Collection[str] = ()) -> None:
        self._idle, self._beside = idle, beside
        self._jobs: list[tuple[str, TaskJob]] = []

    def start(
        self, work: Coroutine[Any, Any, None], *, group: str, exclusive: bool = False
    ) -> TaskJob:
        """Start work; with `exclusive`, cancel the other work of the group."""
        if exclusive:
            self.cancel(group)
        if group in self._idle:
            work.close()
            work = asyncio.sleep(0)
        job = TaskJob(asyncio.ensure_future(work))
        self._jobs.append((group, job))
        return job

    def cancel(self, group: str) -> None:
        """Cancel all work of a group."""
        for name, job in self._jobs:
            if name == group and not job.is_finished:
                job.cancel()

    async def finished(self) -> None:
        """Wait until no work is left but that beside; raise what any work raised."""
        while job := next((job for name, job in self._jobs if self._is_awaited(name, job)), None):
            await asyncio.wait({job.task})  # to cancel this cancels no work
            self._jobs = [entry for entry in self._jobs if entry[1] is not job]
            if not (job.is_cancelled and job.task.cancelled()):
                job.task.result()

    def _is_awaited(self, group: str, job: TaskJob) -> bool:
        return job.is_finished or group not in self._beside

    async def close(self) -> None:
        """Cancel all work, and wait for its end."""
        for _, job in self._jobs:
            job.cancel()
        self._beside = ()
        await self.finished()
