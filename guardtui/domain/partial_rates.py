"""Rates of an evaluation with missing verdicts: their bounds and estimated final values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.estimates import Bounds, Estimate, denominators, estimate, rate_bounds
from guardtui.domain.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class PartialRates:
    """Bounds of the rates while some prompts have no verdict, with estimates if available.

    `answered` gives (rows with a verdict, rows) by rate. `waiting` counts prompts not requested
    yet, `failed` those requested without getting a verdict. If `sampled`, the answered prompts are
    a random sample of all, so their rates are estimates.
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
    """Return the partial rates of an evaluation, or None if every prompt has a verdict.

    `predicted` are the expected verdicts of its prompts, int8 [N], as in `estimate`. A `forecast`
    of the rates replaces that estimate.
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
