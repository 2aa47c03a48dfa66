"""Signals that end a command: SIGTERM and SIGHUP interrupt it like Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

_WORDS = {"SIGTERM": "terminated", "SIGHUP": "hung up"}
_PATIENCE = 0.2
"""Seconds that a step of an event loop gets to end after an interrupt."""

_T = TypeVar("_T")

_received: signal.Signals | None = None
_cancel: Callable[[], bool] | None = None
"""Cancels the coroutine that runs; returns whether it had not been cancelled before."""


def listen() -> None:
    """Let SIGTERM and SIGHUP interrupt the command, unless the caller ignores them.

    A command with handlers of its own (the app) replaces these.
    """
    for name in _WORDS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _interrupt)


def ending() -> tuple[str, int]:
    """Return the cause of an interrupt in a word, and its exit code: 128 + the signal."""
    if _received is None:
        return "interrupted", 128 + signal.SIGINT
    return _WORDS[_received.name], 128 + _received


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine as `asyncio.run` does, so that the first interrupt ends it at once.

    asyncio cancels it at its next `await`, and a regular expression without end never gets there.
    Raises KeyboardInterrupt after an interrupt.
    """
    import asyncio  # late: most commands need no event loop

    global _cancel
    cancelled = False

    async def interruptible() -> _T:
        global _cancel
        task, loop = asyncio.current_task(), asyncio.get_running_loop()

        def cancel() -> bool:
            nonlocal cancelled
            if cancelled or task is None or task.done():
                return False
            cancelled = True
            task.cancel()
            if sys.platform != "win32":  # which has no alarm
                signal.signal(signal.SIGALRM, end_step)
                signal.setitimer(signal.ITIMER_REAL, _PATIENCE, _PATIENCE)
                loop.call_soon_threadsafe(signal.setitimer, signal.ITIMER_REAL, 0)
            return True

        def end_step(number: int, frame: FrameType | None) -> None:
            if asyncio.current_task(loop) is not None:
                raise asyncio.CancelledError

        _cancel = cancel
        # asyncio's own handler for Ctrl-C; there is none if the caller ignores it.
        if callable(signal.getsignal(signal.SIGINT)):
            signal.signal(signal.SIGINT, _interrupt)
        return await work

    before = signal.getsignal(signal.SIGINT)
    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        if cancelled:
            raise KeyboardInterrupt from None
        raise
    finally:
        _cancel = None
        if before is not None:  # set by another program
            signal.signal(signal.SIGINT, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _received
    if number != signal.SIGINT:
        _received = signal.Signals(number)
    if _cancel is not None and _cancel():
        return
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler) and handler is not _interrupt:
        handler(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt
