"""Candidate edits of a definition: what an author could try next, all within the limits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, combinations
from math import log

from guardtui.domain.text import display_start, hidden_characters
from guardtui.domain.topic import (
    DESCRIPTION_BYTES,
    EXAMPLE_BYTES,
    EXAMPLES_AT_LEAST,
    EXAMPLES_AT_MOST,
    TOTAL_BYTES,
    Topic,
    byte_length,
    line_breaks,
    violations,
)

SHORT = 100
"""Bytes of a description that counts as short: the writing rules advise to stay below."""

_SOURCES = 400  # prompts that are offered as examples, at most
_REMEMBERED = 4096  # prompts whose words are kept between two calls
_READ = 300  # prompts of each sort whose words are counted, at most
_WORDS = 12
_PHRASES = 12
_PIECES_AT_MOST = 8
_SHOWN = 60
_DRAFTS = 10  # descriptions that a definition without one is completed with, at most
_DRAWN = 16  # prompts that pairs of examples are drawn from then
_STEM = 5  # letters: enough to see that two words are of one family

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
_STOPWORDS = frozenset(_COMMON.split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BREAK = re.compile(
    r"\s*[,;:.()–—/]+\s*|\s+(?:and|or|such as|including|as well as|plus|about|for|of|on|with)\s+",
    re.IGNORECASE,
)
_EDGE = r"(?:and|or|such as|including|as well as|plus|about|for|of|on|with|the|a|an)"
_LEADING = re.compile(rf"^(?:[\s,;:.)–—/]|{_EDGE}\s)+", re.IGNORECASE)
_TRAILING = re.compile(rf"(?:[\s,;:.(–—/]|\s{_EDGE}(?=\s*$))+$", re.IGNORECASE)


class Kind(StrEnum):
    """What an edit does."""

    ADD_EXAMPLE = "add example"
    SWAP_EXAMPLE = "swap example"
    DROP_EXAMPLE = "drop example"
    SHORTEN = "shorten description"
    DROP_WORD = "drop word"
    REPLACE_WORD = "replace word"
    ADD_WORD = "add word"
    REPHRASE = "new description"
    COMPLETE = "complete the definition"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One edit: the definition it makes, and what it changes in words.

    `change` holds texts that are not ours only as `display_start` gives them.
    """

    topic: Topic
    kind: Kind
    change: str


@dataclass(frozen=True, slots=True)
class Material:
    """Prompts that edits may take words and examples from: those of the search half alone.

    `missed` belong to the topic and do not match, `caught` belong and match, `others` do not
    belong; each in a fixed order, the first ones taken first where there are too many.
    """

    missed: tuple[str, ...]
    caught: tuple[str, ...]
    others: tuple[str, ...]


def candidates(topic: Topic, material: Material, most: int = 2000) -> list[Candidate]:
    """At most `most` different edits of one step, in a fixed order.

    All are within the byte limits, and none puts wording that excludes into the description.
    Edits of examples and of the description are taken in turn when there are too many.
    """
    seen = {same(topic)}
    found: list[list[Candidate]] = []
    of_examples = chain(_of_missing(topic, material), _of_examples(topic, material))
    for edits in (of_examples, _of_description(topic, material)):
        kept: list[Candidate] = []
        for candidate in edits:
            if len(kept) == most:
                break
            key = same(candidate.topic)
            if key not in seen:
                seen.add(key)
                kept.append(candidate)
        found.append(kept)
    examples, descriptions = found
    if len(examples) + len(descriptions) > most:
        room = max(most - len(descriptions), most // 2)
        examples = examples[:room]
        descriptions = descriptions[: most - len(examples)]
    return examples + descriptions


def is_usable_example(text: str) -> bool:
    """Whether a prompt can be an example as it is: short enough, one line, nothing hidden in it."""
    return bool(
        text.strip()
        and byte_length(text) <= EXAMPLE_BYTES
        and not hidden_characters(text)
        and not line_breaks(Topic(name=text))
    )


def excludes(text: str) -> set[str]:
    """Words of a text that exclude, in small letters."""
    words = {word.lower().replace("’", "'") for word in _WORD.findall(text)}
    return (words & EXCLUSIONS) | {word for word in words if word.endswith("n't")}


@lru_cache(_REMEMBERED)
def content_words(text: str) -> tuple[str, ...]:
    """Words of a text that carry meaning, in small letters, each once, in order."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(text))
    return tuple(
        word
        for word in words
        if len(word) > 1 and not word.isdigit() and word not in _STOPWORDS and not excludes(word)
    )


def pieces(description: str) -> list[tuple[int, int]]:
    """Where each phrase of a description begins and ends: it is split at signs and conjunctions."""
    found, start = [], 0
    for match in _BREAK.finditer(description):
        found.append((start, match.start()))
        start = match.end()
    found.append((start, len(description)))
    return [(a, b) for a, b in found if description[a:b].strip()]


def without(description: str, start: int, stop: int) -> str:
    """A description without one stretch of it, tidied at the seam and the edges."""
    before, after = description[:start], description[stop:]
    if before.strip() and after.strip():
        before = _TRAILING.sub("", before)
        if not re.match(r"\s*[,;:.()–—/]|\s+(?:and|or)\s", after):
            before += " "
    return tidied(before + after, description)


def tidied(text: str, like: str) -> str:
    """A shortened text without loose signs and conjunctions at its edges.

    It begins with a capital letter when the text that it comes from does.
    """
    text = _TRAILING.sub("", _LEADING.sub("", " ".join(text.split())))
    if text.count("(") != text.count(")"):
        text = text.replace("(", "").replace(")", "")
    return text[:1].upper() + text[1:] if like[:1].isupper() else text


def same(topic: Topic) -> tuple[str, tuple[str, ...]]:
    """Equal for definitions of a name that match alike: the examples' order means nothing."""
    return topic.description.strip(), tuple(sorted(topic.examples))


def _folded(text: str) -> str:
    return " ".join(text.split()).lower()


def _stems(text: str) -> frozenset[str]:
    """Content words of a text, cut to their beginnings."""
    return frozenset(word[:_STEM] for word in content_words(text))


@lru_cache(4096)
def _quoted(text: str) -> str:
    return f"“{display_start(text, _SHOWN)}{'…' if len(text) > _SHOWN else ''}”"


def _fits(topic: Topic) -> bool:
    return not violations(topic)


def _sources(topic: Topic, material: Material) -> list[str]:
    """Prompts that could be examples of the topic and are none yet, missed ones first."""
    present = {_folded(example) for example in topic.examples}
    sources: list[str] = []
    for text in (*material.missed, *material.caught):
        folded = _folded(text)
        if len(sources) < _SOURCES and folded not in present and is_usable_example(text):
            present.add(folded)
            sources.append(text)
    return sources


def _of_missing(topic: Topic, material: Material) -> Iterator[Candidate]:
    """What a draft lacks, all at once: of a description, and of two examples."""
    given = tuple(example for example in topic.examples if example.strip())
    lacking = max(0, EXAMPLES_AT_LEAST - len(given))
    old = topic.description.strip()
    if not lacking or (old and lacking == 1 and given == topic.examples):
        return  # one edit of a part will do
    descriptions = [old]
    if not old:
        words, phrases = typical_words(material), typical_phrases(material)
        drafts = dict.fromkeys(_short_ones(topic.name, words[:_WORDS], phrases[:_PHRASES]))
        subject = _stems(topic.name)
        named = [one for one in drafts if not subject or not subject.isdisjoint(_stems(one))]
        descriptions = named[:_DRAFTS]
    sources = _sources(topic, material)[: _DRAWN if len(descriptions) > 1 else 3 * _DRAWN]
    for examples in combinations(sources, lacking):
        for description in descriptions:
            whole = topic.model_copy(
                update={"description": description, "examples": (*given, *examples)}
            )
            if _fits(whole):
                parts = [] if old else [f"description: {_quoted(description)}"]
                parts += [f"example added: {_quoted(example)}" for example in examples]
                yield Candidate(whole, Kind.COMPLETE, "; ".join(parts))


def _of_examples(topic: Topic, material: Material) -> Iterator[Candidate]:
    sources = _sources(topic, material)
    fixed = byte_length(topic.name) + byte_length(topic.description)
    sizes = [byte_length(example) for example in topic.examples]
    # What the limits say of name and description holds for every edit of the examples.
    sound = _fits(Topic(name=topic.name, description=topic.description, examples=("x", "y")))
    used = fixed + sum(sizes)
    count = len(topic.examples)

    def edited(examples: tuple[str, ...]) -> Topic:
        return topic.model_copy(update={"examples": examples})

    for place, example in enumerate(topic.examples):
        rest = topic.examples[:place] + topic.examples[place + 1 :]
        shorter = edited(rest)
        if _fits(shorter):
            change = f"example {place + 1} dropped: {_quoted(example)}"
            yield Candidate(shorter, Kind.DROP_EXAMPLE, change)
    fine = sound and all(
        0 < size <= EXAMPLE_BYTES and text.strip()
        for size, text in zip(sizes, topic.examples, strict=True)
    )
    for text in sources:
        size = byte_length(text)
        room = fine and used + size <= TOTAL_BYTES
        if room and EXAMPLES_AT_LEAST <= count + 1 <= EXAMPLES_AT_MOST:
            change = f"example {count + 1} added: {_quoted(text)}"
            yield Candidate(edited((*topic.examples, text)), Kind.ADD_EXAMPLE, change)
        if EXAMPLES_AT_LEAST <= count <= EXAMPLES_AT_MOST:
            for place, old in enumerate(topic.examples):
                swapped = edited((*topic.examples[:place], text, *topic.examples[place + 1 :]))
                # An example that breaks a limit can be mended by swapping it.
                ok = used - sizes[place] + size <= TOTAL_BYTES if fine else _fits(swapped)
                if ok:
                    change = f"example {place + 1}: {_quoted(old)} → {_quoted(text)}"
                    yield Candidate(swapped, Kind.SWAP_EXAMPLE, change)


def _of_description(topic: Topic, material: Material) -> Iterator[Candidate]:
    old = topic.description.strip()
    room = TOTAL_BYTES - byte_length(topic.name) - sum(map(byte_length, topic.examples))
    room = min(room, DESCRIPTION_BYTES)
    allowed = excludes(old)
    subject = _stems(topic.name) or _stems(old)
    sound = _fits(topic.model_copy(update={"description": "x"}))
    if not sound:
        return
    for kind, text, change in _descriptions(topic.name, old, material):
        fits = text.strip() and text != old and byte_length(text) <= room
        # What does not name the subject any more may score well, and would help no author.
        named = not subject or not subject.isdisjoint(_stems(text))
        if fits and named and excludes(text) <= allowed:
            yield Candidate(topic.model_copy(update={"description": text}), kind, change)


def _descriptions(name: str, old: str, material: Material) -> Iterator[tuple[Kind, str, str]]:
    """Other descriptions with their kind and what changed, the more promising kinds first."""
    words = typical_words(material)[:_WORDS]
    phrases = typical_phrases(material)[:_PHRASES]
    yield from _shortened(old)
    for text in _short_ones(name, words, phrases):
        yield Kind.REPHRASE, text, f"description: {_quoted(text)}"
    spans = [match for match in _WORD.finditer(old) if not excludes(match.group())]
    heavy = [match for match in spans if match.group().lower() not in _STOPWORDS]
    for match in heavy:
        text = without(old, match.start(), match.end())
        yield Kind.DROP_WORD, text, f"word dropped: {_quoted(match.group())}"
    inside = {match.group().lower() for match in spans}
    for addition in (*words, *phrases):
        if addition not in inside:
            yield Kind.ADD_WORD, f"{old}, {addition}", f"words added: {_quoted(addition)}"
    for word in words:
        if word in inside:
            continue
        for match in heavy:
            text = old[: match.start()] + word + old[match.end() :]
            change = f"{_quoted(match.group())} → {_quoted(word)}"
            yield Kind.REPLACE_WORD, tidied(text, old), change


def _shortened(old: str) -> Iterator[tuple[Kind, str, str]]:
    parts = pieces(old)[:_PIECES_AT_MOST] if len(old) > 0 else []
    if len(parts) < 2:
        return
    for start, stop in parts:
        gone = old[start:stop].strip()
        yield Kind.SHORTEN, without(old, start, stop), f"phrase dropped: {_quoted(gone)}"
    for first, last in combinations(range(len(parts) + 1), 2):
        if last - first < len(parts):
            text = tidied(old[parts[first][0] : parts[last - 1][1]], old)
            yield Kind.SHORTEN, text, f"description cut to {_quoted(text)}"


def _short_ones(name: str, words: Sequence[str], phrases: Sequence[str]) -> Iterator[str]:
    """Short descriptions made of the name and of typical words."""
    texts = [name.strip(), *phrases]
    texts += [", ".join(words[:count]) for count in (2, 3, 4, 6)]
    texts += [f"{name.strip()}, {', '.join(words[:count])}" for count in (1, 2, 3, 5)]
    texts += [f"{name.strip()}: {phrase}" for phrase in phrases[:4]]
    texts += [", ".join(phrases[:count]) for count in (2, 3)]
    texts += words[:4]
    for text in texts:
        if text and byte_length(text) < SHORT:
            yield text[:1].upper() + text[1:]


def typical_words(material: Material) -> list[str]:
    """Words of the prompts that belong, most typical first; those of missed prompts weigh more."""
    return _ranked(material, content_words)


def typical_phrases(material: Material) -> list[str]:
    """Runs of two to four words that stand in several prompts that belong, most typical first."""
    return _ranked(material, _runs, least=2)


@lru_cache(_REMEMBERED)
def _runs(text: str) -> tuple[str, ...]:
    words = [word.lower() for word in _WORD.findall(text)]
    heavy = [word not in _STOPWORDS for word in words]
    bars = [bool(excludes(word)) for word in words]
    found: dict[str, None] = {}
    for length in (2, 3, 4):
        for start in range(len(words) - length + 1):
            stop = start + length
            if heavy[start] and heavy[stop - 1] and not any(bars[start:stop]):
                found[" ".join(words[start:stop])] = None
    return tuple(found)


def _ranked(
    material: Material, terms_of: Callable[[str], tuple[str, ...]], least: int = 1
) -> list[str]:
    def counts(texts: Sequence[str]) -> Counter[str]:
        return Counter(term for text in texts for term in terms_of(text))

    parts = [part[:_READ] for part in (material.missed, material.caught, material.others)]
    missed, caught, others = map(counts, parts)
    belong = len(parts[0]) + len(parts[1])
    weight: dict[str, float] = {}
    for term in missed | caught:
        if missed[term] + caught[term] < least:
            continue
        hits = 2 * missed[term] + caught[term]
        ours = (missed[term] + caught[term] + 0.5) / (belong + 1)
        theirs = (others[term] + 0.5) / (len(parts[2]) + 1)
        weight[term] = hits * log(ours / theirs)
    return sorted((t for t in weight if weight[t] > 0), key=lambda term: (-weight[term], term))
