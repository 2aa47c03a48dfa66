"""Expected usage of a scan by models: tokens, and cost if prices are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Usage
from guardtui.scanners.models.budget import CallBudget, Prices

_BYTES_PER_TOKEN = 4
"""For English text; other languages have fewer characters per token, but more bytes each."""
_MARKS_TOKENS = 16
"""Tokens of a call besides its texts: roles, separators of messages."""
_USUAL_ANSWER_TOKENS = 60
"""A reason in two sentences and the line with the answer."""
_SAMPLED = 200


@dataclass(frozen=True, slots=True)
class CallExpense:
    """Mean tokens of one call; each prompt is sent to `models` models.

    `prices` is None if unknown. If `measured`, the tokens are those of earlier calls; otherwise
    they are estimated from the length of the texts. `budget` is the limit of the scan in words, ""
    without one.
    """

    input_tokens: float
    output_tokens: float
    prices: Prices | None = None
    measured: bool = False
    models: int = 1
    budget: str = ""

    def tokens(self, calls: int) -> int:
        """Return the tokens of `calls` calls to each model, with three significant digits."""
        return int(float(f"{calls * self.models * (self.input_tokens + self.output_tokens):.3g}"))

    def cost(self, calls: int) -> float | None:
        """Return the cost of `calls` calls to each model, None without prices."""
        if self.prices is None:
            return None
        return calls * self.models * self.prices.of(self.input_tokens, self.output_tokens)

    def text(self, calls: int) -> str:
        """Return tokens and cost of `calls` calls to each model in words, "" for 0 calls."""
        if not calls:
            return ""
        words = f"about {self.tokens(calls):,} tokens"
        cost = self.cost(calls)
        return words if cost is None else f"{words}, cost about {cost:.3g}"

    @property
    def basis(self) -> str:
        """Basis of the estimate, missing prices, and the budget, as sentences."""
        source = "earlier calls" if self.measured else "the length of the texts"
        words = f"Tokens are estimated from {source}."
        if self.prices is None:
            words += " No price is given (price-in, price-out)."
        return f"{words} The scan stops before it exceeds {self.budget}." if self.budget else words


@runtime_checkable
class PaidScanner(Protocol):
    """A scanner whose calls are charged by the token."""

    def expense(self, topic: Topic, prompts: Sequence[str], used: Usage | None) -> CallExpense:
        """Return the expected usage of a call; `used` is the recorded usage of this scanner."""


def limits_text(budget: CallBudget) -> str:
    """Return the budget in words; "" without one."""
    limits = [f"{budget.most_tokens:,} tokens"] if budget.most_tokens is not None else []
    limits += [f"{budget.most_cost:g}"] if budget.most_cost is not None else []
    return f"the budget of {' or '.join(limits)}" if limits else ""


def given_prices(budget: CallBudget) -> Prices | None:
    """Return the author's prices, or None."""
    return budget.prices if budget.prices.input or budget.prices.output else None


def earlier_expense(budget: CallBudget, used: Usage | None, models: int = 1) -> CallExpense | None:
    """Return the mean usage of earlier calls; None if some of their token counts are missing."""
    if used is None or not used.calls or used.uncounted:
        return None
    read, written = used.input_tokens / used.calls, used.output_tokens / used.calls
    return CallExpense(read, written, given_prices(budget), True, models, limits_text(budget))


def estimate_expense(
    messages: Callable[[str], Sequence[Mapping[str, str]]],
    prompts: Sequence[str],
    budget: CallBudget,
    used: Usage | None,
    models: int,
) -> CallExpense:
    """Return the expected usage of a call, from earlier calls of the models or from the texts.

    `messages` returns the messages of the call about a prompt. `used` is the recorded usage of
    earlier calls, which is ignored if some of their token counts are missing.
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
