"""Work that a command waits for, with its progress on standard error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from guardtui.cli import diagnostics
from guardtui.reports.base import usage_text
from guardtui.scanners.base import Progress

Result = TypeVar("Result")

_POLL_SECONDS = 0.1


async def watched(
    work: Coroutine[Any, Any, Result], progress: Callable[[], Progress | None]
) -> Result:
    """Return the result of work; meanwhile show its progress on standard error."""
    task = asyncio.create_task(work)
    try:
        while not (await asyncio.wait({task}, timeout=_POLL_SECONDS))[0]:
            if (now := progress()) is not None:
                diagnostics.progress(progress_text(now))
    finally:
        diagnostics.progress("")
    return task.result()


def progress_text(now: Progress) -> str:
    """Return the progress of a scan in one line, with the usage of a model, if any."""
    parts = [f"{now.phase} {now.done}/{now.total}"]
    if now.errors:
        parts.append(f"{now.errors} without a verdict")
    traffic = None if now.traffic is None else now.traffic()
    if traffic is not None and traffic.used is not None and traffic.used.calls:
        parts.append(usage_text(traffic.used))
    return ", ".join(parts)
