"""Experiments in the session's file: what is written is read again, by any process."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.domain.guardrail import JUDGE, Guardrail, ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Failure, Triggered, Verdict
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.store import SessionStore, StoreError

TOPIC = Topic(name="Tax", description="Taxes", examples=("a", "b"))
OTHERS = [TOPIC.model_copy(update={"description": f"Wording {number}"}) for number in range(5)]
GUARDRAIL = Guardrail(JUDGE, models=("m",))
COUNT = 12

VERDICTS = st.builds(
    Verdict,
    st.sampled_from([Triggered.NO, Triggered.YES, Triggered.NO_VERDICT]),
    note=st.text(max_size=5),
    reason=st.text(max_size=5),
    problem=st.text(max_size=5),
    topics=st.lists(st.text(max_size=3), max_size=2).map(tuple),
    score=st.none() | st.floats(0, 1, width=32),
)
ARRIVALS = st.lists(
    st.tuples(st.integers(0, len(OTHERS)), st.integers(0, COUNT - 1), VERDICTS), max_size=30
)


def plan(topic: Topic = TOPIC, prompt_set: str = "p") -> ExperimentRecord:
    return ExperimentRecord(
        0,
        "2026-11-26T12:00:00+00:00",
        topic,
        ScannerSettings(GUARDRAIL, 0.5),
        prompt_set,
        np.arange(COUNT, dtype=np.uint64) * np.uint64(2**60),
        np.arange(COUNT) % 2 == 0,
        tuple((other, {"kind": "add example"}) for other in OTHERS),
        3,
    )


def log_at(folder: Path, name: str = "topic.yaml") -> ExperimentLog:
    return ExperimentLog(SessionStore(folder / name))


@settings(max_examples=30, deadline=None)
@given(batches=st.lists(ARRIVALS, max_size=3))
def test_verdicts_are_read_as_they_came_by_another_process(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[tuple[int, int, Verdict]]]
) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = log_at(folder)
    record = log.add(plan())
    expected: dict[tuple[int, int], Verdict] = {}
    for calls, batch in enumerate(batches, 1):
        log.keep_verdicts(record, batch, calls, record.settings)
        expected.update(((number, row), verdict) for number, row, verdict in batch)
    (read,) = log_at(folder).experiments()
    assert read.calls == len(batches)
    assert read.definitions == (TOPIC, *OTHERS)
    assert np.array_equal(read.keys, record.keys)
    assert np.array_equal(read.expected, record.expected)
    found = {number: known.verdicts() for number, known in log_at(folder).verdicts(read).items()}
    assert {number for number, _ in expected} == set(found)
    for (number, row), verdict in expected.items():
        assert found[number].triggered[row] == verdict.triggered
        assert found[number].reasons.get(row, "") == verdict.reason
        assert found[number].stopped_by.get(row, ()) == verdict.topics
        assert verdict.score is None or found[number].score[row] == np.float32(verdict.score)
    asked = sum(int((one.triggered != Triggered.NOT_ASKED).sum()) for one in found.values())
    assert asked == len(expected)


def test_the_newest_unfinished_one_of_definition_guardrail_and_prompts_is_found(
    tmp_path: Path,
) -> None:
    log = log_at(tmp_path)
    log.add(plan())
    newest = log.add(plan())
    log.add(plan(OTHERS[0]))
    log.add(plan(prompt_set="q"))
    log_at(tmp_path, "another.yaml").add(plan())
    answered = Guardrail(JUDGE, models=("m",), answered_by="m-2026-01-01")
    found = log.unfinished(TOPIC, answered, "p")
    assert found is not None
    assert found.number == newest.number
    log.end(newest, "BETTER")
    log.keep(newest, 2)
    assert log.experiments()[1].kept == 2
    first = log.unfinished(TOPIC, GUARDRAIL, "p")
    assert first is not None
    assert first.number < newest.number
    assert log.unfinished(TOPIC, Guardrail(JUDGE, models=("n",)), "p") is None


def test_two_processes_never_make_the_same_experiment(tmp_path: Path) -> None:
    record = log_at(tmp_path).add(plan())
    with (
        log_at(tmp_path).claimed(record),
        pytest.raises(StoreError, match="another guardtui is making this"),
        log_at(tmp_path).claimed(record),
    ):
        pass
    with log_at(tmp_path).claimed(record):  # the first one has ended
        pass


def test_the_best_measured_candidates_teach_forecasts_unless_they_are_iterations(
    tmp_path: Path,
) -> None:
    log = log_at(tmp_path)
    record = log.add(plan())
    arrivals = [
        (number, row, Verdict(Triggered(row % 2)))
        for number, rows in enumerate((12, 3, 9, 6, 12, 1))
        for row in range(rows)
    ]
    failed = Verdict(Triggered.NO_VERDICT, problem="500", failure=Failure.FAILED)
    log.keep_verdicts(record, [*arrivals, (5, 7, failed)], 43, record.settings)
    taught = log.evaluations(besides=[OTHERS[3]])
    assert [one.topic for one in taught] == [OTHERS[1], OTHERS[2], OTHERS[0]]
    assert [one.metrics.total for one in taught] == [9, 6, 3]
    assert taught[0].metrics.open == 3


def test_a_damaged_plan_is_explained(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.add(plan())
    path = SessionStore(tmp_path / "topic.yaml").path
    with sqlite3.connect(path) as database:
        database.execute("UPDATE experiment SET prompts = x'00'")
    database.close()
    with pytest.raises(StoreError, match="an experiment cannot be read"):
        log.experiments()
