"""The author at the other end of lines: questions are answered by a line, messages are lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from guardtui.app.ports import Answer, Choose, ChooseAnswer, Confirm, Question, Severity
from guardtui.app.scan.plan import FlipPlan, ScanChoice, ScanPlan
from guardtui.cli import diagnostics
from guardtui.cli.asking import read_line
from guardtui.cli.output import write
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic

ANSWERS = {"y": "y", "yes": "y", "n": "n", "no": "n"}
"""Words that answer a question, and the key of each."""

ANSWERING = (
    "The line after a question answers it, often with y or n. Another line changes nothing and is "
    "run as a command."
)

_UNANSWERED = "Not answered: nothing is changed."
_CANCEL = ("n", "Cancel")
_NOTHING_SENT = "Cancel, nothing is sent"


class PlainAuthor:
    """Reads lines from standard input and writes text without control characters.

    A line that does not answer a question declines, and is read again as the next command.
    """

    def __init__(self) -> None:
        self.is_typing = bool(sys.stdin and sys.stdin.isatty())
        """True if a person types the lines."""
        self.exit_code: int = diagnostics.Exit.DONE
        """The most serious exit code of what went wrong."""
        self.is_interrupted = False
        """True if a question was interrupted."""
        self._unread: str | None = None

    def read(self) -> str:
        """Return the next line. Raises EOFError and KeyboardInterrupt."""
        line, self._unread = self._unread, None
        if line is not None:
            return line
        try:
            return read_line("> ")
        except (EOFError, KeyboardInterrupt):
            if self.is_typing:
                self.say("")  # ends the line of the prompt
            raise

    def say(self, text: str) -> None:
        """Write lines to standard output; foreign texts are made inert."""
        write(display_text(text.rstrip("\n"), newlines=True) + "\n")

    def fail(self, problem: str, code: int = diagnostics.Exit.BAD_INPUT) -> None:
        """Write an error unless it is ""; if no person reads it, it decides the exit code."""
        if problem:
            diagnostics.error(problem)
        if not self.is_typing:
            self.exit_code = max(self.exit_code, code)

    # --- the port -------------------------------------------------------------------------

    async def ask(self, question: Question[Answer]) -> Answer | None:
        """Return the answer of the next line, or None if there is none or it declines."""
        asks = _QUESTIONS.get(type(question))
        return None if asks is None else cast("Answer | None", asks(self, question))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Severity = "information",
        seconds: float | None = None,
    ) -> None:
        """Write a message as lines."""
        text = f"{title}: {message}" if title else message
        if severity == "information":
            self.say(text)
        elif severity == "warning":
            diagnostics.warn(text)
        else:
            self.fail(text)

    def withdraw(self, message: str) -> None:
        """Do nothing: a line that was written stays."""

    async def finish_typing(self) -> tuple[Topic, str] | None:
        """Return None: a line is whole."""
        return None

    # --- questions ------------------------------------------------------------------------

    def choose(self, text: str, answers: Sequence[tuple[str, str]]) -> str | None:
        """Ask for one of the keys, each with its meaning; None without an answer."""
        self.say("\n".join([text, *(f"{key}: {label}" for key, label in answers)]))
        keys = [key for key, _ in answers]
        try:
            line = self.read()
            word = ANSWERS.get(line.lower(), line.lower())
            if word in keys:
                return word
            self._unread = line
        except (EOFError, KeyboardInterrupt) as end:
            self.is_interrupted = isinstance(end, KeyboardInterrupt)
        self.say(_UNANSWERED)
        return None

    def agrees(self, text: str, yes: str, no: str) -> bool | None:
        """Ask a question that is answered by y or n; None without an answer."""
        answer = self.choose(text, (("y", yes), ("n", no)))
        return None if answer is None else answer == "y"


def _confirmed(author: PlainAuthor, asked: Confirm) -> bool | None:
    return author.agrees(asked.text, asked.yes, asked.no)


def _answered(author: PlainAuthor, asked: ChooseAnswer) -> str | None:
    answers = [(key, label) for key, _, label in asked.answers]
    answer = author.choose(asked.text, [*answers, _CANCEL])
    return next((name for key, name, _ in asked.answers if key == answer), None)


def _chosen(author: PlainAuthor, asked: Choose) -> str | None:
    numbers = [(str(number), name) for number, name in enumerate(asked.names, 1)]
    shown = [(number, display_text(name)) for number, name in numbers]
    answer = author.choose(asked.title, [*shown, _CANCEL])
    return dict(numbers).get(answer or "")


def _planned(author: PlainAuthor, plan: ScanPlan) -> ScanChoice | None:
    cost = plan.cost.text(plan.cost.prompts, plan.cost.known)
    lines = [plan.heading, *(line for line, _ in plan.lines()), f"{cost}."]
    agrees = author.agrees("\n".join(lines), plan.yes, _NOTHING_SENT)
    return plan.as_planned if agrees else None


def _checked(author: PlainAuthor, plan: FlipPlan) -> ScanChoice | None:
    goal = f"{plan.aim} ±{plan.goal.within:g}, with at most {plan.goal.calls} calls."
    lines = [*(line for line, _ in plan.scan.lines()), goal, plan.cost(plan.goal.calls)]
    agrees = author.agrees("\n".join(lines), "Check", _NOTHING_SENT)
    return replace(plan.scan.as_planned, goal=plan.goal) if agrees else None


_QUESTIONS: Mapping[type[Question[Any]], Callable[[PlainAuthor, Any], Any]] = {
    Confirm: _confirmed,
    ChooseAnswer: _answered,
    Choose: _chosen,
    ScanPlan: _planned,
    FlipPlan: _checked,
}
"""The questions that commands lead to; others are dismissed."""
