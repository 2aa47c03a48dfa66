"""Time as remote calls know it, in one place, so that tests need not wait for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that will happen."""

    def cancel(self) -> None:
        """Make it not happen."""


class Clock:
    """The clocks of this machine, in seconds."""

    def now(self) -> float:
        """Time that only runs forward, from an unknown start."""
        return time.monotonic()

    def wall(self) -> float:
        """Time of day, since 1970 in UTC."""
        return time.time()

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call something on the running loop, `delay` seconds from now."""
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
