"""The configuration of LiteLLM's guardrail: what was measured, as it is to be deployed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import VerdictColumns
from guardtui.reports.base import ReportError, ReportInput
from guardtui.reports.formats import load_writer
from guardtui.scanners.models.templates import DecisionTemplate
from tests.guardrails import decision_settings, engine_settings

TOPIC = Topic(name="Tax: advice", description="Advice\non “taxes” 🦊", examples=("When?", "How?"))
OWN = DecisionTemplate.parse("[question]\nIs it about {description}?\n[true]\nYes, it is.\n", "")


def report(settings: ScannerSettings, topic: Topic = TOPIC, template: str = "") -> ReportInput:
    verdicts = VerdictColumns(2).verdicts()
    evaluation = Evaluation(
        topic, settings, "p", np.zeros(2, np.uint64), np.array([True, False]), verdicts
    )
    return ReportInput(topic=topic, evaluation=evaluation, template=template)


def decided(template_id: str, threshold: float = 0.35) -> ScannerSettings:
    return decision_settings(
        "decide-1",
        threshold,
        "fitted to 200 labels",
        answered_by="decide-1-2026-11-01",
        template=template_id,
    )


def written(given: ReportInput) -> tuple[dict[str, Any], dict[str, Any]]:
    text = load_writer("litellm")(given)
    (guardrail,) = YAML(typ="safe").load(text)["guardrails"]
    params = guardrail["litellm_params"]
    (check,) = params["checks"]
    return params, check


def test_question_threshold_and_model_are_those_that_were_measured() -> None:
    params, check = written(report(decided(DecisionTemplate.built_in().id)))
    assert params["guardrail"] == "decision_model"
    assert params["mode"] == "pre_call"
    assert params["decision_model"] == "decide-1"
    assert check == {
        "name": TOPIC.name,
        "instructions": DecisionTemplate.built_in().filled(TOPIC).whole,
        "action": "block",
        "threshold": 0.35,
    }


def test_the_question_of_an_own_template_is_the_one_that_was_asked() -> None:
    given = report(decided(OWN.id), template=OWN.text)
    _, check = written(given)
    assert check["instructions"] == OWN.filled(TOPIC).whole
    with pytest.raises(ReportError, match="is not kept in the session"):
        written(replace(given, template=""))


def test_without_a_decision_model_it_says_what_is_missing() -> None:
    given = report(engine_settings("1", 0.5, "built-in"))
    text = load_writer("litellm")(given)
    assert "# Not measured by a decision model" in text
    params, check = written(given)
    assert params["decision_model"] == "NAME-OF-YOUR-DECISION-MODEL"
    assert check["threshold"] == 0.7


def test_an_allow_topic_cannot_be_written() -> None:
    allowed = TOPIC.model_copy(update={"intent": Intent.ALLOW})
    with pytest.raises(ReportError, match="cannot hold an allow topic"):
        written(report(decided(DecisionTemplate.built_in().id), allowed))
