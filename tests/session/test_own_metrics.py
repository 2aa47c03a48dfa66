"""Metrics of the user's own over verdicts: what they see, and that a failing one harms nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.files.prompt_files import parse_prompts
from guardtui.scorer import Metric, SampleScore, Value, coverage, regressions
from guardtui.session.own_metrics import OwnMetric, own_figures, verdict_scores
from tests.guardrails import engine_settings

PROMPTS = parse_prompts(
    Path("prompts.csv"),
    b"prompt,expected,intent,cost\na,true,block,5\nb,true,block,1\nc,false,block,2\n"
    b"d,false,block,3\n",
)
TOPIC = Topic(name="t", description="d", examples=("e", "f"), intent=Intent.BLOCK)


def evaluated(*triggered: int, prompts: PromptSet = PROMPTS) -> Evaluation:
    """An evaluation with 1 triggered, 0 not, -1 no verdict."""
    count = len(triggered)
    return Evaluation(
        TOPIC,
        engine_settings("engine"),
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        Verdicts(
            np.array(triggered, np.int8),
            np.linspace(0, 1, count, dtype=np.float32),
            np.full(count, -1, np.int16),
            {row: "slow" for row, one in enumerate(triggered) if one < 0},
        ),
    )


def metric_of(measure: Any, name: str = "mine()") -> OwnMetric:
    def made(scores: list[SampleScore]) -> Value:
        value: Value = measure(scores)
        return value

    return OwnMetric(name, made)


def told(*metrics: OwnMetric, evaluation: Evaluation, **more: Any) -> list[tuple[str, str, str]]:
    figures = own_figures(metrics, evaluation, PROMPTS, **more)
    return [(figure.name, figure.text, figure.problem) for figure in figures]


def test_verdict_scores_carry_all_metadata() -> None:
    before, now = evaluated(1, 1, 0, -1), evaluated(1, 0, 1, -1)
    scores = verdict_scores(now, PROMPTS, compare(before, now))
    assert [score.score.value for score in scores[:3]] == ["C", "I", "I"]
    assert math.isnan(scores[3].score.as_float())
    assert [score.score.answer for score in scores] == ["true", "false", "true", None]
    assert [score.sample_id for score in scores] == [1, 2, 3, 4]
    assert {score.scorer for score in scores} == {"guardrail"}
    assert scores[1].sample_metadata == {
        "prompt": "b", "line": 3, "cost": "1", "expected": True, "intent": "block",
        "should_trigger": True, "triggered": False, "outcome": "FN",
        "score": pytest.approx(1 / 3), "error": "", "baseline": "TP",
    }  # fmt: skip
    last = scores[3].sample_metadata or {}
    assert (last["outcome"], last["triggered"], last["error"]) == ("ERROR", None, "slow")


def test_metric_receives_only_prompts_with_a_verdict() -> None:
    def cost(scores: list[SampleScore]) -> float:
        return sum(
            float((score.sample_metadata or {})["cost"])
            for score in scores
            if score.score.value == "I"
        )

    assert told(metric_of(cost), evaluation=evaluated(0, 1, 1, -1)) == [("mine", "7.000", "")]


def test_guardrail_metrics_equal_the_built_in_rates() -> None:
    before, now = evaluated(1, 1, 0, 0), evaluated(1, 0, 0, 0)
    of_ours: list[Metric] = [coverage(), regressions()]
    metrics = [OwnMetric(f"m{index}", one) for index, one in enumerate(of_ours)]
    assert told(*metrics, evaluation=now, comparison=compare(before, now)) == [
        ("m0", f"{now.metrics.coverage:.3f}", ""), ("m1", "1.000", ""),
    ]  # fmt: skip
    assert told(metrics[1], evaluation=now) == [("m1", "n/a", "")]


@pytest.mark.parametrize(
    ("value", "figures"),
    [
        (math.nan, [("mine", "n/a", "")]),
        (math.inf, [("mine", "n/a", "")]),
        (np.float32(0.5), [("mine", "0.500", "")]),
        ({"a": 1, "b": None, "c": 2}, [("mine: a", "1.000", ""), ("mine: c", "2.000", "")]),
        ([1, 2], [("mine: mine-1", "1.000", ""), ("mine: mine-2", "2.000", "")]),
        (12345678.0, [("mine", "1.23457e+07", "")]),
        ("words", [("mine", "error", "ValueError: could not convert string to float: 'words'")]),
        (None, [("mine", "error", "TypeError: float() argument must be")]),
    ],
)
def test_metric_values_become_figures(value: Any, figures: list[tuple[str, str, str]]) -> None:
    def measure(scores: list[SampleScore]) -> Any:
        return value

    measure.__name__ = "mine"
    metric = OwnMetric("mine()", measure)
    result = told(metric, evaluation=evaluated(1, 1, 0, 0))
    assert [(name, text) for name, text, _ in result] == [figure[:2] for figure in figures]
    assert all(
        problem.startswith(figure[2])
        for (_, _, problem), figure in zip(result, figures, strict=True)
    )


@pytest.mark.parametrize("error", [KeyError("cost"), SystemExit(3), RecursionError()])
def test_raising_metric_is_reported_and_others_are_computed(error: BaseException) -> None:
    def broken(_: Any) -> float:
        raise error

    result = told(
        metric_of(broken, "broken()"), metric_of(len, "count()"), evaluation=evaluated(1, 1, 0, 0)
    )
    assert result[0][:2] == ("broken", "error")
    assert result[0][2].startswith(type(error).__name__)
    assert result[1] == ("count", "4.000", "")


def test_metrics_without_verdicts_are_undefined() -> None:
    assert told(metric_of(len), evaluation=evaluated(-1, -1, -1, -1)) == [("mine", "n/a", "")]


def test_removed_prompts_have_no_columns() -> None:
    fewer = parse_prompts(
        Path("p.csv"), b"prompt,expected,intent,cost\nd,false,block,3\na,true,block,5\n"
    )
    scores = verdict_scores(evaluated(1, 1, 0, 0), fewer)
    lines = [(score.sample_metadata or {})["line"] for score in scores]
    assert lines == [3, None, None, 2]
