"""Calls of models: the author's prices and limits, and the connections and payments of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ServiceError
from guardtui.http.limits import Rate
from guardtui.http.retries import NOTHING_DONE, Retries
from guardtui.scanners.configuration import DecisionConfiguration, JudgeConfiguration
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.budget import ANSWER_TOKENS, CallBudget, Prices
from guardtui.scanners.models.paid_calls import Answer, PaidCall, WatchedLimit, paid_call

CONCURRENCY = 5
_BASE = 0.5
"""Seconds before the first retry."""

Client = TypeVar("Client")


@dataclass(frozen=True)
class CallOptions:
    """Prices, limits and retries of calls; cost and tokens are limits per run.

    `concurrency` calls at a time and `rate` calls per second are limits of all models together.
    `retries` is per call; `timeout` is in seconds per attempt.
    """

    prices: Prices | None = None
    most_tokens: int | None = None
    most_cost: float | None = None
    answer_tokens: int = ANSWER_TOKENS
    concurrency: int = CONCURRENCY
    rate: float | None = None
    retries: int = 5
    timeout: float = 120.0
    allow_http: bool = False
    clock: Clock = CLOCK

    @classmethod
    def of(cls, configuration: JudgeConfiguration | DecisionConfiguration) -> CallOptions:
        """Return the options of the calls of a configured guardrail."""
        names = ("answer_tokens", "concurrency", "rate", "retries", "allow_http")
        given = {name: getattr(configuration, name, None) for name in names}
        return cls(
            prices=Prices(configuration.price_in or 0.0, configuration.price_out or 0.0),
            most_tokens=configuration.max_tokens,
            most_cost=configuration.budget,
            **{name: value for name, value in given.items() if value is not None},
        )

    def budget(self, answer_tokens: int | None = None) -> CallBudget:
        """Return a new budget, with a maximum of tokens in an answer (default: that of these)."""
        return CallBudget(
            self.prices,
            most_tokens=self.most_tokens,
            most_cost=self.most_cost,
            answer_tokens=self.answer_tokens if answer_tokens is None else answer_tokens,
        )

    def sending(self, budget: CallBudget) -> Sending:
        """Return the calls of a new run. Raises ValueError for an invalid rate."""
        rate = None if self.rate is None else Rate.per_second(self.rate)
        return Sending(self, budget, WatchedLimit(self.concurrency, rate=rate, clock=self.clock))


@dataclass(frozen=True, eq=False)
class Sending:
    """The calls of one run: their options, budget and limit."""

    options: CallOptions
    budget: CallBudget
    limit: WatchedLimit

    def client(self, make: Callable[..., Client], model: ModelAddress, **more: Any) -> Client:
        """Return a client of a model, to be opened and closed by `async with`.

        `make` is its class, whose arguments are those of `ChatModel`, and `more`. The client
        repeats calls that the service certainly ignored.
        """
        options = self.options
        return make(
            model.url,
            model.name,
            model.key,
            limit=self.limit,
            retries=Retries(attempts=options.retries + 1, base=_BASE, on=NOTHING_DONE),
            timeout=options.timeout,
            allow_http=options.allow_http,
            clock=options.clock,
            **more,
        )

    async def pay(
        self,
        prepare: Callable[[], PaidCall[Answer]],
        adapt: Callable[[ServiceError], bool] = lambda _: False,
    ) -> Answer:
        """Return the reply to a call, as `paid_call`. Raises ServiceError."""
        retries = Retries(attempts=self.options.retries + 1, base=_BASE)
        return await paid_call(prepare, self.budget, self.limit, retries, adapt)
