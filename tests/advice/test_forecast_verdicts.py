"""What a forecast expects of edits on a guardrail that has answered."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from guardtui.advice.effects import effects
from guardtui.advice.forecast_verdicts import ForecastVerdicts, with_forecasts
from guardtui.advice.objective import Gain
from guardtui.advice.proposals import Proposal
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
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


def test_it_stops_at_once(forecaster: Forecaster) -> None:
    verdicts = ForecastVerdicts(forecaster, prompt_set())
    assert verdicts.verdicts([TOPIC], lambda: True) is None
    known = [proposal(EXAMPLE)]
    assert with_forecasts(TOPIC, known, forecaster, prompt_set(), lambda: True) is None


def test_effects_are_measured_by_the_forecast(forecaster: Forecaster) -> None:
    prompts = prompt_set()
    parts = effects(ForecastVerdicts(forecaster, prompts), TOPIC)
    assert parts is not None
    forecasts = [forecaster.forecast(topic) for topic in (TOPIC, parts[-1].topic)]
    for forecast, metrics in zip(forecasts, (parts[-1].before, parts[-1].without), strict=True):
        assert forecast is not None
        hits = forecast.triggers > 0.5
        assert metrics.tp == int((hits & prompts.expected).sum())
        assert metrics.fp == int((hits & ~prompts.expected).sum())


def proposal(topic: Topic) -> Proposal:
    none, rows = Metrics(5, 5, 5, 5), np.zeros(0, np.intp)
    gain = Gain(0.03, -0.01, 0.07, likely=True)
    return Proposal(topic, (), (), gain, none, none, rows, rows, rows)


@pytest.mark.parametrize("intent", list(Intent))
def test_the_forecast_of_a_proposal_is_the_change_from_the_scanned_definition(
    scanner: LocalScanner, intent: Intent
) -> None:
    prompts = prompt_set(intent)
    forecaster = forecaster_of(prompts, scanner)
    current, edited = (topic.model_copy(update={"intent": intent}) for topic in (TOPIC, EXAMPLE))
    found = with_forecasts(current, [proposal(edited)], forecaster, prompts)
    assert found is not None
    change = found[0].forecast
    assert change is not None
    assert change.guardrail == "AIRS"
    counted = prompts.prompts.to_numpy() != EXAMPLE.examples[-1]
    after = forecaster.forecast(edited, among=counted)
    assert after is not None
    assert after.rates.coverage is not None
    scan = forecaster.compared
    assert scan is not None
    right = (scan.verdicts.triggered == 1) == (prompts.expected == (intent is Intent.BLOCK))
    groups = [right[counted & (prompts.expected == belongs)].mean() for belongs in (True, False)]
    assert change.coverage.value == pytest.approx(after.rates.coverage.value - min(groups))
    assert change.coverage.low < change.coverage.value < change.coverage.high


def test_from_a_definition_to_itself_nothing_is_expected_to_change(forecaster: Forecaster) -> None:
    found = with_forecasts(OTHER, [proposal(OTHER)], forecaster, prompt_set())
    assert found is not None
    change = found[0].forecast
    assert change is not None
    assert change.coverage.value == change.matches == 0
    assert change.coverage.low < 0 < change.coverage.high
