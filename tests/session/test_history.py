"""The history: where definitions came from, and those measured between iterations."""

from __future__ import annotations

from dataclasses import replace

from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered
from guardtui.reports.history import History
from guardtui.session.history import (
    Figures,
    HistoryEntry,
    MeasuredDefinition,
    history,
    incomparable,
    recorded_history,
)
from guardtui.session.session import Decision, Session
from tests.guardrails import airs_settings, engine_settings
from tests.session.test_session import TOPIC, record

ENGINE = engine_settings("1", 0.5, "built-in")


def described(text: str) -> Topic:
    return TOPIC.model_copy(update={"description": text})


def measured(
    text: str, created: str, settings: ScannerSettings = ENGINE, prompt_set: str = "p"
) -> MeasuredDefinition:
    return MeasuredDefinition(
        created, described(text), settings, prompt_set, Figures(0.8, 0.9, 0.8, 20)
    )


def test_branch_origin_is_the_most_similar_definition() -> None:
    session = Session(TOPIC)
    for text in ("tax advice", "tax advice on income", "tax fraud, plainly said", "tax advice"):
        record(session, 7, Decision.KEEP, described(text))
    record(session, 7, Decision.KEEP, described("tax advice on income and capital"))
    result = history(session.iterations, ())
    assert [entry.name for entry in result] == ["#0", "#1", "#2", "#3", "#4"]
    origins = [entry.came_from.name if entry.came_from else None for entry in result]
    assert origins == [None, "#0", "#0", "#0", "#1"]
    assert [entry.branched for entry in result] == [False, False, True, True, True]
    assert result[0].what_changed == "first"
    assert result[1].what_changed == "description +“on income”"
    assert result[3].what_changed == "from #0: unchanged"
    assert result[4].what_changed == "from #1: description +“and capital”"


def test_series_of_edits_is_no_branch() -> None:
    session = Session(TOPIC)
    text = "tax"
    for word in ("advice", "on", "income", "of", "persons"):
        text += f" {word}"
        record(session, 5, Decision.DISCARD, described(text))
    assert not any(entry.branched for entry in history(session.iterations, ()))


def test_measured_definitions_stand_undecided_between_the_iterations() -> None:
    session = Session(TOPIC)
    for number, text in enumerate(("tax", "tax and duties")):
        record(session, 7, Decision.KEEP, described(text))
        iteration = session.iterations[number]
        session.iterations[number] = replace(iteration, created=f"2026-01-0{number + 2}T00:00:00")
    newest_first = [
        measured("tax and dues", "2026-01-04T00:00:00"),
        measured("tax, plainly", "2026-01-02T02:00:00"),
        measured("tax of persons", "2026-01-02T01:00:00"),
        measured("duties", "2026-01-01T00:00:00"),
    ]
    result = history(session.iterations, newest_first)
    assert [entry.name for entry in result] == ["+1", "#0", "#0+1", "#0+2", "#1", "#1+1"]
    assert [entry.iteration is None for entry in result] == [True, False, True, True, False, True]
    assert {entry.decision for entry in result if entry.iteration is None} == {Decision.UNDECIDED}
    assert result[2].what_changed == "description +“of persons”"
    assert (result[2].coverage, result[2].true_positive_rate) == (0.8, 0.9)
    # Iterations say the same with measured definitions and without, on the screen and in reports.
    assert [entry.what_changed for entry in result if entry.iteration is not None] == [
        entry.what_changed for entry in recorded_history(session.iterations)
    ]
    assert history([], ()) == []
    assert [entry.name for entry in history([], newest_first)][:2] == ["+1", "+2"]


def test_a_measured_definition_that_was_recorded_is_listed_once() -> None:
    session = Session(TOPIC)
    record(session, 7, Decision.KEEP)
    evaluation = session.iterations[0].evaluation
    same = MeasuredDefinition(
        "2026-01-01T00:00:00",
        evaluation.topic,
        evaluation.settings,
        evaluation.prompt_set,
        Figures(0.7, 0.7, 0.7, 20),
    )
    assert [entry.name for entry in history(session.iterations, [same])] == ["#0"]
    other = replace(same, prompt_set="other labels")
    assert [entry.name for entry in history(session.iterations, [other])] != ["#0"]


def test_rates_are_compared_only_where_they_are_measured_alike() -> None:
    airs = airs_settings("prod", "3")

    def entry(settings: ScannerSettings, prompt_set: str = "p") -> HistoryEntry:
        return history([], [measured("tax", "2026-01-01", settings, prompt_set)])[0]

    assert incomparable(entry(ENGINE), entry(ENGINE)) == ""
    assert incomparable(entry(airs), entry(replace(airs, revision="4"))) == ""
    assert "prompts or labels" in incomparable(entry(ENGINE), entry(ENGINE, "other"))
    assert "guardrails" in incomparable(entry(ENGINE), entry(airs))
    assert "thresholds" in incomparable(entry(ENGINE), entry(replace(ENGINE, threshold=0.4)))


def test_an_incomplete_scan_has_no_rate_but_says_how_much_is_answered() -> None:
    session = Session(TOPIC)
    record(session, 7, Decision.KEEP)
    iteration = session.iterations[0]
    evaluation = iteration.evaluation
    verdicts, count = evaluation.verdicts, len(evaluation.keys)
    triggered = verdicts.triggered.copy()
    triggered[4:] = Triggered.NOT_ASKED
    part = replace(evaluation, verdicts=replace(verdicts, triggered=triggered))
    session.iterations[0] = replace(iteration, evaluation=part)
    entry = recorded_history(session.iterations)[0]
    assert part.metrics.coverage is not None or part.metrics.true_positive_rate is not None
    assert (entry.coverage, entry.true_positive_rate, entry.true_negative_rate) == (None,) * 3
    assert entry.what_changed == f"4 of {count} answered · first"
    listed = History.of(session.iterations, session).iterations[0]
    assert (listed.coverage, listed.tpr, listed.tnr, listed.interval) == (None,) * 4
