"""Calls of models: the author's prices and limits, and the connections and payments of a run."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from guardtui.http.answers import TokenUsage
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.limits import AdaptiveLimit, Permit, Rate
from guardtui.http.retries import NOTHING_DONE, Retries
from guardtui.scanners.configuration import DecisionConfiguration, JudgeConfiguration
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.budget import ANSWER_TOKENS, BudgetError, CallBudget, Prices

if TYPE_CHECKING:
    from guardtui.http.client import RemoteClient

CONCURRENCY = 5
_BASE = 0.5
"""Seconds before the first retry."""
_UNKNOWN_COST = frozenset({ErrorKind.TIMEOUT, ErrorKind.BROKEN, ErrorKind.SIZE, ErrorKind.CONTENT})
"""Failures after which the model may have answered at a cost."""
_IN_AN_ANSWER = 200
_GATEWAY = (_IN_AN_ANSWER, 502, 504)
"""Statuses of failures after which a model may have answered: error in a response, gateway."""

_sent: ContextVar[list[None] | None] = ContextVar("sent", default=None)


class WatchedLimit(AdaptiveLimit):
    """A limit that records whether a call was sent, because a cancelled call may still cost."""

    async def acquire(self, patience: float = math.inf) -> Permit:
        permit = await super().acquire(patience)
        if (sent := _sent.get()) is not None:
            sent.append(None)
        return permit


class PaidReply(Protocol):
    """A reply with token counts."""

    @property
    def usage(self) -> TokenUsage:
        """Tokens of the call."""


Answer = TypeVar("Answer", bound=PaidReply)


@dataclass(frozen=True, slots=True)
class PaidCall(Generic[Answer]):
    """A prepared call; `size` is the maximum of its input in bytes.

    `answer_tokens` is the maximum of its answer; None means the default of the budget.
    """

    size: int
    send: Callable[[], Awaitable[Answer]]
    answer_tokens: int | None = None


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
    def of(
        cls,
        configuration: JudgeConfiguration | DecisionConfiguration,
        most_tokens: int | None = None,
        most_cost: float | None = None,
    ) -> CallOptions:
        """Return the options of the calls of a configured guardrail, within the limits of a run."""
        names = ("answer_tokens", "concurrency", "rate", "retries", "allow_http")
        given = {name: getattr(configuration, name, None) for name in names}
        return cls(
            prices=Prices(configuration.price_in or 0.0, configuration.price_out or 0.0),
            most_tokens=most_tokens,
            most_cost=most_cost,
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

    def client(self, model: ModelAddress, path: str) -> RemoteClient:
        """Return the client of a model at a path, to be opened and closed by `async with`.

        The client repeats calls that the service certainly ignored.
        """
        from guardtui.http.client import model_client

        options = self.options
        return model_client(
            model.url,
            path,
            model.key,
            limit=self.limit,
            retries=Retries(attempts=options.retries + 1, base=_BASE, on=NOTHING_DONE),
            timeout=options.timeout,
            allow_http=options.allow_http,
            clock=options.clock,
        )

    async def pay(
        self,
        prepare: Callable[[], PaidCall[Answer]],
        adapt: Callable[[ServiceError], bool] = lambda _: False,
    ) -> Answer:
        """Return the reply to a call. Failed calls that may have cost are repeated here.

        `prepare` creates the call for each attempt, as each needs its part of the budget. The
        client repeats calls that the service certainly ignored. If `adapt` handles a failure,
        another call is prepared at once. Raises ServiceError, also for a spent budget.
        """
        retries, limit = Retries(attempts=self.options.retries + 1, base=_BASE), self.limit
        start, attempts = -math.inf, 0
        while True:
            outcome = await self._attempt(prepare(), attempts)
            if not isinstance(outcome, ServiceError):
                return outcome
            if adapt(outcome):
                continue
            attempts += outcome.attempts
            outcome.attempts = attempts
            if outcome.kind in NOTHING_DONE and outcome.status != _IN_AN_ANSWER:
                raise outcome  # the client has repeated it
            wait = retries.wait(outcome, attempts, random.random)
            now = limit.clock.now()
            start = now if start == -math.inf else start
            if wait is None or now - start + wait > retries.total:
                raise outcome
            limit.totals.retried += 1
            if wait != outcome.retry_after:
                await limit.clock.sleep(wait)

    async def _attempt(self, call: PaidCall[Answer], attempts: int) -> Answer | ServiceError:
        """Make one call and count its cost. Raises ServiceError only for a spent budget."""
        try:
            reserved = await self.budget.room(call.size, call.answer_tokens)
        except BudgetError as error:
            raise ServiceError(
                ErrorKind.BUDGET, str(error), final=True, attempts=attempts
            ) from None
        used: TokenUsage | None = None
        sent: list[None] = []
        token = _sent.set(sent)
        try:
            answer = await call.send()
            used = answer.usage
            return answer
        except ServiceError as error:
            at_gateway = error.kind is ErrorKind.SERVER and error.status in _GATEWAY
            if error.attempts and (error.kind in _UNKNOWN_COST or at_gateway):
                used = TokenUsage()
            return error.with_traceback(None)
        except asyncio.CancelledError:
            used = TokenUsage() if sent else None
            raise
        finally:
            _sent.reset(token)
            self.budget.settle(reserved, used)
