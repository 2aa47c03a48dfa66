"""Phrases of texts: their ranges, and their removal."""

from __future__ import annotations

import re
from functools import lru_cache

from guardtui.domain.words import WordPattern

_REMEMBERED = 4096  # number of texts with cached words

_EXCLUDING = """
not no never none nor neither without except excluding exclude excludes excluded unless unrelated
cannot avoid avoiding besides outside
"""
EXCLUSIONS = frozenset(_EXCLUDING.split())
"""Words that exclude. They attract what they exclude, since matching is by similarity."""

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
_WORD = WordPattern("WORD(?:['’-]WORD)*")
_BREAK = re.compile(
    r"\s*[,;:.()–—/]+\s*|\s+(?:and|or|such as|including|as well as|plus|about|for|of|on|with)\s+",
    re.IGNORECASE,
)
_EDGE = r"(?:and|or|such as|including|as well as|plus|about|for|of|on|with|the|a|an)"
_LEADING = re.compile(rf"^(?:[\s,;:.)–—/]|{_EDGE}\s)+", re.IGNORECASE)
_TRAILING = re.compile(rf"(?:[\s,;:.(–—/]|\s{_EDGE}(?=\s*$))+$", re.IGNORECASE)

_PARENTHESES = re.compile(r"[()]+")
_BEFORE_SIGN = re.compile(r"\s*[()]+\s*(?=[,;:.])")


def excludes(text: str) -> set[str]:
    """Return the excluding words of a text, in lower case."""
    all_words = {word.replace("’", "'") for word in words(text)}
    return (all_words & EXCLUSIONS) | {word for word in all_words if word.endswith("n't")}


def words(text: str) -> list[str]:
    """Return all words of a text, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


@lru_cache(_REMEMBERED)
def content_words(text: str) -> tuple[str, ...]:
    """Return the distinct content words of a text, in lower case, in order."""
    return tuple(
        word
        for word in dict.fromkeys(words(text))
        if len(word) > 1 and not word.isdigit() and word not in STOPWORDS and not excludes(word)
    )


def pieces(description: str) -> list[tuple[int, int]]:
    """Return start and end of each phrase, split at punctuation and conjunctions."""
    ranges, start = [], 0
    for match in _BREAK.finditer(description):
        ranges.append((start, match.start()))
        start = match.end()
    ranges.append((start, len(description)))
    return [(a, b) for a, b in ranges if description[a:b].strip()]


def without(description: str, start: int, stop: int) -> str:
    """Return a description without one range, tidied at the seam and the edges."""
    before, after = description[:start], description[stop:]
    if before.strip() and after.strip():
        before = _TRAILING.sub("", before)
        if not re.match(r"\s*[,;:.()–—/]|\s+(?:and|or)\s", after):
            before += " "
    return tidied(before + after, description)


def tidied(text: str, like: str) -> str:
    """Return a shortened text without punctuation and conjunctions at its edges.

    It begins with a capital letter if the original text `like` does.
    """
    text = _TRAILING.sub("", _LEADING.sub("", " ".join(text.split())))
    if text.count("(") != text.count(")"):
        text = " ".join(_PARENTHESES.sub(" ", _BEFORE_SIGN.sub("", text)).split())
    capital = text[:1].upper()
    # A sign such as µ is another letter as a capital.
    same = capital.lower() == text[:1].lower()
    return capital + text[1:] if like[:1].isupper() and same else text
