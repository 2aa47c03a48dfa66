"""Questions of commands: answered by --yes or in the terminal."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError


def agrees(question: str, *, yes: bool, remedy: str) -> bool:
    """Return whether the author agrees, at once with --yes.

    Raises `InputError` with the question and the remedy without a terminal.
    """
    if yes:
        return True
    if not diagnostics.can_ask():
        raise InputError(f"{question} There is no terminal to ask; nothing was changed\n  {remedy}")
    diagnostics.note(f"{question} [y/N]")
    try:
        with _interruptible():
            answer = input("> " if sys.stdout and sys.stdout.isatty() else "")
    except (EOFError, UnicodeDecodeError):
        answer = ""
    if answer.strip().lower() in ("y", "yes"):
        return True
    diagnostics.note("nothing was changed")
    return False


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt: an event loop would only cancel its task."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
