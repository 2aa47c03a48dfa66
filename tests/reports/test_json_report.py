"""The JSON report against the documented keys of the tool it is a superset of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardtui.domain.comparison import Change, compare
from guardtui.reports.base import ReportInput
from guardtui.reports.json_report import write
from guardtui.session import report_reader
from tests.reports.reading_back import evaluation_from_report

from .conftest import HOSTILE


def load(report: ReportInput) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(write(report))
    return document


def test_says_what_the_other_tool_does_not(report: ReportInput) -> None:
    document = load(report)
    assert document["schema_version"] == 1
    assert document["rates"]["accuracy"] == 4 / 7
    assert document["rates"]["precision"] == 2 / 3
    assert [one["error"] for one in document["errors"]] == ["timed \x1bout"]
    assert [(one["prompt"], one["was"], one["actual"]) for one in document["fixes"]] == [
        (HOSTILE[0], "FN", True)
    ]
    assert [(one["prompt"], one["was"], one["line"]) for one in document["regressions"]] == [
        (HOSTILE[1], "TP", 5)
    ]
    assert set(document["by_category"]) >= {"a|b", "<b>c</b>", "d", "=e"}
    assert document["by_category"]["a|b"]["rates"]["tpr"] == 0.5
    assert document["by_category"]["a|b"]["rates"]["tnr"] is None
    assert document["intervals"]["tpr"]["low"] < 0.5 < document["intervals"]["tpr"]["high"]
    comparison = document["comparison"]
    assert (comparison["regressions"], comparison["fixes"], comparison["no_verdict"]) == (1, 1, 1)
    assert comparison["p_value"] == 1.0
    assert comparison["baseline_iteration"] == 0
    assert document["threshold_source"] == "built-in"
    assert document["topic_fingerprint"] == report.topic.fingerprint
    assert document["prompt_set_fingerprint"] == report.evaluation.prompt_set
    assert [one["decision"] for one in document["iterations"]] == ["keep", "discard"]


def test_expected_means_should_trigger_for_allow(allow_report: ReportInput) -> None:
    document = load(allow_report)
    assert document["intent"] == "allow"
    for one in document["false_positives"]:
        assert (one["expected"], one["actual"]) == (False, True)
    for one in document["results"]:
        assert one["should_trigger"] is not one["expected_label"]


def test_undefined_is_null_except_in_the_mirror(undefined_report: ReportInput) -> None:
    document = load(undefined_report)
    assert (document["metrics"]["tpr"], document["metrics"]["tnr"]) == (0, 1)
    assert {document["rates"][name] for name in ("tpr", "coverage", "precision")} == {None}
    assert document["intervals"]["coverage"] is None
    assert document["comparison"] is None


def test_reads_back_as_the_same_evaluation(report: ReportInput, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(write(report), "utf-8")
    back = evaluation_from_report(path)
    assert back.metrics == report.evaluation.metrics
    assert back.settings == report.evaluation.settings
    assert back.topic == report.topic
    np.testing.assert_array_equal(back.keys, report.evaluation.keys)
    np.testing.assert_array_equal(back.verdicts.matched, report.evaluation.verdicts.matched)
    np.testing.assert_allclose(back.verdicts.score, report.evaluation.verdicts.score, atol=1e-6)
    unchanged = compare(back, report.evaluation)
    assert set(unchanged.changes.tolist()) == {Change.SAME, Change.NO_VERDICT}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"\xff\xfe", "is not JSON"),
        (b'{\n"a": }', ":2: is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[1]", "not a report of guardtui"),
        (b'{"schema_version": 99}', "has schema_version 99"),
        (b'{"schema_version": 1}', "is damaged"),
        (b'{"schema_version": 1, "results": [3]}', "is damaged"),
        (
            b'{"schema_version": 1, "results": [{"prompt": null}]}',
            "lacks the texts of its prompts",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(report_reader.RecordedError) as caught:
        evaluation_from_report(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_optional_values_of_rows(report: ReportInput, told_report: ReportInput) -> None:
    rows = load(told_report)["results"]
    assert rows[2]["stopped_by"] == ["=cmd`; |x", "<b>\u202e"]
    assert rows[2]["note"] == "=1+1"
    assert rows[6]["error"] == "timed \x1bout"
    plain = load(report)["results"]
    assert all(set(row) & {"note", "stopped_by"} == set() for row in plain)
    assert ["error" in row for row in plain] == [row["outcome"] == "ERROR" for row in plain]
    mistake = load(told_report)["false_positives"][0]
    assert (mistake["note"], mistake["stopped_by"]) == (rows[2]["note"], rows[2]["stopped_by"])


def test_companions_and_bounds(told_report: ReportInput, undefined_report: ReportInput) -> None:
    document = load(told_report)
    assert [one["intent"] for one in document["companions"]] == ["allow"]
    assert document["coverage_bounds"] == {"low": 0.4, "high": 0.6}
    assert load(undefined_report)["coverage_bounds"] is None


def test_the_comparison_tells_what_it_is_worth(report: ReportInput) -> None:
    result = load(report)["comparison"]["significance"]
    assert result["p_value"] == 1.0
    assert result["could_be_chance"] is True
    assert result["compared"] == 7
    assert result["more_prompts"] is None  # one fix, one regression
    interval = result["changes"]["coverage"]
    assert -1 <= interval["low"] <= interval["value"] <= interval["high"] <= 1
    assert 0 <= result["kept_share"] <= 1
