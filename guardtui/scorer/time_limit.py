"""Time limit of code that users write: regular expressions without end, scorers of plug-ins."""

from __future__ import annotations

import asyncio
import math
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType, TracebackType

_LONGEST_INTERVAL = 0.1
_TICKS = 10


class TimeLimitError(ValueError):
    """A step took longer than its limit."""


class TimeLimit:
    """Raise TimeLimitError in a step that computes for longer than `seconds`.

    The block of this context manager is one step, or several with `next_step` between them. What
    the event loop waits for is not counted. An alarm ticks meanwhile: `re` holds the interpreter,
    so that no other thread can end it, but it handles signals as it searches. Without effect
    outside of the main thread, and on Windows, which has no such alarm.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._interval = min(seconds / _TICKS, _LONGEST_INTERVAL)
        self._step = self._step_before = 0
        self._ticks = 0
        self._works = (
            seconds < math.inf
            and hasattr(signal, "setitimer")
            and threading.current_thread() is threading.main_thread()
        )
        self._beat: asyncio.TimerHandle | None = None

    def next_step(self) -> None:
        """Begin a new step."""
        self._step += 1

    def __enter__(self) -> TimeLimit:
        if self._works and sys.platform != "win32":
            self._before = signal.signal(signal.SIGALRM, self._tick)
            self._timer_before = signal.setitimer(
                signal.ITIMER_REAL, self._interval, self._interval
            )
            with suppress(RuntimeError):  # no loop is running
                self._turn(asyncio.get_running_loop())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._works and sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, *self._timer_before)
            signal.signal(signal.SIGALRM, self._before)
        if self._beat is not None:
            self._beat.cancel()

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin a new step at each turn of the event loop."""
        self._step += 1
        self._beat = loop.call_later(self._interval, self._turn, loop)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        # Counted rather than timed: a suspended process is not a slow one.
        self._ticks = self._ticks + 1 if self._step == self._step_before else 0
        self._step_before = self._step
        if self._ticks * self._interval >= self.seconds:
            self._ticks = 0
            raise TimeLimitError(f"it takes longer than {self.seconds:g} s")
