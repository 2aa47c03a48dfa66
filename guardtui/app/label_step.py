"""Labelling as an idea: how many labels are missing to decide, and where."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from guardtui.advice.prompt_set import Survey
from guardtui.advice.search import SearchResult
from guardtui.app.ideas import Idea, IdeaKind, gain_text
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE, guardrail_text
from guardtui.domain.statistics import coverage_interval
from guardtui.domain.text import display_start

WIDE = 0.05
"""Largest acceptable half width of the 95 % interval of coverage.

Edits rarely gain more, so a wider interval hides their effect.
"""

MARKS_AT_MOST = 6
"""Number of prompts that show where labels are most useful."""

_ROUNDED = 10  # labels: the number is an estimate
_SHOWN = 100  # characters of a prompt


@dataclass(frozen=True, slots=True)
class LabelNeed:
    """Width of the interval of coverage, and the number of labels that would narrow it.

    `half_width` is for the existing `labels`; with `wanted` labels in total, in the same
    proportion, it would be `WIDE`.
    """

    labels: int
    half_width: float
    wanted: int

    @property
    def more(self) -> int:
        """Approximate number of missing labels."""
        return max(_ROUNDED, round((self.wanted - self.labels) / _ROUNDED) * _ROUNDED)


def label_need(search: SearchResult | None, evaluation: Evaluation) -> LabelNeed | None:
    """Return how many labels are missing, or None if something else decides.

    Labels are missing if no measured edit certainly helps and the interval of coverage is wide. Its
    width falls with the square root of the number of labels. A guardrail that has scanned the
    prompts can be asked about another definition instead.
    """
    if search is None or not search.single_edits or evaluation.settings.kind != ENGINE:
        return None
    best = next(iter(search.proposals), None)
    if best is not None and best.gain.is_certain:
        return None
    metrics = evaluation.metrics
    interval = coverage_interval(metrics)
    if interval is None or metrics.missing:
        return None
    half = (interval.high - interval.low) / 2
    if half <= WIDE:
        return None
    labels = metrics.total * (half / WIDE) ** 2
    return LabelNeed(metrics.total, half, math.ceil(labels / _ROUNDED) * _ROUNDED)


def label_step(need: LabelNeed, search: SearchResult, survey: Survey) -> Idea | None:
    """Return the step, with the prompts near which labels are most useful, or None."""
    rows = _where(survey)
    if not rows:
        return None
    prompts, which = survey.prompts, guardrail_text(survey.evaluation.settings)
    lines = [
        f"With {need.labels} labels the coverage of {which} is known to ±{need.half_width:.3f} "
        f"only; about {need.more} more, of the same kinds, would make it ±{WIDE:.3f}."
    ]
    best = next(iter(search.proposals), None)
    if best is not None:
        lines.append(
            f"Of {search.measured} definitions tried the best is expected to change it by "
            f"{gain_text(best.gain)}: with so few labels that may be chance."
        )
    lines.append(
        "Labels teach most beside these prompts, whose verdicts are the least sure: find prompts "
        "like them in your logs, or write some, and label them. Enter shows these in the table, "
        "where I adds one like the selected one."
    )
    lines += [f"· {display_start(str(prompts.prompts[row]), _SHOWN)}" for row in rows]
    these = f"these {len(rows)}" if len(rows) > 1 else "this one"
    return Idea(
        IdeaKind.LABEL,
        f"Not sure yet: about {need.more} more labels like {these} make coverage certain to "
        f"±{WIDE:.2f}",
        detail="\n".join(lines),
        keys=tuple(prompts.keys[np.array(rows)].tolist()),
    )


def _where(survey: Survey) -> list[int]:
    """Return rows near which labels are useful: suggested ones, then the least certain verdicts.

    Small sets have no suggestions, which need several neighbours.
    """
    rows = [row for suggestion in survey.spots for row in suggestion.rows]
    rows += _least_sure(survey.evaluation)
    return list(dict.fromkeys(rows))[:MARKS_AT_MOST]


def _least_sure(evaluation: Evaluation) -> list[int]:
    """Return rows by the distance of their score to the threshold, the nearest first.

    Empty for a scan without scores. A forecast's score is a probability with threshold 0.5.
    """
    score, threshold = evaluation.verdicts.score, evaluation.settings.threshold
    distance = np.abs(score - np.float32(0.5 if threshold is None else threshold))
    order = np.argsort(distance, kind="stable")[:MARKS_AT_MOST]  # NaN is last
    return [row for row in order.tolist() if not np.isnan(distance[row])]
