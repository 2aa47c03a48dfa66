"""Candidate edits of a definition: readable texts within the limits."""

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

_SOURCES = 400  # maximum number of prompts proposed as examples
_SHOWN = 60
_CODE = re.compile(r"[{}<>\[\]\\|`]|://")
_DRAWN = 16  # prompts for pairs of examples in a draft


class CandidateKind(StrEnum):
    """Kinds of edits."""

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
    """An edit: the new definition, and the change in words.

    Foreign texts in `change` are shortened by `display_start`. `sources` are the prompts that it
    takes words from; they do not count in its evaluation.
    """

    topic: Topic
    kind: CandidateKind
    change: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Material:
    """Prompts for words and examples of edits.

    `missed` belong to the topic and do not match, `caught` belong and match, `others` do not
    belong. Each has a fixed order, and the first ones are used.
    """

    missed: tuple[str, ...]
    caught: tuple[str, ...]
    others: tuple[str, ...]


def candidates(topic: Topic, material: Material, most: int = 2000) -> list[Candidate]:
    """Return at most `most` different edits of one step, in a fixed order.

    All are within the byte limits, and no description gets excluding words. If there are too many,
    edits of examples and of the description alternate.
    """
    seen = {same(topic)}
    edits_by_part: list[list[Candidate]] = []
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
        edits_by_part.append(kept)
    examples, descriptions = edits_by_part
    if len(examples) + len(descriptions) > most:
        room = max(most - len(descriptions), most // 2)
        examples = examples[:room]
        descriptions = descriptions[: most - len(examples)]
    return examples + descriptions


def changes(before: Topic, after: Topic) -> tuple[str, ...]:
    """Return the changes of several edits as instructions, one for each part.

    Foreign texts are shortened by `display_start`.
    """
    sentences = []
    if before.description != after.description:
        start = (
            "Change the description to" if before.description.strip() else "Write the description:"
        )
        sentences.append(f"{start} {_quoted(after.description)}")
    gone = [pair for pair in enumerate(before.examples, 1) if pair[1] not in after.examples]
    new = [text for text in after.examples if text not in before.examples]
    sentences += [
        _replacing(number, old, text) for (number, old), text in zip(gone, new, strict=False)
    ]
    sentences += [f"Add the example {_quoted(text)}" for text in new[len(gone) :]]
    sentences += [f"Drop example {number}: {_quoted(old)}" for number, old in gone[len(new) :]]
    return tuple(sentences)


def is_usable_example(text: str) -> bool:
    """Return whether a prompt can be an example as it is.

    It is short, one line of words, without code, markup or hidden characters.
    """
    return bool(
        text.strip()
        and not _CODE.search(text)
        and byte_length(text) <= EXAMPLE_BYTES
        and not hidden_characters(text)
        and not line_breaks(Topic(name=text))
    )


def same(topic: Topic) -> tuple[str, tuple[str, ...]]:
    """Return a key that is equal for equivalent definitions (the order of examples is ignored)."""
    return topic.description.strip(), tuple(sorted(topic.examples))


def _folded(text: str) -> str:
    return " ".join(text.split()).lower()


@lru_cache(4096)
def _quoted(text: str) -> str:
    return f"“{display_start(text, _SHOWN)}”"


def _replacing(number: int, old: str, new: str) -> str:
    return f"Replace example {number}, {_quoted(old)}, by {_quoted(new)}"


def _fits(topic: Topic) -> bool:
    return not violations(topic)


def _sources(topic: Topic, material: Material) -> list[str]:
    """Return prompts that could become examples of the topic, missed ones first."""
    present = {_folded(example) for example in topic.examples}
    sources: list[str] = []
    for text in (*material.missed, *material.caught):
        folded = _folded(text)
        if len(sources) < _SOURCES and folded not in present and is_usable_example(text):
            present.add(folded)
            sources.append(text)
    return sources


def _of_missing(topic: Topic, material: Material) -> Iterator[Candidate]:
    """Yield completions of a draft: a description, and two examples."""
    given = tuple(example for example in topic.examples if example.strip())
    lacking = max(0, EXAMPLES_AT_LEAST - len(given))
    old = topic.description.strip()
    if not lacking or (old and lacking == 1 and given == topic.examples):
        return  # a single edit is enough
    descriptions = [old] if old else drafts(topic.name)
    sources = _sources(topic, material)[: _DRAWN if len(descriptions) > 1 else 3 * _DRAWN]
    for examples in combinations(sources, lacking):
        for description in descriptions:
            whole = topic.model_copy(
                update={"description": description, "examples": (*given, *examples)}
            )
            if _fits(whole):
                yield Candidate(whole, CandidateKind.COMPLETE, "; ".join(changes(topic, whole)))


def _of_examples(topic: Topic, material: Material) -> Iterator[Candidate]:
    sources = _sources(topic, material)
    fixed = byte_length(topic.name) + byte_length(topic.description)
    sizes = [byte_length(example) for example in topic.examples]
    # Violations of name and description hold for every edit of the examples.
    sound = _fits(Topic(name=topic.name, description=topic.description, examples=("x", "y")))
    used = fixed + sum(sizes)
    count = len(topic.examples)

    def edited(examples: tuple[str, ...]) -> Topic:
        return topic.model_copy(update={"examples": examples})

    for index, example in enumerate(topic.examples):
        rest = topic.examples[:index] + topic.examples[index + 1 :]
        shorter = edited(rest)
        if _fits(shorter):
            change = f"Drop example {index + 1}: {_quoted(example)}"
            yield Candidate(shorter, CandidateKind.DROP_EXAMPLE, change)
    fine = sound and all(
        0 < size <= EXAMPLE_BYTES and text.strip()
        for size, text in zip(sizes, topic.examples, strict=True)
    )
    for text in sources:
        size = byte_length(text)
        room = fine and used + size <= TOTAL_BYTES
        if room and EXAMPLES_AT_LEAST <= count + 1 <= EXAMPLES_AT_MOST:
            change = f"Add example {count + 1}: {_quoted(text)}"
            yield Candidate(edited((*topic.examples, text)), CandidateKind.ADD_EXAMPLE, change)
        if EXAMPLES_AT_LEAST <= count <= EXAMPLES_AT_MOST:
            for index, old in enumerate(topic.examples):
                swapped = edited((*topic.examples[:index], text, *topic.examples[index + 1 :]))
                # Swapping fixes an example that exceeds a limit.
                ok = used - sizes[index] + size <= TOTAL_BYTES if fine else _fits(swapped)
                if ok:
                    change = _replacing(index + 1, old, text)
                    yield Candidate(swapped, CandidateKind.SWAP_EXAMPLE, change)


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
) -> Iterator[tuple[CandidateKind, str, str, str]]:
    """Yield other descriptions: kind, text, change, and the prompt with their words (or "")."""
    if not old:
        for text in drafts(topic.name):
            yield CandidateKind.COMPLETE, text, f"Write the description: {_quoted(text)}", ""
        return
    for text in shortened(old):
        yield CandidateKind.SHORTEN, text, f"Cut the description to {_quoted(text)}", ""
    for text, added in generalized(old):
        yield (
            CandidateKind.GENERALIZE,
            text,
            f"Widen the description: including {_quoted(added)}",
            "",
        )
    for text, phrase, source in extended(
        old, (*material.missed, *material.caught), material.others
    ):
        yield CandidateKind.INCLUDE, text, f"Include {_quoted(phrase)} in the description", source
