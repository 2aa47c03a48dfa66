"""Experiments on judges and decision models: all definitions of a look are asked together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from guardtui.app.experiments.answering import Arrived, DefinitionRows
from guardtui.app.guardrails.remote import ModelOptions
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Failure, Usage, Verdict
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.pool import Counters, run_all
from guardtui.scanners.base import Progress, Report, ScannerError, Traffic, VerdictCache
from guardtui.scanners.local.vectors import cache_folder
from guardtui.scanners.models.calls import Sending
from guardtui.scanners.models.scanner import Asking, ModelScanner, Questioner
from guardtui.scanners.remote import HOPELESS, Failures, traffic_of, without_verdict
from guardtui.session.caches import SqliteVerdicts

_EPOCH = 1
_LOOKUPS = 500
"""Cache look-ups between two points where the task can be cancelled."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A definition and a text, and the rows that have this text."""

    number: int
    topic: Topic
    text: str
    rows: tuple[int, ...]


class ModelAnswering:
    """A judge or decision model during an experiment.

    Each request is about one text; a decision model answers in it for all definitions that want
    it. Cached answers are no calls, and equal texts are sent once. The connections stay open for
    the whole experiment, so that its answers are all of one version of the model.
    """

    def __init__(self, options: ModelOptions, cache: VerdictCache | None = None) -> None:
        """`cache` replaces the cache of verdicts in the usual folder."""
        self._options, self._cache = options, cache
        self._opened = contextlib.AsyncExitStack()
        self._scanner: ModelScanner[Questioner] = options.scanner(cache)
        self._asking: Asking | None = None
        self._held = False
        self.calls = 0
        """Number of verdicts that the service was asked for so far."""

    @property
    def settings(self) -> ScannerSettings:
        return self._scanner.settings

    def cost(self, topic: Topic, prompts: PromptSet, calls: int) -> str:
        """Return the tokens of so many calls, and their cost if prices are known, in words.

        Definitions that share a request take fewer.
        """
        expense = self._scanner.expense(topic, prompts.prompts.to_list(), None)
        return f"at most {expense.text(calls)}. {expense.basis}" if calls else ""

    async def __aenter__(self) -> Self:
        cache = self._cache
        if cache is None:
            cache = self._opened.enter_context(contextlib.closing(SqliteVerdicts(cache_folder())))
        self._scanner = self._options.scanner(cache)
        self._scanner.hold(self._held)
        self._sending = self._scanner.sending()
        self._asking = await self._opened.enter_async_context(
            self._scanner.asked.opened(self._sending)
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._asking = None
        await self._opened.aclose()

    def hold(self, held: bool) -> None:
        """Pause or resume sending; requests in flight are completed."""
        self._held = held
        self._scanner.hold(held)

    async def ask(
        self, wanted: Sequence[DefinitionRows], prompts: PromptSet, arrived: Arrived, report: Report
    ) -> None:
        """Ask for all wanted verdicts, until too many requests failed. Raises as `Answering`."""
        assert self._asking is not None  # noqa: S101 - it is asked while it is entered
        run = _Asked(self._scanner.asked, self._sending, self._asking, prompts, report)
        await run.all_of(wanted, arrived, self._count)

    def _count(self, calls: int) -> None:
        self.calls += calls


class _Asked:
    """The questions of one look."""

    def __init__(
        self,
        asked: Questioner,
        sending: Sending,
        asking: Asking,
        prompts: PromptSet,
        report: Report,
    ) -> None:
        self._asked, self._sending, self._asking = asked, sending, asking
        self._texts, self._report = prompts.prompts.to_list(), report
        limit = self._sending.limit
        self._counters, self._failures = Counters(limit), Failures(limit)
        self._before = self._sending.budget.spent
        self._done = self._total = self._errors = 0

    async def all_of(
        self,
        wanted: Sequence[DefinitionRows],
        arrived: Arrived,
        count_calls: Callable[[int], None],
    ) -> None:
        self._arrived, self._count_calls = arrived, count_calls
        waiting = [question for one in wanted for question in self._questions(one)]
        self._total = sum(len(question.rows) for question in waiting)
        self._show()
        for one in wanted:
            # Which version of a model answers is known from its first answer only: until then no
            # cached one is used.
            texts = [question.text for question in waiting if question.number == one.number]
            for text in self._asking.probes(one.topic, texts, _EPOCH):
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

    def _find(self, question: _Question) -> Verdict | None:
        return self._asked.find(question.topic, question.text, _EPOCH)

    def _questions(self, wanted: DefinitionRows) -> Iterator[_Question]:
        rows: dict[str, list[int]] = {}
        for row in wanted.rows.tolist():
            rows.setdefault(self._texts[row], []).append(row)
        for text, some in rows.items():
            yield _Question(wanted.number, wanted.topic, text, tuple(some))

    async def _collect(self, requests: Sequence[tuple[_Question, ...]]) -> None:
        async def call(questions: tuple[_Question, ...]) -> list[Verdict]:
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
                usable = [one for one in verdicts if one.failure is None]
                self._failures.count((usable or verdicts)[0])
                for question, verdict in zip(questions, verdicts, strict=True):
                    self._settle(question, verdict)
                if self._failures.given_up:
                    return

    def _settle(self, question: _Question, verdict: Verdict, *, known: bool = False) -> None:
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


def _requests(questions: Sequence[_Question], at_once: int) -> Iterator[tuple[_Question, ...]]:
    """Yield the questions of each request: those about one text, at most `at_once`."""
    by_text: dict[str, list[_Question]] = {}
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
