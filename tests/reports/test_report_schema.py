"""The documented schema of the JSON report against every kind of report that can be made."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

import guardtui
from guardtui.domain.prompts import PromptSet
from guardtui.reports.base import ReportInput
from guardtui.reports.json_report import write
from guardtui.session.report_reader import SCHEMA_VERSION
from tests.examples import up_to

from .conftest import evaluation_of
from .hostile import hostile_report, plain_prompts


def schema_of(name: str) -> dict[str, Any]:
    """The schema of this name in the package."""
    folder = Path(guardtui.__file__).parent / "schemas"
    schema: dict[str, Any] = json.loads((folder / f"{name}.schema.json").read_text("utf-8"))
    return schema


SCHEMA = schema_of("report")


def strict(schema: Any) -> Any:
    """The schema without leave for keys that it does not describe."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if "properties" in schema:
        made.setdefault("additionalProperties", False)
    return made


VALIDATOR = Draft202012Validator(SCHEMA)
STRICT = Draft202012Validator(strict(SCHEMA))


def load(report: ReportInput) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(write(report))
    VALIDATOR.validate(document)
    return document


def check(report: ReportInput) -> dict[str, Any]:
    document = load(report)
    STRICT.validate(document)
    return document


def test_the_schema_is_one_and_knows_the_version() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["schema_version"] == {"const": SCHEMA_VERSION}
    assert set(SCHEMA["required"]) == set(SCHEMA["properties"])


@pytest.mark.parametrize("name", ["report", "allow_report", "undefined_report", "told_report"])
def test_every_kind_of_report_is_as_described(name: str, request: pytest.FixtureRequest) -> None:
    report: ReportInput = request.getfixturevalue(name)
    assert check(report)["schema_version"] == SCHEMA_VERSION


def test_without_prompts_baseline_and_threshold(report: ReportInput) -> None:
    document = check(replace(report, prompts=None))
    assert {one["prompt"] for one in document["results"]} == {None}
    alone = check(ReportInput(topic=report.topic, evaluation=report.evaluation))
    assert alone["comparison"] is None
    assert alone["iterations"] == []
    bare = replace(report.evaluation.settings, threshold=None, threshold_source="")
    remote = replace(report, evaluation=replace(report.evaluation, settings=bare))
    assert check(remote)["threshold"] is None


def test_with_no_verdict_at_all(report: ReportInput) -> None:
    assert report.prompts is not None
    nothing = evaluation_of(report.prompts, (-1,) * 8)
    document = check(replace(report, evaluation=nothing))
    assert document["error_count"] == 8
    assert set(document["rates"].values()) == {None}


def test_with_epochs_clusters_usage_and_companions(tmp_path: Path) -> None:
    report = hostile_report(plain_prompts(tmp_path), ["\x1b<b>", "=1"])
    document = check(report)
    assert document["epochs"]["count"] == 2
    assert document["epochs"]["flaky"] > 0
    assert document["usage"]["calls"] == 3
    assert len(document["companions"]) == 1
    once = replace(
        report,
        evaluation=replace(
            report.evaluation, verdicts=replace(report.evaluation.verdicts, repeats=None)
        ),
    )
    assert check(once)["epochs"]["cluster"] == "category"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> PromptSet:
    return plain_prompts(tmp_path_factory.mktemp("schema"))


def test_any_verdicts_are_as_described(plain: PromptSet) -> None:
    @settings(max_examples=up_to(60), deadline=None)
    @given(
        now=st.lists(st.sampled_from([-1, 0, 1]), min_size=8, max_size=8),
        texts=st.lists(st.text(max_size=8), min_size=1, max_size=9),
    )
    def fuzzed(now: list[int], texts: list[str]) -> None:
        report = hostile_report(plain, texts)
        verdicts = replace(
            report.evaluation.verdicts, triggered=np.array(now, np.int8), errors={}, repeats=None
        )
        check(replace(report, evaluation=replace(report.evaluation, verdicts=verdicts)))

    fuzzed()


@pytest.mark.parametrize(
    "edit",
    [
        {"schema_version": 2},
        {"intent": "maybe"},
        {"results": [{"prompt": "x"}]},
        {"threshold": 1.5},
        {"topic_fingerprint": "abc"},
        {"coverage_bounds": {"low": 0.5}},
    ],
)
def test_other_values_are_refused(report: ReportInput, edit: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        VALIDATOR.validate(load(report) | edit)


def test_undescribed_keys_are_detected(report: ReportInput) -> None:
    with pytest.raises(ValidationError):
        STRICT.validate(load(report) | {"surprise": 1})
