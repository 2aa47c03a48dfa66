"""The words of a prompt that matter most for its score."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from guardtui.advice.phrases import STOPWORDS

if TYPE_CHECKING:
    from guardtui.scanners.local.explanation import Contribution

MOST = 3
"""Most words that are shown."""

_LEAST_SHARE = 0.15
"""Least share of the strongest word's effect for a word to be shown."""


def strongest_words(words: Sequence[Contribution]) -> list[Contribution]:
    """Return the words of meaning with the largest effects, in the order of the text."""
    meaning = [word for word in words if {*re.findall(r"\w+", word.word.lower())} - STOPWORDS]
    strongest = max((abs(word.z) for word in meaning), default=0.0)
    ranked = sorted(meaning, key=lambda word: -abs(word.z))[:MOST]
    strong = (word for word in ranked if abs(word.z) >= _LEAST_SHARE * strongest > 0)
    return sorted(strong, key=lambda word: word.start)
