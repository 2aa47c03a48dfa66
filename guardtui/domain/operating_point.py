"""The operating point of the embedded engine: its threshold, fitted to the labels of a prompt set.

Fitted once, for a definition, and kept while the definition is edited: it is then found whether
another threshold would give significantly more.
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
"""Labels of each class from which on a threshold is fitted to a prompt set."""

SHIPPED: Literal["shipped"] = "shipped"
FITTED: Literal["fitted"] = "fitted"
BY_HAND = "by hand"

Wanted: TypeAlias = float | Literal["shipped", "fitted"] | None
"""The threshold that is asked for; None: fitted where there are labels enough, else shipped."""

_SEED = 0

SLACK = 0.5
"""Share of a prompt of the smaller class by which thresholds near the best count as equally good.

A fit takes the middle of them, which is nearer to what further prompts ask for than the very best
on a few labels.
"""


@dataclass(frozen=True, slots=True)
class ThresholdFit:
    """A threshold fitted to labels, as it is kept for a session.

    `coverage` is of the labels that chose it and flatters it; `held_out` is cross-validated. Both
    are of the definition it was fitted at. `folds` are the thresholds that were fitted without the
    prompts of each fold. `engine` is the identity of the scanner, `prompt_set` the fingerprint of
    the prompts, `prompts` the path of their file as the session keeps it, or "".
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
        """Where the threshold comes from, as `ScannerSettings.threshold_source` says it."""
        return f"fitted to {self.labels} labels"


def fit_threshold(
    evaluation: Evaluation, shipped: float, *, least: int = LABELS_AT_LEAST
) -> ThresholdFit:
    """Return the threshold with the largest coverage on the labels of an evaluation.

    Its verdicts do not matter, only its scores. In the middle of thresholds that are equally good,
    up to `SLACK`. Prompts without a score count nowhere. Raises ValueError, in words for the
    author, when a class has fewer than `least` prompts.
    """
    scores, should = evaluation.verdicts.score, evaluation.should_trigger
    known = ~np.isnan(scores)
    for rows, duty in ((known & should, "should"), (known & ~should, "should not")):
        count = int(np.count_nonzero(rows))
        if count < least:
            raise ValueError(
                f"{count} labelled prompts that {duty} trigger: at least {least} are needed"
            )
    found = best_threshold(
        sweep(scores, should, evaluation.topic.intent, evaluation.keys), seed=_SEED, slack=SLACK
    )
    assert found is not None  # noqa: S101 - both classes are there
    assert found.cross_validated is not None  # noqa: S101 - and large enough
    return ThresholdFit(
        threshold=found.threshold,
        shipped=shipped,
        labels=int(np.count_nonzero(known)),
        coverage=found.metrics.coverage or 0.0,
        held_out=found.cross_validated.metrics.coverage or 0.0,
        folds=found.cross_validated.thresholds,
        engine=evaluation.settings.identity,
        prompt_set=evaluation.prompt_set,
    )


def is_fitted_with(evaluation: Evaluation, fit: ThresholdFit) -> bool:
    """Whether an evaluation has the threshold of this fit."""
    settings = evaluation.settings
    return (settings.threshold, settings.threshold_source) == (fit.threshold, fit.source)


def held_out_metrics(fit: ThresholdFit, evaluation: Evaluation) -> Metrics | None:
    """Return the metrics with each prompt judged by a threshold that its label had no part in.

    Of the definition evaluated, which may have been edited since the fit. None when the labels
    are not those that were fitted, or the evaluation has another engine or threshold.
    """
    if (
        not is_fitted_with(evaluation, fit)
        or evaluation.settings.identity != fit.engine
        or evaluation.prompt_set != fit.prompt_set
    ):
        return None
    scores, should = evaluation.verdicts.score, evaluation.should_trigger
    known = ~np.isnan(scores)
    fold = stratified_folds(should[known], len(fit.folds), _SEED, evaluation.keys[known])
    cuts = np.array(fit.folds, np.float32)[fold]
    triggered = _triggered(scores[known], cuts, evaluation.topic.intent)
    return metrics_of(outcomes(should[known], triggered.view(np.int8)))


@dataclass(frozen=True, eq=False, slots=True)
class BetterThreshold:
    """Another threshold that would give significantly more coverage, and how much.

    `comparison` is of the verdicts as they are with cross-validated ones, so that no label had a
    part in what its prompt is judged by.
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
    """Return a threshold that gives significantly more coverage than that of the evaluation.

    By the interval of the change of coverage, as comparisons have it. None when there is none,
    when there are fewer than `least` labels of a class, and where the verdicts are not those of
    the engine's threshold alone: other topics or another scanner had a part in them.
    """
    settings, intent = evaluation.settings, evaluation.topic.intent
    scores, should = evaluation.verdicts.score, evaluation.should_trigger
    now = evaluation.metrics
    if settings.threshold is None or now.coverage is None or np.isnan(scores).any():
        return None
    here = _triggered(scores, np.float32(settings.threshold), intent)
    if not np.array_equal(here.view(np.int8), evaluation.verdicts.triggered):
        return None
    if min(now.tp + now.fn, now.tn + now.fp) < least:
        return None
    found = sweep(scores, should, intent, evaluation.keys)
    if found.coverage.max() <= now.coverage:
        return None
    best = best_threshold(found, seed=_SEED, slack=SLACK)
    if best is None or best.cross_validated is None:
        return None
    triggered = best.cross_validated.triggered.view(np.int8)
    verdicts = Verdicts(triggered=triggered, score=scores, matched=evaluation.verdicts.matched)
    comparison = compare(evaluation, replace(evaluation, verdicts=verdicts))
    if comparison.significance.difference is not Difference.BETTER:
        return None
    return BetterThreshold(best.threshold, comparison)


def at_threshold(evaluation: Evaluation, threshold: float, source: str) -> Evaluation:
    """Return what the same scores give at another threshold, which comes from `source`.

    Nothing is asked for: rows that have a score are judged anew, others stay as they are.
    """
    verdicts = evaluation.verdicts
    known = ~np.isnan(verdicts.score)
    matches = _triggered(verdicts.score, np.float32(threshold), evaluation.topic.intent)
    triggered = np.where(known, matches.view(np.int8), verdicts.triggered).astype(np.int8)
    return replace(
        evaluation,
        settings=replace(evaluation.settings, threshold=threshold, threshold_source=source),
        verdicts=replace(verdicts, triggered=triggered),
    )


def _triggered(
    scores: NDArray[np.float32], cuts: NDArray[np.float32] | np.float32, intent: Intent
) -> NDArray[np.bool_]:
    """As the scanner triggers: scores [N] against one threshold, or one for each."""
    matches: NDArray[np.bool_] = scores >= cuts
    return matches if intent is Intent.BLOCK else ~matches
