"""An author, a place for work, and the services of a topic without a screen."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.ports import Answer, Question, Severity
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.app.task_jobs import TaskJobs
from guardtui.domain.operating_point import Wanted
from guardtui.domain.topic import Topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace

NO_SERVICE = RemoteOptions(environment={}, config=Path("/nonexistent/config.json"))


@dataclass
class ScriptedAuthor:
    """Answers from a list, oldest first; questions beyond it are dismissed. Keeps what it saw."""

    answers: list[Any] = field(default_factory=list)
    questions: list[Question[Any]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    typing: tuple[Topic, str] | None = None

    async def ask(self, question: Question[Answer]) -> Answer | None:
        self.questions.append(question)
        return self.answers.pop(0) if self.answers else None

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Severity = "information",
        seconds: float | None = None,
    ) -> None:
        self.messages.append(message)

    def withdraw(self, message: str) -> None:
        self.withdrawn.append(message)

    async def finish_typing(self) -> tuple[Topic, str] | None:
        typed, self.typing = self.typing, None
        return typed


def resting_jobs(*idle: str) -> TaskJobs:
    """Jobs that never begin work of these groups.

    Edits are measured, and pauses waited for, only where that is the subject.
    """
    return TaskJobs(idle=idle or ("ideas", "measured"))


class Loop:
    """The services of a topic file; in a context they are open, at rest, and closed at its end."""

    def __init__(
        self,
        path: Path,
        *answers: object,
        threshold: Wanted = None,
        scanner: LocalScanner | None = None,
        prompts: Path | None = None,
        jobs: TaskJobs | None = None,
        remote: RemoteOptions = NO_SERVICE,
    ) -> None:
        workspace = Workspace.open(path, prompts)
        self.author, self.jobs = ScriptedAuthor(list(answers)), jobs or resting_jobs()
        self.scanner = scanner or LocalScanner("static")
        self.services = Services(
            workspace,
            self.scanner,
            remote,
            (),
            self.author,
            self.jobs,
            resumed=workspace.resume_draft(),
            threshold=threshold,
        )
        self.services.preview.pause = self.services.ideas.pause = 0

    async def __aenter__(self) -> Loop:
        await self.services.open()
        await self.settle()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.services.close()

    @property
    def state(self) -> AppState:
        return self.services.state

    async def settle(self) -> AppState:
        await self.jobs.finished()
        return self.state

    async def describe(self, text: str) -> AppState:
        """Type another description and wait for its preview."""
        self.services.editing.type(self.state.topic.model_copy(update={"description": text}))
        return await self.settle()


async def opened(path: Path, answers: tuple[object, ...] = ()) -> Loop:
    """Open the services of a topic file, with these answers of the author."""
    return await Loop(path, *answers).__aenter__()
