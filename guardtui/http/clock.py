"""The clock of remote calls, in one place, so that tests need not wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None:
        """Cancel the call."""


class Clock:
    """The clocks of this machine, in seconds."""

    def now(self) -> float:
        """Return the monotonic time, from an arbitrary start."""
        return time.monotonic()

    def wall(self) -> float:
        """Return the time of day, in seconds since 1970 (UTC)."""
        return time.time()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Schedule a callback on the running loop, `delay` seconds from now."""
        return asyncio.get_running_loop().call_later(delay, callback)

    async def sleep(self, delay: float) -> None:
        """Return after `delay` seconds."""
        done = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not done.done():
                done.set_result(None)

        timer = self.call_later(delay, wake)
        try:
            await done
        finally:
            timer.cancel()


CLOCK = Clock()
