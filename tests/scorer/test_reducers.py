"""Reducers make one score of several."""

from __future__ import annotations

import math
from typing import Any

import pytest

from guardtui.scorer import (
    Score,
    at_least,
    max_score,
    mean_score,
    median_score,
    mode_score,
    pass_at,
)
from guardtui.scorer.reducers import reducer_by_name, reducer_log_name
from tests.scorer.samples import plain

NAN = math.nan


def of(*values: Any) -> list[Score]:
    return [Score(value=value) for value in values]


@pytest.mark.parametrize(
    ("reducer", "values", "expected"),
    [
        (mode_score(), ["I", "C", "C"], "C"),
        (mode_score(), ["I", "C"], "I"),
        (mode_score(), [1.0, True, "1"], 1.0),
        (mean_score(), ["C", "I", "P"], 0.5),
        (median_score(), [1, 4, 2, 8], 3.0),
        (max_score(), ["P", "C", 1], "C"),
        (max_score(), [NAN, "I"], "I"),
        (at_least(2), ["C", "C", "I"], 1),
        (at_least(2), ["C", "P"], 0),
        (at_least(2, 0.5), ["C", "P"], 1),
        (pass_at(1), ["C", "I"], 0.5),
        (pass_at(2), ["C", "I", "I", "I"], 0.5),
        (pass_at(2), ["C", "C", "I"], 1.0),
        (pass_at(3), ["C", "C"], NAN),
        (mean_score(), [{"a": 1, "b": NAN}, {"b": NAN, "a": 0}], {"a": 0.5, "b": NAN}),
        (mean_score(), [[1, NAN], [0, 1], NAN], [0.5, 1.0]),
        (mode_score(), [{"a": None}, {"a": None}, {"a": 1}], {"a": None}),
        (mean_score(), [NAN, NAN], NAN),
        (mean_score(), [], NAN),
        (mean_score(), ["C", [1, 2]], 0.5),
    ],
)
def test_values(reducer: Any, values: list[Any], expected: Any) -> None:
    assert plain(reducer(of(*values)).value) == plain(expected)


@pytest.mark.parametrize(
    ("reducer", "values"),
    [
        (mode_score(), ["C", [1]]),
        (at_least(1), ["C", {"a": 1}]),
        (mode_score(), [(1, 2)]),
        (mean_score(), [[1], "C"]),
        (mean_score(), [{"a": 1}, 1]),
        (mean_score(), [[1], [1, 2]]),
        (mean_score(), [{"a": 1}, {"b": 1}]),
    ],
)
def test_shapes_that_do_not_go_together(reducer: Any, values: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        reducer(of(*values))


def test_the_other_fields() -> None:
    first = Score(value=NAN, answer="A", explanation="x", metadata={"n": 1}, reason="r")
    second = Score(value=1, answer="A", explanation="y", metadata={"n": 2}, reason="r")
    result = mean_score()([first, second])
    assert (result.value, result.answer, result.explanation) == (1.0, "A", None)
    assert (result.metadata, result.reason, result.history) == ({"n": 1}, "r", [])


def test_names() -> None:
    assert reducer_log_name(reducer_by_name("at_least_3")) == "at_least_3"
    assert reducer_log_name(mean_score()) == "mean"
    with pytest.raises(LookupError, match="unknown"):
        reducer_by_name("unknown")
    with pytest.raises(TypeError):
        reducer_by_name("at_least")
    with pytest.raises(TypeError):
        pass_at()  # type: ignore[call-arg]
