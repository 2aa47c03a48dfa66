"""The next command by the rules of keep and discard, and when ideas are not measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from guardtui.app.briefing import MOST_PROMPTS, CommandWords, with_ideas, with_next_command
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.verdicts import Triggered
from guardtui.reports.base import ReportInput
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.session import Decision, Iteration, Session
from tests.guardrails import airs_settings
from tests.reports.test_brief import compared, evaluated, prompt_set

if TYPE_CHECKING:
    from guardtui.advice.proposals import Proposal

PROMPTS = prompt_set([f"prompt {row}" for row in range(80)])
NONE, HALF = np.zeros(80, np.bool_), np.arange(80) < 40
BEFORE = evaluated(PROMPTS, HALF, name="old")
WORDS = CommandWords(Path("t.yaml"), Path("p.csv"), ("guardtui", "eval", "t.yaml"))


def command(
    now: Evaluation,
    before: Evaluation = BEFORE,
    decision: Decision = Decision.UNDECIDED,
    words: CommandWords = WORDS,
) -> str:
    """The next command after this evaluation, recorded as #4 after the kept #3."""
    kept = Iteration(3, "2026-01-01T00:00:00Z", Decision.KEEP, before)
    iterations = (kept, Iteration(4, "2026-01-01T00:01:00Z", decision, now))
    session = Session(now.topic, iterations, prompts=PROMPTS)
    session.shown = now.settings
    report = with_next_command(compared(before, now, PROMPTS), session, words)
    return report.next_command


def test_what_is_demonstrable_is_kept_and_the_rest_discarded() -> None:
    assert command(evaluated(PROMPTS, NONE)) == "guardtui history keep t.yaml --iteration 4"
    worse = evaluated(PROMPTS, ~NONE)
    assert command(worse) == "guardtui history discard t.yaml --iteration 4"


def test_gain_that_is_not_demonstrable_is_neither_kept_nor_discarded() -> None:
    hardly = evaluated(PROMPTS, np.arange(80) < 38)
    assert command(hardly) == "guardtui refine t.yaml --prompts p.csv"


@pytest.mark.parametrize("decision", [Decision.KEEP, Decision.DISCARD])
def test_after_a_decision_edits_are_searched(decision: Decision) -> None:
    searched = "guardtui refine t.yaml --prompts p.csv"
    assert command(evaluated(PROMPTS, NONE), decision=decision) == searched
    assert command(replace(evaluated(PROMPTS, NONE), topic=BEFORE.topic)) == searched


def test_the_next_command_reads_the_prompts_in_the_same_way() -> None:
    words = replace(WORDS, reading=("--unlabelled", "leave-out"))
    searched = command(evaluated(PROMPTS, NONE), decision=Decision.KEEP, words=words)
    assert searched == "guardtui refine t.yaml --prompts p.csv --unlabelled leave-out"


def test_edits_are_searched_unless_none_is_listed() -> None:
    report = replace(compared(BEFORE, BEFORE, PROMPTS), ideas=())
    kept = Iteration(3, "2026-01-01T00:00:00Z", Decision.KEEP, BEFORE)
    session = Session(BEFORE.topic, (kept,), prompts=PROMPTS)
    report = replace(report, iteration=3)
    assert with_next_command(report, session, WORDS).next_command == ""
    listed = replace(report, ideas=(cast("Proposal", object()),))
    searched = "guardtui refine t.yaml --prompts p.csv"
    assert with_next_command(listed, session, WORDS).next_command == searched


def test_missing_verdicts_are_scanned_first() -> None:
    now = evaluated(PROMPTS, NONE)
    triggered = now.verdicts.triggered.copy()
    triggered[3] = Triggered.NO_VERDICT
    now = replace(now, verdicts=replace(now.verdicts, triggered=triggered))
    assert command(now) == "guardtui eval t.yaml"
    report = with_ideas(compared(BEFORE, now, PROMPTS), Path("t.yaml"), None, LocalScanner())
    assert report.ideas is None
    assert "missing" in report.no_ideas


def test_no_command_where_none_decides() -> None:
    other = replace(BEFORE, settings=airs_settings("staging"))
    assert command(evaluated(PROMPTS, NONE), other) == ""
    piped = replace(WORDS, prompts=Path("-"))
    assert command(evaluated(PROMPTS, NONE), words=piped) == ""


def test_what_is_not_recorded_is_recorded() -> None:
    report = replace(compared(BEFORE, evaluated(PROMPTS, NONE), PROMPTS), iteration=None)
    assert with_next_command(report, None, WORDS).next_command == "guardtui eval t.yaml --record"
    unwanted = replace(WORDS, records=False)
    assert with_next_command(report, None, unwanted).next_command == ""
    report = replace(report, doubt="Whether the profile has this definition is unknown.")
    assert with_next_command(report, None, WORDS).next_command == ""


def test_no_command_repeats_what_failed() -> None:
    failed = replace(WORDS, failed=True)
    report = replace(compared(BEFORE, evaluated(PROMPTS, NONE), PROMPTS), iteration=None)
    assert with_next_command(report, None, failed).next_command == ""
    assert with_next_command(report, None, failed).more_command == "guardtui eval t.yaml"
    now = evaluated(PROMPTS, NONE)
    triggered = np.full(80, Triggered.NO_VERDICT)
    now = replace(now, verdicts=replace(now.verdicts, triggered=triggered))
    assert command(now) == "guardtui eval t.yaml"
    assert command(now, words=failed) == ""


def test_a_recorded_iteration_has_ideas_though_labels_came_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("guardtui.app.briefing.needed_labels", lambda ideas, evaluation: ideas)
    more = prompt_set([f"prompt {row}" for row in range(82)])
    report = replace(compared(BEFORE, BEFORE, PROMPTS), prompts=more)
    report = with_ideas(report, Path("t.yaml"), None, LocalScanner("static"))
    assert report.ideas is not None


def test_after_a_scan_by_a_guardrail_the_ideas_have_an_experiment() -> None:
    scanned = replace(BEFORE, settings=airs_settings("staging"))
    report = with_ideas(
        compared(scanned, scanned, PROMPTS), Path("t.yaml"), None, LocalScanner("static")
    )
    assert "Test up to " in report.next_step
    assert report.next_step.endswith(" calls")


def test_a_large_set_is_not_embedded_for_ideas() -> None:
    prompts = prompt_set([f"prompt {row}" for row in range(MOST_PROMPTS + 2)])
    now = evaluated(prompts, np.zeros(len(prompts), np.bool_))
    report = ReportInput(topic=now.topic, evaluation=now, prompts=prompts)
    report = with_ideas(report, Path("t.yaml"), None, LocalScanner())
    assert report.ideas is None
    assert "more than 2,000 prompts" in report.no_ideas
