"""`f1` and `exact`: answers compared word by word, ignoring case and punctuation."""

from __future__ import annotations

import functools
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

from guardtui.scorer.decorators import scorer
from guardtui.scorer.metrics import mean, stderr
from guardtui.scorer.state import TextState
from guardtui.scorer.text import finite, is_blank, strip_edges, verdict
from guardtui.scorer.types import NO_RESPONSE, Score, Scorer

_BETWEEN = re.compile("[ -]")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_LONGEST_KEPT = 64
"""Longer tokens rarely repeat and would fill the cache."""


@scorer(metrics=[mean(), stderr()])
def f1(
    answer_fn: Callable[[str], str] | None = None, stop_words: list[str] | None = None
) -> Scorer:
    """Return the best F1 of the answer's words against those of a target, rounded to two places.

    Repeated words count repeatedly. `answer_fn` extracts the answer from the output. `stop_words`
    are excluded from the comparison.
    """
    stops = frozenset(_token(word) for word in stop_words or ())

    async def score(state: TextState, target: Sequence[str]) -> Score:
        completion = state.output.completion
        answer = answer_fn(completion) if answer_fn else completion
        words = _words(answer, stops)
        best = 0.0
        for text in target:
            best = max(best, _overlap(words, _target_words(text, stops)))
        reason = NO_RESPONSE if is_blank(completion) else None
        return Score(value=round(best, 2), answer=answer, reason=reason)

    return score


def _overlap(answer: Sequence[str], target: Sequence[str]) -> float:
    """Return the F1 of two bags of words; 0 for a target without words."""
    if not target:
        return 0.0
    common = (Counter(answer) & Counter(target)).total()
    precision = common / len(answer) if answer else 1.0
    recall = common / len(target)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@scorer(metrics=[mean(), stderr()])
def exact() -> Scorer:
    """Return whether the words of the answer are those of a target, in the same order."""

    async def score(state: TextState, target: Sequence[str]) -> Score:
        completion = state.output.completion
        words = _words(completion, frozenset())
        correct = bool(words) and any(words == _target_words(text, frozenset()) for text in target)
        return verdict(correct, completion, answer=completion)

    return score


@functools.lru_cache(maxsize=1024)
def _target_words(text: str, stops: frozenset[str]) -> tuple[str, ...]:
    return _words(text, stops)


def _words(text: str, stops: frozenset[str]) -> tuple[str, ...]:
    """Return the normalised words of a text; only blanks and hyphens separate tokens."""
    tokens = [
        _kept_token(token) if len(token) <= _LONGEST_KEPT else _token(token)
        for token in _BETWEEN.split(text)
        if token
    ]
    return tuple(" ".join([token for token in tokens if token not in stops]).split())


def _token(token: str) -> str:
    """Return a normalised token: numbers in Python's form, no punctuation, no articles."""
    folded = token.casefold()
    number = finite(folded)
    if number is None:
        number = finite(strip_edges(folded))
    if number is None:
        folded = folded.translate(_NO_PUNCTUATION)
        number = finite(folded)
    if number is not None:
        return str(number)
    return " ".join(_ARTICLES.sub(" ", folded).split())


_kept_token = functools.lru_cache(maxsize=16384)(_token)
