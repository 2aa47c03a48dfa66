"""Candidate edits of a definition: texts that an author could sign, all within the limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, combinations

from guardtui.advice.descriptions import drafts, extended, generalized, shortened
from guardtui.advice.phrases import excludes
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

_SOURCES = 400  # prompts that are offered as examples, at most
_SHOWN = 60
_CODE = re.compile(r"[{}<>\[\]\\|`]|://")
_DRAWN = 16  # prompts that pairs of examples are drawn from for a draft


class Kind(StrEnum):
    """What an edit does."""

    ADD_EXAMPLE = "add example"
    SWAP_EXAMPLE = "swap example"
    DROP_EXAMPLE = "drop example"
    SHORTEN = "shorten description"
    GENERALIZE = "generalize description"
    INCLUDE = "include a phrase"
    COMPLETE = "complete the definition"
    REWORD = "wording of a model"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One edit: the definition it makes, and what it changes in words.

    `change` holds texts that are not ours only as `display_start` gives them. `sources` are the
    prompts that it takes words from: they say nothing about the edit.
    """

    topic: Topic
    kind: Kind
    change: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Material:
    """Prompts that edits may take words and examples from.

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


def changes(before: Topic, after: Topic) -> tuple[str, ...]:
    """What several edits change, each part once, as one would tell an author to do it.

    Of texts that are not ours only as much as `display_start` gives of them.
    """
    found = []
    if before.description != after.description:
        start = (
            "Change the description to" if before.description.strip() else "Write the description:"
        )
        found.append(f"{start} {_quoted(after.description)}")
    gone = [one for one in enumerate(before.examples, 1) if one[1] not in after.examples]
    new = [text for text in after.examples if text not in before.examples]
    found += [_replacing(number, old, text) for (number, old), text in zip(gone, new, strict=False)]
    found += [f"Add the example {_quoted(text)}" for text in new[len(gone) :]]
    found += [f"Drop example {number}: {_quoted(old)}" for number, old in gone[len(new) :]]
    return tuple(found)


def is_usable_example(text: str) -> bool:
    """Whether a prompt can be an example as it is.

    Short enough, one line of words without code or markup, and nothing hidden in it.
    """
    return bool(
        text.strip()
        and not _CODE.search(text)
        and byte_length(text) <= EXAMPLE_BYTES
        and not hidden_characters(text)
        and not line_breaks(Topic(name=text))
    )


def same(topic: Topic) -> tuple[str, tuple[str, ...]]:
    """Equal for definitions of a name that match alike: the examples' order means nothing."""
    return topic.description.strip(), tuple(sorted(topic.examples))


def _folded(text: str) -> str:
    return " ".join(text.split()).lower()


@lru_cache(4096)
def _quoted(text: str) -> str:
    return f"“{display_start(text, _SHOWN)}{'…' if len(text) > _SHOWN else ''}”"


def _replacing(number: int, old: str, new: str) -> str:
    return f"Replace example {number}, {_quoted(old)}, by {_quoted(new)}"


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
    descriptions = [old] if old else drafts(topic.name)
    sources = _sources(topic, material)[: _DRAWN if len(descriptions) > 1 else 3 * _DRAWN]
    for examples in combinations(sources, lacking):
        for description in descriptions:
            whole = topic.model_copy(
                update={"description": description, "examples": (*given, *examples)}
            )
            if _fits(whole):
                yield Candidate(whole, Kind.COMPLETE, "; ".join(changes(topic, whole)))


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
            change = f"Drop example {place + 1}: {_quoted(example)}"
            yield Candidate(shorter, Kind.DROP_EXAMPLE, change)
    fine = sound and all(
        0 < size <= EXAMPLE_BYTES and text.strip()
        for size, text in zip(sizes, topic.examples, strict=True)
    )
    for text in sources:
        size = byte_length(text)
        room = fine and used + size <= TOTAL_BYTES
        if room and EXAMPLES_AT_LEAST <= count + 1 <= EXAMPLES_AT_MOST:
            change = f"Add example {count + 1}: {_quoted(text)}"
            yield Candidate(edited((*topic.examples, text)), Kind.ADD_EXAMPLE, change)
        if EXAMPLES_AT_LEAST <= count <= EXAMPLES_AT_MOST:
            for place, old in enumerate(topic.examples):
                swapped = edited((*topic.examples[:place], text, *topic.examples[place + 1 :]))
                # An example that breaks a limit can be fixed by swapping it.
                ok = used - sizes[place] + size <= TOTAL_BYTES if fine else _fits(swapped)
                if ok:
                    change = _replacing(place + 1, old, text)
                    yield Candidate(swapped, Kind.SWAP_EXAMPLE, change)


def _of_description(topic: Topic, material: Material) -> Iterator[Candidate]:
    old = topic.description.strip()
    room = TOTAL_BYTES - byte_length(topic.name) - sum(map(byte_length, topic.examples))
    room = min(room, DESCRIPTION_BYTES)
    allowed = excludes(old)
    if not _fits(topic.model_copy(update={"description": "x"})):
        return
    for kind, text, change, source in _descriptions(topic, old, material):
        fits = text.strip() and text != old and byte_length(text) <= room
        if fits and excludes(text) <= allowed:
            new = topic.model_copy(update={"description": text})
            yield Candidate(new, kind, change, (source,) if source else ())


def _descriptions(
    topic: Topic, old: str, material: Material
) -> Iterator[tuple[Kind, str, str, str]]:
    """Other descriptions with their kind, what changed, and the prompt that gave words to them."""
    if not old:
        for text in drafts(topic.name):
            yield Kind.COMPLETE, text, f"Write the description: {_quoted(text)}", ""
        return
    for text in shortened(old):
        yield Kind.SHORTEN, text, f"Cut the description to {_quoted(text)}", ""
    for text, added in generalized(old):
        yield Kind.GENERALIZE, text, f"Widen the description: including {_quoted(added)}", ""
    for text, phrase, source in extended(
        old, (*material.missed, *material.caught), material.others
    ):
        yield Kind.INCLUDE, text, f"Include {_quoted(phrase)} in the description", source
