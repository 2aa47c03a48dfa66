"""Rules of wording, by text alone: excluding words, and shorter texts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from guardtui.advice.phrases import content_words, pieces, tidied, without
from guardtui.domain.languages import language
from guardtui.domain.topic import byte_length
from guardtui.domain.words import WORDS

_EXCLUDING = {
    "en": """not no never neither nor none without except excepting exception excluding exclude
        excludes excluded unless unrelated cannot""",
    "de": "nicht kein keine keinen keiner ohne außer ausser ausgenommen ausgeschlossen",
    "fr": "pas sans sauf excepté hormis jamais aucun aucune",
    "es": "excepto salvo sin no nunca ningún ninguna",
    "it": "tranne eccetto senza non mai",
    "pt": "exceto salvo sem não nunca",
    "nl": "niet geen zonder behalve nooit",
}
_EXCLUDING_WORDS = {name: frozenset(words.split()) for name, words in _EXCLUDING.items()}
_PAIRS = {
    ("other", "than"),
    ("rather", "than"),
    ("instead", "of"),
    ("apart", "from"),
    ("aside", "from"),
    ("anything", "but"),
    ("all", "but"),
}
_HARMLESS_AFTER = {
    "not": frozenset({"only", "just", "merely", "limited"}),
    "no": frozenset({"matter", "longer"}),
}
_LEADING_IN = """
    do does did is are was were be being has have had should must shall will would can could may
    might but and or that which who if they it those these ones anything
"""
_LEADS_IN = frozenset(_LEADING_IN.split())
_BUT = re.compile(r"^\W*but\s+|\W+but\W*$", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.;:!?)–—]|,?\s+but\s+(?!not\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An excluding word or pair of words: its text, its number from 1, and its range."""

    text: str
    word: int
    start: int
    stop: int


def exclusions(text: str) -> tuple[Exclusion, ...]:
    """Return excluding words in order; “not only”, “no matter”, “whether or not” do not count."""
    tokens = [(match.group().lower().replace("’", "'"), match) for match in WORDS.finditer(text)]
    words = _EXCLUDING_WORDS["en"] | _EXCLUDING_WORDS.get(language(text) or "en", frozenset())
    matches = []
    for index, (word, match) in enumerate(tokens):
        after = tokens[index + 1] if index + 1 < len(tokens) else ("", match)
        before = tokens[index - 1][0] if index else ""
        stop = match.end()
        if (word, after[0]) in _PAIRS:
            stop = after[1].end()
        elif word == "non":
            # "non-medical"; in French and Italian "non" is a word of its own.
            if text[stop : stop + 1] != "-" and "non" not in words:
                continue
        elif not word.endswith("n't") and (
            word not in words
            or after[0] in _HARMLESS_AFTER.get(word, ())
            or (word == "not" and before == "or")
        ):
            continue
        matches.append(Exclusion(text[match.start() : stop], index + 1, match.start(), stop))
    return tuple(matches)


def without_exclusions(text: str) -> str | None:
    """Return the text without each excluding clause; None if nothing is left.

    A simple rule without a grammar, to measure the effect of the wording.
    """
    result = text
    while matches := exclusions(result):
        first = matches[0]
        start = first.start
        for match in reversed(list(WORDS.finditer(result[:start]))):
            if match.group().lower() not in _LEADS_IN or result[match.end() : start].strip(" ,"):
                break
            start = match.start()
        end = _CLAUSE_END.search(result, first.stop)
        shorter = _BUT.sub("", without(result, start, end.start() if end else len(result)))
        shorter = tidied(shorter, result)
        if len(shorter) >= len(result) or not content_words(shorter):
            return None
        result = shorter
    return result


def shortened(text: str, limit: int) -> str | None:
    """Return the longest beginning of a text within `limit` bytes that ends with a phrase or word.

    Returns None if not even its first word fits.
    """
    ends = [stop for _, stop in pieces(text)]
    ends += [match.end() for match in WORDS.finditer(text)]
    for candidates in (ends[: len(ends) - len(WORDS.findall(text))], ends):
        for stop in sorted(candidates, reverse=True):
            start = text[:stop].strip()
            # At least half of the limit, since a first phrase of few words is too vague.
            least = limit // 2 if candidates is not ends else 1
            if least <= byte_length(start) <= limit and content_words(start):
                return start
    return None
