"""Signals that ask a command to end, which then ends like an interrupted one, tidily."""

from __future__ import annotations

import signal
from types import FrameType

_WORDS = {"SIGTERM": "terminated", "SIGHUP": "hung up"}

_received: signal.Signals | None = None


def listen() -> None:
    """Have SIGTERM and SIGHUP interrupt whatever runs; one that the caller ignores stays ignored.

    A command that listens for itself (the app does) takes them over.
    """
    for name in _WORDS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _leave)


def ending() -> tuple[str, int]:
    """What an interrupt was, in a word, and the exit code that tells of it: 128 + the signal."""
    if _received is None:
        return "interrupted", 128 + signal.SIGINT
    return _WORDS[_received.name], 128 + _received


def _leave(number: int, frame: FrameType | None) -> None:
    global _received
    _received = signal.Signals(number)
    # An event loop has a handler of its own for Ctrl-C, which cancels its tasks.
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt
