"""Signals that end a command: SIGTERM and SIGHUP interrupt it like Ctrl-C."""

from __future__ import annotations

import signal
from types import FrameType

_WORDS = {"SIGTERM": "terminated", "SIGHUP": "hung up"}

_received: signal.Signals | None = None


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


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _received
    _received = signal.Signals(number)
    # An event loop has its own handler for Ctrl-C, which cancels its tasks.
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt
