"""Ports of the services: the author who answers questions, and the jobs that run work."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from guardtui.domain.topic import Topic

Answer = TypeVar("Answer")

Severity: TypeAlias = Literal["information", "warning", "error"]


class Question(Generic[Answer]):
    """A question to the author. Its texts may be foreign: the display makes them inert."""


@dataclass(frozen=True, slots=True)
class Confirm(Question[bool]):
    """A yes-or-no question; dismissing it means no.

    A question that appears unexpectedly ignores keys for the first `calm` seconds.
    """

    text: str
    yes: str
    no: str
    calm: float = 0.0


@dataclass(frozen=True, slots=True)
class Choose(Question[str]):
    """A question for one of several names."""

    title: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChooseAnswer(Question[str]):
    """A question for one of a few answers, each with key, name and label."""

    text: str
    answers: tuple[tuple[str, str, str], ...]


class Author(Protocol):
    """Answers questions: by dialogs, by options or a terminal prompt, or from a list in tests."""

    async def ask(self, question: Question[Answer]) -> Answer | None:
        """Return the answer, or None if the question was dismissed."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Severity = "information",
        seconds: float | None = None,
    ) -> None:
        """Show a message, made inert, for some seconds (None: the default time)."""

    def withdraw(self, message: str) -> None:
        """Remove an error from the screen, if it is still there: its cause is gone."""

    async def finish_typing(self) -> tuple[Topic, str] | None:
        """Wait for typed keys; return the typed definition and its undo group, or None."""


class Job(Protocol):
    """Started work."""

    @property
    def is_finished(self) -> bool:
        """Return whether it has ended."""

    @property
    def is_cancelled(self) -> bool:
        """Return whether it was cancelled, even before its end."""

    def cancel(self) -> object:
        """Cancel it."""


class Jobs(Protocol):
    """Runs work on the event loop: as workers of the screen, or as tasks."""

    def start(self, work: Coroutine[Any, Any, None], *, group: str, exclusive: bool = False) -> Job:
        """Start work; with `exclusive`, cancel the other work of the group. Errors are fatal."""

    def cancel(self, group: str) -> None:
        """Cancel all work of a group."""
