"""The JUnit report as a parser that is not ours reads it, and as the common schema has it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import xmlschema
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from guardtui.domain.text import display_text
from guardtui.reports import junit
from guardtui.reports.base import ReportError, ReportInput
from guardtui.reports.junit import NAME_CHARACTERS, write

from .conftest import HOSTILE

SCHEMA = xmlschema.XMLSchema(Path(__file__).parents[1] / "data" / "junit-10.xsd")


def suites_of(report: ReportInput) -> list[TestSuite]:
    return list(JUnitXml.fromstring(write(report).encode()))


def properties(suite: TestSuite) -> dict[str, str]:
    return {one.name: one.value for one in suite.properties()}


def cases(report: ReportInput) -> dict[str, TestCase]:
    results = [case for suite in suites_of(report) for case in suite]
    named = {f"line {case._elem.get('line')}": case for case in results}
    assert len(named) == len(results)
    return named


@pytest.fixture(params=["report", "allow_report", "undefined_report", "told_report", "gone"])
def any_report(request: pytest.FixtureRequest) -> ReportInput:
    if request.param == "gone":
        return replace(request.getfixturevalue("report"), prompts=None)
    result: ReportInput = request.getfixturevalue(request.param)
    return result


def test_the_common_schema_takes_it_and_the_counts_hold(any_report: ReportInput) -> None:
    text = write(any_report)
    # `file` and `line` of a test are what GitLab and annotations of GitHub read, and pytest writes;
    # this schema has them on a suite only.
    SCHEMA.validate(re.sub(r'(<testcase [^>]*?) file="[^"]*"(?: line="\d+")?', r"\1", text))
    whole = JUnitXml.fromstring(text.encode())
    metrics = any_report.evaluation.metrics
    assert whole.tests == metrics.total + metrics.errors
    assert whole.failures == metrics.fp + metrics.fn
    assert whole.errors == metrics.errors
    counted = [suite.tests for suite in whole]
    whole.update_statistics()  # the parser counts anew
    assert [suite.tests for suite in whole] == counted
    assert (whole.failures, whole.errors) == (metrics.fp + metrics.fn, metrics.errors)


def test_a_suite_for_each_category_with_its_rates(report: ReportInput) -> None:
    suites = suites_of(report)
    assert [suite.name for suite in suites] == ["a|b", "<b>c</b>", "(none)", "d", "=e"]
    for suite in suites:
        metrics = report.by_category[suite.name]
        assert properties(suite)["fn"] == str(metrics.fn)
        rate = metrics.true_positive_rate
        assert properties(suite)["tpr"] == ("n/a" if rate is None else f"{rate:.3f}")


def test_the_first_suite_tells_the_whole_and_what_it_was_made_with(report: ReportInput) -> None:
    first, *others = suites_of(report)
    named = properties(first)
    assert named["all.coverage"] == "0.500"
    assert named["all.regressions"] == "1"
    assert named["topic.sha256"] == report.topic.fingerprint
    assert named["prompts.sha256"] == report.evaluation.prompt_set
    assert named["guardrail"] == "engine, encoder static, version 1"
    assert named["threshold"] == "0.5"
    assert all("topic.sha256" not in properties(other) for other in others)


def test_failures_and_errors_say_why(told_report: ReportInput) -> None:
    result = cases(told_report)
    (failure,) = result["line 5"].result
    assert isinstance(failure, Failure)
    assert failure.type == "regression"
    message = "regression: did not trigger, and should (score 0.250, example 1, was TP)"
    assert failure.message == message
    assert f":5: FN: {message}\n" in failure.text
    (positive,) = result["line 6"].result
    assert positive.type == "FP"
    assert positive.message.startswith("triggered, and should not (score 0.750, example 2, stopped")
    assert "note: =1+1" in positive.message
    (error,) = result["line 10"].result
    assert isinstance(error, Error)
    assert error.message == "has no verdict (timed ␛out, was TP)"
    for line in ("line 2", "line 7", "line 8", "line 11"):
        if told_report.row([2, 5, 6, 7, 8, 9, 10, 11].index(int(line[5:]))).outcome[0] == "T":
            assert result[line].is_passed


def test_only_regressions_fail_where_known_mistakes_are_accepted(report: ReportInput) -> None:
    every = {case.name: case for suite in suites_of(report) for case in suite}
    whole = JUnitXml.fromstring(junit.write(report, only_regressions=True).encode())
    accepted = {case.name: case for suite in whole for case in suite}
    assert list(accepted) == list(every)
    kinds = {}
    for name, case in accepted.items():
        for result, before in zip(case.result, every[name].result, strict=True):
            assert result.message == before.message
            kinds.setdefault(type(result), []).append(before.type)
    assert kinds.pop(Failure) == ["regression"]
    assert "regression" not in kinds[Skipped]
    assert {"FP", "FN"} & set(kinds[Skipped])
    counts = whole.tests, whole.failures, whole.errors
    skipped = [suite.skipped for suite in whole]
    whole.update_statistics()
    assert (whole.tests, whole.failures, whole.errors) == counts
    assert [suite.skipped for suite in whole] == skipped


def test_without_a_baseline_no_mistake_is_a_regression(allow_report: ReportInput) -> None:
    with pytest.raises(ReportError, match="there is no baseline"):
        junit.write(allow_report, only_regressions=True)


def test_names_are_the_start_of_the_prompt_with_its_hash_where_more_is_in_it(
    report: ReportInput,
) -> None:
    result = cases(report)
    keys = report.evaluation.keys
    assert result["line 7"].name == f"plain ␛]52;c;aGk=␇ and ⟪RLO⟫override #{keys[3]:016x}"[:-8]
    assert result["line 2"].name.startswith("```↵# head↵![x](http://evil.example/a.png)")
    assert all(len(case.name) <= NAME_CHARACTERS + 20 for case in result.values())
    assert report.prompts is not None
    assert {case._elem.get("file") for case in result.values()} == {report.prompts.source}
    assert {case.classname.partition(".")[0] for case in result.values()} == {"guardtui"}


def test_without_categories_there_is_one_suite(report: ReportInput) -> None:
    (suite,) = suites_of(replace(report, prompts=None))
    assert suite.name == report.topic.name
    key = f"{report.evaluation.keys[0]:016x}"
    first = next(iter(suite))
    assert first.name == f"(no longer in the prompt file) #{key[:8]}"
    assert first._elem.get("file") is None
    assert len({case.name for case in suite}) == len(HOSTILE)


def test_names_stay_when_a_prompt_is_inserted_above(report: ReportInput) -> None:
    assert report.prompts is not None
    frame = report.prompts.frame
    moved = frame.with_columns(line=pl.col("line") + 1)
    after = replace(report, prompts=replace(report.prompts, frame=moved))
    names = [
        [(case.classname, case.name) for suite in suites_of(one) for case in suite]
        for one in (report, after)
    ]
    assert names[0] == names[1]
    assert len(set(names[0])) == len(HOSTILE)


def test_a_row_of_a_parquet_file_has_no_line(report: ReportInput) -> None:
    (first, *_), *_ = suites_of(replace(report, prompt_path="set.parquet"))
    assert (first._elem.get("file"), first._elem.get("line")) == ("set.parquet", None)


def test_a_category_that_is_called_like_none_loses_no_prompt(report: ReportInput) -> None:
    assert report.prompts is not None
    frame = report.prompts.frame
    values = ["(none)", "", None, *frame["category"].to_list()[3:]]
    named = frame.with_columns(pl.Series("category", values))
    changed = replace(report, prompts=replace(report.prompts, frame=named))
    assert sum(suite.tests for suite in suites_of(changed)) == len(HOSTILE)
    assert suites_of(changed)[0].name == "(none)"


def test_everything_that_xml_may_not_hold_is_shown() -> None:
    legal = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")  # XML 1.0, 2.2
    for first in range(0, 0x110000, 0x1000):
        text = "".join(map(chr, range(first, first + 0x1000)))
        assert legal.fullmatch(display_text(text))
