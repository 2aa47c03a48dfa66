"""The author at a terminal: questions are answered by --yes or by typing."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from guardtui.app.airs.profile_changes import ShowChanges
from guardtui.app.ports import Answer, Confirm, Question, Severity
from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError
from guardtui.domain.topic import Topic


class TerminalAuthor:
    """Answers `Confirm` and `ShowChanges`; other questions are dismissed."""

    def __init__(self, *, yes: bool) -> None:
        """With `yes`, every question is answered with yes."""
        self._yes = yes

    async def ask(self, question: Question[Answer]) -> Answer | None:
        """Return the answer. Raises `InputError` if standard input is not a terminal."""
        text = ""
        if isinstance(question, ShowChanges):
            text = "Go back?" if question.reverts else "Apply?"
        elif isinstance(question, Confirm):
            text = question.text
        return cast("Answer", self._agrees(text)) if text else None

    def show(self, question: ShowChanges) -> None:
        """Print the planned changes, with warnings."""
        nothing = (
            "is as it was before already" if question.reverts else "has this definition already"
        )
        lines = [f"profile {question.title}, revision {question.revision}:"]
        lines += [f"  {change}" for change in question.changes or (nothing,)]
        diagnostics.note("\n".join(lines))
        self.warn(question.warnings)

    def warn(self, warnings: Sequence[str]) -> None:
        """Print warnings."""
        for warning in warnings:
            diagnostics.warn(warning)

    def _agrees(self, text: str) -> bool:
        if self._yes:
            return True
        if not can_ask():
            raise InputError(
                "nothing was changed: there is no terminal to ask\n"
                "  give --yes to do it, or --dry-run to be shown only"
            )
        diagnostics.note(f"{text} [y/N]")
        try:
            with _interruptible():
                answer = input("> " if sys.stdout and sys.stdout.isatty() else "")
        except (EOFError, UnicodeDecodeError):
            answer = ""
        if answer.strip().lower() in ("y", "yes"):
            return True
        diagnostics.note("nothing was changed")
        return False

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Severity = "information",
        seconds: float | None = None,
    ) -> None:
        """Print a message."""
        show = {"information": diagnostics.note, "warning": diagnostics.warn}
        show.get(severity, diagnostics.error)(message)

    async def finish_typing(self) -> tuple[Topic, str] | None:
        """Do nothing: there is no text field."""
        return None


def can_ask() -> bool:
    """Return whether both ends are a terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt: an event loop would only cancel its task."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
