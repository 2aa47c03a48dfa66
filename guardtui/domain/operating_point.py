"""The operating point of the embedded engine: a threshold fitted to labelled prompts.

It is fitted once for a definition and stays fixed while the definition is edited.
`better_threshold` reports whether another threshold would be significantly better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import Comparison, compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import change_interval_text
from guardtui.domain.metrics import Metrics, metrics_of
from guardtui.domain.significance import Difference
from guardtui.domain.sweep import best_threshold, stratified_folds, sweep
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Verdicts, outcomes

LABELS_AT_LEAST = 10
"""Minimum number of labels of each class for fitting a threshold."""

SHIPPED: Literal["shipped"] = "shipped"
FITTED: Literal["fitted"] = "fitted"
BY_HAND = "by hand"

Wanted: TypeAlias = float | Literal["shipped", "fitted"] | None
"""The requested threshold; None: fitted if there are enough labels, otherwise shipped."""

_SEED = 0

SLACK = 0.5
"""Thresholds this close to the best, as a share of a prompt of the smaller class, are equally good.

A fit takes the middle of them, which generalises better than the very best threshold on a few
labels.
"""


@dataclass(frozen=True, slots=True)
class ThresholdFit:
    """A threshold fitted to labels, as stored in a session.

    `coverage` is on the labels that chose it and therefore optimistic; `held_out` is
    cross-validated. Both are for the definition it was fitted to. `folds` are the thresholds fitted
    without the prompts of each fold. `engine` is the identity of the scanner, `prompt_set` the
    fingerprint of the prompts, `prompts` the path of their file as stored in the session, or "".
    """

    threshold: float
    shipped: float
    labels: int
    coverage: float
    held_out: float
    folds: tuple[float, ...]
    engine: str
    prompt_set: str
    prompts: str = ""

    @property
    def source(self) -> str:
        """Origin of the threshold, as in `ScannerSettings.threshold_source`."""
        return f"fitted to {self.labels} labels"


def fit_threshold(
    evaluation: Evaluation, shipped: float, *, least: int = LABELS_AT_LEAST
) -> ThresholdFit:
    """Return the threshold with the largest coverage on the labels of an evaluation.

    Only scores matter, not verdicts; prompts without a score are ignored. Returns the middle of the
    thresholds that are equally good, up to `SLACK`. Raises ValueError with a message for the author
    if a class has fewer than `least` prompts.
    """
    scores, should = evaluation.verdicts.score, evaluation.should_trigger
    scored = ~np.isnan(scores)
    for rows, duty in ((scored & should, "should"), (scored & ~should, "should not")):
        count = int(np.count_nonzero(rows))
        if count < least:
            raise ValueError(
                f"{count} labelled prompts that {duty} trigger: at least {least} are needed"
            )
    best = best_threshold(
        sweep(scores, should, evaluation.topic.intent, evaluation.keys), seed=_SEED, slack=SLACK
    )
    assert best is not None  # noqa: S101 - both classes have prompts
    assert best.cross_validated is not None  # noqa: S101 - and large enough
    return ThresholdFit(
        threshold=best.threshold,
        shipped=shipped,
        labels=int(np.count_nonzero(scored)),
        coverage=best.metrics.coverage or 0.0,
        held_out=best.cross_validated.metrics.coverage or 0.0,
        folds=best.cross_validated.thresholds,
        engine=evaluation.settings.identity,
        prompt_set=evaluation.prompt_set,
    )


def is_fitted_with(evaluation: Evaluation, fit: ThresholdFit) -> bool:
    """Return whether an evaluation uses the threshold of this fit."""
    settings = evaluation.settings
    return (settings.threshold, settings.threshold_source) == (fit.threshold, fit.source)


def held_out_metrics(fit: ThresholdFit, evaluation: Evaluation) -> Metrics | None:
    """Return metrics with each prompt judged by a threshold that its label did not influence.

    They are for the evaluated definition, which may have been edited since the fit. None if the
    labels are not the fitted ones, or if engine or threshold of the evaluation differ.
    """
    if (
        not is_fitted_with(evaluation, fit)
        or evaluation.settings.identity != fit.engine
        or evaluation.prompt_set != fit.prompt_set
    ):
        return None
    scores, should = evaluation.verdicts.score, evaluation.should_trigger
    scored = ~np.isnan(scores)
    fold = stratified_folds(should[scored], len(fit.folds), _SEED, evaluation.keys[scored])
    cuts = np.array(fit.folds, np.float32)[fold]
    triggered = _triggered(scores[scored], cuts, evaluation.topic.intent)
    return metrics_of(outcomes(should[scored], triggered.view(np.int8)))


@dataclass(frozen=True, eq=False, slots=True)
class BetterThreshold:
    """Another threshold with significantly higher coverage.

    `comparison` compares the current verdicts with cross-validated ones, so no label influences the
    threshold of its own prompt.
    """

    threshold: float
    comparison: Comparison

    @property
    def change(self) -> str:
        """The change of coverage with its interval."""
        interval = self.comparison.significance.intervals["coverage"]
        value = self.comparison.deltas["coverage"]
        assert interval is not None  # noqa: S101 - it is better
        assert value is not None  # noqa: S101 - it is better
        return change_interval_text(value, interval.low, interval.high)


def better_threshold(
    evaluation: Evaluation, *, least: int = LABELS_AT_LEAST
) -> BetterThreshold | None:
    """Return a threshold with significantly higher coverage than that of the evaluation, or None.

    Significance is judged by the interval of the change of coverage, as in comparisons. None also
    if a class has fewer than `least` labels, or if other topics or another scanner influenced the
    verdicts, which then do not follow from the engine's threshold alone.
    """
    settings, intent = evaluation.settings, evaluation.topic.intent
    scores, should = evaluation.verdicts.score, evaluation.should_trigger
    now = evaluation.metrics
    if settings.threshold is None or now.coverage is None or np.isnan(scores).any():
        return None
    by_threshold = _triggered(scores, np.float32(settings.threshold), intent)
    if not np.array_equal(by_threshold.view(np.int8), evaluation.verdicts.triggered):
        return None
    if min(now.tp + now.fn, now.tn + now.fp) < least:
        return None
    curve = sweep(scores, should, intent, evaluation.keys)
    if curve.coverage.max() <= now.coverage:
        return None
    best = best_threshold(curve, seed=_SEED, slack=SLACK)
    if best is None or best.cross_validated is None:
        return None
    triggered = best.cross_validated.triggered.view(np.int8)
    verdicts = Verdicts(triggered=triggered, score=scores, matched=evaluation.verdicts.matched)
    comparison = compare(evaluation, replace(evaluation, verdicts=verdicts))
    if comparison.significance.difference is not Difference.BETTER:
        return None
    return BetterThreshold(best.threshold, comparison)


def at_threshold(evaluation: Evaluation, threshold: float, source: str) -> Evaluation:
    """Return the evaluation with the same scores at another threshold, which is from `source`.

    No requests are made: rows with a score get new verdicts, others are unchanged.
    """
    verdicts = evaluation.verdicts
    scored = ~np.isnan(verdicts.score)
    matches = _triggered(verdicts.score, np.float32(threshold), evaluation.topic.intent)
    triggered = np.where(scored, matches.view(np.int8), verdicts.triggered).astype(np.int8)
    return replace(
        evaluation,
        settings=replace(evaluation.settings, threshold=threshold, threshold_source=source),
        verdicts=replace(verdicts, triggered=triggered),
    )


def _triggered(
    scores: NDArray[np.float32], cuts: NDArray[np.float32] | np.float32, intent: Intent
) -> NDArray[np.bool_]:
    """Apply cuts (one, or one per prompt) to scores [N] as the scanner does, bool [N]."""
    matches: NDArray[np.bool_] = scores >= cuts
    return matches if intent is Intent.BLOCK else ~matches
