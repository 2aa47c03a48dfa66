"""Many questions about each text of a set, in requests as large as the service accepts."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.verdicts import Failure, Triggered, Usage, Verdict
from guardtui.http.decisions import DecisionAnswer, DecisionQuestion
from guardtui.http.errors import ServiceError
from guardtui.http.pool import Counters, run_all
from guardtui.scanners.base import Progress, Report, ScannerError, Traffic
from guardtui.scanners.models.decision import ScoredQuestion
from guardtui.scanners.models.decision_calls import estimated_tokens, is_pinned
from guardtui.scanners.models.scanner import ModelScanner
from guardtui.scanners.remote import HOPELESS, Failures, traffic_of, without_verdict

_LOOKUPS = 500
"""Cache look-ups between two points where the task can be cancelled."""


@dataclass(frozen=True, slots=True)
class ManyPlan:
    """Size of a run: open `questions` in `requests`, and `known` cached answers.

    `tokens` is an estimate of those to be sent.
    """

    requests: int
    questions: int
    known: int
    tokens: int


@dataclass(frozen=True, eq=False)
class ManyAnswers:
    """Probabilities, float32 [questions, texts], NaN if missing; and their usage.

    `problems` counts missing answers by reason; `unsent` is the number of questions not sent.
    """

    probabilities: NDArray[np.float32]
    problems: Mapping[str, int]
    unsent: int
    used: Usage

    @property
    def missing(self) -> int:
        """Number of questions without an answer."""
        return int(np.count_nonzero(np.isnan(self.probabilities)))


@dataclass(frozen=True, slots=True)
class _Job:
    """One request: a text and some of the questions, by their indices."""

    text: int
    questions: tuple[int, ...]


class ManyQuestions:
    """Asks the same questions about every text, except those with cached answers.

    A request has at most `at_once` questions. Equal texts are sent once. A run that was killed is
    resumed by running it again.
    """

    def __init__(
        self,
        scanner: ModelScanner[ScoredQuestion],
        questions: Sequence[DecisionQuestion],
        texts: Sequence[str],
        at_once: int,
    ) -> None:
        self._scanner, self._questions, self._at_once = scanner, tuple(questions), at_once
        self._texts = tuple(dict.fromkeys(texts))
        indices = {text: index for index, text in enumerate(self._texts)}
        self._columns = np.array([indices[text] for text in texts], np.intp)
        self._probabilities = np.full((len(self._questions), len(self._texts)), np.nan, np.float32)

    def plan(self) -> ManyPlan:
        """Return the size of the run by searching the cache; nothing is sent."""
        self._probabilities[:] = np.nan
        for index in range(len(self._texts)):
            self._look_up(index)
        jobs = self._jobs()
        tokens = sum(
            estimated_tokens(
                self._texts[job.text], [self._questions[number] for number in job.questions]
            )
            for job in jobs
        )
        questions = sum(len(job.questions) for job in jobs)
        return ManyPlan(len(jobs), questions, self._probabilities.size - questions, tokens)

    async def run(self, report: Report) -> ManyAnswers:
        """Ask all open questions; stops after a number of consecutive failures.

        Raises ScannerError if the first answer shows that all calls would fail.
        """
        asked, sending = self._scanner.asked, self._scanner.sending()
        limit, budget = sending.limit, sending.budget
        counters, failures = Counters(limit), Failures(limit)
        before = budget.spent
        problems: Counter[str] = Counter()
        done = errors = 0
        await self._take_known()
        jobs = self._jobs()

        def used() -> Usage:
            return budget.spent - before

        def traffic() -> Traffic:
            return traffic_of(counters, limit, used)

        def report_progress() -> None:
            report(Progress("asking", done, max(total, done), errors, traffic=traffic))

        async with asked.requests(sending) as requests:

            async def call(job: _Job) -> list[DecisionAnswer]:
                questions = [self._questions[number] for number in job.questions]
                return await requests.ask(self._texts[job.text], questions)

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
                        report_progress()
                        if failures.given_up:
                            break

            total = len(jobs)
            report_progress()
            # The current model is unknown before the first answer; only its cached answers may be
            # combined with new ones.
            known = int(np.count_nonzero(~np.isnan(self._probabilities)))
            answering = asked.answers.answering
            while jobs and known and not is_pinned(asked.model.name) and requests.model is None:
                await collect([jobs.pop(0)])
                if failures.given_up:
                    break
            if requests.model is not None and requests.model != answering:
                self._probabilities[:] = np.nan
                await self._take_known()
                jobs = self._jobs()
                total = done + len(jobs)
            if not failures.given_up:
                await collect(jobs)
        missing = int(np.count_nonzero(np.isnan(self._probabilities)))
        unsent = max(0, missing - problems.total())
        return ManyAnswers(self._probabilities[:, self._columns], dict(problems), unsent, used())

    def _settle(self, job: _Job, answers: Sequence[DecisionAnswer], problems: Counter[str]) -> None:
        for question, answer in zip(job.questions, answers, strict=True):
            if answer.probability is None:
                problems[answer.problem] += 1
            else:
                self._probabilities[question, job.text] = answer.probability

    async def _take_known(self) -> None:
        self._probabilities[:] = np.nan
        for index in range(len(self._texts)):
            self._look_up(index)
            if index % max(1, _LOOKUPS // max(1, len(self._questions))) == 0:
                await asyncio.sleep(0)

    def _look_up(self, index: int) -> None:
        for row, question in enumerate(self._questions):
            known = self._scanner.asked.answers.find(self._texts[index], question)
            if known is not None:
                self._probabilities[row, index] = known

    def _jobs(self) -> list[_Job]:
        """Return the requests for all open questions, grouped by text."""
        jobs = []
        for index in range(len(self._texts)):
            missing = np.flatnonzero(np.isnan(self._probabilities[:, index])).tolist()
            starts = range(0, len(missing), self._at_once)
            jobs += [_Job(index, tuple(missing[start : start + self._at_once])) for start in starts]
        return jobs


def _outcome(answers: Sequence[DecisionAnswer]) -> Verdict:
    """Return the outcome of a request: failed only if none of its answers can be used."""
    if any(answer.probability is not None or answer.refused for answer in answers):
        return Verdict(Triggered.NO)
    return Verdict(Triggered.NO_VERDICT, problem=answers[0].problem, failure=Failure.FAILED)
