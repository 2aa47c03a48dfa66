"""Metrics of the user's own over the verdicts of an evaluation, beside the built-in rates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from guardtui.domain.comparison import ABSENT, Comparison, align
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.own_figure import OwnFigure
from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import Outcome, Triggered
from guardtui.scorer.aggregate import summarise
from guardtui.scorer.types import CORRECT, INCORRECT, Metric, SampleScore, Score

GUARDRAIL = "guardrail"
"""What the scores of verdicts give as their scorer."""

_RIGHT = {Outcome.TP: True, Outcome.TN: True, Outcome.FP: False, Outcome.FN: False}
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class OwnMetric:
    """A metric and the expression that named it, such as `stderr(cluster="person")`."""

    expression: str
    metric: Metric

    @property
    def name(self) -> str:
        """What it is called beside its figures: the expression, without empty brackets."""
        return self.expression.strip().removesuffix("()")


def own_figures(
    metrics: Iterable[OwnMetric],
    evaluation: Evaluation,
    prompts: PromptSet | None = None,
    comparison: Comparison | None = None,
) -> tuple[OwnFigure, ...]:
    """Return what each metric says of an evaluation, in their order; a metric that fails says why.

    Metrics see `verdict_scores`. One that gives several values gives several figures.
    """
    metrics = list(metrics)
    if not metrics:
        return ()
    scores = verdict_scores(evaluation, prompts, comparison)
    figures: list[OwnFigure] = []
    for one in metrics:
        # Without a verdict nothing is defined, and no metric need know how to say so.
        known = evaluation.metrics.total
        figures += _figures(one, scores) if known else [OwnFigure(one.name, None)]
    return tuple(figures)


def _figures(metric: OwnMetric, scores: list[SampleScore]) -> list[OwnFigure]:
    name = metric.name
    try:
        (summary,) = summarise(scores, [metric.metric], (), scorer=GUARDRAIL)
        values = {key: one.value for key, one in summary.metrics.items()}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a metric of anybody's
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return [OwnFigure(name, None, text[:_LONGEST])]
    several = len(values) != 1
    return [
        OwnFigure(f"{name}: {key}" if several else name, value if math.isfinite(value) else None)
        for key, value in values.items()
    ]


def verdict_scores(
    evaluation: Evaluation, prompts: PromptSet | None = None, comparison: Comparison | None = None
) -> list[SampleScore]:
    """Return the verdicts as scores: `C` right, `I` wrong, NaN without a verdict.

    The id is the prompt's place, counted from 1. The metadata are the prompt set's own columns,
    then `prompt` and `line` (None when the prompt is gone), `expected`, `intent`, `should_trigger`,
    `triggered` (None without a verdict), `outcome` (TP, TN, FP, FN, ERROR), `score` (None without
    one), `error`, and `baseline`, the outcome in the baseline, None without one.
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
    for place, (columns, expected, should, triggered, score, code) in enumerate(rows):
        outcome = Outcome(code)
        right = _RIGHT.get(outcome)
        answer = None if triggered < Triggered.NO else bool(triggered)
        was = before[place] if place < len(before) else ABSENT
        metadata = {
            **columns,
            "expected": expected,
            "intent": intent,
            "should_trigger": should,
            "triggered": answer,
            "outcome": outcome.name,
            "score": None if math.isnan(score) else score,
            "error": verdicts.errors.get(place, ""),
            "baseline": None if was == ABSENT else Outcome(was).name,
        }
        scores.append(
            SampleScore(
                score=Score(
                    value=math.nan if right is None else CORRECT if right else INCORRECT,
                    answer=None if answer is None else str(answer).lower(),
                ),
                sample_id=place + 1,
                sample_metadata=metadata,
                scorer=GUARDRAIL,
            )
        )
    return scores


def _columns(evaluation: Evaluation, prompts: PromptSet | None) -> list[dict[str, Any]]:
    """Return the columns of the prompt set for each prompt, found by content."""
    gone: dict[str, Any] = {"prompt": None, "line": None}
    if prompts is None:
        return [gone] * len(evaluation.keys)
    rows = prompts.frame.drop("key").to_dicts()
    index = align(prompts.keys, evaluation.keys).index
    if index is None:
        return rows
    return [rows[place] if place >= 0 else gone for place in index.tolist()]
