"""An event loop that knows when an app has nothing left to do, for tests to wait for.

The app settles when no callback is ready, no thread of it works, and no timer is due at once.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

SOON = 0.005
"""Seconds; a timer that is due within them is still waited for.

An app whose timer is always due sooner would never come to rest.
"""

RESTLESS = 500
"""Rounds of the loop without rest, because a timer is always due soon; then conditions are checked.

An app that is leaving may be so until its end.
"""

HANGS_AFTER = 120.0
"""Seconds after which a test that waits in vain fails."""


class _Selector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Resolves futures at the moment when the loop would go to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = 0
        self.idle: list[asyncio.Future[None]] = []
        self.settled: list[asyncio.Future[None]] = []
        self.woken: list[asyncio.Future[None]] = []
        self.restless = 0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            self._wake()
            return ready
        if timeout is None or timeout > SOON:
            resting = self.idle if self.busy else self.idle + self.settled
            self.restless = 0
            if resting:
                self.idle = []
                self.settled = self.settled if self.busy else []
                for future in resting:
                    if not future.done():
                        future.set_result(None)
                return ready
        ready = super().select(timeout)
        self._wake()
        return ready

    def _wake(self) -> None:
        """Have waiting conditions checked again: the next event may change anything."""
        self.idle += self.woken
        self.woken = []
        self.restless += 1
        if self.restless > RESTLESS:
            self.restless = 0
            resting, self.idle = self.idle, []
            for future in resting:
                if not future.done():
                    future.set_result(None)


class SettlingLoop(asyncio.SelectorEventLoop):
    """The usual loop of asyncio, which also counts the jobs in its threads."""

    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = super().run_in_executor(executor, func, *args)
        self.selector.busy += 1
        future.add_done_callback(self._job_done)
        return future

    def _job_done(self, _: asyncio.Future[Any]) -> None:
        self.selector.busy -= 1


class SettlingPolicy(asyncio.DefaultEventLoopPolicy):
    """Makes all loops of a test run settling ones."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return SettlingLoop()


async def idle(*_: object, **__: object) -> None:
    """Return as soon as the loop would sleep; threads may be at work."""
    async with asyncio.timeout(HANGS_AFTER):
        await _resolved(_selector().idle)


async def settle() -> None:
    """Return as soon as the loop would sleep and no thread is at work."""
    async with asyncio.timeout(HANGS_AFTER):
        await _resolved(_selector().settled)


async def until(condition: Callable[[], bool], patience: float = HANGS_AFTER) -> None:
    """Return when a condition holds; it is checked whenever the app has dealt with an event.

    Raises `TimeoutError` when it does not hold within `patience` seconds.
    """
    async with asyncio.timeout(patience):
        await idle()
        while not condition():
            await _resolved(_selector().woken)


def _selector() -> _Selector:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SettlingLoop)
    return loop.selector


async def _resolved(waiting: list[asyncio.Future[None]]) -> None:
    future = asyncio.get_running_loop().create_future()
    waiting.append(future)
    await future
