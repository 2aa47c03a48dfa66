"""Which of the recorded guardrails is forecast."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.app.scan.recorded_forecast import recorded_guardrail
from guardtui.domain.guardrail import AIRS, JUDGE, Guardrail, ScannerSettings
from guardtui.domain.verdicts import Triggered, Verdict, VerdictColumns
from guardtui.forecast.forecaster import ForecastError
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.session import Recorder
from guardtui.session.store import SessionStore
from tests.guardrails import airs_settings, judge_settings
from tests.sessions import Scanned

PROD = airs_settings("prod", "2")
PREPROD = airs_settings("preprod", "9")


def chosen(topic_path: Path, wanted: Guardrail | None) -> ScannerSettings:
    return recorded_guardrail(topic_path, wanted).settings


@pytest.fixture
def scanned(tmp_path: Path) -> Scanned:
    (tmp_path / "topic.yaml").write_text(
        "name: Tax\ndescription: Advice on income tax\nexamples: [one, two]\n", "utf-8"
    )
    return Scanned(tmp_path)


def record(scanned: Scanned, *guardrails: ScannerSettings) -> Path:
    for settings in guardrails:
        scanned.scan("Tax", settings)
    return scanned.topic_path


def planned(path: Path, begun: str) -> tuple[ExperimentLog, ExperimentRecord]:
    """Plan an experiment with the newest iteration's definition, guardrail and prompts."""
    store = SessionStore(path)
    current = store.iterations()[-1].evaluation
    tried = current.topic.model_copy(update={"description": "Taxes of all kinds"})
    log = ExperimentLog(store)
    prompts = (current.prompt_set, current.keys, current.expected)
    candidates = ((tried, {}),)
    record = ExperimentRecord(0, begun, current.topic, current.settings, *prompts, candidates, 1)
    return log, log.add(record)


def test_a_profile_is_found_by_its_exact_name(scanned: Scanned) -> None:
    path = record(scanned, PROD, PROD, PREPROD)
    assert chosen(path, None) == PREPROD
    assert chosen(path, Guardrail(AIRS, profile="prod")) == PROD
    found = recorded_guardrail(path, PROD.guardrail)
    assert (found.settings, found.others) == (PROD, (PREPROD,))
    with pytest.raises(ForecastError, match="no verdicts of AIRS, profile pro are recorded") as no:
        chosen(path, Guardrail(AIRS, profile="pro"))
    assert "recorded are those of: AIRS, profile preprod; AIRS, profile prod" in str(no.value)


def test_several_guardrails_of_a_name_are_an_error_unless_one_is_it(scanned: Scanned) -> None:
    german, indian = airs_settings("prod", region="de"), airs_settings("prod", region="in")
    path = record(scanned, german, indian)
    with pytest.raises(ForecastError, match="several guardrails with verdicts") as several:
        chosen(path, PROD.guardrail)
    assert "AIRS, profile prod, region in; AIRS, profile prod, region de" in str(several.value)
    assert chosen(path, german.guardrail) == german
    record(scanned, PROD)
    assert chosen(path, PROD.guardrail) == PROD


def test_a_guardrail_that_was_only_in_a_log_is_the_default_without_another(
    scanned: Scanned,
) -> None:
    path = record(scanned, PREPROD)
    store = SessionStore(path)
    (logged,) = store.iterations()
    store.complete_iteration(replace(logged, by=Recorder.LOG))
    assert chosen(path, None) == PREPROD
    record(scanned, PROD)
    (logged, _) = store.iterations()
    store.add_iteration(replace(logged, by=Recorder.LOG))
    assert chosen(path, None) == PROD


def test_the_newest_way_of_scanning_a_guardrail_is_found(scanned: Scanned) -> None:
    one, three = judge_settings("m"), judge_settings("m", epochs=3, reducer="mode")
    path = record(scanned, judge_settings("m", epochs=5, reducer="mode"), three)
    assert chosen(path, one.guardrail) == three
    record(scanned, one, three)
    assert chosen(path, one.guardrail) == one


def test_panels_with_the_same_first_judges_are_told_apart(scanned: Scanned) -> None:
    path = record(scanned, judge_settings("a", "b", "c", "d"), judge_settings("a", "b", "c", "e"))
    with pytest.raises(ForecastError, match="several guardrails") as several:
        chosen(path, Guardrail(JUDGE))
    assert "judge a, b, c and 1 more, template 1a2b (a, b, c, d)" in str(several.value)
    other = judge_settings("a", "b", "c", "f")
    with pytest.raises(ForecastError, match="no verdicts of judge a, b, c and 1 more") as no:
        chosen(path, other.guardrail)
    assert "template 1a2b (a, b, c, f) are recorded" in str(no.value)


def test_another_address_of_a_model_is_the_same_guardrail(scanned: Scanned) -> None:
    moved = replace(judge_settings("m"), revision="addresses b2")
    path = record(scanned, replace(judge_settings("m"), revision="addresses a1"), moved)
    assert chosen(path, judge_settings("m").guardrail) == moved


def test_verdicts_of_experiments_teach_a_forecast_and_are_no_iterations(scanned: Scanned) -> None:
    path = record(scanned, PROD)
    log, experiment = planned(path, "2026-01-01T00:00:00Z")
    current = experiment.evaluation(0, VerdictColumns(60).verdicts())
    tried = experiment.definitions[1]
    arrivals = [(1, 0, Verdict(Triggered.YES)), (0, 0, Verdict(Triggered.NO))]
    log.keep_verdicts(experiment, arrivals, 2, current.settings)
    found = recorded_guardrail(path)
    assert len(found.iterations) == 1
    assert [one.topic for one in found.evaluations] == [tried, current.topic]
    assert found.evaluations[0].metrics.total == 1


@pytest.mark.parametrize(
    ("begun", "expected"),
    [("2025-12-31T00:00:00Z", PROD), ("2026-01-02T00:00:00Z", PREPROD)],
    ids=["asked by the experiment", "scanned before it"],
)
def test_a_profile_for_tests_that_only_an_experiment_asked_is_not_the_default(
    scanned: Scanned, begun: str, expected: ScannerSettings
) -> None:
    path = record(scanned, PROD, PREPROD)
    planned(path, begun)
    assert chosen(path, None) == expected
    assert chosen(path, PREPROD.guardrail) == PREPROD
