"""Long computations beside the event loop, stopped when nobody waits for them any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def run_stoppable(call: Callable[[Callable[[], bool]], Result]) -> Result:
    """Run `call(stopped)` in a thread; `stopped()` is true once this was cancelled."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(call, stop.is_set)
    finally:
        stop.set()
