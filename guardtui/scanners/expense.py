"""What a scan by models will use before it starts: tokens, and money where prices are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Usage
from guardtui.scanners.budget import Budget, Prices

_BYTES_PER_TOKEN = 4
"""Of English text; of other languages a token has fewer characters, which have more bytes."""
_MARKS_TOKENS = 16
"""Tokens of a call besides its texts: roles, marks between messages."""
_USUAL_ANSWER_TOKENS = 60
"""A reason in two sentences and the line with the answer."""
_SAMPLED = 200


@dataclass(frozen=True, slots=True)
class CallExpense:
    """Tokens of one call, on average, and what they cost; each prompt is asked of `models` models.

    `prices` is None where none are given. With `measured` the tokens are those of earlier calls,
    otherwise they are estimated from the length of the texts. `budget` is what ends the scan before
    it is passed, in words, "" without one.
    """

    input_tokens: float
    output_tokens: float
    prices: Prices | None = None
    measured: bool = False
    models: int = 1
    budget: str = ""

    def tokens(self, calls: int) -> int:
        """Return the tokens of so many calls to each model, with three digits that count."""
        return int(float(f"{calls * self.models * (self.input_tokens + self.output_tokens):.3g}"))

    def cost(self, calls: int) -> float | None:
        """Return what so many calls to each model cost, None without prices."""
        if self.prices is None:
            return None
        return calls * self.models * self.prices.of(self.input_tokens, self.output_tokens)

    def text(self, calls: int) -> str:
        """Return tokens and cost of so many calls to each model in words, "" of none."""
        if not calls:
            return ""
        words = f"about {self.tokens(calls):,} tokens"
        cost = self.cost(calls)
        return words if cost is None else f"{words}, cost about {cost:.3g}"

    @property
    def basis(self) -> str:
        """What the estimate rests on, what is missing for a cost, and the budget, as sentences."""
        source = "what calls have used so far" if self.measured else "the length of the texts"
        words = f"Tokens are estimated from {source}."
        if self.prices is None:
            words += " No price is given (--price-in, --price-out)."
        return f"{words} The scan ends before {self.budget} is passed." if self.budget else words


@runtime_checkable
class Paid(Protocol):
    """A scanner whose calls are paid by the token."""

    def expense(self, topic: Topic, prompts: Sequence[str], used: Usage | None) -> CallExpense:
        """Return what a call will use; `used` is what is recorded of calls to this scanner."""


def limits_text(budget: Budget) -> str:
    """Return the budget that ends a scan before it is passed, in words; "" without one."""
    limits = [f"{budget.most_tokens:,} tokens"] if budget.most_tokens is not None else []
    limits += [f"{budget.most_cost:g}"] if budget.most_cost is not None else []
    return f"the budget of {' or '.join(limits)}" if limits else ""


def given_prices(budget: Budget) -> Prices | None:
    """Return the prices that the author gave, None without any."""
    return budget.prices if budget.prices.input or budget.prices.output else None


def earlier_expense(budget: Budget, used: Usage | None, models: int = 1) -> CallExpense | None:
    """Return what a call will use by earlier ones; None where not all their tokens are counted."""
    if used is None or not used.calls or used.uncounted:
        return None
    read, written = used.input_tokens / used.calls, used.output_tokens / used.calls
    return CallExpense(read, written, given_prices(budget), True, models, limits_text(budget))


def estimate_expense(
    messages: Callable[[str], Sequence[Mapping[str, str]]],
    prompts: Sequence[str],
    budget: Budget,
    used: Usage | None,
    models: int,
) -> CallExpense:
    """Return what a call will use, by earlier calls of the same models, else by the texts sent.

    `messages` gives those of the call about a prompt. `used` is what is recorded of earlier calls;
    where the service did not count all of their tokens, it tells nothing.
    """
    if (earlier := earlier_expense(budget, used, models)) is not None:
        return earlier
    sample = prompts[:: max(1, len(prompts) // _SAMPLED)]
    sizes = [
        len(message["content"].encode("utf-8", "surrogatepass"))
        for prompt in sample
        for message in messages(prompt)
    ]
    read = sum(sizes) / max(1, len(sample)) / _BYTES_PER_TOKEN + _MARKS_TOKENS
    written = min(_USUAL_ANSWER_TOKENS, budget.answer_tokens)
    return CallExpense(read, written, given_prices(budget), False, models, limits_text(budget))
