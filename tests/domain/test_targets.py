"""What each target refuses of a definition."""

from __future__ import annotations

import pytest

from guardtui.domain.targets import ExportTarget, refusals
from guardtui.domain.topic import Intent, Topic, violations

GOOD = Topic(name="Tax advice", description="Advice on taxes", examples=("When?", "How?"))


def fields(topic: Topic, target: ExportTarget) -> list[str]:
    return [refusal.field for refusal in refusals(topic, target)]


@pytest.mark.parametrize("target", ExportTarget)
def test_a_short_definition_suits_all(target: ExportTarget) -> None:
    assert fields(GOOD, target) == []


def test_airs_counts_bytes_as_it_always_did() -> None:
    long = GOOD.model_copy(update={"description": "ü" * 200, "examples": ("one",)})
    assert refusals(long, ExportTarget.AIRS) == violations(long)
    assert fields(long, ExportTarget.AIRS) == ["description", "examples"]


def test_bedrock_counts_characters_and_takes_few_of_them_in_a_name() -> None:
    exact = Topic(
        name="a" * 100, description="ü" * 200, examples=tuple("ü" * 100 for _ in range(5))
    )
    assert fields(exact, ExportTarget.BEDROCK) == []
    over = Topic(name="a" * 101, description="ü" * 201, examples=("ü" * 101, *("x",) * 5))
    assert fields(over, ExportTarget.BEDROCK) == ["name", "description", "examples", "examples.1"]
    odd = GOOD.model_copy(update={"name": "Tax & fees: 2026"})
    (found,) = refusals(odd, ExportTarget.BEDROCK)
    assert found.field == "name"
    assert "(&:)" in found.message


def test_a_decision_model_takes_any_length_but_no_allow_topic() -> None:
    long = GOOD.model_copy(update={"description": "x" * 5000, "examples": ()})
    assert fields(long, ExportTarget.DECISION) == []
    allowed = GOOD.model_copy(update={"intent": Intent.ALLOW, "description": " "})
    assert fields(allowed, ExportTarget.DECISION) == ["intent", "description"]
    assert fields(allowed, ExportTarget.BEDROCK) == ["intent", "description"]
