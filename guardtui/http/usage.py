"""Token counts of a call to a model, as reported by the service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of a call; None if the service did not report them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
