"""Helpers of the text scorers: edges of texts, empty answers, the score of a verdict."""

from __future__ import annotations

import math
import string

from guardtui.scorer.types import CORRECT, INCORRECT, NO_RESPONSE, Score

ASCII_EDGES = string.whitespace + string.punctuation
"""Characters ignored at the ends of a text; other typographic signs are not ignored."""


def strip_edges(text: str) -> str:
    """Return a text without ASCII whitespace and punctuation at its ends."""
    return text.strip(ASCII_EDGES)


def is_blank(completion: str) -> bool:
    """Return whether an answer is empty or whitespace only."""
    return not completion or completion.isspace()


def finite(text: str) -> float | None:
    """Return the finite number that Python's `float` parses from a text, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def verdict(
    correct: bool,
    completion: str,
    *,
    answer: str | None,
    explanation: str | None = None,
    reason: str | None = None,
) -> Score:
    """Return a score of "C" or "I"; an empty answer always has NO_RESPONSE as its reason."""
    return Score(
        value=CORRECT if correct else INCORRECT,
        answer=answer,
        explanation=explanation,
        reason=NO_RESPONSE if is_blank(completion) else reason,
    )
