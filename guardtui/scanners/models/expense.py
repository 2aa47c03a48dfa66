"""Expected usage of a scan by models: tokens, and cost if prices are known."""

from __future__ import annotations

from dataclasses import dataclass

from guardtui.scanners.models.budget import Prices


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
