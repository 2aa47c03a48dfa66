"""A forecast from recorded evaluations: those used, its result, and when it is impossible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.forecaster import Forecaster, ForecastError, fit, guardrails
from guardtui.scanners.local.scanner import LocalScanner
from tests.guardrails import airs_settings, engine_settings, judge_settings

AIRS = airs_settings("prod", "3")
JUDGE = judge_settings("model-1", template="")
TOPIC = Topic(
    name="Tax advice",
    description="Personal tax advice",
    examples=("How can I pay less tax?", "When is my tax return due?"),
    intent=Intent.BLOCK,
)
SUBJECTS = ("income tax", "a tax refund", "my tax return", "bread", "dragons", "the train")


def prompt_set(count: int = 60, intent: Intent = Intent.BLOCK, word: str = "tell me") -> PromptSet:
    rows = [f"{word} about {SUBJECTS[row % 6]} number {row}" for row in range(count)]
    labels = ["true" if "tax" in row else "false" for row in rows]
    frame = pl.DataFrame({"prompt": rows, "expected": labels})
    return build_prompt_set(frame, np.arange(2, count + 2, dtype=np.uint32), "made up", intent)


def evaluation(
    prompts: PromptSet,
    topic: Topic = TOPIC,
    settings: ScannerSettings = AIRS,
    triggered: Sequence[int] | np.ndarray | None = None,
) -> Evaluation:
    """One that triggers on what belongs to the topic, and on every tenth prompt else."""
    if triggered is None:
        triggered = prompts.should_trigger() | (np.arange(len(prompts)) % 10 == 0)
    count = len(prompts)
    verdicts = Verdicts(
        triggered=np.asarray(triggered, np.int8),
        score=np.full(count, np.nan, np.float32),
        matched=np.full(count, -1, np.int16),
    )
    return Evaluation(
        topic, settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
    )


@pytest.fixture(scope="module")
def reader() -> EngineReader:
    return EngineReader(LocalScanner("static"))


def fitted(
    evaluations: Sequence[Evaluation], prompts: PromptSet, reader: EngineReader
) -> Forecaster:
    forecaster = fit(evaluations, AIRS, prompts, reader)
    assert forecaster is not None
    return forecaster


def test_what_was_answered_is_forecast_for_the_same_definition(reader: EngineReader) -> None:
    prompts = prompt_set()
    answered = evaluation(prompts)
    forecast = fitted([answered], prompts, reader).forecast(TOPIC)
    assert forecast is not None
    assert ((forecast.triggers > 0.5) == answered.verdicts.triggered).mean() > 0.9
    assert forecast.before == answered.metrics.coverage
    assert forecast.rates.coverage is not None
    assert abs(forecast.rates.coverage.value - answered.metrics.coverage) < 0.06
    assert forecast.grounds.scans == 1
    assert forecast.grounds.never_asked == 0


def test_an_allow_topic_triggers_on_what_does_not_match(reader: EngineReader) -> None:
    allow = TOPIC.model_copy(update={"intent": Intent.ALLOW})
    prompts = prompt_set(intent=Intent.ALLOW)
    answered = evaluation(prompts, allow)
    forecast = fitted([answered], prompts, reader).forecast(allow)
    assert forecast is not None
    assert ((forecast.triggers > 0.5) == answered.verdicts.triggered).mean() > 0.9
    assert forecast.rates.tpr is not None
    assert forecast.rates.tnr is not None
    assert abs(forecast.rates.tpr.value - answered.metrics.true_positive_rate) < 0.1
    assert abs(forecast.rates.tnr.value - answered.metrics.true_negative_rate) < 0.1


def test_prompts_are_found_by_content_and_new_ones_counted(reader: EngineReader) -> None:
    scanned = prompt_set(60)
    more = prompt_set(90)
    forecaster = fitted([evaluation(scanned)], more, reader)
    assert (forecaster.grounds.asked, forecaster.grounds.never_asked) == (60, 30)
    assert "30 of 90 prompts were never asked" in " ".join(forecaster.grounds.doubts)
    forecast = forecaster.forecast(TOPIC)
    assert forecast is not None
    assert forecast.before is None  # of another prompt set
    assert (forecast.last[60:] == -2).all()
    assert set(forecast.flips()) <= set(range(60))


def test_likely_flips_come_first(reader: EngineReader) -> None:
    prompts = prompt_set()
    forecaster = fitted([evaluation(prompts)], prompts, reader)
    bread = TOPIC.model_copy(
        update={"description": "Bread", "examples": ("tell me about bread", "bread number 9")}
    )
    forecast = forecaster.forecast(bread)
    assert forecast is not None
    flips = forecast.flips()
    changes = np.where(forecast.last == 1, 1 - forecast.triggers, forecast.triggers)
    assert (np.diff(changes[flips]) <= 0).all()
    assert (changes[flips] > 0.5).all()


def test_the_guardrails_that_answered_are_listed_the_newest_first() -> None:
    prompts = prompt_set()
    local = engine_settings("1", 0.5)
    given = [evaluation(prompts, settings=guardrail) for guardrail in (AIRS, JUDGE, local)]
    newer = replace(AIRS, revision="4")
    assert guardrails(given) == [JUDGE, AIRS]
    assert guardrails([*given, evaluation(prompts, settings=newer)]) == [newer, JUDGE]


def test_a_guardrail_that_contradicts_itself_is_reported(reader: EngineReader) -> None:
    prompts = prompt_set()
    first = evaluation(prompts)
    second = first.verdicts.triggered.copy()
    second[:15] = 1 - second[:15]
    forecaster = fitted([first, evaluation(prompts, triggered=second)], prompts, reader)
    assert forecaster.grounds.repeats.differing == 15
    assert "AIRS contradicts itself: 15 of 60 answers differed" in " ".join(
        forecaster.grounds.doubts
    )
    steady = fitted([first, first], prompts, reader)
    assert steady.grounds.doubts == ()
    unsure, sure = (model.forecast(TOPIC) for model in (forecaster, steady))
    assert unsure is not None
    assert sure is not None
    assert unsure.rates.coverage is not None
    assert sure.rates.coverage is not None
    assert (
        unsure.rates.coverage.high - unsure.rates.coverage.low
        > sure.rates.coverage.high - sure.rates.coverage.low
    )


def test_lost_answers_are_left_out_and_counted(reader: EngineReader) -> None:
    prompts = prompt_set()
    triggered = evaluation(prompts).verdicts.triggered.copy()
    triggered[:6] = -1
    forecaster = fitted([evaluation(prompts, triggered=triggered)], prompts, reader)
    assert forecaster.grounds.asked == 54
    assert "10% of the prompts that were asked got no verdict" in " ".join(
        forecaster.grounds.doubts
    )


@pytest.mark.parametrize(
    ("answered", "message"),
    [
        ([], "AIRS has not answered for this definition yet"),
        ([evaluation(prompt_set(), settings=JUDGE)], "AIRS has not answered"),
        ([evaluation(prompt_set(word="ask"))], "AIRS was asked other prompts than these"),
        (
            [evaluation(prompt_set(), triggered=[1, 0, 1, 0, 1] + [-2] * 55)],
            "a verdict on 5 of these prompts; a forecast needs 20",
        ),
        ([evaluation(prompt_set(), triggered=[0] * 60)], "triggered on 0 and let pass 60"),
        (
            [evaluation(prompt_set(), settings=airs_settings("other", "3"))],
            "AIRS has not answered",
        ),
    ],
)
def test_too_few_verdicts_are_an_error(
    answered: list[Evaluation], message: str, reader: EngineReader
) -> None:
    with pytest.raises(ForecastError, match=message):
        fit(answered, AIRS, prompt_set(), reader)


def test_a_fit_and_a_forecast_can_be_stopped(reader: EngineReader) -> None:
    prompts = prompt_set(48)
    assert fit([evaluation(prompts)], AIRS, prompts, reader, stopped=lambda: True) is None
    assert fitted([evaluation(prompts)], prompts, reader).forecast(TOPIC, lambda: True) is None


def test_a_definition_without_examples_or_description_is_forecast_too(
    reader: EngineReader,
) -> None:
    prompts = prompt_set()
    forecaster = fitted([evaluation(prompts)], prompts, reader)
    for changes in ({"examples": ()}, {"description": ""}, {"examples": ("", "")}):
        forecast = forecaster.forecast(TOPIC.model_copy(update=changes))
        assert forecast is not None
        assert np.isfinite(forecast.triggers).all()
