"""User-defined metrics over the verdicts of an evaluation, beside the built-in rates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from guardtui.domain.comparison import ABSENT, Comparison, align
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.user_metric import UserMetric
from guardtui.domain.verdicts import Outcome, Triggered
from guardtui.scorer.aggregate import summarise
from guardtui.scorer.types import CORRECT, INCORRECT, Metric, SampleScore, Score

GUARDRAIL = "guardrail"
"""Scorer name of scores made from verdicts."""

_RIGHT = {Outcome.TP: True, Outcome.TN: True, Outcome.FP: False, Outcome.FN: False}
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class OwnMetric:
    """A metric and its expression, such as `stderr(cluster="person")`."""

    expression: str
    metric: Metric

    @property
    def name(self) -> str:
        """Display name: the expression without empty brackets."""
        return self.expression.strip().removesuffix("()")


def own_figures(
    metrics: Iterable[OwnMetric],
    evaluation: Evaluation,
    prompts: PromptSet | None = None,
    comparison: Comparison | None = None,
) -> tuple[UserMetric, ...]:
    """Return the values of each metric in order; a metric that fails returns its problem.

    Metrics receive `verdict_scores`. A metric with several values gives several figures.
    """
    metrics = list(metrics)
    if not metrics:
        return ()
    scores = verdict_scores(evaluation, prompts, comparison)
    figures: list[UserMetric] = []
    for metric in metrics:
        # Without any verdict all metrics are undefined; they need not handle that case.
        verdict_count = evaluation.metrics.total
        figures += _figures(metric, scores) if verdict_count else [UserMetric(metric.name, None)]
    return tuple(figures)


def _figures(metric: OwnMetric, scores: list[SampleScore]) -> list[UserMetric]:
    name = metric.name
    try:
        (summary,) = summarise(scores, [metric.metric], (), scorer=GUARDRAIL)
        values = {key: metric_value.value for key, metric_value in summary.metrics.items()}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - third-party code
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return [UserMetric(name, None, text[:_LONGEST])]
    several = len(values) != 1
    return [
        UserMetric(f"{name}: {key}" if several else name, value if math.isfinite(value) else None)
        for key, value in values.items()
    ]


def verdict_scores(
    evaluation: Evaluation, prompts: PromptSet | None = None, comparison: Comparison | None = None
) -> list[SampleScore]:
    """Return the verdicts as scores: `C` right, `I` wrong, NaN without a verdict.

    The id is the prompt's position, counted from 1. The metadata are the prompt set's own columns,
    then `prompt` and `line` (None if the prompt is missing), `expected`, `intent`,
    `should_trigger`, `triggered` (None without a verdict), `outcome` (TP, TN, FP, FN, ERROR),
    `score` (None if unknown), `error`, and `baseline` (outcome in the baseline, None without one).
    """
    verdicts = evaluation.verdicts
    intent = evaluation.topic.intent.value
    before: Sequence[int] = [] if comparison is None else comparison.before.tolist()
    rows = zip(
        _columns(evaluation, prompts),
        evaluation.expected.tolist(),
        evaluation.should_trigger.tolist(),
        verdicts.triggered.tolist(),
        verdicts.score.tolist(),
        evaluation.codes.tolist(),
        strict=True,
    )
    scores = []
    for index, (columns, expected, should, triggered, score, code) in enumerate(rows):
        outcome = Outcome(code)
        right = _RIGHT.get(outcome)
        answer = None if triggered < Triggered.NO else bool(triggered)
        outcome_before = before[index] if index < len(before) else ABSENT
        metadata = {
            **columns,
            "expected": expected,
            "intent": intent,
            "should_trigger": should,
            "triggered": answer,
            "outcome": outcome.name,
            "score": None if math.isnan(score) else score,
            "error": verdicts.errors.get(index, ""),
            "baseline": None if outcome_before == ABSENT else Outcome(outcome_before).name,
        }
        scores.append(
            SampleScore(
                score=Score(
                    value=math.nan if right is None else CORRECT if right else INCORRECT,
                    answer=None if answer is None else str(answer).lower(),
                ),
                sample_id=index + 1,
                sample_metadata=metadata,
                scorer=GUARDRAIL,
            )
        )
    return scores


def _columns(evaluation: Evaluation, prompts: PromptSet | None) -> list[dict[str, Any]]:
    """Return the prompt set's columns for each prompt, matched by content."""
    missing: dict[str, Any] = {"prompt": None, "line": None}
    if prompts is None:
        return [missing] * len(evaluation.keys)
    rows = prompts.frame.drop("key").to_dicts()
    index = align(prompts.keys, evaluation.keys).index
    if index is None:
        return rows
    return [rows[row] if row >= 0 else missing for row in index.tolist()]
