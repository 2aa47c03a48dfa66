"""A small evaluation with every outcome, and prompts that try to act."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic, describe_changes
from guardtui.domain.verdicts import Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.reports.base import ReportInput
from guardtui.session.session import Decision, Iteration
from tests.guardrails import engine_settings

HOSTILE = (
    "```\n# head\n![x](http://evil.example/a.png) <script>alert(1)</script> | cell",
    '=HYPERLINK("http://evil.example","go")',
    "`` tick ` ``` ticks `",
    "plain \x1b]52;c;aGk=\x07 and \u202eoverride",
    "+cmd|' /C calc'!A0",
    "[link](javascript:x) ~~a~~ **b** @someone https://evil.example/",
    "an ordinary prompt",
    "another ordinary prompt",
)
TRIGGERED = (1, 0, 1, 0, 1, 0, -1, 0)
EXPECTED = (True, True, False, False, True, True, True, False)
CATEGORIES = ("a|b", "a|b", "<b>c</b>", "", "d", "d", "d", "=e")

TOPIC = Topic(
    name="Fraud | <b>",
    description="How to\tcommit\nfraud",
    examples=("one `tick`", "two|three"),
)


@pytest.fixture
def prompts(tmp_path: Path) -> PromptSet:
    return load_prompts(write_csv(tmp_path / "prompts.csv"))


def write_csv(path: Path, intent: str = "block") -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["prompt", "expected", "intent", "category", "=note"])
        for prompt, expected, category in zip(HOSTILE, EXPECTED, CATEGORIES, strict=True):
            writer.writerow([prompt, str(expected).lower(), intent, category, "@SUM(1)"])
    return path


def evaluation_of(
    prompts: PromptSet, triggered: tuple[int, ...] = TRIGGERED, topic: Topic = TOPIC
) -> Evaluation:
    count = len(triggered)
    verdicts = Verdicts(
        np.array(triggered, np.int8),
        np.array([np.nan if t < 0 else 0.25 + 0.5 * t for t in triggered], np.float32),
        np.array([-1 if t < 0 else row % 3 for row, t in enumerate(triggered)], np.int16),
        {row: "timed \x1bout" for row, t in enumerate(triggered) if t < 0},
    )
    return Evaluation(
        topic=topic,
        settings=engine_settings("1", 0.5, "built-in"),
        prompt_set=prompts.fingerprint,
        keys=prompts.keys[:count],
        expected=prompts.expected[:count],
        verdicts=verdicts,
    )


@pytest.fixture
def report(prompts: PromptSet) -> ReportInput:
    before = TOPIC.model_copy(update={"description": "How to"})
    baseline = evaluation_of(prompts, (0, 1, 1, 0, 1, 0, 1, 0), before)
    current = evaluation_of(prompts)
    return ReportInput(
        topic=TOPIC,
        evaluation=current,
        prompts=prompts,
        baseline=baseline,
        comparison=compare(baseline, current),
        iterations=(
            Iteration(0, "2026-01-01T00:00:00Z", Decision.KEEP, baseline),
            Iteration(1, "2026-01-01T00:01:00Z", Decision.DISCARD, current),
        ),
        changes=describe_changes(before, TOPIC),
        profile="profile|<i>",
        baseline_number=0,
    )


@pytest.fixture
def allow_report(tmp_path: Path) -> ReportInput:
    prompts = load_prompts(write_csv(tmp_path / "allow.csv", "allow"))
    topic = TOPIC.model_copy(update={"intent": Intent.ALLOW})
    return ReportInput(topic=topic, evaluation=evaluation_of(prompts, topic=topic), prompts=prompts)


@pytest.fixture
def undefined_report(report: ReportInput) -> ReportInput:
    """A set in which nothing should trigger and nothing did: TPR, precision, F1 undefined."""
    assert report.prompts is not None
    evaluation = evaluation_of(report.prompts, (0, 0, 0, 0, 0, 0, 0, 0))
    evaluation = replace(evaluation, expected=np.zeros(8, np.bool_))
    return ReportInput(topic=TOPIC, evaluation=evaluation, prompts=report.prompts)


@pytest.fixture
def told_report(report: ReportInput) -> ReportInput:
    """The report with notes, with topics that stopped prompts, and a companion."""
    verdicts = replace(
        report.evaluation.verdicts,
        notes={3: "doubtful \x1b[31m `x`", 2: "=1+1"},
        stopped_by={0: (TOPIC.name,), 2: ("=cmd`; |x", "<b>\u202e"), 4: (TOPIC.name, "other")},
    )
    companion = Topic(name="=cmd`; |x", description="d", examples=("a", "b"), intent=Intent.ALLOW)
    evaluation = replace(report.evaluation, verdicts=verdicts)
    return replace(report, evaluation=evaluation, companions=(companion,))
