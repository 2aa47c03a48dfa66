"""Every report for people says in its first sentence which guardrail was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guardtui.reports.base import ReportInput
from guardtui.reports.compared import compared_report
from guardtui.reports.formats import load_writer
from guardtui.session.evaluation_refs import RecordedEvaluation
from tests.guardrails import airs_settings
from tests.reports.html.reading import read

AIRS = airs_settings("prod\x1b[31m", "3")
SAID = (
    "2 of 4 prompts are missed and 1 of 3 wrongly stopped, "
    "measured by AIRS, profile {}, revision {}."
)


@pytest.fixture
def scanned(report: ReportInput) -> ReportInput:
    return replace(report, evaluation=replace(report.evaluation, settings=AIRS))


def test_the_table_begins_with_it(scanned: ReportInput) -> None:
    first = load_writer("table")(scanned).splitlines()[0]
    assert first == SAID.format("prod␛[31m", "3")


def test_markdown_begins_with_it_below_the_name_of_the_topic(scanned: ReportInput) -> None:
    lines = load_writer("md")(scanned).splitlines()
    assert lines[0] == f"# Guardrail topic report: `{scanned.topic.name}`"
    assert lines[2].startswith(SAID.format("`prod␛[31m`", "`3`"))


def test_the_page_begins_with_it(scanned: ReportInput) -> None:
    lead = read(load_writer("html")(scanned)).all("header")[0].all("p")[0]
    assert lead.text == SAID.format("prod␛[31m", "3")


def test_lists_of_iterations_have_a_column_for_it(report: ReportInput) -> None:
    head, _, first, *_ = load_writer("md")(report).partition("## History\n\n")[2].splitlines()
    assert head.split(" | ")[6] == "measured by"
    assert first.split(" | ")[6] == "`engine (approximation)`"
    assert ">measured by</th>" in load_writer("html")(report)


@pytest.mark.parametrize("form", ["table", "md", "html"])
def test_a_comparison_says_it_of_both(report: ReportInput, scanned: ReportInput, form: str) -> None:
    engine = RecordedEvaluation("a", report.evaluation)
    write = load_writer(form)
    both = write(compared_report(engine, engine))
    assert "measured by the engine (a quick approximation of your guardrail)" in both
    assert "The baseline: the embedded" not in both
    mixed = write(compared_report(engine, RecordedEvaluation("b", scanned.evaluation)))
    assert "measured by AIRS, profile " in mixed
    assert "The baseline: the engine (a quick approximation of your guardrail)" in mixed
