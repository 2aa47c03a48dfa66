"""Lint from vectors, and the measured effect of removing the cause of each advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.edit_worth import metrics_of_matches, significance_of_matches
from guardtui.advice.lint_advice import Advice, Removal, without_examples
from guardtui.advice.lint_engine import LintEngine
from guardtui.domain.example_prompts import given_examples
from guardtui.domain.figures import rate_text
from guardtui.domain.topic import Topic

Stopped = Callable[[], bool]

NEAR_DUPLICATE = 0.8
"""Cosine from which two examples are near-duplicates.

Measured with both encoders on the positive prompts of the shipped samples: no two of them reach
0.76 (14 850 pairs), and 99 of 100 small rewordings of one (case, signs, a greeting, an article,
my for your) reach 0.84.
"""

_NEAREST = 5
_OWN = 0.97  # a prompt this near to an example is the example
_CLOSER = 0.01  # by which cosines must differ


def measured(
    engine: LintEngine,
    topic: Topic,
    advice: list[Advice],
    leaked: Sequence[int],
    stopped: Stopped,
) -> list[Advice]:
    """Return the advice with its effects and the advice by vectors, in no particular order.

    `leaked` are rows left out of the rates for the advice about leakage.
    """
    given = given_examples(topic)
    vectors = engine.vectors_of([text for _, text in given], stopped)
    if vectors is None:
        return advice
    twins = _twins(topic, given, vectors)
    contradicted = {item.field for item in advice if item.code == "contradiction"}
    near = _near_negatives(engine, topic, given, vectors, stopped)
    advice = [*advice, *(item for item in near if item.field not in contradicted)]
    bare = topic.model_copy(update={"description": ""})
    parts = [topic.model_copy(update={"examples": ()}), Topic(examples=topic.examples), bare]
    remedies = [item.remedy for item in advice if item.remedy is not None]
    remedies += [remedy for pair in twins for remedy in pair.remedies]
    topics = list(dict.fromkeys([topic, *parts, *remedies]))
    verdicts = engine.verdicts(topics, stopped)
    if verdicts is None:
        return advice
    matches = dict(zip(topics, verdicts, strict=True))
    expected = engine.prompts.expected

    def removal(remedy: Topic) -> Removal:
        return _removal(topic, expected, matches[topic], matches[remedy])

    effects = [
        item if item.remedy is None else replace(item, removal=removal(item.remedy))
        for item in advice
    ]
    for index, item in enumerate(effects):
        if item.code == "leakage":
            rest = np.ones(len(expected), bool)
            rest[leaked] = False
            before = metrics_of_matches(expected, matches[topic], topic.intent)
            after = metrics_of_matches(expected[rest], matches[topic][rest], topic.intent)
            effects[index] = replace(item, removal=Removal(before, after))
    by_field: dict[str, Advice] = {}
    for pair in sorted(twins, key=lambda pair: -pair.cosine):
        better = pair.better(removal)
        # Three similar examples give two pieces of advice, not one for each pair.
        by_field.setdefault(better.field, better)
    effects += by_field.values()
    if topic.description.strip() and given:
        weight = _removal(topic, expected, matches[parts[0]], matches[parts[1]])
        if (weight.change or 0) > 0 and _surely_better(weight):
            message = (
                "the description carries less than its examples: coverage "
                f"{rate_text(weight.before.coverage)} by it and the name alone, "
                f"{rate_text(weight.after.coverage)} by the examples alone"
            )
            brief = "description weaker than examples"
            action = "description left out, the name alone"
            effects.append(
                Advice("description", "description", brief, message, action, removal(bare), bare)
            )
    return effects


@dataclass(frozen=True, slots=True)
class _Twins:
    """Two near-duplicate examples, and the definitions without each."""

    numbers: tuple[int, int]
    cosine: float
    remedies: tuple[Topic, Topic]

    def better(self, removal: Callable[[Topic], Removal]) -> Advice:
        """Return the advice to drop the example whose removal gains more; on a tie, the later."""
        effects = [removal(remedy) for remedy in self.remedies]
        changes = [-1.0 if effect.change is None else effect.change for effect in effects]
        index = 0 if changes[0] > changes[1] else 1
        both = f"examples {self.numbers[0]} and {self.numbers[1]}"
        return Advice(
            "near-duplicates",
            f"examples.{self.numbers[index]}",
            f"{both} nearly equal",
            f"{both} say nearly the same (cosine {self.cosine:.2f})",
            f"example {self.numbers[index]} dropped",
            effects[index],
            self.remedies[index],
        )


def _twins(
    topic: Topic, given: Sequence[tuple[int, str]], vectors: NDArray[np.float32]
) -> list[_Twins]:
    twins = []
    cosines = vectors @ vectors.T
    for first, second in combinations(range(len(given)), 2):
        cosine = float(cosines[first, second])
        if cosine >= NEAR_DUPLICATE:
            numbers = given[first][0], given[second][0]
            remedies = without_examples(topic, numbers[:1]), without_examples(topic, numbers[1:])
            twins.append(_Twins(numbers, cosine, remedies))
    return twins


def _near_negatives(
    engine: LintEngine,
    topic: Topic,
    given: Sequence[tuple[int, str]],
    vectors: NDArray[np.float32],
    stopped: Stopped,
) -> list[Advice]:
    """Return advice on examples nearer to negatives, by mean or by the five nearest.

    Prompts equal to the example are left out.
    """
    cosines = engine.cosines(vectors, stopped)
    if cosines is None:
        return []
    expected = engine.prompts.expected
    advice = []
    for (number, _), row in zip(given, cosines, strict=True):
        others = row < _OWN
        ours, theirs = row[others & expected], row[others & ~expected]
        if not len(ours) or not len(theirs):
            continue
        # Equal numbers, since a larger class has more prompts near by chance.
        count = min(_NEAREST, len(ours), len(theirs))
        near = tuple(float(np.partition(part, -count)[-count:].mean()) for part in (ours, theirs))
        mean = float(ours.mean()), float(theirs.mean())
        for (yes, no), how in ((mean, "mean of all"), (near, f"mean of the {count} nearest")):
            if yes + _CLOSER <= no:
                message = (
                    f"example {number} is closer to prompts that do not belong (cosine {no:.2f}, "
                    f"{how}) than to those that do ({yes:.2f})"
                )
                brief = f"example {number} nearer to negatives"
                action = f"example {number} dropped"
                remedy = without_examples(topic, [number])
                field = f"examples.{number}"
                advice.append(Advice("negatives", field, brief, message, action, remedy=remedy))
                break
    return advice


def _surely_better(removal: Removal) -> bool:
    """Return whether significantly more prompts become correct than wrong.

    Without this bar, nearly every draft would get this advice.
    """
    return removal.fixes > removal.regressions and not removal.could_be_chance


def _removal(
    topic: Topic,
    expected: NDArray[np.bool_],
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
) -> Removal:
    return Removal(
        metrics_of_matches(expected, before, topic.intent),
        metrics_of_matches(expected, after, topic.intent),
        significance_of_matches(expected, before, after, topic.intent),
    )
