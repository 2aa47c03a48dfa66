"""Every report says when examples of the topic are prompts of the set it is measured on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from guardtui.cli.gates import Gates, State
from guardtui.domain.prompts import PromptSet
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import load_writer

from .conftest import TOPIC, evaluation_of

EXPECTED = (True, True, False, False, True, True, True, False)  # as in conftest
RIGHT = (1, 0, 0, 0, 1, 1, 1, 1)
"""Answers with TPR 4/5 and TNR 2/3. Without prompts 5 and 7 (from 1): 3/4 and 2/3."""

FORMATS = ("table", "md", "html", "junit", "sarif", "inspect-log", "json")


@pytest.fixture
def flattered(prompts: PromptSet) -> ReportInput:
    """Examples 1 and 3 are prompts that belong and are found; 2 is none."""
    examples = ("an   ordinary PROMPT!", "an example of its own", prompts.prompts[4])
    topic = TOPIC.model_copy(update={"examples": examples})
    evaluation = evaluation_of(prompts, RIGHT, topic)
    return ReportInput(topic=topic, evaluation=evaluation, prompts=prompts)


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_says_which_and_what_coverage_is_without(
    flattered: ReportInput, name: str
) -> None:
    text = load_writer(name)(flattered)
    without = rates_without(flattered)
    assert f"examples 1 and 3 are prompts of the set; coverage without them: {without}" in text


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_is_silent_where_no_example_is_a_prompt(report: ReportInput, name: str) -> None:
    text = load_writer(name)(report)
    assert "of the set; coverage without" not in text


def rates_without(report: ReportInput) -> str:
    """Coverage without prompts 5 and 7 (from 1), counted here."""
    rows = [row for row in range(8) if row not in (4, 6)]
    should = [EXPECTED[row] for row in rows]
    right = [bool(RIGHT[row]) == EXPECTED[row] for row in rows]
    rates = [
        sum(r for r, s in zip(right, should, strict=True) if s is kind) / should.count(kind)
        for kind in (True, False)
    ]
    return f"{min(rates):.3f}"


def test_the_json_has_lines_and_rates(flattered: ReportInput) -> None:
    assert flattered.prompts is not None
    result = json.loads(load_writer("json")(flattered))["examples_in_prompts"]
    assert result["examples"] == [1, 3]
    assert result["prompts"] == 2
    lines = flattered.prompts.frame["line"].to_list()
    assert result["lines"] == [lines[4], lines[6]]
    assert f"{result['rates_without']['coverage']:.3f}" == rates_without(flattered)


def test_without_the_prompt_file_equal_texts_are_found_by_their_keys(
    flattered: ReportInput,
) -> None:
    gone = replace(flattered, prompts=None)
    result = gone.example_prompts
    assert result is not None
    assert result.numbers == (3,)  # example 1 differs by case: only its text could tell
    assert np.flatnonzero(result.prompts).tolist() == [4]


def test_without_one_class_coverage_is_not_available(prompts: PromptSet) -> None:
    kept = (0, 2, 3, 7)
    examples = tuple(prompts.prompts[row] for row in kept if EXPECTED[row])
    topic = TOPIC.model_copy(update={"examples": examples})
    evaluation = evaluation_of(prompts, RIGHT, topic)
    evaluation = replace(evaluation, expected=np.arange(8) == 0)
    report = ReportInput(topic=topic, evaluation=evaluation, prompts=prompts)
    assert "coverage without it: n/a" in load_writer("table")(report)


def test_the_gate_counts_the_stated_coverage_and_says_the_other(flattered: ReportInput) -> None:
    stated = flattered.evaluation.metrics.coverage
    assert stated is not None
    gate = Gates(min_coverage=stated).results(flattered)[0]
    assert gate.state is State.PASSED
    without = rates_without(flattered)
    assert gate.text.endswith(
        f"; examples 1 and 3 are prompts of the set; coverage without them: {without}"
    )
