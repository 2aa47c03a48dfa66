"""Labels as the next step: when those there are cannot decide, how many would, and where."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from guardtui.advice.prompt_set import Survey
from guardtui.advice.search import SearchResult
from guardtui.app.next_steps import NextStep, StepKind, gain_text
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.statistics import coverage_interval
from guardtui.domain.text import display_start

WIDE = 0.05
"""Half of the 95 % interval of coverage that labels must decide about, and are wanted for.

An edit seldom brings more than that, so a wider interval hides what edits do.
"""

MARKS_AT_MOST = 6
"""Prompts that show where labels would teach most."""

_ROUNDED = 10  # labels: the number is an estimate
_SHOWN = 100  # characters of a prompt


@dataclass(frozen=True, slots=True)
class LabelNeed:
    """How wide the interval of coverage is, and how many labels would make it narrower.

    `half_width` is of the `labels` there are; with `wanted` in all, of the same kinds, it would be
    `WIDE`.
    """

    labels: int
    half_width: float
    wanted: int

    @property
    def more(self) -> int:
        """Labels that are still to come, roughly."""
        return max(_ROUNDED, round((self.wanted - self.labels) / _ROUNDED) * _ROUNDED)


def label_need(found: SearchResult | None, evaluation: Evaluation) -> LabelNeed | None:
    """Return how many labels are missing, None where something else decides.

    Edits were measured and none helps for certain, and the interval of coverage is wide. A width
    falls with the square root of the number of labels.
    """
    if found is None or not found.found:
        return None  # nothing was tried
    best = next(iter(found.proposals), None)
    if best is not None and best.gain.is_certain:
        return None
    metrics = evaluation.metrics
    interval = coverage_interval(metrics)
    if interval is None or metrics.missing:
        return None
    half = (interval.high - interval.low) / 2
    if half <= WIDE:
        return None
    wanted = metrics.total * (half / WIDE) ** 2
    return LabelNeed(metrics.total, half, math.ceil(wanted / _ROUNDED) * _ROUNDED)


def label_step(need: LabelNeed, found: SearchResult, survey: Survey) -> NextStep | None:
    """Return the step, with the prompts near which labels teach most; None without any."""
    rows = _where(survey)
    if not rows:
        return None
    prompts, which = survey.prompts, guardrail_text(survey.evaluation.settings)
    lines = [
        f"With {need.labels} labels the coverage of {which} is known to ±{need.half_width:.3f} "
        f"only; about {need.wanted}, of the same kinds, would make it ±{WIDE:.3f}."
    ]
    best = next(iter(found.proposals), None)
    if best is not None:
        lines.append(
            f"Of {found.measured} definitions tried the best is expected to change it by "
            f"{gain_text(best.gain)}: with so few labels that may be chance."
        )
    lines.append(
        "Labels teach most beside these prompts, whose verdicts are the least sure: find prompts "
        "like them in your logs, or write some, and label them. Enter shows these in the table, "
        "where I adds one like the selected one."
    )
    lines += [f"· {display_start(str(prompts.prompts[row]), _SHOWN)}" for row in rows]
    these = f"these {len(rows)}" if len(rows) > 1 else "this one"
    return NextStep(
        StepKind.LABEL,
        f"Label more prompts like {these}: nothing else will tell "
        f"(about {need.more} for ±{WIDE:.2f})",
        detail="\n".join(lines),
        keys=tuple(prompts.keys[np.array(rows)].tolist()),
    )


def _where(survey: Survey) -> list[int]:
    """Rows near which a label teaches much: those that mark a spot, then the least sure verdicts.

    Of few prompts, none has neighbours enough for a spot.
    """
    rows = [row for spot in survey.spots for row in spot.rows]
    rows += _least_sure(survey.evaluation)
    return list(dict.fromkeys(rows))[:MARKS_AT_MOST]


def _least_sure(evaluation: Evaluation) -> list[int]:
    """Rows whose score is nearest to where the verdict turns, the nearest first.

    None of a scan without scores. A forecast's score is a probability, and turns at one half.
    """
    score, threshold = evaluation.verdicts.score, evaluation.settings.threshold
    distance = np.abs(score - np.float32(0.5 if threshold is None else threshold))
    order = np.argsort(distance, kind="stable")[:MARKS_AT_MOST]  # NaN comes last
    return [row for row in order.tolist() if not np.isnan(distance[row])]
