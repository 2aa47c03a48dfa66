"""Many questions about each text of a set, as many in a request as the service takes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.verdicts import Failure, Triggered, Usage, Verdict
from guardtui.http.decisions import Answer, Question
from guardtui.http.errors import ServiceError
from guardtui.http.pool import Counters, run_all
from guardtui.scanners.base import Progress, Report, ScannerError, Traffic
from guardtui.scanners.decision.asking import estimated_tokens, is_pinned
from guardtui.scanners.decision.scanner import DecisionScanner
from guardtui.scanners.remote import HOPELESS, Failures, traffic_of, without_verdict

_LOOKED_UP = 500
"""Answers looked up in the cache between two chances to be cancelled."""


@dataclass(frozen=True, slots=True)
class ManyPlan:
    """What asking will take: `questions` that are open in so many `requests`, `known` cached ones.

    `tokens` are about those that are sent.
    """

    requests: int
    questions: int
    known: int
    tokens: int


@dataclass(frozen=True, eq=False)
class ManyAnswers:
    """Probabilities, float32 [questions, texts], NaN where there is none; and what they cost.

    `problems` counts why answers are missing; `unsent` questions were not asked at all.
    """

    probabilities: NDArray[np.float32]
    problems: Mapping[str, int]
    unsent: int
    used: Usage

    @property
    def missing(self) -> int:
        """Questions without an answer."""
        return int(np.count_nonzero(np.isnan(self.probabilities)))


@dataclass(frozen=True, slots=True)
class _Job:
    """One request: a text and some of the questions, by their indices."""

    text: int
    questions: tuple[int, ...]


class ManyQuestions:
    """Asks the same questions about every text; what was answered before is not asked again.

    `at_once` questions are in a request at most. Texts that are the same are asked about once.
    Killed at any moment and run again, it goes on where it was.
    """

    def __init__(
        self,
        scanner: DecisionScanner,
        questions: Sequence[Question],
        texts: Sequence[str],
        at_once: int,
    ) -> None:
        self._scanner, self._questions, self._at_once = scanner, tuple(questions), at_once
        self._texts = tuple(dict.fromkeys(texts))
        places = {text: place for place, text in enumerate(self._texts)}
        self._columns = np.array([places[text] for text in texts], np.intp)
        self._found = np.full((len(self._questions), len(self._texts)), np.nan, np.float32)

    def plan(self) -> ManyPlan:
        """Work out what is to be asked; the cache is looked through, nothing is sent."""
        self._found[:] = np.nan
        for place in range(len(self._texts)):
            self._look_up(place)
        jobs = self._jobs()
        tokens = sum(
            estimated_tokens(self._texts[job.text], [self._questions[one] for one in job.questions])
            for job in jobs
        )
        questions = sum(len(job.questions) for job in jobs)
        return ManyPlan(len(jobs), questions, self._found.size - questions, tokens)

    async def run(self, report: Report) -> ManyAnswers:
        """Ask all that is open; after a number of failures in a row no more is sent.

        Raises ScannerError where the first answer says that none will come.
        """
        scanner = self._scanner
        limit = scanner.new_limit()
        counters, failures = Counters(limit), Failures(limit)
        before = scanner.budget.spent
        problems: Counter[str] = Counter()
        done = errors = 0
        await self._take_known()
        jobs = self._jobs()

        def used() -> Usage:
            return scanner.budget.spent - before

        def traffic() -> Traffic:
            return traffic_of(counters, limit, used)

        def tell() -> None:
            report(Progress("asking", done, max(total, done), errors, traffic=traffic))

        async with scanner.service(limit) as service:
            asking = scanner.asking(service)

            async def call(job: _Job) -> list[Answer]:
                wanted = [self._questions[one] for one in job.questions]
                return await asking.ask(self._texts[job.text], wanted)

            async def collect(jobs: Sequence[_Job]) -> None:
                nonlocal done, errors
                results = run_all(jobs, call, limit, counters=counters)
                async with contextlib.aclosing(results):
                    async for index, result in results:
                        done += 1
                        job = jobs[index]
                        if isinstance(result, ServiceError):
                            failed = without_verdict(result)
                            if failed.failure in HOPELESS and not failures.answered:
                                raise ScannerError(f"nothing could be asked: {failed.problem}")
                            failures.count(failed)
                            problems[failed.problem] += len(job.questions)
                            errors += 1
                        else:
                            self._settle(job, result, problems)
                            failures.count(_outcome(result))
                        tell()
                        if failures.given_up:
                            break

            total = len(jobs)
            tell()
            # Which model answers now is not known before the first answer; only its cached
            # answers may stand beside new ones.
            known = int(np.count_nonzero(~np.isnan(self._found)))
            answering = scanner.answers.answering
            while jobs and known and not is_pinned(scanner.model.name) and asking.model is None:
                await collect([jobs.pop(0)])
                if failures.given_up:
                    break
            if asking.model is not None and asking.model != answering:
                self._found[:] = np.nan
                await self._take_known()
                jobs = self._jobs()
                total = done + len(jobs)
            if not failures.given_up:
                await collect(jobs)
        missing = int(np.count_nonzero(np.isnan(self._found)))
        unsent = max(0, missing - problems.total())
        return ManyAnswers(self._found[:, self._columns], dict(problems), unsent, used())

    def _settle(self, job: _Job, answers: Sequence[Answer], problems: Counter[str]) -> None:
        for question, answer in zip(job.questions, answers, strict=True):
            if answer.probability is None:
                problems[answer.problem] += 1
            else:
                self._found[question, job.text] = answer.probability

    async def _take_known(self) -> None:
        self._found[:] = np.nan
        for place in range(len(self._texts)):
            self._look_up(place)
            if place % max(1, _LOOKED_UP // max(1, len(self._questions))) == 0:
                await asyncio.sleep(0)

    def _look_up(self, place: int) -> None:
        for row, question in enumerate(self._questions):
            known = self._scanner.answers.find(self._texts[place], question)
            if known is not None:
                self._found[row, place] = known

    def _jobs(self) -> list[_Job]:
        """The requests for all that is open; questions of a text are together."""
        jobs = []
        for place in range(len(self._texts)):
            missing = np.flatnonzero(np.isnan(self._found[:, place])).tolist()
            starts = range(0, len(missing), self._at_once)
            jobs += [_Job(place, tuple(missing[at : at + self._at_once])) for at in starts]
        return jobs


def _outcome(answers: Sequence[Answer]) -> Verdict:
    """What a request with an answer counts as: failed only where none of them can be used."""
    if any(answer.probability is not None or answer.refused for answer in answers):
        return Verdict(Triggered.NO)
    return Verdict(Triggered.NO_VERDICT, problem=answers[0].problem, failure=Failure.FAILED)
