"""Definitions measured by a forecast of a guardrail that has answered."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.effects import effects
from guardtui.advice.forecast_objective import ForecastObjective, ForecastVerdicts
from guardtui.advice.measured_rows import measured_rows
from guardtui.advice.objective import Appraisal, unchanged
from guardtui.advice.search import Search, advise
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings, forecast_of
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic, violations
from guardtui.domain.verdicts import Verdicts
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.forecaster import Forecaster, fit
from guardtui.scanners.local.scanner import LocalScanner
from tests.sessions import AIRS, SUBJECTS

TOPIC = Topic(
    name="Tax advice",
    description="Personal advice, including income tax",
    examples=("How can I pay less tax?", "When is my tax return due?"),
)
OTHER = TOPIC.model_copy(update={"description": "Personal tax advice, including a tax refund"})
EXAMPLE = TOPIC.model_copy(
    update={"examples": (*TOPIC.examples, f"please tell me about {SUBJECTS[0]} number 0")}
)


def prompt_set(intent: Intent = Intent.BLOCK, count: int = 48) -> PromptSet:
    rows = [f"please tell me about {SUBJECTS[row % 6]} number {row}" for row in range(count)]
    labels = ["true" if "tax" in row else "false" for row in rows]
    frame = pl.DataFrame({"prompt": rows, "expected": labels})
    return build_prompt_set(frame, np.arange(2, count + 2, dtype=np.uint32), "made up", intent)


def forecaster_of(prompts: PromptSet, scanner: LocalScanner) -> Forecaster:
    """Return a forecaster of a guardrail that misses a third of the positives, by subject."""
    intent = prompts.intent or Intent.BLOCK
    topic = TOPIC.model_copy(update={"intent": intent})
    missed = prompts.prompts.str.contains("refund").to_numpy()
    right = prompts.expected & ~missed
    matches = right ^ (np.arange(len(prompts)) % 10 == 0)
    triggered = matches if intent is Intent.BLOCK else ~matches
    count = len(prompts)
    verdicts = Verdicts(
        triggered.astype(np.int8),
        np.full(count, np.nan, np.float32),
        np.full(count, -1, np.int16),
    )
    scan = Evaluation(topic, AIRS, prompts.fingerprint, prompts.keys, prompts.expected, verdicts)
    forecaster = fit([scan], AIRS, prompts, EngineReader(scanner))
    assert forecaster is not None
    return forecaster


@pytest.fixture(scope="module")
def scanner() -> LocalScanner:
    return LocalScanner("static")


@pytest.fixture(scope="module")
def forecaster(scanner: LocalScanner) -> Forecaster:
    return forecaster_of(prompt_set(), scanner)


def objective_of(forecaster: Forecaster, intent: Intent = Intent.BLOCK) -> ForecastObjective:
    prompts = prompt_set(intent)
    sources = np.flatnonzero(prompts.expected)
    return ForecastObjective(forecaster, prompts, measured_rows(prompts).chosen_on, sources)


@pytest.fixture
def objective(forecaster: Forecaster) -> ForecastObjective:
    return objective_of(forecaster)


def appraised(objective: ForecastObjective, topic: Topic = TOPIC) -> Appraisal:
    appraisal = objective.appraise(unchanged(topic))
    assert appraisal is not None
    return appraisal


def test_settings_name_the_forecast_guardrail(objective: ForecastObjective) -> None:
    assert objective.settings != AIRS
    assert forecast_of(objective.settings) is not None
    assert isinstance(objective.settings, ScannerSettings)
    assert objective.settings.guardrail == AIRS.guardrail


def test_soft_matches_are_the_forecast_probabilities(
    objective: ForecastObjective, forecaster: Forecaster
) -> None:
    appraisal = appraised(objective)
    forecast = forecaster.forecast(TOPIC)
    assert forecast is not None
    np.testing.assert_allclose(appraisal.soft, forecast.triggers)
    np.testing.assert_array_equal(appraisal.matches, forecast.triggers > 0.5)
    assert (appraisal.z, appraisal.cut) == (None, None)


def test_matches_of_an_allow_topic_do_not_trigger(
    objective: ForecastObjective, scanner: LocalScanner
) -> None:
    allow = objective_of(forecaster_of(prompt_set(Intent.ALLOW), scanner), Intent.ALLOW)
    topic = TOPIC.model_copy(update={"intent": Intent.ALLOW})
    appraisal = appraised(allow, topic)
    np.testing.assert_array_equal(appraisal.matches, appraised(objective).matches)
    assert (appraisal.matches == allow.prompts.expected).mean() > 0.6
    first = allow.values([unchanged(topic)])
    second = objective.values([unchanged(TOPIC)])
    assert first is not None
    assert second is not None
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_values_depend_neither_on_order_nor_on_other_candidates(
    objective: ForecastObjective,
) -> None:
    some = [unchanged(topic) for topic in (TOPIC, OTHER, EXAMPLE)]
    whole = objective.values(some)
    turned = objective.values(some[::-1])
    alone = objective.values(some[1:2])
    assert whole is not None
    assert turned is not None
    assert alone is not None
    np.testing.assert_allclose(turned[::-1], whole)
    np.testing.assert_allclose(alone[0], whole[1])


def test_own_examples_and_sources_never_count(objective: ForecastObjective) -> None:
    appraisal = objective.appraise(
        Candidate(EXAMPLE, CandidateKind.REWORD, "", (objective.prompts.prompts[4],))
    )
    assert appraisal is not None
    assert np.flatnonzero(~appraisal.counted).tolist() == [0, 4]


def test_other_rows_are_judged_by_the_likelier_verdict(
    objective: ForecastObjective, forecaster: Forecaster
) -> None:
    forecast = forecaster.forecast(TOPIC)
    assert forecast is not None
    rows = np.array([5, 0, 17])
    judged = objective.judge(TOPIC, appraised(objective), rows)
    np.testing.assert_array_equal(judged, forecast.triggers[rows] > 0.5)


def test_it_stops_at_once(objective: ForecastObjective, forecaster: Forecaster) -> None:
    assert objective.values([unchanged(TOPIC)], lambda: True) is None
    assert objective.appraise(unchanged(TOPIC), lambda: True) is None
    verdicts = ForecastVerdicts(forecaster, objective.prompts)
    assert verdicts.verdicts([TOPIC], lambda: True) is None


def test_edits_are_chosen_by_the_forecast(objective: ForecastObjective) -> None:
    rows = measured_rows(objective.prompts)
    result = advise(objective, TOPIC, rows)
    assert result is not None
    assert result.measured > 1
    for proposal in result.proposals:
        assert not violations(proposal.topic)
        assert proposal.gain.low <= proposal.gain.value <= proposal.gain.high
    again = Search(objective, TOPIC, rows, widths=(1,), most_edits=2).run()
    assert again is not None
    assert again.ended == "exhausted"


def test_effects_are_measured_by_the_forecast(
    objective: ForecastObjective, forecaster: Forecaster
) -> None:
    prompts = objective.prompts
    parts = effects(ForecastVerdicts(forecaster, prompts), TOPIC)
    assert parts is not None
    forecasts = [forecaster.forecast(topic) for topic in (TOPIC, parts[-1].topic)]
    for forecast, metrics in zip(forecasts, (parts[-1].before, parts[-1].without), strict=True):
        assert forecast is not None
        hits = forecast.triggers > 0.5
        assert metrics.tp == int((hits & prompts.expected).sum())
        assert metrics.fp == int((hits & ~prompts.expected).sum())
