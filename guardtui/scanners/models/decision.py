"""The decision scanner: one yes/no question about each prompt to a decision model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.guardrail import DECISION, Guardrail, ScannerSettings
from guardtui.domain.operating_point import SHIPPED
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Failure, Triggered, Usage, Verdict, Verdicts
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.decisions import Api, DecisionAnswer, DecisionQuestion
from guardtui.http.errors import inert
from guardtui.http.limits import Rate
from guardtui.http.pool import run_all
from guardtui.http.retries import NOTHING_DONE, Retries
from guardtui.scanners.base import Report, VerdictCache
from guardtui.scanners.models.address import ModelAddress, addresses_revision
from guardtui.scanners.models.budget import CallBudget
from guardtui.scanners.models.decision_calls import (
    DecisionCache,
    DecisionRequests,
    estimated_tokens,
    is_pinned,
)
from guardtui.scanners.models.decision_template import DecisionTemplate, default_template
from guardtui.scanners.models.expense import (
    CallExpense,
    earlier_expense,
    given_prices,
    limits_text,
)
from guardtui.scanners.models.paid_calls import WatchedLimit
from guardtui.scanners.remote import RemoteRun

if TYPE_CHECKING:
    from guardtui.http.decision_model import DecisionModel

CONCURRENCY = 5
THRESHOLD = 0.5
"""Probability from which a prompt matches, unless the author set or fitted another."""
_BASE = 0.5
"""Seconds before the first retry."""


class DecisionScanner:
    """Asks a decision model whether a prompt belongs to the topic; its probability is the score.

    A prompt matches from `threshold` on. At most `concurrency` calls at a time and `rate` calls per
    second are sent. A `cache` is searched before the model is called unless `fresh`, and stores
    each answer at once, so that another threshold needs no call. Cached answers of another model
    version are not used. `retries` is per call; `timeout` is in seconds per attempt. Raises
    ValueError for an invalid rate.
    """

    live = False

    def __init__(
        self,
        model: ModelAddress,
        *,
        api: Api = Api.DECISIONS,
        template: DecisionTemplate | None = None,
        threshold: float = THRESHOLD,
        threshold_source: str = SHIPPED,
        budget: CallBudget | None = None,
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
        self.budget = budget or CallBudget()
        self.threshold, self._threshold_source = threshold, threshold_source
        self._concurrency, self._retries, self._timeout = concurrency, retries, timeout
        self._rate = None if rate is None else Rate.per_second(rate)
        self.answers = DecisionCache(model, api, cache, fresh)
        """Cached answers."""
        self._allow_http, self._clock = allow_http, clock
        self._limit: WatchedLimit | None = None
        self._held = False

    @property
    def settings(self) -> ScannerSettings:
        name, answering = self.model.name, self.answers.answering
        guardrail = Guardrail(
            DECISION,
            models=(inert(name),),
            answered_by="" if answering == name else inert(answering),
            api="" if self.api is Api.DECISIONS else str(self.api),
            template=self.template.id,
        )
        return ScannerSettings(
            guardrail, self.threshold, self._threshold_source, addresses_revision([self.model])
        )

    def use_threshold(self, threshold: float, source: str) -> None:
        """Use another threshold from the next answer on."""
        self.threshold, self._threshold_source = threshold, source

    def hold(self, held: bool) -> None:
        """Pause or resume sending; calls in flight are completed."""
        self._held = held
        if self._limit is not None:
            self._limit.hold(held)

    def known(self, topic: Topic, prompts: PromptSet, *, epoch: int = 1) -> NDArray[np.bool_]:
        """Return which prompts have cached answers of this model in an epoch, bool [N]."""
        question = self.template.filled(topic)
        known = np.zeros(len(prompts), bool)
        for row, text in enumerate(prompts.prompts.to_list()):
            known[row] = self.answers.find(text, question, epoch) is not None
        return known

    def expense(self, topic: Topic, prompts: Sequence[str], used: Usage | None) -> CallExpense:
        """Return the expected usage of a call; `used` is the recorded usage of this scanner."""
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
            return None if known is None else self._verdict(topic, DecisionAnswer(known))

        run = RemoteRun(prompts, rows, report, limit, used=used)
        async with self.service(limit) as service:
            requests = self.run_with(service)

            async def call(text: str) -> Verdict:
                (answer,) = await requests.ask(text, [question], epoch)
                return self._verdict(topic, answer)

            async def collect(texts: list[str]) -> None:
                await run.collect(texts, run_all(texts, call, limit, counters=run.counters))

            for text in self._probes(run.waiting, question, epoch):
                if requests.model is not None or run.given_up:
                    break
                run.waiting.remove(text)
                await collect([text])
            if not run.given_up:
                await run.take_known(find)
            await collect(run.waiting)
        return run.finished()

    def new_limit(self) -> WatchedLimit:
        """Return the limit of a run, which `hold` controls."""
        limit = self._limit = WatchedLimit(self._concurrency, rate=self._rate, clock=self._clock)
        limit.hold(self._held)
        return limit

    def service(self, limit: WatchedLimit) -> DecisionModel:
        """Return the service, to be opened and closed by `async with`."""
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

    def run_with(self, service: DecisionModel) -> DecisionRequests:
        """Return the requests of one run to the service."""
        retries = Retries(attempts=self._retries + 1, base=_BASE)
        return DecisionRequests(service, self.budget, self.answers, retries)

    def _probes(self, texts: list[str], question: DecisionQuestion, epoch: int) -> list[str]:
        """Return texts to send first, to learn which model answers before the cache is used.

        Empty if the name determines the model, or if all or no answers are cached.
        """
        if is_pinned(self.model.name):
            return []
        unknown = [text for text in texts if self.answers.find(text, question, epoch) is None]
        return unknown if len(unknown) < len(texts) else []

    def _verdict(self, topic: Topic, answer: DecisionAnswer) -> Verdict:
        score = answer.probability
        if score is None:
            failure = None if answer.refused else Failure.FAILED
            return Verdict(Triggered.NO_VERDICT, problem=answer.problem, failure=failure)
        belongs = bool(np.float32(score) >= np.float32(self.threshold))
        return Verdict(Triggered(belongs == (topic.intent is Intent.BLOCK)), score=score)
