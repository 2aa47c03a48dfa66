"""The report of an experiment: what a service says is inert, and an end is told from a stop."""

from __future__ import annotations

import pytest

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.experiment import Ending, Standing
from guardtui.domain.topic import Topic
from guardtui.reports.experiment import ExperimentReport
from tests.guardrails import judge_settings

from .test_texts import outside_code

FAILED = "status 400: <img src=x> [x](javascript:y) **b** \x1b[31m @all"


def report(ending: Ending | None, stopped: str = "") -> ExperimentReport:
    topic = Topic(name="Tax", description="Tax", examples=("tax",))
    candidate = Candidate(topic, CandidateKind.TYPED, "another description")
    settings, tried = judge_settings("m"), ((candidate, Standing()),)
    return ExperimentReport(topic, settings, tried, 4, 1, None, ending, stopped)


@pytest.mark.parametrize("format_name", ["table", "md"])
def test_the_error_of_a_service_is_inert(format_name: str) -> None:
    text = report(None, FAILED).render(format_name)
    assert "Not completed: " in text
    assert "None shown to be better" not in text
    assert "\x1b" not in text
    if format_name == "md":
        assert "## Not completed" in text
        ours = "\n".join(map(outside_code, text.splitlines()))
        assert not any(sign in ours for sign in ("<", "](", "**", "@"))


def test_an_end_without_proof_says_so() -> None:
    ending = next(one for one in Ending if one.name != "BETTER")
    text = report(ending).render("md")
    assert "## None shown to be better" in text
    assert f"{str(ending)[1:]}." in text
