"""The log for inspect_ai: its parts as ours are, the same each time, and nothing in it acts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardtui.domain.verdicts import Usage
from guardtui.reports import inspect_log
from guardtui.reports.base import ReportInput
from guardtui.session.session import Decision, Iteration

from .conftest import HOSTILE, TOPIC

REPEATS = np.array(
    [[1, 0, 1, 0, 1, 0, -1, 0], [1, 0, 0, 0, 1, 0, -1, 0], [1, 1, 1, 0, 1, -1, -1, 0]], np.int8
)
"""Answers of three epochs whose mode is `conftest.TRIGGERED`."""


def log_of(report: ReportInput) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(inspect_log.write(report))
    return document


def in_epochs(report: ReportInput, reducer: str = "") -> ReportInput:
    verdicts = replace(report.evaluation.verdicts, repeats=REPEATS)
    evaluation = replace(report.evaluation, verdicts=verdicts)
    recorded = Iteration(3, "2026-02-03T04:05:06Z", Decision.KEEP, evaluation)
    return replace(report, evaluation=evaluation, iterations=(recorded,), reducer=reducer)


def test_a_prompt_is_a_sample_with_a_score(report: ReportInput) -> None:
    samples = log_of(report)["samples"]
    assert [sample["input"] for sample in samples] == list(HOSTILE)
    assert [sample["id"] for sample in samples] == list(range(1, 9))
    first, second = samples[0], samples[1]
    assert (first["target"], first["output"]["completion"]) == ("true", "true")
    score = first["scores"]["guardrail"]
    assert (score["value"], score["answer"]) == ("C", "true")
    assert score["explanation"] == "TP; score 0.750; by description"
    assert score["metadata"]["outcome"] == "TP"
    assert score["metadata"]["threshold"] == 0.5
    assert second["scores"]["guardrail"]["value"] == "I"
    assert second["metadata"] == {
        "category": "a|b", "=note": "@SUM(1)", "expected": True, "should_trigger": True,
        "intent": "block", "line": 5,
    }  # fmt: skip


def test_a_prompt_without_a_verdict_is_an_error_and_in_no_metric(report: ReportInput) -> None:
    log = log_of(report)
    sample = log["samples"][6]
    assert sample["error"]["message"] == "timed ␛out"
    assert "scores" not in sample
    assert sample["output"]["choices"] == []
    results = log["results"]
    assert (results["total_samples"], results["completed_samples"]) == (8, 7)
    (score,) = results["scores"]
    assert (score["scored_samples"], score["unscored_samples"]) == (7, 1)
    values = {name: metric["value"] for name, metric in score["metrics"].items()}
    metrics = report.evaluation.metrics
    assert values == {
        "coverage": metrics.coverage,
        "tpr": metrics.true_positive_rate,
        "tnr": metrics.true_negative_rate,
        "accuracy": metrics.accuracy,
        "precision": metrics.precision,
        "f1": metrics.f1,
    }
    assert 7 not in [one["sample_id"] for one in log["reductions"][0]["samples"]]


def test_under_allow_the_target_is_what_the_guardrail_should_do(allow_report: ReportInput) -> None:
    samples = log_of(allow_report)["samples"]
    assert samples[0]["metadata"]["expected"] is True
    assert samples[0]["target"] == "false"
    assert samples[0]["scores"]["guardrail"]["metadata"]["outcome"] == "FP"


def test_epochs_are_samples_and_their_verdict_a_reduction(report: ReportInput) -> None:
    log = log_of(in_epochs(report))
    assert log["eval"]["config"]["epochs"] == 3
    assert log["eval"]["config"]["epochs_reducer"] == ["mode"]
    positions = [(sample["id"], sample["epoch"]) for sample in log["samples"]]
    assert positions == [(number, epoch) for epoch in (1, 2, 3) for number in range(1, 9)]
    answers = [
        {"true": 1, "false": 0}.get(sample["output"]["completion"], -1) for sample in log["samples"]
    ]
    assert answers == REPEATS.ravel().tolist()
    (reduction,) = log["reductions"]
    assert reduction["reducer"] == "mode"
    values = {one["sample_id"]: one["value"] for one in reduction["samples"]}
    assert values == {1: "C", 2: "I", 3: "I", 4: "C", 5: "C", 6: "I", 8: "C"}
    assert log["results"]["total_samples"] == 24
    assert log["results"]["completed_samples"] == 20
    assert len({sample["uuid"] for sample in log["samples"]}) == 24


def test_the_reducer_is_named_only_when_it_is_known(report: ReportInput) -> None:
    assert log_of(in_epochs(report, "at_least_2"))["reductions"][0]["reducer"] == "at_least_2"
    assert log_of(report)["reductions"][0]["reducer"] is None
    other = in_epochs(report)
    triggered = other.evaluation.verdicts.triggered.copy()
    triggered[0] = 0
    evaluation = replace(
        other.evaluation, verdicts=replace(other.evaluation.verdicts, triggered=triggered)
    )
    assert log_of(replace(other, evaluation=evaluation))["reductions"][0]["reducer"] == "unknown"


def test_rates_that_are_undefined_are_named_and_not_zero(undefined_report: ReportInput) -> None:
    results = log_of(undefined_report)["results"]
    assert set(results["scores"][0]["metrics"]) == {"tnr", "accuracy"}
    assert results["metadata"]["undefined"] == ["coverage", "tpr", "precision", "f1"]
    assert results["headline"]["metric"] == "tnr"


def test_times_are_those_of_the_iteration_or_none(report: ReportInput) -> None:
    assert log_of(replace(report, iterations=()))["eval"]["created"] == inspect_log.UNDATED
    log = log_of(in_epochs(report))
    assert log["eval"]["created"] == "2026-02-03T04:05:06+00:00"
    assert log["stats"]["started_at"] == log["stats"]["completed_at"] == log["eval"]["created"]
    odd = replace(report, iterations=(Iteration(0, "yesterday", Decision.KEEP, report.evaluation),))
    assert log_of(odd)["eval"]["created"] == inspect_log.UNDATED


def test_ids_are_of_what_was_evaluated(report: ReportInput) -> None:
    log, other = log_of(report), log_of(in_epochs(report))
    assert inspect_log.write(report) == inspect_log.write(replace(report))
    ids = [log["eval"][name] for name in ("eval_id", "run_id", "task_id")]
    assert len(set(ids)) == 3
    assert all(len(one) == 22 and one.isalnum() for one in ids)
    assert log["eval"]["eval_id"] != other["eval"]["eval_id"]


def test_removed_prompts_are_marked(report: ReportInput) -> None:
    samples = log_of(replace(report, prompts=None))["samples"]
    assert {sample["input"] for sample in samples} == {inspect_log.GONE}
    assert [sample["metadata"]["line"] for sample in samples] == [None] * 8


def test_usage_of_a_judge_is_recorded(told_report: ReportInput) -> None:
    verdicts = replace(
        told_report.evaluation.verdicts, used=Usage(3, 40, 5, 0.5), reasons={0: "of \x1b tax"}
    )
    report = replace(told_report, evaluation=replace(told_report.evaluation, verdicts=verdicts))
    log = log_of(report)
    usage = log["stats"]["model_usage"]["guardtui/engine"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (40, 5)
    assert usage["total_cost"] == 0.5
    explanation = log["samples"][0]["scores"]["guardrail"]["explanation"]
    assert "reason: of ␛ tax" in explanation
    assert f"stopped by {TOPIC.name}" in explanation


@pytest.mark.exhaustive
@pytest.mark.parametrize("epochs", [False, True])
def test_inspect_ai_reads_the_same(report: ReportInput, tmp_path: Any, epochs: bool) -> None:
    pytest.importorskip("inspect_ai", minversion="0.3.285")
    from inspect_ai.log import list_eval_logs, read_eval_log

    given_ = in_epochs(report) if epochs else replace(report, iterations=())
    path = tmp_path / "2026-02-03T04-05-06_tax.json"
    path.write_text(inspect_log.write(given_), "utf-8")
    log, header = read_eval_log(str(path)), read_eval_log(str(path), header_only=True)
    assert header.samples is None
    assert (header.eval, header.results, header.stats) == (log.eval, log.results, log.stats)
    assert [one.task for one in list_eval_logs(str(tmp_path))] == ["tax"]
    assert log.status == "success"
    assert log.eval.config.epochs == (3 if epochs else 1)
    (score,) = log.results.scores
    metrics = report.evaluation.metrics
    assert score.metrics["coverage"].value == metrics.coverage
    assert score.metrics["tpr"].value == metrics.true_positive_rate
    assert score.metrics["f1"].value == metrics.f1
    assert log.results.headline.metric == "coverage"
    rows = list(report.rows())
    assert len(log.samples) == len(rows) * (3 if epochs else 1)
    assert {sample.epoch for sample in log.samples} == set(range(1, 4 if epochs else 2))
    for sample in log.samples:
        row = rows[sample.id - 1]
        assert sample.input == sample.messages[0].content == row.prompt
        answer = int(REPEATS[sample.epoch - 1, row.number])
        if not epochs:
            answer = -1 if row.triggered is None else int(row.triggered)
        assert sample.metadata["category"] == row.extra[0]
        if answer < 0:
            assert sample.error is not None
            assert sample.scores is None
            continue
        assert sample.output.completion == ("true" if answer else "false")
        correct = bool(answer) is row.should_trigger
        assert sample.scores["guardrail"].value == ("C" if correct else "I")
    reduced = {one.sample_id: one.value for one in log.reductions[0].samples}
    assert reduced == {
        row.number + 1: "C" if row.outcome in ("TP", "TN") else "I"
        for row in rows
        if row.triggered is not None
    }


@pytest.mark.exhaustive
def test_the_schema_of_inspect_ai_holds(report: ReportInput) -> None:
    pytest.importorskip("inspect_ai", minversion="0.3.285")
    jsonschema = pytest.importorskip("jsonschema")
    from inspect_ai.log import EvalLog

    validator = jsonschema.Draft202012Validator(EvalLog.model_json_schema())
    for given_ in (report, in_epochs(report)):
        assert not list(validator.iter_errors(log_of(given_)))


@pytest.mark.exhaustive
# inspect-ai uses what pandas is about to drop.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_inspect_ai_makes_its_data_frames_of_it(report: ReportInput, tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", minversion="0.3.285")
    from inspect_ai.analysis import evals_df, messages_df, samples_df

    name = "HR/Payroll fraud"
    topic = report.topic.model_copy(update={"name": name})
    # Only files whose names begin with a time are taken for logs.
    path = tmp_path / "2026-01-31T12-00-00+00-00_payroll_a.json"
    path.write_text(inspect_log.write(replace(in_epochs(report), topic=topic)), "utf-8")
    evals, samples = evals_df(str(path), quiet=True), samples_df(str(path), quiet=True)
    assert evals["task_name"].to_list() == evals["task_display_name"].to_list() == [name]
    assert len(samples) == 3 * len(HOSTILE)
    messages = messages_df(str(path), quiet=True)
    assert messages["message_id"].is_unique
    asked = messages[messages["role"] == "user"]
    assert asked["content"].to_list() == list(HOSTILE) * 3
    answered = messages[messages["role"] == "assistant"]
    assert len(answered) == int((REPEATS >= 0).sum())
    assert set(answered["content"]) == {"true", "false"}


@pytest.mark.exhaustive
def test_inspect_ai_rescores_it_when_told_that_there_is_no_model(report: ReportInput) -> None:
    pytest.importorskip("inspect_ai", minversion="0.3.285")
    from inspect_ai import score
    from inspect_ai.log import EvalLog
    from inspect_ai.scorer import match

    log = EvalLog.model_validate_json(inspect_log.write(report))
    with pytest.raises(ValueError, match="guardtui"):
        score(log, match(), display="none")
    again = score(log, match(), model="none", display="none")
    assert again.results is not None
    accuracy = again.results.scores[-1].metrics["accuracy"].value
    metrics = report.evaluation.metrics
    # To inspect an error is an empty answer, and wrong.
    assert accuracy == pytest.approx((metrics.tp + metrics.tn) / len(HOSTILE))
