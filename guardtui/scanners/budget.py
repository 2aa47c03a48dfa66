"""What calls of models cost: tokens and money, counted live, and a limit that ends a run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.verdicts import Usage

if TYPE_CHECKING:
    from guardtui.http.usage import Usage as Tokens

ANSWER_TOKENS = 512
"""Tokens that an answer may have at most, as calls ask for it."""
_OVERHEAD = 64
"""Tokens of a call besides its texts: roles, marks between messages."""


class BudgetError(GuardtuiError):
    """The next call could go beyond the budget; it was not made."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens, in whatever currency the author counts in."""

    input: float = 0.0
    output: float = 0.0

    def of(self, input_tokens: float, output_tokens: float) -> float:
        """What so many tokens cost."""
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class Reserved:
    """What a call that is under way may come to; `answer` of its tokens are those of the answer."""

    tokens: int
    cost: float
    answer: int


class Budget:
    """Counts what calls use, and refuses one that could pass a limit. For one event loop.

    `most_tokens` and `most_cost` are limits of a run, None without one. Before a call is sent, the
    most that it may come to is reserved: no token is shorter than a byte, and the answer has at
    most `answer_tokens`, which the call has to ask for.
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
        self._under_way = 0
        self._tokens_reserved = 0
        self._cost_reserved = 0.0
        self._waiting: list[asyncio.Future[None]] = []

    async def room(self, size: int, answer_tokens: int | None = None) -> Reserved:
        """As `reserve`, but waits while there may be room once calls under way are settled."""
        while True:
            try:
                return self.reserve(size, answer_tokens)
            except BudgetError:
                wanted = self._wanted(size, answer_tokens)
                if not self._under_way or not self._fits_without_reserved(wanted):
                    raise
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            finally:
                self._waiting.remove(waiter)

    def _fits_without_reserved(self, wanted: Reserved) -> bool:
        spent = self.spent
        used = spent.input_tokens + spent.output_tokens
        return (self.most_tokens is None or used + wanted.tokens <= self.most_tokens) and (
            self.most_cost is None or spent.cost + wanted.cost <= self.most_cost
        )

    def _wanted(self, size: int, answer_tokens: int | None) -> Reserved:
        asked = size + _OVERHEAD
        answer = self.answer_tokens if answer_tokens is None else answer_tokens
        return Reserved(asked + answer, self.prices.of(asked, answer), answer)

    def reserve(self, size: int, answer_tokens: int | None = None) -> Reserved:
        """Room for a call whose messages have so many bytes. Raises BudgetError without.

        `answer_tokens` is how long its answer may be; None: as all answers of this budget.
        """
        wanted, spent = self._wanted(size, answer_tokens), self.spent
        used = spent.input_tokens + spent.output_tokens
        if self.most_tokens is not None and (
            used + self._tokens_reserved + wanted.tokens > self.most_tokens
        ):
            raise BudgetError(
                f"not asked: the budget of {self.most_tokens} tokens could be passed "
                f"({used} are used)"
            )
        if self.most_cost is not None and (
            spent.cost + self._cost_reserved + wanted.cost > self.most_cost
        ):
            raise BudgetError(
                f"not asked: the budget of {self.most_cost:g} could be passed "
                f"({spent.cost:.4g} is spent)"
            )
        self._under_way += 1
        self._tokens_reserved += wanted.tokens
        self._cost_reserved += wanted.cost
        return wanted

    def settle(self, reserved: Reserved, usage: Tokens | None) -> None:
        """Put what a call used in the place of what was reserved; None when nothing was used.

        A call without a count of tokens is taken for all that was reserved.
        """
        self._under_way -= 1
        self._tokens_reserved -= reserved.tokens
        # What rounding leaves behind must not add up over a run.
        self._cost_reserved = self._cost_reserved - reserved.cost if self._under_way else 0.0
        if usage is not None:
            self._count(reserved, usage)
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _count(self, reserved: Reserved, usage: Tokens) -> None:
        spent = self.spent
        asked, answered = usage.input_tokens, usage.output_tokens
        counted = asked is not None and answered is not None
        if answered is None:
            answered = reserved.answer
        if asked is None:
            asked = reserved.tokens - reserved.answer
        self.spent = Usage(
            calls=spent.calls + 1,
            input_tokens=spent.input_tokens + asked,
            output_tokens=spent.output_tokens + answered,
            cost=spent.cost + self.prices.of(asked, answered),
            uncounted=spent.uncounted + (not counted),
        )
