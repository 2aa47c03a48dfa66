"""Long computations in a thread, stopped when their task is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def run_stoppable(call: Callable[[Callable[[], bool]], Result]) -> Result:
    """Run `call(stopped)` in a thread; `stopped()` is True once the task is cancelled."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(call, stop.is_set)
    finally:
        stop.set()
