"""Prompts that were not asked, in every format: a state of their own and never an error."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from guardtui.domain.comparison import Change, compare
from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import Outcome
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import load_writer, report_formats
from tests.reports.reading_back import evaluation_from_report

from .conftest import TRIGGERED, evaluation_of

OPEN = 3
"""The first so many prompts were not asked; the seventh was, and has no verdict."""


@pytest.fixture
def unfinished(prompts: PromptSet) -> ReportInput:
    baseline = evaluation_of(prompts, (0, 1, 1, 0, 1, 0, 1, 0))
    now = evaluation_of(prompts, (*[-2] * OPEN, *TRIGGERED[OPEN:]))
    errors = {0: "not sent: the service is down", 6: now.verdicts.errors[6]}
    now = replace(now, verdicts=replace(now.verdicts, errors=errors))
    return ReportInput(
        topic=now.topic,
        evaluation=now,
        prompts=prompts,
        baseline=baseline,
        comparison=compare(baseline, now),
    )


def text(report: ReportInput, name: str) -> str:
    return load_writer(name)(report)


def test_json_has_outcome_count_and_reason_and_is_read_back(
    unfinished: ReportInput, tmp_path: Path
) -> None:
    document = json.loads(text(unfinished, "json"))
    assert (document["open_count"], document["error_count"]) == (OPEN, 1)
    assert len(document["errors"]) == 1
    assert document["comparison"]["open"] == OPEN
    assert document["comparison"]["no_verdict"] == 1
    rows = document["results"][:OPEN]
    assert [(row["outcome"], row["triggered"]) for row in rows] == [("OPEN", None)] * OPEN
    assert rows[0]["note"] == "not sent: the service is down"
    assert not any("error" in row for row in rows)
    path = tmp_path / "report.json"
    path.write_text(text(unfinished, "json"), "utf-8")
    read = evaluation_from_report(path)
    np.testing.assert_array_equal(read.verdicts.triggered, unfinished.evaluation.verdicts.triggered)


def test_csv_has_them_as_open(unfinished: ReportInput) -> None:
    rows = list(csv.DictReader(io.StringIO(text(unfinished, "csv"))))
    assert [row["outcome"] for row in rows].count("OPEN") == OPEN
    assert [row["change"] for row in rows[:OPEN]] == ["open"] * OPEN
    assert {row["triggered"] for row in rows[:OPEN]} == {""}
    assert {row["error"] for row in rows[:OPEN]} == {""}
    assert rows[0]["note"] == "not sent: the service is down"


def test_junit_skips_them(unfinished: ReportInput) -> None:
    root = ElementTree.fromstring(text(unfinished, "junit"))
    assert len(root.findall(".//skipped")) == OPEN
    assert len(root.findall(".//error")) == 1
    suites = root.findall("testsuite")
    assert sum(int(suite.get("skipped", "")) for suite in suites) == OPEN
    assert sum(int(suite.get("errors", "")) for suite in suites) == 1
    assert sum(int(suite.get("tests", "")) for suite in suites) == len(TRIGGERED)


def test_sarif_has_no_result_of_them_and_is_not_successful(unfinished: ReportInput) -> None:
    (run,) = json.loads(text(unfinished, "sarif"))["runs"]
    assert not [one for one in run["results"] if one["properties"]["outcome"] == "OPEN"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert f"{OPEN} not asked" in json.dumps(invocation)


def test_an_inspect_log_has_no_sample_of_them(unfinished: ReportInput) -> None:
    log = json.loads(text(unfinished, "inspect-log"))
    assert [one["id"] for one in log["samples"]] == list(range(OPEN + 1, len(TRIGGERED) + 1))
    assert sum("error" in one for one in log["samples"]) == 1
    assert log["results"]["total_samples"] == len(TRIGGERED)
    assert log["results"]["completed_samples"] == len(TRIGGERED) - OPEN - 1


@pytest.mark.parametrize("name", ["table", "md", "html"])
def test_reports_for_people_say_how_many(unfinished: ReportInput, name: str) -> None:
    report_text = text(unfinished, name)
    assert f"of {len(TRIGGERED)} prompts {OPEN} not asked, 1 asked without a verdict" in report_text
    assert {"table": f"no verdict 1, open {OPEN}", "md": f"open {OPEN}", "html": "Not asked"}[
        name
    ] in report_text


@pytest.mark.parametrize("name", report_formats())
def test_every_format_takes_an_evaluation_of_which_nothing_was_asked(
    unfinished: ReportInput, name: str
) -> None:
    nothing = evaluation_of(unfinished.prompts, (-2,) * 8)  # type: ignore[arg-type]
    assert nothing.metrics.open == 8
    assert unfinished.baseline is not None
    assert text(replace(unfinished, evaluation=nothing, comparison=None), name)


def test_a_prompt_that_was_not_asked_did_not_change(unfinished: ReportInput) -> None:
    comparison = unfinished.comparison
    assert comparison is not None
    assert comparison.changes[:OPEN].tolist() == [Change.OPEN] * OPEN
    assert (comparison.open, comparison.no_verdict) == (OPEN, 1)
    assert comparison.significance.compared == len(TRIGGERED) - OPEN - 1
    assert comparison.now[:OPEN].tolist() == [Outcome.OPEN] * OPEN
    assert f"{OPEN} prompts not asked in one of the two" in comparison.caveats
