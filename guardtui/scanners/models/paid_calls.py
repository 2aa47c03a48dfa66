"""Paid calls of models: within a budget, and repeated only if that may help."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.limits import AdaptiveLimit, Permit
from guardtui.http.retries import NOTHING_DONE, ONCE, Retries
from guardtui.scanners.models.budget import BudgetError, CallBudget

if TYPE_CHECKING:
    from guardtui.http.answers import TokenUsage

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


async def paid_call(
    prepare: Callable[[], PaidCall[Answer]],
    budget: CallBudget,
    limit: AdaptiveLimit,
    retries: Retries = ONCE,
    adapt: Callable[[ServiceError], bool] = lambda _: False,
) -> Answer:
    """Return the reply to a call. Failed calls that may have cost are repeated here.

    `prepare` creates the call for each attempt, as each needs its part of the budget. The client
    repeats calls that the service certainly ignored. If `adapt` handles a failure, another call is
    prepared at once. Raises ServiceError, also for a spent budget.
    """
    start, attempts = -math.inf, 0
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
        start = now if start == -math.inf else start
        if wait is None or now - start + wait > retries.total:
            raise outcome
        limit.totals.retried += 1
        if wait != outcome.retry_after:
            await limit.clock.sleep(wait)


async def _attempt(
    call: PaidCall[Answer], budget: CallBudget, attempts: int
) -> Answer | ServiceError:
    """Make one call and count its cost. Raises ServiceError only for a spent budget."""
    from guardtui.http.answers import TokenUsage

    try:
        reserved = await budget.room(call.size, call.answer_tokens)
    except BudgetError as error:
        raise ServiceError(ErrorKind.BUDGET, str(error), final=True, attempts=attempts) from None
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
        budget.settle(reserved, used)
