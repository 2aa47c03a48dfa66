"""Scores, targets and the conversion of values."""

from __future__ import annotations

import logging
import math
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from guardtui.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    PARTIAL,
    Metric,
    SampleScore,
    Score,
    Scorer,
    ScoreReducer,
    Target,
    value_to_float,
)


def test_constants() -> None:
    assert (CORRECT, INCORRECT, PARTIAL, NOANSWER) == ("C", "I", "P", "N")


@pytest.mark.parametrize("value", [True, 1, 1.0, "1", [1, "a"], (1, 2), {"a": None, "b": True}])
def test_a_value_keeps_its_type(value: Any) -> None:
    kept = Score(value=value).value
    assert kept == value
    assert type(kept) is type(value)


@pytest.mark.parametrize("value", [None, [None], [[1]], {"a": [1]}, {1: 2}, object()])
def test_non_values_are_unscored(value: Any) -> None:
    with pytest.raises(ValidationError):
        Score(value=value)


def test_scores_go_by_keyword() -> None:
    with pytest.raises(TypeError):
        Score("C")  # type: ignore[misc]


def test_readers() -> None:
    assert Score(value="False").as_bool() is True
    assert Score(value="").as_bool() is False
    assert Score(value=3.9).as_int() == 3
    assert Score(value=1.0).text == "1.0"
    assert Score(value=[1]).as_list() == [1]
    assert Score(value={"a": 1}).as_dict() == {"a": 1}
    for value, reader in (
        ("3.7", "as_int"), ("C", "as_float"), ((1,), "as_list"), ((1,), "as_str"),
        ({"a": 1}, "as_list"), ([1], "as_dict"), (math.nan, "as_int"), ([1], "as_bool"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            getattr(Score(value=value), reader)()


def test_a_reason_in_the_metadata_is_taken_over() -> None:
    score = Score(value="C", metadata={"unscored_reason": "refusal"})
    assert (score.reason, score.metadata) == ("refusal", {"unscored_reason": "refusal"})
    with pytest.raises(ValidationError, match="not a text"):
        Score(value="C", metadata={"unscored_reason": 3})


def test_an_unscored_score_survives_json() -> None:
    score = Score.unscored(reason="refusal", answer="x")
    assert "NaN" in score.model_dump_json()
    back = Score.model_validate_json(score.model_dump_json())
    assert isinstance(back.value, float)
    assert math.isnan(back.value)
    assert (back.reason, back.answer) == ("refusal", "x")


def test_target_text_is_the_texts_joined_without_a_separator() -> None:
    target = Target(("A", "B"))
    assert (target.text, target[0], target[:1], len(target), "A" in target) == (
        "AB", "A", ["A"], 2, True,
    )  # fmt: skip
    assert list(Target("one")) == ["one"]
    assert list(Target(target)) == ["A", "B"]
    assert target != Target(("A", "B"))


class Frozen(BaseModel, frozen=True):
    number: int


def test_metadata_as_a_model() -> None:
    score = Score(value=1)
    sample = SampleScore(score=score, sample_metadata={"number": "42", "more": 1})
    assert sample.sample_metadata_as(Frozen) == Frozen(number=42)
    assert SampleScore(score=score).sample_metadata_as(Score) is None
    with pytest.raises(ValueError, match="frozen"):
        sample.sample_metadata_as(Score)
    with pytest.raises(ValueError, match="frozen"):
        sample.sample_metadata_as(dict)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="do not fit"):
        SampleScore(score=score, sample_metadata={}).sample_metadata_as(Frozen)


def test_protocols() -> None:
    class Called:
        def __call__(self, scores: Any) -> None: ...

    assert isinstance(len, Scorer)
    assert isinstance(Called(), Metric)
    assert isinstance(len, ScoreReducer)
    assert not isinstance(Called(), ScoreReducer)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("C", 1), ("P", 0.5), ("I", 0), ("N", 0), (True, 1), (3, 3), (0.25, 0.25), ("YES", 1),
        ("False", 0), (" 1 ", 1), ("1_000", 1000), ("٣", 3), (math.inf, math.inf),
    ],
)  # fmt: skip
def test_value_to_float(value: Any, number: float) -> None:
    assert value_to_float()(value) == number


@pytest.mark.parametrize("value", ["c", "C ", "Yes ", "1,000", "50%", "nan", "inf", "1e400", [1]])
def test_unknown_values_are_0_with_a_warning(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "guardtui.scorer.types"):
        assert value_to_float()(value) == 0.0
    assert len(caplog.records) == 1


def test_named_values_go_before_numbers() -> None:
    assert value_to_float(correct=2)(2.0) == 1.0
    assert value_to_float(incorrect=1)(True) == 0.0
    assert value_to_float("x", "x", "x")("x") == 1.0
