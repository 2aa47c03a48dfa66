"""Lint: known problems of definitions, with the measured effect of removing each cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.edit_worth import metrics_of_matches, significance_of_matches
from guardtui.advice.effects import no_effect
from guardtui.advice.engine_scores import EngineScores, Stopped
from guardtui.advice.lint_advice import (
    NO_EFFECT,
    Advice,
    Removal,
    field_of,
    file_lines,
    order,
    without_examples,
)
from guardtui.advice.text_lint import lint_text
from guardtui.domain.example_prompts import EqualTexts
from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, given_examples, named_examples

NEAR_DUPLICATE = 0.8
"""Cosine from which two examples are near-duplicates.

Measured with both encoders on the positive prompts of the shipped samples: no two of them reach
0.76 (14 850 pairs), and 99 of 100 small rewordings of one (case, signs, a greeting, an article,
my for your) reach 0.84.
"""

_NEAREST = 5
_OWN = 0.97  # a prompt this near to an example is the example
_CLOSER = 0.01  # by which cosines must differ


def lint(
    topic: Topic,
    prompts: PromptSet,
    engine: EngineScores | None = None,
    stopped: Stopped = lambda: False,
    metrics: Metrics | None = None,
) -> tuple[Advice, ...]:
    """Return all advice about a definition, most useful first.

    Without `engine`, only the text and the labels of equal prompts are checked (some ms for
    10 000). An engine adds checks by vectors and measures the advice. `metrics`, of any scanner, or
    else the engine show whether the definition separates nothing; this advice comes first. Next
    comes advice whose remedy gains coverage, then unmeasured advice, then remedies that cost
    coverage. If stopped, the advice so far is returned unmeasured. Blank examples are ignored.
    """
    if engine is not None and prompts is engine.prompts:
        equal = engine.equal_texts
    else:
        equal = EqualTexts(prompts.prompts)
    repeated, leaked = _equal_prompts(topic, prompts, equal)
    advice = [*lint_text(topic), *repeated]
    if engine is not None:
        advice = _measured(engine, topic, advice, leaked, stopped)
        if metrics is None and (matches := engine.verdicts([topic], stopped)) is not None:
            metrics = metrics_of_matches(engine.prompts.expected, matches[0], topic.intent)
    # An empty definition cannot have an effect.
    if metrics is not None and (topic.description.strip() or given_examples(topic)):
        advice += no_effect_advice(metrics)
    return tuple(sorted(advice, key=order))


def no_effect_advice(metrics: Metrics) -> list[Advice]:
    """Return the advice on a definition that separates nothing, or an empty list."""
    message = no_effect(metrics)
    if message is None:
        return []
    return [Advice(NO_EFFECT, "description", message.partition(":")[0], message)]


def _equal_prompts(
    topic: Topic, prompts: PromptSet, equal: EqualTexts
) -> tuple[list[Advice], list[int]]:
    """Return advice on examples that are also test prompts, and the rows of leaked ones.

    Each example labelled as not belonging gets its own advice.
    """
    numbers: list[int] = []
    leaked: list[int] = []
    exactly = False
    advice: list[Advice] = []
    for number, example in given_examples(topic):
        same, alike = equal.rows(example)
        rows = [*same.tolist(), *alike.tolist()]
        wrong = [row for row in rows if not prompts.expected[row]]
        right = [row for row in rows if prompts.expected[row]]
        if wrong and not right:
            message = (
                f"example {number} is also a prompt whose label says that it does not belong to "
                "the topic: correct the label, or drop the example"
            )
            advice.append(
                Advice(
                    "contradiction",
                    f"examples.{number}",
                    f"example {number}: labelled not to belong",
                    message,
                    f"example {number} dropped",
                    remedy=without_examples(topic, [number]),
                    lines=file_lines(prompts, wrong),
                )
            )
        elif rows:
            numbers.append(number)
            leaked += rows
            exactly = exactly or bool(len(same))
    if numbers:
        rows = sorted(set(leaked))
        many = len(numbers) > 1
        how = "" if exactly else ", but for case, blanks and signs"
        are = "are also test prompts" if many else "is also a test prompt"
        message = f"{named_examples(numbers)} {are}{how}: coverage is flattered"
        advice.append(
            Advice(
                "leakage",
                field_of(numbers),
                f"{named_examples(numbers)} {'are test prompts' if many else 'is a test prompt'}",
                message,
                f"{count_text(len(rows), 'prompt', 'prompts')} left out of the rates",
                lines=file_lines(prompts, rows),
            )
        )
        leaked = rows
    return advice, leaked


# --- by vectors, with measured effects -------------------------------------------------------


def _measured(
    engine: EngineScores,
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
    parts = [topic.model_copy(update={"examples": ()}), Topic(examples=topic.examples)]
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
        weak = (weight.change or 0) > 0 and _surely_better(weight)
        # Only then: the name alone is a text that no cache has.
        bare = topic.model_copy(update={"description": ""})
        if weak and (named := engine.verdicts([bare], stopped)) is not None:
            matches[bare] = named[0]
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
        dropped, other = self.numbers[index], self.numbers[1 - index]
        both = f"examples {self.numbers[0]} and {self.numbers[1]}"
        return Advice(
            "near-duplicates",
            f"examples.{dropped}",
            f"example {dropped} nearly equals {other}",
            f"{both} say nearly the same (similarity {self.cosine:.2f})",
            f"example {dropped} dropped",
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
    engine: EngineScores,
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
                    f"example {number} is closer to prompts that do not belong (similarity "
                    f"{no:.2f}, {how}) than to those that do ({yes:.2f})"
                )
                brief = f"example {number} seems off the topic"
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
