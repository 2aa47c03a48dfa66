"""Calls of a model that cost money: within a budget, repeated only where that is worth it."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from guardtui.http.errors import Kind, ServiceError
from guardtui.http.limits import AdaptiveLimit, Permit
from guardtui.http.retries import NOTHING_DONE, ONCE, Retries
from guardtui.scanners.budget import Budget, BudgetError

if TYPE_CHECKING:
    from guardtui.http.usage import Usage

_UNKNOWN_COST = frozenset({Kind.TIMEOUT, Kind.BROKEN, Kind.SIZE, Kind.CONTENT})
"""Failures after which the model may have worked, and be paid for, all the same."""
_IN_AN_ANSWER = 200
_GATEWAY = (_IN_AN_ANSWER, 502, 504)
"""Statuses of a failure behind which a model may have worked: an error in an answer, a gateway."""

_sent: ContextVar[list[None] | None] = ContextVar("sent", default=None)


class WatchedLimit(AdaptiveLimit):
    """A limit that tells a call whether it was sent: cancelled, it may have to be paid for."""

    async def acquire(self, patience: float = math.inf) -> Permit:
        permit = await super().acquire(patience)
        if (sent := _sent.get()) is not None:
            sent.append(None)
        return permit


class Answered(Protocol):
    """What a call brings: an answer whose tokens are counted."""

    @property
    def usage(self) -> Usage:
        """Tokens of the call."""


Answer = TypeVar("Answer", bound=Answered)


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """A call that is ready to be sent: `size` bytes at most are paid for as its input.

    `answer_tokens` is how long the answer may be; None: as the budget has it.
    """

    size: int
    send: Callable[[], Awaitable[Answer]]
    answer_tokens: int | None = None


async def paid_call(
    prepare: Callable[[], Call[Answer]],
    budget: Budget,
    limit: AdaptiveLimit,
    retries: Retries = ONCE,
    adapt: Callable[[ServiceError], bool] = lambda _: False,
) -> Answer:
    """Return the answer to a call. What may cost although it failed is repeated here.

    `prepare` makes the call anew for each attempt, since the budget has to have room for each.
    What certainly did nothing is repeated by the client. After a failure that `adapt` says it has
    an answer to, another call is prepared at once. Raises ServiceError, also for a spent budget.
    """
    begun, attempts = -math.inf, 0
    while True:
        outcome = await _attempt(prepare(), budget, attempts)
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
        begun = now if begun == -math.inf else begun
        if wait is None or now - begun + wait > retries.total:
            raise outcome
        limit.totals.retried += 1
        if wait != outcome.retry_after:
            await limit.clock.sleep(wait)


async def _attempt(call: Call[Answer], budget: Budget, attempts: int) -> Answer | ServiceError:
    """One call and what it cost. Raises ServiceError only for a budget that has no room."""
    from guardtui.http.usage import Usage

    try:
        reserved = await budget.room(call.size, call.answer_tokens)
    except BudgetError as error:
        raise ServiceError(Kind.BUDGET, str(error), final=True, attempts=attempts) from None
    used: Usage | None = None
    sent: list[None] = []
    token = _sent.set(sent)
    try:
        answer = await call.send()
        used = answer.usage
        return answer
    except ServiceError as error:
        behind = error.kind is Kind.SERVER and error.status in _GATEWAY
        if error.attempts and (error.kind in _UNKNOWN_COST or behind):
            used = Usage()
        return error.with_traceback(None)
    except asyncio.CancelledError:
        used = Usage() if sent else None
        raise
    finally:
        _sent.reset(token)
        budget.settle(reserved, used)
