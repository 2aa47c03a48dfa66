"""Prompts that an author could have written as examples: readable, and typical of the topic."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import is_usable_example
from guardtui.advice.objective import Rows
from guardtui.domain.prompts import PromptSet
from guardtui.scanners.local.languages import language_of
from guardtui.scanners.local.matrix import PromptMatrix

MOST = 80
"""Maximum number of prompts that edits take examples from."""

_WORDS = range(3, 21)
_CHARACTERS = range(6, 121)  # of a text without blanks, as in Japanese
_LETTERS = 0.7  # least share of letters among the characters that are not blank
_PLAIN = 0.85  # least share of plain words
_PLAIN_WORD = re.compile(
    r"[¿¡(\"'“„]?[^\W\d_]+(?:['’\-][^\W\d_]+)*[.,;:!?…)\"'”“]*|[€$£]?\d{1,3}(?:[.,]?\d{3})*%?[.,?]?"
)
_REPEATED = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)  # "the the"
_SENTENCE_END = re.compile(r"[.!?…]+\s")
_SENTENCES = 2
_NEAREST = 8
_ODD = 0.25  # share of the prompts that are the least like others
_COMPARED = 600  # prompts that belong, at most, for the comparison


def example_rows(prompts: PromptSet, rows: Rows, matrix: PromptMatrix) -> Rows:
    """Return rows of prompts that belong and can be examples, those that represent most first.

    At most `MOST` of `rows`. They are readable, in the language of most, and not among the quarter
    that is least similar to its nearest neighbours: a wrong label, another subject or one odd word
    would mislead a guardrail. The order is that of greedy facility location (G. Cornuejols,
    M. Fisher and G. Nemhauser, Location of bank accounts to optimize float, Management Science 23,
    1977): each next one makes the prompts that belong most similar to their nearest example.
    """
    members = rows[prompts.expected[rows]]
    if len(members) > _COMPARED:
        members = members[np.argpartition(prompts.keys[members], _COMPARED)[:_COMPARED]]
        members.sort()
    if len(members) < 2:
        return members
    cosines = matrix.products(matrix.vectors(members), members)
    texts = prompts.prompts.gather(members).to_list()
    readable = np.array([is_readable(text) for text in texts])
    order = _representing(cosines, readable & ~_odd(cosines))
    alike = in_one_language([texts[index] for index in order])
    return members[[index for index, same in zip(order, alike, strict=True) if same]]


def is_readable(text: str) -> bool:
    """Return whether a prompt reads like a short sentence or two: plain words, not shouted."""
    if not is_usable_example(text):
        return False
    words = text.split()
    if len(words) < _WORDS.start and (text.isascii() or len(text) not in _CHARACTERS):
        return False
    if len(words) >= _WORDS.stop or (len(text) > _WORDS.start * 4 and text.isupper()):
        return False
    if _REPEATED.search(text) or len(_SENTENCE_END.findall(text)) >= _SENTENCES:
        return False  # a slip, or a whole story
    dense = "".join(words)
    if sum(character.isalpha() for character in dense) < _LETTERS * len(dense):
        return False
    return sum(_PLAIN_WORD.fullmatch(word) is not None for word in words) >= _PLAIN * len(words)


def in_one_language(texts: list[str]) -> list[bool]:
    """Return for each text whether it is in the language of most of them, or in none for sure."""
    languages = [language_of(text) for text in texts]
    known = Counter(language for language in languages if language)
    most = known.most_common(1)[0][0] if known else ""
    return [language in ("", most) for language in languages]


def _odd(cosines: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which texts are the least like their nearest neighbours, from cosines [n, n]."""
    others = cosines.copy()
    np.fill_diagonal(others, -1.0)
    count = min(_NEAREST, len(others) - 1)
    nearness = np.sort(others, axis=1)[:, -count:].mean(axis=1)
    odd: NDArray[np.bool_] = nearness < np.quantile(nearness, _ODD)
    return odd


def _representing(cosines: NDArray[np.float32], usable: NDArray[np.bool_]) -> list[int]:
    """Return usable texts in the order in which they represent all, from cosines [n, n]."""
    nearest = np.full(len(cosines), -1.0, np.float32)
    left = np.flatnonzero(usable)
    order: list[int] = []
    while len(left) and len(order) < MOST:
        worth = np.maximum(cosines[left], nearest).mean(axis=1)
        best = int(left[worth.argmax()])
        order.append(best)
        nearest = np.maximum(nearest, cosines[best])
        left = left[left != best]
    return order
