"""Scans by models: what judges and decision models share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Usage, Verdict, Verdicts
from guardtui.http.pool import run_all
from guardtui.scanners.base import Report
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions, Sending
from guardtui.scanners.models.expense import CallExpense
from guardtui.scanners.remote import RemoteRun


class Asking(Protocol):
    """The questions of one run to models whose connections are open."""

    def probes(self, topic: Topic, texts: Sequence[str], epoch: int) -> Iterable[str]:
        """Yield the texts to send before the cache may be used."""

    async def verdict(self, topic: Topic, text: str, epoch: int) -> Verdict:
        """Return the verdict on a text; answers are cached at once. Raises ServiceError."""

    async def verdicts(self, topics: Sequence[Topic], text: str, epoch: int) -> list[Verdict]:
        """Return the verdict of each topic on a text, at most `Questioner.most_at_once`."""


class Questioner(Protocol):
    """What differs between guardrails of models: the question, and how its answers are read."""

    @property
    def models(self) -> tuple[ModelAddress, ...]:
        """The models, each once."""

    @property
    def settings(self) -> ScannerSettings:
        """Settings on which verdicts depend, besides topic and prompts."""

    @property
    def most_at_once(self) -> int:
        """Maximum number of definitions that one request asks about."""

    def find(self, topic: Topic, text: str, epoch: int) -> Verdict | None:
        """Return the verdict by cached answers in an epoch, or None."""

    def estimate(
        self, topic: Topic, prompts: Sequence[str], answer_tokens: int
    ) -> tuple[float, float]:
        """Estimate the mean tokens sent and answered in a call, from the length of the texts.

        An answer has at most `answer_tokens`.
        """

    def opened(self, sending: Sending) -> AbstractAsyncContextManager[Asking]:
        """Open the connections of a run."""


Asked_co = TypeVar("Asked_co", bound=Questioner, covariant=True)


class ModelScanner(Generic[Asked_co]):
    """Sends each prompt in the way of `asked`, within a budget of its own.

    Raises ValueError for an invalid rate.
    """

    live = False

    def __init__(self, asked: Asked_co, calls: CallOptions) -> None:
        self.asked = asked
        self.budget = calls.budget()
        self._calls, self._held = calls, False
        self._sending = calls.sending(self.budget)

    @property
    def settings(self) -> ScannerSettings:
        return self.asked.settings

    def hold(self, held: bool) -> None:
        """Pause or resume sending; calls in flight are completed."""
        self._held = held
        self._sending.limit.hold(held)

    def known(self, topic: Topic, prompts: PromptSet, *, epoch: int = 1) -> NDArray[np.bool_]:
        """Return which prompts have verdicts by cached answers in an epoch, bool [N]."""
        known = np.zeros(len(prompts), bool)
        for row, text in enumerate(prompts.prompts.to_list()):
            known[row] = self.asked.find(topic, text, epoch) is not None
        return known

    def expense(self, topic: Topic, prompts: Sequence[str], used: Usage | None) -> CallExpense:
        """Return the expected usage of a call, from earlier calls or from the texts.

        `used` is the recorded usage of this scanner, which is ignored if some of its token counts
        are missing.
        """
        budget, models = self.budget, len(self.asked.models)
        if used is not None and used.calls and not used.uncounted:
            read, written = used.input_tokens / used.calls, used.output_tokens / used.calls
            return CallExpense(read, written, budget.given_prices, True, models, budget.text)
        read, written = self.asked.estimate(topic, prompts, budget.answer_tokens)
        return CallExpense(read, written, budget.given_prices, False, models, budget.text)

    async def scan(
        self,
        topic: Topic,
        prompts: PromptSet,
        report: Report,
        *,
        rows: NDArray[np.intp] | None = None,
        epoch: int = 1,
    ) -> Verdicts:
        sending, before = self.sending(), self.budget.spent

        def used() -> Usage:
            return self.budget.spent - before

        def find(text: str) -> Verdict | None:
            return self.asked.find(topic, text, epoch)

        limit = sending.limit
        run = RemoteRun(prompts, rows, report, limit, used=used)
        async with self.asked.opened(sending) as asking:

            async def call(text: str) -> Verdict:
                return await asking.verdict(topic, text, epoch)

            async def collect(texts: list[str]) -> None:
                await run.collect(texts, run_all(texts, call, limit, counters=run.counters))

            for text in asking.probes(topic, tuple(run.waiting), epoch):
                run.waiting.remove(text)
                await collect([text])
                if run.given_up:
                    break
            if not run.given_up:
                await run.take_known(find)
            await collect(run.waiting)
        return run.finished()

    def sending(self) -> Sending:
        """Return the calls of a new run, which `hold` controls."""
        self._sending = self._calls.sending(self.budget)
        self._sending.limit.hold(self._held)
        return self._sending
