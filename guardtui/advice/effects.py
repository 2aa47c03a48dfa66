"""Effect of each part of a definition, measured by removing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.edit_worth import metrics_of_matches, significance_of_matches
from guardtui.advice.engine_scores import Stopped
from guardtui.advice.phrases import pieces, without
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.significance import Significance
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic

_NEARLY = 0.02
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of one part of a definition, measured by removing it.

    `part` is its name (`example 3`, `phrase 2`, `description`) and `text` its text in the topic
    (not made inert). `start` and `stop` are its range in the description, 0 and 0 for an example.
    `topic` is the definition without it, which may break the limits. `before` and `without` are
    metrics over all prompts, and `worth` the significance of their difference. Prompts equal to the
    example count, as they do in an evaluation.
    """

    part: str
    text: str
    start: int
    stop: int
    topic: Topic
    before: Metrics
    without: Metrics
    worth: Significance

    @property
    def coverage_change(self) -> float | None:
        """Coverage without the part minus coverage with it."""
        old, new = self.before.coverage, self.without.coverage
        return None if old is None or new is None else new - old

    @property
    def sentence(self) -> str:
        """The effect in words: `without example 3: 12 fewer FP, 2 more FN`."""
        return f"without {self.part}: {change_in_words(self.before, self.without)}"


def change_in_words(before: Metrics, after: Metrics) -> str:
    """Return the change of mistakes: `12 fewer FP, 2 more FN`, or `as many FP and FN`.

    Equal counts may hide different mistakes.
    """
    parts = []
    for name, old, new in (("FP", before.fp, after.fp), ("FN", before.fn, after.fn)):
        if new != old:
            parts.append(f"{abs(new - old)} {'more' if new > old else 'fewer'} {name}")
    return ", ".join(parts) or "as many FP and FN"


class DefinitionVerdicts(Protocol):
    """Verdicts of a guardrail on definitions, for one prompt set."""

    @property
    def prompts(self) -> PromptSet:
        """The prompt set."""

    def verdicts(
        self, topics: Sequence[Topic], stopped: Stopped = lambda: False
    ) -> NDArray[np.bool_] | None:
        """Return whether each prompt matches each topic, bool [c, N]; None if stopped."""


def effects(
    engine: DefinitionVerdicts, topic: Topic, stopped: Stopped = lambda: False
) -> tuple[Effect, ...] | None:
    """Return the effect of each example and each phrase of the description; None if stopped.

    Parts are in the order of the definition: phrases, the whole description, examples.
    """
    parts: list[tuple[str, str, int, int, Topic]] = []
    description = topic.description
    phrases = pieces(description)
    if len(phrases) > 1:
        for number, (start, stop) in enumerate(phrases, start=1):
            shorter = topic.model_copy(update={"description": without(description, start, stop)})
            text = description[start:stop]
            label = f"phrase {number} (“{display_start(text.strip(), _SHOWN)}”)"
            parts.append((label, text, start, stop, shorter))
    if description.strip():
        bare = topic.model_copy(update={"description": ""})
        parts.append(("the description", description, 0, len(description), bare))
    for index, example in enumerate(topic.examples):
        if example.strip():
            examples = topic.examples[:index] + topic.examples[index + 1 :]
            fewer = topic.model_copy(update={"examples": examples})
            parts.append((f"example {index + 1}", example, 0, 0, fewer))
    topics = [topic, *(part[4] for part in parts)]
    matches = engine.verdicts(topics, stopped)
    if matches is None:
        return None
    expected, intent = engine.prompts.expected, topic.intent
    before, *others = (metrics_of_matches(expected, row, intent) for row in matches)
    return tuple(
        Effect(*part, before, metrics, significance_of_matches(expected, matches[0], row, intent))
        for part, metrics, row in zip(parts, others, matches[1:], strict=True)
    )


def no_effect(metrics: Metrics) -> str | None:
    """Return in a sentence that a topic separates nothing, or None.

    All prompts, or all but 2 % of each class, get the same verdict: TPR 1 and TNR 0, or the
    reverse.
    """
    tpr, tnr = metrics.true_positive_rate, metrics.true_negative_rate
    if tpr is None or tnr is None:
        return None
    nearly = "" if {tpr, tnr} == {0.0, 1.0} else "nearly "
    rates = f"TPR {round(tpr, 2):g}, TNR {round(tnr, 2):g}"
    if tpr >= 1 - _NEARLY and tnr <= _NEARLY:
        return (
            f"{nearly}everything triggers ({rates}): the definition tells nothing apart; in the "
            "cloud this is also how a built-in protection looks that stops all, whatever the topic "
            "says"
        )
    if tpr <= _NEARLY and tnr >= 1 - _NEARLY:
        return (
            f"{nearly}nothing triggers ({rates}): the definition has no effect; in the cloud it "
            "may also not be applied to the profile"
        )
    return None
