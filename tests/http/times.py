"""Time that tests command: a clock that jumps, and an event loop whose time is made up."""

from __future__ import annotations

import asyncio
import heapq
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from guardtui.http.clock import Clock, Timer

T = TypeVar("T")


class _Jump:
    def __init__(self, due: float, callback: Callable[[], None]) -> None:
        self.due, self.callback, self.off = due, callback, False

    def cancel(self) -> None:
        self.off = True

    def __lt__(self, other: _Jump) -> bool:
        return self.due < other.due


class JumpClock(Clock):
    """Whatever is waited for happens at once, in order, and the clock is moved to that moment.

    For tests over sockets. `waits` are all the delays that were asked for.
    """

    def __init__(self, now: float = 1000.0, wall: float = 1_700_000_000.0) -> None:
        self._now, self._offset = now, wall - now
        self._queue: list[_Jump] = []
        self.waits: list[float] = []

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._now + self._offset

    def advance(self, seconds: float) -> None:
        """Let time pass without anything happening."""
        self._now += seconds

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        self.waits.append(delay)
        jump = _Jump(self._now + delay, callback)
        heapq.heappush(self._queue, jump)
        asyncio.get_running_loop().call_soon(self._fire)
        return jump

    def _fire(self) -> None:
        jump = heapq.heappop(self._queue)
        if not jump.off:
            self._now = max(self._now, jump.due)
            jump.callback()


class _Selector(selectors.DefaultSelector):
    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout:
            self.loop.elapsed += timeout
        assert ready or timeout is not None, "everything waits, and nothing will happen"
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that jumps to the next timer when there is nothing else to do."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self.elapsed = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self.elapsed


class LoopClock(Clock):
    """The time of the running loop, which under `run_virtual` is made up."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end on made-up time, which starts at 0."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
