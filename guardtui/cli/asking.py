"""Questions of commands, answered by --yes or in the terminal, and the lines of their answers."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError

_ESCAPED = "surrogateescape"


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
        answer = read_line("> ")
    except EOFError:
        answer = ""
    if answer.lower() in ("y", "yes"):
        return True
    diagnostics.note("nothing was changed")
    return False


def read_line(sign: str) -> str:
    """Return a line of standard input, stripped; `sign` is shown before it on a terminal.

    Bytes that cannot be decoded become surrogates, which are in no valid text. Raises EOFError, and
    KeyboardInterrupt even while an event loop runs.
    """
    if sys.stdin is None:  # closed by the caller
        raise EOFError
    on_terminal = sys.stdin.isatty() and bool(sys.stdout and sys.stdout.isatty())
    if on_terminal:
        with suppress(ImportError):
            # Arrows and corrections; without a terminal it would write an escape sequence.
            import readline  # noqa: F401
    if isinstance(sys.stdin, TextIOWrapper) and sys.stdin.errors != _ESCAPED:
        sys.stdin.reconfigure(errors=_ESCAPED)
    with _interruptible():
        return input(sign if on_terminal else "").strip()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt: an event loop would only cancel its task."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
