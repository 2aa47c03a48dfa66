"""The judge scanner: each prompt is sent once per language model, and several models vote."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.guardrail import JUDGE, Guardrail, ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Failure, Triggered, Usage, Verdict, Verdicts
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ServiceError, inert
from guardtui.http.limits import Rate
from guardtui.http.pool import run_all
from guardtui.http.retries import NOTHING_DONE, Retries
from guardtui.scanners.base import Report, ScannerError, VerdictCache, verdict_key
from guardtui.scanners.models.address import ModelAddress, addresses_revision
from guardtui.scanners.models.budget import CallBudget
from guardtui.scanners.models.expense import CallExpense, estimate_expense
from guardtui.scanners.models.judge_answers import AnswerForm
from guardtui.scanners.models.judge_calls import JudgeModel, first_dialect
from guardtui.scanners.models.judge_template import JudgeTemplate, default_template
from guardtui.scanners.models.paid_calls import WatchedLimit
from guardtui.scanners.remote import RemoteRun, without_verdict

CONCURRENCY = 5
_BASE = 0.5
"""Seconds before the first retry."""


class JudgeScanner:
    """Asks models whether a prompt belongs to the topic; a majority of more than half decides.

    `models` are called concurrently; without a majority, as after a tie or unreadable answers, the
    prompt gets no verdict. `template` is the wording of the question, `form` reads the answer,
    `options` are sent with every call (temperature is 0 unless they set it). `concurrency` calls at
    a time and `rate` calls per second are limits of all models together. A `cache` is searched
    before a model is called unless `fresh`, and stores each answer at once. `retries` is per call;
    `timeout` is in seconds per attempt. Raises ScannerError without a model or for an invalid
    option, ValueError for an invalid rate.
    """

    live = False

    def __init__(
        self,
        models: Sequence[ModelAddress],
        *,
        template: JudgeTemplate | None = None,
        form: AnswerForm | None = None,
        budget: CallBudget | None = None,
        options: Mapping[str, Any] | None = None,
        concurrency: int = CONCURRENCY,
        rate: float | None = None,
        retries: int = 5,
        timeout: float = 120.0,
        cache: VerdictCache | None = None,
        fresh: bool = False,
        allow_http: bool = False,
        clock: Clock = CLOCK,
    ) -> None:
        if not models:
            raise ScannerError(
                "the judge needs a model: write URL#name, such as http://localhost:11434/v1#m"
            )
        self._models = tuple(dict.fromkeys(models))
        self.template = template or default_template()
        self._form = form or AnswerForm.parse("answer")
        self.budget = budget or CallBudget()
        self._options = dict(options or {})
        self._concurrency, self._retries, self._timeout = concurrency, retries, timeout
        self._rate = None if rate is None else Rate.per_second(rate)
        self._cache, self._fresh, self._clock = cache, fresh, clock
        self._allow_http = allow_http
        self._limit: WatchedLimit | None = None
        self._held = False
        # The options that a server accepts are learnt once, not in every scan.
        self._dialects = {model: first_dialect(self._form, self._options) for model in self._models}

    @property
    def settings(self) -> ScannerSettings:
        options = inert(json.dumps(self._options, sort_keys=True)) if self._options else ""
        guardrail = Guardrail(
            JUDGE,
            models=tuple(inert(model.name) for model in self._models),
            template=self.template.id,
            form="" if self._form.spec == "answer" else inert(self._form.spec),
            options=options,
        )
        return ScannerSettings(guardrail, revision=addresses_revision(self._models))

    def hold(self, held: bool) -> None:
        """Pause or resume sending; calls in flight are completed."""
        self._held = held
        if self._limit is not None:
            self._limit.hold(held)

    def known(self, topic: Topic, prompts: PromptSet, *, epoch: int = 1) -> NDArray[np.bool_]:
        """Return which prompts have cached answers of every model in an epoch, bool [N]."""
        known = np.zeros(len(prompts), bool)
        for row, text in enumerate(prompts.prompts.to_list()):
            known[row] = all(self._cached(model, topic, text, epoch) for model in self._models)
        return known

    def expense(self, topic: Topic, prompts: Sequence[str], used: Usage | None) -> CallExpense:
        """Return the expected usage of a call; `used` is the recorded usage of this judge."""

        def messages(prompt: str) -> list[dict[str, str]]:
            return self.template.filled(topic, prompt)

        return estimate_expense(messages, prompts, self.budget, used, len(self._models))

    async def scan(
        self,
        topic: Topic,
        prompts: PromptSet,
        report: Report,
        *,
        rows: NDArray[np.intp] | None = None,
        epoch: int = 1,
    ) -> Verdicts:
        limit = WatchedLimit(self._concurrency, rate=self._rate, clock=self._clock)
        self._limit = limit
        limit.hold(self._held)
        before = self.budget.spent

        def used() -> Usage:
            return self.budget.spent - before

        run = RemoteRun(prompts, rows, report, limit, used=used)
        async with contextlib.AsyncExitStack() as opened:
            judges = {model: await self._open(opened, model, limit) for model in self._models}

            def find(text: str) -> Verdict | None:
                votes: list[Verdict] = []
                for model in self._models:
                    cached = self._cached(model, topic, text, epoch)
                    if cached is None:
                        return None
                    votes.append(cached)
                return self._decided(topic, votes)

            async def call(text: str) -> Verdict:
                votes = await _all_of(
                    [self._vote(judges[model], model, topic, text, epoch) for model in judges]
                )
                return self._decided(topic, votes)

            await run.take_known(find)
            waiting = run.waiting
            await run.collect(waiting, run_all(waiting, call, limit, counters=run.counters))
        return run.finished()

    async def _open(
        self, opened: contextlib.AsyncExitStack, model: ModelAddress, limit: WatchedLimit
    ) -> JudgeModel:
        from guardtui.http.openai import ChatModel

        attempts = self._retries + 1
        chat = ChatModel(
            model.url,
            model.name,
            model.key,
            limit=limit,
            retries=Retries(attempts=attempts, base=_BASE, on=NOTHING_DONE),
            timeout=self._timeout,
            allow_http=self._allow_http,
            clock=self._clock,
        )
        await opened.enter_async_context(chat)
        return JudgeModel(
            model.full,
            chat,
            self.template,
            self._form,
            self.budget,
            self._dialects[model],
            Retries(attempts=attempts, base=_BASE),
        )

    async def _vote(
        self, judge: JudgeModel, model: ModelAddress, topic: Topic, text: str, epoch: int
    ) -> Verdict:
        """Return the vote of one model, cached or new: YES if the prompt belongs to the topic.

        Raises ServiceError.
        """
        cached = self._cached(model, topic, text, epoch)
        if cached is not None:
            return cached
        answer = await judge.ask(topic, text)
        if answer.belongs is None:
            return Verdict(
                Triggered.NO_VERDICT,
                reason=answer.reason,
                problem=answer.problem,
                failure=Failure.FAILED,
            )
        vote = Verdict(Triggered(answer.belongs), reason=answer.reason)
        if self._cache is not None:
            # Cached here and not by the reader of the results: a cancelled run must not lose it.
            self._cache.keep(self._key(model, topic, text, epoch), vote)
        return vote

    def _decided(self, topic: Topic, votes: Sequence[Verdict]) -> Verdict:
        """Return the joint verdict of all models on a prompt."""
        reasons = [_vote_text(vote) for vote in votes]
        if len(votes) > 1:
            named = zip(self._models, reasons, strict=True)
            reasons = [f"{model.name}: {reason}" for model, reason in named]
        reason = "\n".join(reasons)
        decided = [vote for vote in votes if vote.decided]
        yes = sum(vote.triggered is Triggered.YES for vote in decided)
        for belongs, count in ((True, yes), (False, len(decided) - yes)):
            if 2 * count > len(votes):
                triggered = Triggered(belongs == (topic.intent is Intent.BLOCK))
                note = "" if count == len(votes) else f"{count} of {len(votes)} models"
                return Verdict(triggered, note, reason=reason)
        failed = [vote for vote in votes if not vote.decided]
        problem = f"no majority of {len(votes)} models: {yes} yes, {len(decided) - yes} no"
        if len(votes) == 1:
            problem = failed[0].problem
        elif failed:
            problem += f", {len(failed)} without an answer ({failed[0].problem})"
        return Verdict(
            Triggered.NO_VERDICT,
            reason=reason,
            problem=problem,
            failure=Failure.FAILED if failed else None,
        )

    def _cached(self, model: ModelAddress, topic: Topic, text: str, epoch: int) -> Verdict | None:
        if self._cache is None or self._fresh:
            return None
        return self._cache.find(self._key(model, topic, text, epoch))

    def _key(self, model: ModelAddress, topic: Topic, text: str, epoch: int) -> bytes:
        """Return the cache key of an answer; it does not depend on the intent."""
        return verdict_key(
            "judge",
            model.full,
            self.template.text,
            self._form.spec,
            json.dumps([self._options, self.budget.answer_tokens], sort_keys=True),
            json.dumps([topic.name, topic.description, *topic.examples]),
            text,
            str(epoch),
        )


async def _all_of(votes: Sequence[Any]) -> list[Verdict]:
    """Return all votes; the failure of a model becomes a vote without an answer.

    Raises the ServiceError if all models fail.
    """
    results = await asyncio.gather(*votes, return_exceptions=True)
    verdicts: list[Verdict] = []
    failures: list[ServiceError] = []
    for result in results:
        if isinstance(result, ServiceError):
            failures.append(result)
            verdicts.append(without_verdict(result))
        elif isinstance(result, BaseException):
            raise result
        else:
            verdicts.append(result)
    if failures and len(failures) == len(results):
        raise failures[0]
    return verdicts


def _vote_text(vote: Verdict) -> str:
    word = ("yes" if vote.triggered else "no") if vote.decided else vote.problem
    return f"{word}: {vote.reason}" if vote.reason else word
