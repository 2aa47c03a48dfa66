"""Rates of an evaluation that lacks verdicts: their limits, and their probable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.estimates import Bounds, Estimate, denominators, estimate, rate_bounds
from guardtui.domain.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class PartialRates:
    """Limits of the rates while some prompts have no verdict, and the estimates where there are.

    `answered` are rows with a verdict out of how many, by rate; `waiting` and `failed` count the
    prompts that were not requested yet, and those without a verdict. With `sampled` the others are
    a fair sample of all, so that their rates are estimates.
    """

    bounds: Mapping[str, Bounds | None]
    answered: Mapping[str, tuple[int, int]]
    estimate: Estimate | None
    waiting: int
    failed: int
    sampled: bool = False


def partial_rates(
    evaluation: Evaluation,
    predicted: NDArray[np.int8] | None,
    forecast: Estimate | None = None,
) -> PartialRates | None:
    """Return the partial rates of an evaluation, or None when every prompt has a verdict.

    `predicted` are the verdicts expected of its prompts, int8 [N], as in `estimate`; a `forecast`
    of the rates takes the place of that estimate.
    """
    metrics = evaluation.metrics
    if not metrics.missing:
        return None
    codes, duty = evaluation.codes, evaluation.should_trigger
    probable = None
    if metrics.open and forecast is not None:
        probable = forecast
    elif metrics.open and predicted is not None:
        probable = estimate(codes, duty, predicted)
    return PartialRates(
        rate_bounds(codes, duty),
        denominators(codes, duty),
        probable,
        metrics.open,
        metrics.errors,
        evaluation.is_of_a_part,
    )
