"""Questions about many definitions and texts, in requests as large as the service accepts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Failure, Usage, Verdict
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.pool import Counters, run_all
from guardtui.scanners.base import Progress, Report, ScannerError, Traffic
from guardtui.scanners.models.calls import Sending
from guardtui.scanners.models.scanner import Asking, Questioner
from guardtui.scanners.remote import HOPELESS, Failures, traffic_of, without_verdict

Arrived: TypeAlias = "Callable[[int, int, Verdict], None]"
"""Gets the number of a definition, a row, and the verdict on it."""

_EPOCH = 1
_LOOKUPS = 500
"""Cache look-ups between two points where the task can be cancelled."""


@dataclass(frozen=True, slots=True)
class Question:
    """A definition and a text, and the rows that have this text."""

    number: int
    topic: Topic
    text: str
    rows: tuple[int, ...]


class ManyQuestions:
    """Asks about each text only what is wanted of it; cached answers are not asked for.

    Each answer arrives as it comes. `count_calls` gets the number of verdicts that are asked for,
    negative for those that the budget did not allow.
    """

    def __init__(
        self,
        asked: Questioner,
        sending: Sending,
        asking: Asking,
        arrived: Arrived,
        report: Report,
        count_calls: Callable[[int], None],
    ) -> None:
        self._asked, self._sending, self._asking = asked, sending, asking
        self._arrived, self._report, self._count_calls = arrived, report, count_calls
        limit = self._sending.limit
        self._counters, self._failures = Counters(limit), Failures(limit)
        self._before = self._sending.budget.spent
        self._done = self._total = self._errors = 0

    async def ask(self, questions: Sequence[Question]) -> None:
        """Ask all, until too many requests failed. Raises ScannerError if nothing can be asked."""
        waiting = list(questions)
        self._total = sum(len(question.rows) for question in waiting)
        self._show()
        for number, topic in {call.number: call.topic for call in waiting}.items():
            # Which version of a model answers is known from its first answer only: until then no
            # cached one is used.
            texts = [question.text for question in waiting if question.number == number]
            for text in self._asking.probes(topic, texts, _EPOCH):
                probe = [
                    each for each in waiting if each.text == text and self._find(each) is None
                ][: self._asked.most_at_once]
                waiting = [each for each in waiting if each not in probe]
                await self._collect([tuple(probe)])
                if self._failures.given_up:
                    return
        unknown = []
        for count, question in enumerate(waiting):
            verdict = self._find(question)
            if verdict is None:
                unknown.append(question)
            else:
                self._settle(question, verdict, known=True)
            if count % _LOOKUPS == 0:
                await asyncio.sleep(0)
        await self._collect(list(_requests(unknown, self._asked.most_at_once)))

    def _find(self, question: Question) -> Verdict | None:
        return self._asked.find(question.topic, question.text, _EPOCH)

    async def _collect(self, requests: Sequence[tuple[Question, ...]]) -> None:
        async def call(questions: tuple[Question, ...]) -> list[Verdict]:
            self._count_calls(len(questions))
            topics = [question.topic for question in questions]
            try:
                return await self._asking.verdicts(topics, questions[0].text, _EPOCH)
            except ServiceError as error:
                if error.kind is ErrorKind.BUDGET and not error.attempts:
                    self._count_calls(-len(questions))
                raise

        results = run_all(requests, call, self._sending.limit, counters=self._counters)
        async with contextlib.aclosing(results):
            async for index, result in results:
                questions = requests[index]
                if isinstance(result, ServiceError):
                    verdicts = [without_verdict(result)] * len(questions)
                    if verdicts[0].failure in HOPELESS and not self._failures.answered:
                        raise _nothing_asked(verdicts[0])
                else:
                    verdicts = result
                # A request counts as failed if none of its answers can be used.
                usable = [verdict for verdict in verdicts if verdict.failure is None]
                self._failures.count((usable or verdicts)[0])
                for question, verdict in zip(questions, verdicts, strict=True):
                    self._settle(question, verdict)
                if self._failures.given_up:
                    return

    def _settle(self, question: Question, verdict: Verdict, *, known: bool = False) -> None:
        if known:
            self._failures.count(verdict, known=True)
        self._done += len(question.rows)
        self._errors += len(question.rows) * (not verdict.decided)
        for row in question.rows:
            self._arrived(question.number, row, verdict)
        self._show()

    def _show(self) -> None:
        self._report(Progress("", self._done, self._total, self._errors, traffic=self._traffic))

    def _traffic(self) -> Traffic:
        return traffic_of(self._counters, self._sending.limit, self._used)

    def _used(self) -> Usage:
        return self._sending.budget.spent - self._before


def _requests(questions: Sequence[Question], at_once: int) -> Iterator[tuple[Question, ...]]:
    """Yield the questions of each request: those about one text, at most `at_once`."""
    by_text: dict[str, list[Question]] = {}
    for question in questions:
        by_text.setdefault(question.text, []).append(question)
    for some in by_text.values():
        for start in range(0, len(some), at_once):
            yield tuple(some[start : start + at_once])


def _nothing_asked(verdict: Verdict) -> ScannerError:
    problem = f"nothing could be asked: {verdict.problem}"
    if verdict.failure is Failure.UNREACHABLE:
        problem += "\n  check the address, and that the service is running"
    return ScannerError(problem)
