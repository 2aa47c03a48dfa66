"""Phrases of texts: where they begin and end, what is left without one, which are nouns."""

from __future__ import annotations

import re
from functools import lru_cache

_REMEMBERED = 4096  # texts whose words are kept between two calls
_LONGEST = 3  # words of a noun phrase

_EXCLUDING = """
not no never none nor neither without except excluding exclude excludes excluded unless unrelated
cannot avoid avoiding besides outside
"""
EXCLUSIONS = frozenset(_EXCLUDING.split())
"""Words that exclude. Matching is by similarity: what is excluded in words is attracted."""

_COMMON = """
a about all also am an and any are as at be been being but by can could d did do does for
from get had has have he her his how i if in into is it its just let like ll m make may me
might more most much my need of on or our out over please re s shall she should so some such
t tell than that the their them then there these they this those to too up us ve want was we
were what when where which while who why will with would you your
anything around because before better down even ever every find first give go going gonna good got
help here im keep kind know last lot many mean new now off ok once one only other over own put
really right same say see show since some someone something still take them thing things think
though through time try trying two use used using wanna way well whether whose without work yes yet
"""
STOPWORDS = frozenset(_COMMON.split())
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_BREAK = re.compile(
    r"\s*[,;:.()–—/]+\s*|\s+(?:and|or|such as|including|as well as|plus|about|for|of|on|with)\s+",
    re.IGNORECASE,
)
_EDGE = r"(?:and|or|such as|including|as well as|plus|about|for|of|on|with|the|a|an)"
_LEADING = re.compile(rf"^(?:[\s,;:.)–—/]|{_EDGE}\s)+", re.IGNORECASE)
_TRAILING = re.compile(rf"(?:[\s,;:.(–—/]|\s{_EDGE}(?=\s*$))+$", re.IGNORECASE)

_ARTICLES = frozenset({"a", "an"})
_BEFORE_PLURALS = frozenset({"about", "for", "of", "on", "with", "from", "any", "some"})
_PLURAL = re.compile(r"(?:[^s]s|ies|sses)$")
_VOWEL = re.compile(r"[aeiou]", re.IGNORECASE)


def excludes(text: str) -> set[str]:
    """Return words of a text that exclude, in small letters."""
    found = {word.replace("’", "'") for word in words(text)}
    return (found & EXCLUSIONS) | {word for word in found if word.endswith("n't")}


def words(text: str) -> list[str]:
    """Return all words of a text, in small letters."""
    return [word.lower() for word in _WORD.findall(text)]


@lru_cache(_REMEMBERED)
def content_words(text: str) -> tuple[str, ...]:
    """Return words of a text that carry meaning, in small letters, each once, in order."""
    return tuple(
        word
        for word in dict.fromkeys(words(text))
        if len(word) > 1 and not word.isdigit() and word not in STOPWORDS and not excludes(word)
    )


def pieces(description: str) -> list[tuple[int, int]]:
    """Return start and end of each phrase of a description, split at signs and conjunctions."""
    found, start = [], 0
    for match in _BREAK.finditer(description):
        found.append((start, match.start()))
        start = match.end()
    found.append((start, len(description)))
    return [(a, b) for a, b in found if description[a:b].strip()]


def without(description: str, start: int, stop: int) -> str:
    """Return a description without one stretch of it, tidied at the seam and the edges."""
    before, after = description[:start], description[stop:]
    if before.strip() and after.strip():
        before = _TRAILING.sub("", before)
        if not re.match(r"\s*[,;:.()–—/]|\s+(?:and|or)\s", after):
            before += " "
    return tidied(before + after, description)


def tidied(text: str, like: str) -> str:
    """Return a shortened text without loose signs and conjunctions at its edges.

    It begins with a capital letter when the text that it comes from does.
    """
    text = _TRAILING.sub("", _LEADING.sub("", " ".join(text.split())))
    if text.count("(") != text.count(")"):
        text = text.replace("(", "").replace(")", "")
    return text[:1].upper() + text[1:] if like[:1].isupper() else text


@lru_cache(_REMEMBERED)
def noun_phrases(text: str) -> tuple[str, ...]:
    """Return noun phrases of a prompt as they stand in a list, each once, in order.

    Runs of two or three content words after an article, and plural ones after a preposition, up to
    a common word, a sign or the end: `a home office` of “Can I deduct a home office at all?”.
    Only such runs are known to be noun phrases without a parser; a single word tells too little.
    """
    places = list(_WORD.finditer(text))
    found: dict[str, None] = {}
    for place, match in enumerate(places[:-1]):
        before = match.group().lower()
        if before not in _ARTICLES | _BEFORE_PLURALS:
            continue
        run: list[str] = []
        end = match.end()
        for word in places[place + 1 :]:
            alone = word.group()
            joined = text[end : word.start()] == " "
            if not joined or alone.lower() in STOPWORDS or excludes(alone) or alone.isdigit():
                break
            run.append(alone)
            end = word.end()
        if not 1 < len(run) <= _LONGEST or any("'" in word or "’" in word for word in run):
            continue
        phrase = " ".join(run).lower()
        if before in _ARTICLES:
            found[f"{'an' if _VOWEL.match(phrase) else 'a'} {phrase}"] = None
        elif _PLURAL.search(phrase):
            found[phrase] = None
    return tuple(found)
