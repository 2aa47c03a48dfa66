"""Cost of model calls: tokens and money, counted live, with limits that end a run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.verdicts import Usage
from guardtui.http.answers import TokenUsage

ANSWER_TOKENS = 512
"""Default maximum of tokens in an answer."""
_OVERHEAD = 64
"""Tokens of a call besides its texts: roles, separators of messages."""


class BudgetError(GuardtuiError):
    """The next call could exceed the budget; it was not made."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Price of a million tokens, in the author's currency."""

    input: float = 0.0
    output: float = 0.0

    def of(self, input_tokens: float, output_tokens: float) -> float:
        """Return the cost of tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class Reserved:
    """Maximum usage of a call in flight; `answer` is the part of its tokens for the answer."""

    tokens: int
    cost: float
    answer: int


class CallBudget:
    """Counts the usage of calls, and rejects calls that could exceed a limit. For one event loop.

    `most_tokens` and `most_cost` are limits of a run, None without one. Before a call is sent, its
    maximum usage is reserved: no token is shorter than a byte, and the answer has at most
    `answer_tokens`, which the call has to request.
    """

    def __init__(
        self,
        prices: Prices | None = None,
        *,
        most_tokens: int | None = None,
        most_cost: float | None = None,
        answer_tokens: int = ANSWER_TOKENS,
    ) -> None:
        self.prices = prices or Prices()
        self.most_tokens, self.most_cost = most_tokens, most_cost
        self.answer_tokens = answer_tokens
        self.spent = Usage()
        self._in_flight = 0
        self._tokens_reserved = 0
        self._cost_reserved = 0.0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def given_prices(self) -> Prices | None:
        """The author's prices, or None."""
        return self.prices if self.prices.input or self.prices.output else None

    @property
    def text(self) -> str:
        """The limits in words; "" without one."""
        limits = [f"{self.most_tokens:,} tokens"] if self.most_tokens is not None else []
        limits += [f"{self.most_cost:g}"] if self.most_cost is not None else []
        return f"the budget of {' or '.join(limits)}" if limits else ""

    async def room(self, size: int, answer_tokens: int | None = None) -> Reserved:
        """Reserve like `reserve`, but wait while settling calls in flight may release enough."""
        while True:
            try:
                return self.reserve(size, answer_tokens)
            except BudgetError:
                needed = self._needed(size, answer_tokens)
                if not self._in_flight or not self._fits_without_reserved(needed):
                    raise
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            finally:
                self._waiting.remove(waiter)

    def _fits_without_reserved(self, needed: Reserved) -> bool:
        spent = self.spent
        used = spent.input_tokens + spent.output_tokens
        return (self.most_tokens is None or used + needed.tokens <= self.most_tokens) and (
            self.most_cost is None or spent.cost + needed.cost <= self.most_cost
        )

    def _needed(self, size: int, answer_tokens: int | None) -> Reserved:
        sent = size + _OVERHEAD
        answer = self.answer_tokens if answer_tokens is None else answer_tokens
        return Reserved(sent + answer, self.prices.of(sent, answer), answer)

    def reserve(self, size: int, answer_tokens: int | None = None) -> Reserved:
        """Reserve the maximum usage of a call with messages of `size` bytes. Raises BudgetError.

        `answer_tokens` is the maximum of its answer; None means the default of this budget.
        """
        needed, spent = self._needed(size, answer_tokens), self.spent
        used = spent.input_tokens + spent.output_tokens
        if self.most_tokens is not None and (
            used + self._tokens_reserved + needed.tokens > self.most_tokens
        ):
            raise BudgetError(
                f"not sent: the call could exceed the budget of {self.most_tokens} tokens "
                f"({used} used)"
            )
        if self.most_cost is not None and (
            spent.cost + self._cost_reserved + needed.cost > self.most_cost
        ):
            raise BudgetError(
                f"not sent: the call could exceed the budget of {self.most_cost:g} "
                f"({spent.cost:.4g} spent)"
            )
        self._in_flight += 1
        self._tokens_reserved += needed.tokens
        self._cost_reserved += needed.cost
        return needed

    def settle(self, reserved: Reserved, usage: TokenUsage | None) -> None:
        """Replace the reservation of a call by its usage; None if the call used nothing.

        Without token counts, the whole reservation counts as used.
        """
        self._in_flight -= 1
        self._tokens_reserved -= reserved.tokens
        # Rounding errors must not add up over a run.
        self._cost_reserved = self._cost_reserved - reserved.cost if self._in_flight else 0.0
        if usage is not None:
            self._count(reserved, usage)
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _count(self, reserved: Reserved, usage: TokenUsage) -> None:
        spent = self.spent
        sent, answered = usage.input_tokens, usage.output_tokens
        counted = sent is not None and answered is not None
        if answered is None:
            answered = reserved.answer
        if sent is None:
            sent = reserved.tokens - reserved.answer
        self.spent = Usage(
            calls=spent.calls + 1,
            input_tokens=spent.input_tokens + sent,
            output_tokens=spent.output_tokens + answered,
            cost=spent.cost + self.prices.of(sent, answered),
            uncounted=spent.uncounted + (not counted),
        )
