"""Alternative descriptions with the same meaning and form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from guardtui.advice.phrases import content_words, noun_phrases, words

_WIDER = (
    "hints, slang and hypotheticals",
    "indirect questions",
    "questions asked for somebody else",
    "short and informal requests",
    "requests that only hint at it",
    "requests in other languages",
    "follow-up questions",
)
"""Extensions of a description after “…, including”."""

_DRAFTS = (
    "{name}",
    "Questions and requests about {lower}",
    "Requests for help with {lower}",
    "Questions, requests and hints about {lower}",
)
_LISTED = re.compile(r", including (?P<items>[^.;:()]+)$", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[;:.–—]\s+|\s\((?=[^()]*\)$)"
    r"|,\s+(?=(?:and|or|including|such as|especially|whether|for example|e\.g\.)\s)",
    re.IGNORECASE,
)
_PHRASES = 60  # of prompts, at most
_WORDS_AT_LEAST = 2  # minimum content words of a shortened description
_ITEMS_AT_MOST = 3
_PROMPTS_AT_LEAST = 2


def drafts(name: str) -> list[str]:
    """Return descriptions for a topic that has only a name; empty if the name is blank."""
    name = name.strip()
    if not name:
        return []
    lower = name[:1].lower() + name[1:] if name[1:2].islower() else name
    return [form.format(name=name[:1].upper() + name[1:], lower=lower) for form in _DRAFTS]


def shortened(description: str) -> Iterator[str]:
    """Yield the description up to the end of one of its clauses, the longest first.

    Whole clauses from the beginning remain a sentence; other parts rarely do.
    """
    for match in reversed(list(_CLAUSE.finditer(description))):
        text = description[: match.start()].rstrip(" ,;:–—(")
        if text.count("(") == text.count(")") and len(content_words(text)) >= _WORDS_AT_LEAST:
            yield text


def generalized(description: str) -> Iterator[tuple[str, str]]:
    """Yield the widened description, and the extension."""
    for wider in _WIDER:
        if wider not in description.lower():
            text = including(description, wider)
            if text is not None:
                yield text, wider


def extended(
    description: str, prompts: Sequence[str], others: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield the description with a noun phrase of prompts, the phrase, and its first prompt.

    Each phrase occurs once, in the order of prompts. It must occur in several prompts, at least
    twice as often as in `others`.
    """
    lower = description.lower()
    ours, theirs = ([f" {' '.join(words(text))} " for text in group] for group in (prompts, others))
    seen: set[str] = set()
    for prompt in prompts:
        for phrase in noun_phrases(prompt):
            key = phrase.lower()
            bare = key.removeprefix("an ").removeprefix("a ")
            if key in seen or bare in lower:
                continue
            inside = f" {' '.join(words(bare))} "
            count = sum(inside in text for text in ours)
            if count < max(_PROMPTS_AT_LEAST, 2 * sum(inside in text for text in theirs)):
                continue
            text = including(description, phrase)
            if text is not None:
                seen.add(key)
                yield text, phrase, prompt
            if len(seen) == _PHRASES:
                return


def including(description: str, item: str) -> str | None:
    """Return the description with one more item in its “including” list.

    None if the list is full. A description that ends with a full stop gets a sentence.
    """
    text = description.strip()
    if text.endswith((".", "!", "?")):
        return f"{text} This includes {item}."
    listed = _LISTED.search(text)
    if listed is None:
        return f"{text.rstrip(',;:')}, including {item}"
    items = re.split(r", | and ", listed["items"])
    if len(items) >= _ITEMS_AT_MOST + 1:
        return None
    start = listed.start("items")
    return f"{text[:start]}{', '.join(items)} and {item}"
