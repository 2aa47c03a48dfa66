"""Candidate edits of a definition: other examples, within the limits.

The description is the author's, or a writer model's: no edit changes a word of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, combinations

from guardtui.domain.text import display_start, hidden_characters
from guardtui.domain.topic import (
    EXAMPLE_BYTES,
    EXAMPLES_AT_LEAST,
    EXAMPLES_AT_MOST,
    TOTAL_BYTES,
    Topic,
    byte_length,
    line_breaks,
    violations,
)

_SOURCES = 80  # maximum number of prompts proposed as examples
_SHOWN = 60
_CODE = re.compile(r"[{}<>\[\]\\|`]|://")
_DRAWN = 48  # prompts for pairs of examples in a draft


class CandidateKind(StrEnum):
    """Kinds of edits."""

    ADD_EXAMPLE = "add example"
    SWAP_EXAMPLE = "swap example"
    DROP_EXAMPLE = "drop example"
    COMPLETE = "complete the examples"
    TYPED = "wording of the author"
    REWORD = "wording of a model"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit: the new definition, and the change in words.

    Foreign texts in `change` are shortened by `display_start`. `sources` are the prompts that its
    writer was shown; they do not count in its evaluation. `origin` says where a wording is from,
    and `why` is the reason that a model gave for it (any text).
    """

    topic: Topic
    kind: CandidateKind
    change: str
    sources: tuple[str, ...] = ()
    origin: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """Prompts for the examples of edits.

    `missed` belong to the topic and do not match, `caught` belong and match. Each has a fixed
    order, and the first ones are used.
    """

    missed: tuple[str, ...]
    caught: tuple[str, ...]


def candidates(topic: Topic, material: Material, most: int = 2000) -> list[Candidate]:
    """Return at most `most` different edits of one step, in a fixed order.

    All are within the byte limits.
    """
    seen = {same(topic)}
    kept: list[Candidate] = []
    for candidate in chain(_of_missing(topic, material), _of_examples(topic, material)):
        if len(kept) == most:
            break
        key = same(candidate.topic)
        if key not in seen:
            seen.add(key)
            kept.append(candidate)
    return kept


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
    """Yield completions of a draft that lacks two examples."""
    given = tuple(example for example in topic.examples if example.strip())
    lacking = max(0, EXAMPLES_AT_LEAST - len(given))
    if not lacking or (lacking == 1 and given == topic.examples):
        return  # a single edit is enough
    for examples in combinations(_sources(topic, material)[:_DRAWN], lacking):
        whole = topic.model_copy(update={"examples": (*given, *examples)})
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
