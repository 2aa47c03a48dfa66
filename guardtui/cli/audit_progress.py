"""A scan that is waited for, with its progress shown."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from guardtui.cli import diagnostics

if TYPE_CHECKING:
    from guardtui.scanners.base import Progress

Result = TypeVar("Result")

_POLL_SECONDS = 0.1


async def watched(
    work: Coroutine[Any, Any, Result], progress: Callable[[], Progress | None]
) -> Result:
    """What the work returns; until then the newest progress stands on standard error."""
    import asyncio

    from guardtui.cli.judge_scans import progress_text

    task = asyncio.create_task(work)
    try:
        while not (await asyncio.wait({task}, timeout=_POLL_SECONDS))[0]:
            if (now := progress()) is not None:
                diagnostics.progress(progress_text(now))
    finally:
        diagnostics.progress("")
    return task.result()
