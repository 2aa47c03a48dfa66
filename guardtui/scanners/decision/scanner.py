"""The scanner that asks a decision model one yes/no question about each prompt."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.operating_point import SHIPPED
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Failure, Triggered, Usage, Verdict, Verdicts
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.decisions import Answer, Api, Question
from guardtui.http.errors import inert
from guardtui.http.limits import Rate
from guardtui.http.pool import run_all
from guardtui.http.retries import NOTHING_DONE, Retries
from guardtui.scanners.base import Report, VerdictCache
from guardtui.scanners.budget import Budget
from guardtui.scanners.decision.asking import (
    AnswerCache,
    Asking,
    estimated_tokens,
    is_pinned,
)
from guardtui.scanners.decision.template import Template, default_template
from guardtui.scanners.expense import (
    CallExpense,
    earlier_expense,
    given_prices,
    limits_text,
)
from guardtui.scanners.model_address import ModelAddress
from guardtui.scanners.paid_calls import WatchedLimit
from guardtui.scanners.remote import RemoteRun

if TYPE_CHECKING:
    from guardtui.http.decision_model import DecisionModel

CONCURRENCY = 5
THRESHOLD = 0.5
"""Probability from which on a prompt matches, unless the author has set or fitted another."""
_BASE = 0.5
"""Seconds, for the wait before the first repetition."""


class DecisionScanner:
    """Asks a decision model whether a prompt belongs to the topic; its probability is the score.

    A prompt matches from `threshold` on. `concurrency` calls at a time and `rate` calls a second
    are sent. A `cache` is searched before the model is called unless `fresh`, and stores each
    answer as soon as it comes: another threshold needs no call. Answers of another model than the
    one that answers now are not used. `retries` repeat one call; `timeout` is for one attempt, in
    seconds. Raises ValueError for an invalid rate.
    """

    live = False

    def __init__(
        self,
        model: ModelAddress,
        *,
        api: Api = Api.DECISIONS,
        template: Template | None = None,
        threshold: float = THRESHOLD,
        threshold_source: str = SHIPPED,
        budget: Budget | None = None,
        concurrency: int = CONCURRENCY,
        rate: float | None = None,
        retries: int = 5,
        timeout: float = 120.0,
        cache: VerdictCache | None = None,
        fresh: bool = False,
        allow_http: bool = False,
        clock: Clock = CLOCK,
    ) -> None:
        self.model, self.api = model, api
        self.template = template or default_template()
        self.budget = budget or Budget()
        self.threshold, self._threshold_source = threshold, threshold_source
        self._concurrency, self._retries, self._timeout = concurrency, retries, timeout
        self._rate = None if rate is None else Rate.per_second(rate)
        self.answers = AnswerCache(model, api, cache, fresh)
        """Answers that were given before."""
        self._allow_http, self._clock = allow_http, clock
        self._limit: WatchedLimit | None = None
        self._held = False

    @property
    def settings(self) -> ScannerSettings:
        name, answering = self.model.name, self.answers.answering
        identity = f"decision, {inert(name)[:60]}"
        if answering not in ("", name):
            identity += f", answered by {inert(answering)[:80]}"
        if self.api is not Api.DECISIONS:
            identity += f", {self.api}"
        identity += f", template {self.template.id}"
        # Names of models are the same in many places: which one this is stands beside it.
        mark = hashlib.blake2b(self.model.full.encode(), digest_size=4).hexdigest()
        return ScannerSettings(
            "decision",
            identity,
            self.threshold,
            self._threshold_source,
            revision=f"addresses {mark}",
        )

    def use_threshold(self, threshold: float, source: str) -> None:
        """Use another threshold from the next answer on."""
        self.threshold, self._threshold_source = threshold, source

    def hold(self, held: bool) -> None:
        """Send nothing more for now, or go on; what is under way is finished."""
        self._held = held
        if self._limit is not None:
            self._limit.hold(held)

    def known(self, topic: Topic, prompts: PromptSet, *, epoch: int = 1) -> NDArray[np.bool_]:
        """Which prompts the cache answers in an epoch, bool [N], if the same model answers."""
        question = self.template.filled(topic)
        known = np.zeros(len(prompts), bool)
        for row, text in enumerate(prompts.prompts.to_list()):
            known[row] = self.answers.find(text, question, epoch) is not None
        return known

    def expense(self, topic: Topic, prompts: Sequence[str], used: Usage | None) -> CallExpense:
        """Return what a call will use; `used` is what is recorded of calls to this scanner."""
        if (earlier := earlier_expense(self.budget, used)) is not None:
            return earlier
        question = self.template.filled(topic)
        tokens = sum(estimated_tokens(text, [question]) for text in prompts)
        mean = tokens / max(1, len(prompts))
        return CallExpense(mean, 1.0, given_prices(self.budget), budget=limits_text(self.budget))

    async def scan(
        self,
        topic: Topic,
        prompts: PromptSet,
        report: Report,
        *,
        rows: NDArray[np.intp] | None = None,
        epoch: int = 1,
    ) -> Verdicts:
        limit = self.new_limit()
        before, question = self.budget.spent, self.template.filled(topic)

        def used() -> Usage:
            return self.budget.spent - before

        def find(text: str) -> Verdict | None:
            known = self.answers.find(text, question, epoch)
            return None if known is None else self._verdict(topic, Answer(known))

        run = RemoteRun(prompts, rows, report, limit, used=used)
        async with self.service(limit) as service:
            asking = self.asking(service)

            async def call(text: str) -> Verdict:
                (answer,) = await asking.ask(text, [question], epoch)
                return self._verdict(topic, answer)

            async def collect(texts: list[str]) -> None:
                await run.collect(texts, run_all(texts, call, limit, counters=run.counters))

            for text in self._probes(run.waiting, question, epoch):
                if asking.model is not None or run.given_up:
                    break
                run.waiting.remove(text)
                await collect([text])
            if not run.given_up:
                await run.take_known(find)
            await collect(run.waiting)
        return run.finished()

    def new_limit(self) -> WatchedLimit:
        """The limit of a run, which `hold` acts on."""
        limit = self._limit = WatchedLimit(self._concurrency, rate=self._rate, clock=self._clock)
        limit.hold(self._held)
        return limit

    def service(self, limit: WatchedLimit) -> DecisionModel:
        """The service, to be opened and closed by `async with`."""
        from guardtui.http.decision_model import DecisionModel

        return DecisionModel(
            self.model.url,
            self.model.name,
            self.model.key,
            api=self.api,
            limit=limit,
            retries=Retries(attempts=self._retries + 1, base=_BASE, on=NOTHING_DONE),
            timeout=self._timeout,
            allow_http=self._allow_http,
            clock=self._clock,
        )

    def asking(self, service: DecisionModel) -> Asking:
        """The requests of one run to the service."""
        retries = Retries(attempts=self._retries + 1, base=_BASE)
        return Asking(service, self.budget, self.answers, retries)

    def _probes(self, texts: list[str], question: Question, epoch: int) -> list[str]:
        """Texts to ask about first, to learn which model answers now, before the cache is used.

        None where the name says it, or where all or no answers are known.
        """
        if is_pinned(self.model.name):
            return []
        unknown = [text for text in texts if self.answers.find(text, question, epoch) is None]
        return unknown if len(unknown) < len(texts) else []

    def _verdict(self, topic: Topic, answer: Answer) -> Verdict:
        score = answer.probability
        if score is None:
            failure = None if answer.refused else Failure.FAILED
            return Verdict(Triggered.NO_VERDICT, problem=answer.problem, failure=failure)
        belongs = bool(np.float32(score) >= np.float32(self.threshold))
        return Verdict(Triggered(belongs == (topic.intent is Intent.BLOCK)), score=score)
