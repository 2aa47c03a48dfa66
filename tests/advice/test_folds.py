"""Gains on folds: those of the whole choice on prompts that had no part in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.folds import LIKELY_FROM, SHRINKAGE, Choice, gain_of_choice
from guardtui.advice.objective import Appraisal, Array, Objective, Rows, Stopped
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from tests.guardrails import engine_settings

from .conftest import prompt_set_of

TOPIC = Topic(name="Tax", description="now", examples=("a?", "b?"))


@dataclass
class Answers:
    """An objective that knows whether each definition matches each prompt, by its description."""

    prompts: PromptSet
    rows: Rows
    matches: dict[str, NDArray[np.bool_]]

    @property
    def settings(self) -> ScannerSettings:
        return engine_settings("x", 0.5)

    @property
    def sources(self) -> Rows:
        return self.rows

    def on(self, rows: Rows) -> Objective:
        return Answers(self.prompts, rows, self.matches)

    def values(
        self, candidates: Sequence[Candidate], stopped: Stopped = lambda: False
    ) -> Array | None:
        belongs = self.prompts.expected[self.rows]
        right = [self.matches[one.topic.description][self.rows] == belongs for one in candidates]
        return np.array([min(row[belongs].mean(), row[~belongs].mean()) for row in right])

    def appraise(self, candidate: Candidate, stopped: Stopped = lambda: False) -> Appraisal | None:
        matches = self.matches[candidate.topic.description][self.rows]
        counted = np.ones(len(matches), bool)
        return None if stopped() else Appraisal(matches.astype(float), matches, counted)

    def judge(self, topic: Topic, appraisal: Appraisal, rows: Rows) -> NDArray[np.bool_]:
        return self.matches[topic.description][rows]


def candidate(description: str) -> Candidate:
    topic = TOPIC.model_copy(update={"description": description})
    return Candidate(topic, CandidateKind.TYPED, "")


def answers(count: int, share: dict[str, float], seed: int = 0) -> Answers:
    """Return definitions that are right on a random share of the prompts."""
    random = np.random.default_rng(seed)
    prompts = prompt_set_of([(f"prompt {row}?", row % 2 == 0) for row in range(count)])
    wrong = {name: random.random(count) >= right for name, right in share.items()}
    matches = {name: prompts.expected ^ errors for name, errors in wrong.items()}
    return Answers(prompts, np.arange(count), matches)


def best_of(names: list[str]) -> Choice:
    def choose(objective: Objective) -> Candidate:
        values = objective.values([candidate(name) for name in names])
        assert values is not None
        return candidate(names[int(values.argmax())])

    return choose


def test_a_better_definition_is_better_and_its_gain_is_cautious() -> None:
    objective = answers(200, {"now": 0.6, "better": 0.9})
    gain = gain_of_choice(objective, TOPIC, lambda _: candidate("better"))
    assert gain is not None
    belongs = objective.prompts.expected
    both = objective.values([candidate("now"), candidate("better")])
    assert both is not None
    assert belongs.sum() == 100
    assert gain.likely
    assert gain.value == pytest.approx(SHRINKAGE * (both[1] - both[0]))
    assert LIKELY_FROM < gain.low < gain.value < gain.high


def test_the_best_of_many_equally_good_definitions_promises_nothing() -> None:
    names = [f"alike {number}" for number in range(200)]
    proven, values, looks = [], [], []
    for seed in range(12):
        objective = answers(80, dict.fromkeys(["now", *names], 0.7), seed)
        gain = gain_of_choice(objective, TOPIC, best_of(names))
        assert gain is not None
        proven.append(gain.likely)
        values.append(gain.value)
        both = objective.values([candidate(name) for name in ("now", *names)])
        assert both is not None
        looks.append(both.max() - both[0])
    assert np.mean(looks) > 0.1  # what it looks like on the prompts of the choice
    assert abs(np.mean(values)) < 0.04
    assert np.mean(proven) < 0.5


def test_no_choice_gains_nothing() -> None:
    gain = gain_of_choice(answers(40, {"now": 0.7}), TOPIC, lambda _: None)
    assert gain is not None
    assert (gain.value, gain.low, gain.high, gain.likely) == (0.0, 0.0, 0.0, False)


def test_the_same_prompts_give_the_same_gain_in_any_order() -> None:
    objective = answers(60, {"now": 0.6, "better": 0.8})
    first = gain_of_choice(objective, TOPIC, lambda _: candidate("better"))
    turned = Answers(objective.prompts, objective.rows[::-1].copy(), objective.matches)
    second = gain_of_choice(turned, TOPIC, lambda _: candidate("better"))
    assert first is not None
    assert second is not None
    assert first.value == pytest.approx(second.value)


def test_it_stops_at_once() -> None:
    objective = answers(40, {"now": 0.7})
    assert gain_of_choice(objective, TOPIC, lambda _: None, lambda: True) is None


def test_prompts_that_are_examples_of_the_choice_do_not_count() -> None:
    objective = answers(60, {"now": 0.7, "better": 0.7})
    texts = objective.prompts.prompts.to_list()
    wrong = np.flatnonzero(objective.matches["now"] != objective.prompts.expected)
    own = [int(row) for row in wrong if objective.prompts.expected[row]][:3]
    objective.matches["better"] = objective.matches["now"].copy()
    objective.matches["better"][own] ^= True  # of course: they are its examples
    topic = candidate("better").topic.model_copy(
        update={"examples": tuple(texts[row] for row in own)}
    )
    gain = gain_of_choice(objective, TOPIC, lambda _: Candidate(topic, CandidateKind.TYPED, ""))
    assert gain is not None
    assert gain.value == 0.0
