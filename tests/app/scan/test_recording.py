"""What commands record: completed once verdicts arrive, never twice, and by several at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.app.editing.iteration_decisions import IterationDecisions, NotShownError
from guardtui.app.scan.recording import EvaluatedFiles, record_evaluation
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompt_reading import AS_WRITTEN
from guardtui.domain.verdicts import Triggered
from guardtui.session.session import Decision, Recorder
from guardtui.session.store import SessionStore
from tests.app.concurrency import evaluation_of
from tests.guardrails import airs_settings
from tests.sessions import Scanned

TOPIC = "name: Tax\ndescription: {}\nexamples: [tax, a tax]\nintent: block\n"


@pytest.fixture
def scanned(tmp_path: Path) -> Scanned:
    (tmp_path / "topic.yaml").write_text(TOPIC.format("Tax"))
    return Scanned(tmp_path)


def files(scanned: Scanned) -> EvaluatedFiles:
    return EvaluatedFiles(scanned.topic_path, scanned.folder / "tax.csv", AS_WRITTEN)


def evaluated(scanned: Scanned, rows: slice = slice(None), right: float = 0.8) -> Evaluation:
    """Evaluate the file's definition on some rows; `right` is the share of right answers."""
    return evaluation_of(scanned.topic, scanned.prompts, rows, right)


def test_part_of_a_scan_is_recorded_and_completed_and_then_kept(scanned: Scanned) -> None:
    part, new = record_evaluation(files(scanned), evaluated(scanned, slice(0, 20)))
    assert (new, part.decision, part.by) == (True, Decision.UNDECIDED, Recorder.COMMAND)
    whole, new = record_evaluation(files(scanned), evaluated(scanned, slice(10, None)))
    assert (new, whole.number, whole.decision) == (True, 0, Decision.KEEP)
    (stored,) = SessionStore(scanned.topic_path).iterations()
    assert not stored.evaluation.metrics.missing
    assert record_evaluation(files(scanned), evaluated(scanned, slice(0, 5)))[1] is False


def test_definition_that_was_edited_during_the_scan_is_not_kept(scanned: Scanned) -> None:
    whole = evaluated(scanned)
    scanned.topic_path.write_text(TOPIC.format("Edited meanwhile"))
    assert record_evaluation(files(scanned), whole)[0].decision is Decision.UNDECIDED


def test_a_discarded_part_of_a_scan_stays_discarded_once_it_is_complete(scanned: Scanned) -> None:
    record_evaluation(files(scanned), evaluated(scanned, slice(0, 20)))
    store = SessionStore(scanned.topic_path)
    store.decide(0, Decision.DISCARD)
    whole, _ = record_evaluation(files(scanned), evaluated(scanned, slice(10, None)))
    (stored,) = store.iterations()
    assert (whole.decision, stored.decision) == (Decision.DISCARD, Decision.DISCARD)
    assert not stored.evaluation.metrics.missing


def test_failed_request_takes_no_recorded_verdict_away(scanned: Scanned) -> None:
    first = evaluated(scanned, slice(0, 20))
    record_evaluation(files(scanned), first)
    later = evaluated(scanned, slice(20, 40))
    triggered = later.verdicts.triggered.copy()
    triggered[0] = Triggered.NO_VERDICT
    verdicts = replace(later.verdicts, triggered=triggered, errors={0: "timeout"})
    iteration, _ = record_evaluation(files(scanned), replace(later, verdicts=verdicts))
    assert iteration.evaluation.verdicts.triggered[0] == first.verdicts.triggered[0]
    assert iteration.evaluation.metrics.total == 40
    assert iteration.evaluation.verdicts.errors == {}


def test_other_verdicts_on_the_same_definition_are_another_iteration(scanned: Scanned) -> None:
    record_evaluation(files(scanned), evaluated(scanned))
    other, new = record_evaluation(files(scanned), evaluated(scanned, right=0.5))
    assert (new, other.number, other.decision) == (True, 1, Decision.UNDECIDED)


def test_another_guardrail_is_no_progress(scanned: Scanned) -> None:
    record_evaluation(files(scanned), evaluated(scanned, right=0.5))
    better = replace(evaluated(scanned, right=1.0), settings=airs_settings("staging"))
    number = record_evaluation(files(scanned), better)[0].number
    decisions = IterationDecisions(scanned.topic_path)
    with pytest.raises(NotShownError, match=r"staging.*, #0 by .*prod.*\n.*--anyway"):
        decisions.require_progress(decisions.chosen(number))
