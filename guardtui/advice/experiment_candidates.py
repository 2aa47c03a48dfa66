"""Candidates of an experiment: wordings with subsets of their examples, or the engine's edits."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations, zip_longest

import numpy as np

from guardtui.advice.candidates import Candidate, CandidateKind, candidates, same
from guardtui.advice.objective import Objective, Stopped, material_of, unchanged
from guardtui.domain.text import display_start
from guardtui.domain.topic import EXAMPLES_AT_LEAST, EXAMPLES_AT_MOST, Topic, violations

MOST = 30
"""Maximum number of candidates of an experiment."""

EDITS = 15
"""Maximum number of edits of the engine; more cost calls and are worse."""

_MOST = 2000
_WORDINGS = (CandidateKind.TYPED, CandidateKind.REWORD)
_SHOWN = 60  # characters of a description


def with_subsets(topic: Topic, wordings: Sequence[Candidate], most: int = MOST) -> list[Candidate]:
    """Return wordings as given and with the examples at hand, then combinations of their parts.

    At most `most` are returned. A wording changes how well a guardrail separates; the number of its
    examples changes how much the guardrail catches, and only the guardrail knows how much that
    should be. So each list of new examples, whole and then with fewer and fewer of them, is
    combined with the description at hand and with that of each wording. Where no wording has new
    examples, each description comes with fewer and fewer of those at hand. Definitions beyond the
    limits are left out.
    """
    given = [
        wording if wording.topic.examples else _with(wording, topic.examples)
        for wording in wordings
    ]
    new = {
        wording.topic.examples: wording
        for wording in given
        if wording.topic.examples != topic.examples
    }
    texts = {wording.topic.description: wording for wording in given}
    if new:
        texts = {topic.description: unchanged(topic)} | texts
    queues = [
        [_combined(text, examples, subset) for subset in _subsets(examples.topic.examples)]
        for examples in (new or {topic.examples: unchanged(topic)}).values()
        for text in texts.values()
    ]
    own = [_with(wording, topic.examples) for wording in texts.values()]
    seen = {same(topic)}
    kept: list[Candidate] = []
    for candidate in (*given, *own, *chain.from_iterable(zip_longest(*queues))):
        if candidate is None or len(kept) == most:
            continue
        key = same(candidate.topic)
        if key not in seen and not violations(candidate.topic):
            seen.add(key)
            kept.append(candidate)
    return kept


def new_examples(topic: Topic, tried: Sequence[Candidate]) -> dict[str, str]:
    """Return a letter for each example of wordings that the definition does not have, in order.

    After z come a2, b2 and so on.
    """
    wordings = [wording for wording in tried if wording.kind in _WORDINGS]
    texts = dict.fromkeys(text for wording in wordings for text in wording.topic.examples)
    fresh = [text for text in texts if text not in topic.examples]
    letters = string.ascii_lowercase
    return {
        text: letters[n % 26] + (str(n // 26 + 1) if n >= 26 else "")
        for n, text in enumerate(fresh)
    }


def names(topic: Topic, tried: Sequence[Candidate]) -> list[str]:
    """Return a name for each candidate, which no other has; foreign texts in it are shortened.

    A wording is named by the numbers of its description and of the examples at hand, and by the
    letters of `new_examples`; another edit by its change.
    """
    labels = {text: str(number) for number, text in enumerate(topic.examples, start=1)}
    labels |= new_examples(topic, tried)
    texts = dict.fromkeys(candidate.topic.description for candidate in tried)
    texts.pop(topic.description, None)
    numbers = {text: number for number, text in enumerate(texts, start=1)}

    def name(candidate: Candidate) -> str:
        if candidate.kind not in _WORDINGS:
            return candidate.change
        description = candidate.topic.description
        number = numbers.get(description)
        about = "description as it is" if number is None else f"description {number}"
        examples = ", ".join(labels[text] for text in candidate.topic.examples)
        text = "" if number is None else f": “{display_start(description, _SHOWN)}”"
        return f"{about}, examples {examples}{text}"

    return [name(candidate) for candidate in tried]


def _subsets(examples: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield all examples, then with fewer and fewer of them."""
    for size in range(min(len(examples), EXAMPLES_AT_MOST), EXAMPLES_AT_LEAST - 1, -1):
        yield from combinations(examples, size)


def _combined(text: Candidate, examples: Candidate, subset: tuple[str, ...]) -> Candidate:
    """Return the description of one wording with examples of another."""
    sources = tuple(dict.fromkeys((*text.sources, *examples.sources)))
    wording = text if text.kind is not CandidateKind.COMPLETE else examples
    return _with(replace(wording, topic=text.topic, sources=sources), subset)


def _with(wording: Candidate, examples: tuple[str, ...]) -> Candidate:
    return replace(wording, topic=wording.topic.model_copy(update={"examples": examples}))


def best_edits(
    objective: Objective, topic: Topic, most: int = EDITS, stopped: Stopped = lambda: False
) -> list[Candidate] | None:
    """Return the best single edits by an objective, one for each new example; None if stopped.

    They differ by what they add, since the guardrail may rank them differently than the objective.
    """
    current = objective.appraise(unchanged(topic), stopped)
    if current is None:
        return None
    edits = candidates(topic, material_of(objective, current.matches), _MOST)
    values = objective.values(edits, stopped)
    if values is None:
        return None
    kept: dict[tuple[str, ...], Candidate] = {}
    for index in np.argsort(-values, kind="stable").tolist():
        new = tuple(text for text in edits[index].topic.examples if text not in topic.examples)
        if len(kept) < most:
            kept.setdefault(new or edits[index].topic.examples, edits[index])
    return list(kept.values())
