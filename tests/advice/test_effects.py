"""Effect of each part of a definition, measured by removing it."""

from __future__ import annotations

import numpy as np
import pytest

from guardtui.advice.edit_worth import significance_of
from guardtui.advice.effects import change_in_words, effects, no_effect
from guardtui.advice.engine_scores import EngineScores, open_scores
from guardtui.domain.comparison import compare
from guardtui.domain.metrics import Metrics
from guardtui.domain.topic import Intent, Topic

from .conftest import TOPIC, Bench


def engine_of(bench: Bench) -> EngineScores:
    engine = open_scores(bench.scanner, bench.prompts, lambda _: None)
    assert engine is not None
    return engine


@pytest.mark.parametrize("intent", Intent)
def test_each_effect_is_what_an_evaluation_without_the_part_says(
    bench: Bench, intent: Intent
) -> None:
    topic = TOPIC.model_copy(update={"intent": intent})
    parts = effects(engine_of(bench), topic)
    assert parts is not None
    assert [effect.part for effect in parts] == [
        "phrase 1 (“Questions”)",
        "phrase 2 (“requests”)",
        "phrase 3 (“pleas”)",
        "phrase 4 (“personal advice”)",
        "phrase 5 (“taxes”)",
        "the description",
        "example 1",
        "example 2",
    ]
    prompts = bench.prompts
    for effect in parts:
        evaluations = []
        for each in (topic, effect.topic):
            evaluation = bench.scanner.evaluate_now(each, prompts)
            assert evaluation is not None
            evaluations.append(evaluation)
        metrics = [each.metrics for each in evaluations]
        assert effect.worth == compare(*evaluations).significance
        assert [effect.before, effect.without] == metrics
        assert effect.sentence == f"without {effect.part}: {change_in_words(*metrics)}"
    assert parts[0].topic.description == "Requests and pleas for personal advice on taxes"
    assert parts[4].topic.description == "Questions, requests and pleas for personal advice"
    assert parts[5].topic.description == ""
    assert parts[6].topic.examples == TOPIC.examples[1:]
    phrase = parts[3]
    assert TOPIC.description[phrase.start : phrase.stop] == phrase.text == "personal advice"


def test_a_description_of_one_phrase_is_one_part(bench: Bench) -> None:
    topic = Topic(name="Tax", description="Tax", examples=("", "How do I pay less tax?"))
    parts = effects(engine_of(bench), topic)
    assert parts is not None
    assert [effect.part for effect in parts] == ["the description", "example 2"]
    assert effects(engine_of(bench), Topic()) == ()
    assert effects(engine_of(bench), topic, lambda: True) is None


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (Metrics(tp=8, tn=7, fp=3, fn=2), "12 fewer FP, 2 more FN"),
        (Metrics(tp=9, tn=5, fp=15, fn=1), "1 more FN"),
        (Metrics(tp=10, tn=5, fp=15, fn=0), "as many FP and FN"),
    ],
)
def test_changes_are_described_in_words(after: Metrics, words: str) -> None:
    before = Metrics(tp=10, tn=5, fp=15, fn=0)
    assert change_in_words(before, after) == words


def test_a_topic_that_separates_nothing_is_reported() -> None:
    assert "everything triggers" in (no_effect(Metrics(tp=50, tn=0, fp=50, fn=0)) or "")
    assert "everything triggers" in (no_effect(Metrics(tp=49, tn=1, fp=49, fn=1)) or "")
    assert "nothing triggers" in (no_effect(Metrics(tp=0, tn=50, fp=0, fn=50)) or "")
    assert "nearly nothing triggers (TPR 0, TNR 0.98)" in (no_effect(Metrics(0, 49, 1, 50)) or "")
    assert no_effect(Metrics(tp=45, tn=5, fp=45, fn=5)) is None
    assert no_effect(Metrics(tp=50, tn=50, fp=0, fn=0)) is None
    assert no_effect(Metrics(tp=0, tn=50, fp=0, fn=0)) is None


def test_trading_one_kind_of_mistake_for_the_other_is_significant() -> None:
    # 17 negatives broken, 15 positives fixed: balanced in sum, and TNR fell by 0.17.
    duty = np.arange(200) < 100
    before = np.r_[np.ones(70), np.zeros(30), np.ones(55), np.zeros(45)].astype(bool)
    after = before.copy()
    after[70:85] = True
    after[100:117] = False
    worth = significance_of(duty, before, after)
    assert (worth.fixes, worth.regressions, worth.could_be_chance) == (15, 17, False)
    assert worth.p_value > 0.05
    assert significance_of(duty, before, before).could_be_chance
