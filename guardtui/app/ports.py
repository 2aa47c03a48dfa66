"""Ports of the services: the author who answers questions, and the jobs that run work."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from guardtui.domain.topic import Topic

Answer = TypeVar("Answer")

Severity: TypeAlias = Literal["information", "warning", "error"]


class Question(Generic[Answer]):
    """A question to the author. Texts in it may be anybody's: who shows it makes them inert."""


@dataclass(frozen=True, slots=True)
class Confirm(Question[bool]):
    """A yes-or-no question; dismissing it means no.

    A question that comes by itself takes no answer in the first `calm` seconds.
    """

    text: str
    yes: str
    no: str
    calm: float = 0.0


@dataclass(frozen=True, slots=True)
class Choose(Question[str]):
    """One of several names."""

    title: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answers(Question[str]):
    """One of a few answers, each with its key, its name and its label."""

    text: str
    answers: tuple[tuple[str, str, str], ...]


class Author(Protocol):
    """Answers questions: by dialogs, by options or a terminal prompt, or from a list in tests."""

    async def ask(self, question: Question[Answer]) -> Answer | None:
        """Return the answer, or None when the question was dismissed."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Severity = "information",
        seconds: float | None = None,
    ) -> None:
        """Show a message for some seconds (None: the usual time). It is made inert there."""

    async def finish_typing(self) -> tuple[Topic, str] | None:
        """Wait for keys that are still on their way; the definition as typed and its undo group.

        None where nothing is being typed.
        """


class Job(Protocol):
    """Work that was started."""

    @property
    def is_finished(self) -> bool:
        """Whether it ended, in whatever way."""

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled, even if it has not ended yet."""

    def cancel(self) -> object:
        """Cancel it."""


class Jobs(Protocol):
    """Where work runs on the event loop: workers of the screen, or plain tasks."""

    def start(self, work: Coroutine[Any, Any, None], *, group: str, exclusive: bool = False) -> Job:
        """Start work; with `exclusive`, cancel what runs in this group. Its errors are fatal."""

    def cancel(self, group: str) -> None:
        """Cancel all work of a group."""
