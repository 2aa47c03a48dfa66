"""SARIF against the official schema of version 2.1.0, and what code scanning does with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, FormatChecker

from guardtui.reports.base import ReportInput
from guardtui.reports.sarif import RULES, write
from guardtui.reports.sarif_log import SarifResult, SarifRule, message_text, sarif_log, uri

from .conftest import HOSTILE, evaluation_of

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-schema-2.1.0.json").read_bytes())
VALIDATOR = Draft7Validator(SCHEMA, format_checker=FormatChecker())


def run_of(report: ReportInput) -> dict[str, Any]:
    document = json.loads(write(report))
    VALIDATOR.validate(document)
    (run,) = document["runs"]
    assert isinstance(run, dict)
    return run


def by_line(report: ReportInput) -> dict[int, dict[str, Any]]:
    return {
        one["locations"][0]["physicalLocation"]["region"]["startLine"]: one
        for one in run_of(report)["results"]
    }


def test_the_official_schema_takes_all_reports(
    report: ReportInput,
    allow_report: ReportInput,
    undefined_report: ReportInput,
    told_report: ReportInput,
) -> None:
    for one in (report, allow_report, told_report, replace(report, prompts=None)):
        wrong = one.evaluation.metrics
        assert len(run_of(one)["results"]) == wrong.fp + wrong.fn + wrong.errors
    assert run_of(undefined_report)["results"] == []
    assert not list(VALIDATOR.iter_errors(json.loads(write(undefined_report))))


def test_the_schema_would_refuse_what_is_wrong() -> None:
    broken = json.loads(sarif_log([], [], run="x")) | {"version": "2.0"}
    assert list(VALIDATOR.iter_errors(broken))


def test_each_mistake_is_a_result_at_its_line_the_gravest_first(report: ReportInput) -> None:
    results = run_of(replace(report, prompt_path="set/my prompts.csv"))["results"]
    assert [(result["ruleId"], result["level"]) for result in results] == [
        ("false-negative", "error"),  # a regression
        ("false-negative", "warning"),
        ("false-positive", "warning"),
        ("no-verdict", "note"),
    ]
    positions = [result["locations"][0]["physicalLocation"] for result in results]
    assert {place["artifactLocation"]["uri"] for place in positions} == {"set/my%20prompts.csv"}
    assert [place["region"]["startLine"] for place in positions] == [5, 9, 6, 10]
    for result in results:
        assert RULES[result["ruleIndex"]].id == result["ruleId"]
    message = "FN: regression: did not trigger, and should (score 0.250, example 1, was TP): =HYPER"
    assert results[0]["message"]["text"].startswith(message)
    assert results[0]["properties"] == {
        "outcome": "FN",
        "shouldTrigger": True,
        "score": 0.25,
        "matched": "example 1",
        "was": "TP",
        "regression": True,
    }


def test_states_since_the_baseline(report: ReportInput) -> None:
    assert {line: one["baselineState"] for line, one in by_line(report).items()} == {
        5: "new",  # a regression
        9: "unchanged",
        6: "unchanged",
        10: "updated",  # it was right, and has no verdict now
    }
    alone = replace(report, baseline=None, comparison=None)
    assert all("baselineState" not in one for one in run_of(alone)["results"])


def test_a_finding_stays_the_same_where_lines_move(report: ReportInput) -> None:
    before = {one["partialFingerprints"]["guardtui/v1"] for one in run_of(report)["results"]}
    assert len(before) == 4
    # GitHub reads this one only.
    assert {
        one["partialFingerprints"]["primaryLocationLineHash"] for one in run_of(report)["results"]
    } == {f"{one}:1" for one in before}
    assert report.prompts is not None
    moved = report.prompts.frame.with_columns(report.prompts.frame["line"] + 100)
    after = run_of(replace(report, prompts=replace(report.prompts, frame=moved)))["results"]
    assert {one["partialFingerprints"]["guardtui/v1"] for one in after} == before
    assert {one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in after} == {
        105,
        109,
        106,
        110,
    }


def test_a_finding_has_the_same_rule_with_and_without_a_baseline(report: ReportInput) -> None:
    def rules(one: ReportInput) -> set[tuple[str, str]]:
        return {
            (found["ruleId"], found["partialFingerprints"]["primaryLocationLineHash"])
            for found in run_of(one)["results"]
        }

    assert rules(report) == rules(replace(report, baseline=None, comparison=None))
    assert "regression" not in {rule.id for rule in RULES}


def test_findings_with_the_same_fingerprint_are_counted() -> None:
    rule = SarifRule("r", "R", "short", "help", "note")
    twice = [SarifResult("r", "note", text, fingerprint="ab") for text in ("one", "two")]
    (run,) = json.loads(sarif_log([rule], twice, run="x"))["runs"]
    hashes = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    assert hashes == ["ab:1", "ab:2"]


def test_the_run_tells_tool_version_hashes_and_what_is_missing(report: ReportInput) -> None:
    run = run_of(report)
    assert run["tool"]["driver"]["name"] == "guardtui"
    assert run["tool"]["driver"]["version"] == run["properties"]["guardtui"]
    assert run["properties"]["topic.sha256"] == report.topic.fingerprint
    assert run["properties"]["metrics"]["tpr"] == 0.5
    assert run["properties"]["comparison"]["regressions"] == 1
    # Two topics of one repository must not take each other's place.
    assert run["automationDetails"]["id"] == "guardtui/Fraud%20%7C%20%3Cb%3E/"
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "1 of 8 prompts" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert report.prompts is not None
    whole = evaluation_of(report.prompts, (1, 1, 0, 0, 1, 1, 1, 0))
    fine = run_of(ReportInput(topic=report.topic, evaluation=whole, prompts=report.prompts))
    assert fine["invocations"][0]["executionSuccessful"] is True
    assert fine["results"] == []


def test_a_prompt_is_no_link_and_no_placeholder(report: ReportInput) -> None:
    text = by_line(report)[9]["message"]["text"]
    assert HOSTILE[5].startswith("[link](javascript:x)")
    assert "\\[link\\](javascript:x)" in text
    assert message_text("{0} [a](1)\x1b") == "{{0}} \\[a\\](1)␛"


def test_prompts_without_a_place(report: ReportInput) -> None:
    gone = run_of(replace(report, prompts=None))["results"]
    assert all("locations" not in one for one in gone)
    rows = run_of(replace(report, prompt_path="prompts.parquet"))["results"]
    assert all("region" not in one["locations"][0]["physicalLocation"] for one in rows)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b c.csv", "a/b%20c.csv"),
        ("odd:name#1?.csv", "odd%3Aname%231%3F.csv"),
        ("../up/ä.csv", "../up/%C3%A4.csv"),
        ("/data/p.csv", "file:///data/p.csv"),
        ("C:\\data\\p.csv", "file:///C:/data/p.csv"),
        ("sub\\p.csv", "sub/p.csv"),
        ("not-utf8-\udcff.csv", "not-utf8-%FF.csv"),
        ("half-\ud800.csv", "half-%3F.csv"),
    ],
)
def test_paths_as_uris(path: str, expected: str) -> None:
    assert uri(path) == expected


def test_a_text_cannot_stand_in_for_the_results() -> None:
    rule = SarifRule("r", "R", "short", 'help "results": []', "note")
    tricky = 'x "results": [] y'
    text = sarif_log(
        [rule], [SarifResult("r", "note", tricky)], run=tricky, properties={"a": tricky}
    )
    (run,) = json.loads(text)["runs"]
    assert run["properties"] == {"a": tricky}
    assert len(run["results"]) == 1
