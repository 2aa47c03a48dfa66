"""The operating point of the engine: a threshold fitted to labelled prompts.

While it is fitted, it is fitted to each definition anew, so that every definition is judged at its
own best threshold and never at that of another one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE, Guardrail, ScannerSettings
from guardtui.domain.guardrail import FITTED as FITTED
from guardtui.domain.metrics import Metrics
from guardtui.domain.statistics import Interval, coverage_interval
from guardtui.domain.sweep import quick_best, sweep
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Verdicts

LABELS_AT_LEAST = 10
"""Minimum number of labels of each class for fitting a threshold."""

BUILT_IN: Literal["built-in"] = "built-in"
BY_HAND = "by hand"

Wanted: TypeAlias = float | Literal["built-in", "fitted"] | None
"""The requested threshold; None: fitted if there are enough labels, otherwise built-in."""

Threshold: TypeAlias = float | Literal["fitted"] | None
"""Threshold of the engine: a score, `fitted` to each definition, or None for the built-in one."""

SLACK = 0.5
"""Thresholds this close to the best, as a share of a prompt of the smaller class, are equally good.

A fit takes the middle of them, which generalises better than the very best threshold on a few
labels.
"""


class OperatingPointError(GuardtuiError):
    """A requested threshold cannot be fitted; the message says why."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class ThresholdFit:
    """A threshold fitted to labels.

    `metrics` are on the labels that chose it, for the definition it was fitted to; their coverage
    is optimistic, its `interval` is not. `guardrail` is the one that gave the scores, `prompt_set`
    the fingerprint of the prompts.
    """

    threshold: float
    built_in: float
    labels: int
    metrics: Metrics
    guardrail: Guardrail
    prompt_set: str

    @property
    def source(self) -> str:
        """Origin of the threshold, as in `ScannerSettings.threshold_source`."""
        return _source(self.labels)

    @property
    def coverage(self) -> float:
        """Coverage on the labels that chose the threshold."""
        return self.metrics.coverage or 0.0

    @property
    def interval(self) -> Interval | None:
        """95 % interval of coverage on new prompts."""
        return coverage_interval(self.metrics, fitted=True)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as values of JSON."""
        return asdict(self) | {"guardrail": self.guardrail.to_json()}


def _source(labels: int) -> str:
    return f"{FITTED} to {labels} labels"


def fit_threshold(
    evaluation: Evaluation, built_in: float, *, least: int = LABELS_AT_LEAST
) -> ThresholdFit:
    """Return the threshold with the largest coverage on the labels of an evaluation.

    Only scores matter, not verdicts; prompts without a score are ignored. Returns the middle of the
    thresholds that are equally good, up to `SLACK`. Raises ValueError with a message for the author
    if a class has fewer than `least` prompts.
    """
    scores, should = evaluation.verdicts.score, evaluation.should_trigger
    scored = ~np.isnan(scores)
    require_classes(should[scored], least)
    curve = sweep(scores, should, evaluation.topic.intent, evaluation.keys)
    threshold = curve.best(slack=SLACK)
    assert threshold is not None  # noqa: S101 - both classes have prompts
    return ThresholdFit(
        threshold=threshold,
        built_in=built_in,
        labels=int(np.count_nonzero(scored)),
        metrics=replace(curve.metrics(curve.index(threshold)), errors=0),
        guardrail=evaluation.settings.guardrail,
        prompt_set=evaluation.prompt_set,
    )


def is_fitted_with(evaluation: Evaluation, fit: ThresholdFit) -> bool:
    """Return whether an evaluation uses the threshold of this fit."""
    settings = evaluation.settings
    return (settings.threshold, settings.threshold_source) == (fit.threshold, fit.source)


def is_fitted(settings: ScannerSettings) -> bool:
    """Return whether these are settings of the engine with a threshold fitted to each definition.

    Its `threshold` is None before a definition is evaluated.
    """
    return settings.kind == ENGINE and settings.has_fitted_threshold


def as_rule(settings: ScannerSettings) -> ScannerSettings:
    """Return the settings without a fitted threshold, which is another one for each definition.

    Evaluations of two definitions by the same engine at their own thresholds have equal ones.
    """
    if not is_fitted(settings):
        return settings
    return replace(settings, threshold=None, threshold_source=FITTED)


def require_classes(should_trigger: NDArray[np.bool_], least: int = LABELS_AT_LEAST) -> None:
    """Raise ValueError if one of the two classes (bool [N]) has fewer than `least` prompts."""
    positive = int(np.count_nonzero(should_trigger))
    for count, duty in ((positive, "should"), (len(should_trigger) - positive, "should not")):
        if count < least:
            raise ValueError(
                f"{count} labelled prompts that {duty} trigger: at least {least} are needed"
            )


def has_enough_labels(expected: NDArray[np.bool_]) -> bool:
    """Return whether a threshold can be fitted to these labels (bool [N])."""
    belong = int(np.count_nonzero(expected))
    return min(belong, len(expected) - belong) >= LABELS_AT_LEAST


def fitted_threshold(
    scores: NDArray[np.float32], expected: NDArray[np.bool_]
) -> tuple[float, str] | None:
    """Return the threshold of `fit_threshold` and its source; None with too few labels.

    `scores` are float32 [N], NaN for prompts that do not count, `expected` their labels, bool [N].
    It is the same for both intents, which turn the rates around together.
    """
    scored = ~np.isnan(scores)
    if not scored.all():
        scores, expected = scores[scored], expected[scored]
    if not has_enough_labels(expected):
        return None
    threshold = quick_best(scores, expected, SLACK)
    assert threshold is not None  # noqa: S101 - both classes have prompts
    return threshold, _source(len(scores))


def settled(
    settings: ScannerSettings, scores: NDArray[np.float32], expected: NDArray[np.bool_]
) -> ScannerSettings:
    """Return the settings with the threshold that is fitted to these scores (float32 [N]).

    Unchanged if they have a threshold already. Raises ValueError with too few labels.
    """
    if settings.threshold is not None:
        return settings
    fitted = fitted_threshold(scores, expected)
    if fitted is None:
        raise ValueError("too few labels to fit a threshold")
    return replace(settings, threshold=fitted[0], threshold_source=fitted[1])


def own_fit(evaluation: Evaluation, built_in: float) -> ThresholdFit | None:
    """Return the fit behind the threshold of an evaluation by the engine.

    None if its threshold is not fitted to its own labels. `built_in` is the engine's default.
    """
    if not is_fitted(evaluation.settings):
        return None
    try:
        fit = fit_threshold(evaluation, built_in)
    except ValueError:
        return None
    return fit if is_fitted_with(evaluation, fit) else None


def judged_alike(
    baseline: Evaluation,
    settings: ScannerSettings,
    labels: NDArray[np.bool_] | None = None,
    shared: NDArray[np.bool_] | None = None,
) -> Evaluation:
    """Return a baseline as it is compared with an evaluation that has these `settings`.

    If that has a fitted threshold, the baseline by the same engine gets its own best one, whatever
    it was recorded at; a threshold set by hand, and verdicts of others, stay. `labels` are those to
    fit to (bool [M], the baseline's by default), of which only `shared` (bool [M]) count.
    """
    old = baseline.settings
    if not is_fitted(settings) or old.guardrail != settings.guardrail or old.is_forecast:
        return baseline
    if not is_fitted(old) and old.threshold_source != BUILT_IN:
        return baseline
    if labels is None and shared is None:
        fitted = _own_threshold(baseline)
    else:
        scores = baseline.verdicts.score
        fitted = fitted_threshold(
            scores if shared is None else np.where(shared, scores, np.float32(np.nan)),
            baseline.expected if labels is None else labels,
        )
    if fitted is None or fitted[0] == old.threshold or not _follows_scores(baseline):
        return baseline
    return at_threshold(baseline, *fitted)


_own_thresholds: WeakKeyDictionary[Evaluation, tuple[float, str] | None] = WeakKeyDictionary()


def _own_threshold(evaluation: Evaluation) -> tuple[float, str] | None:
    """Return the threshold fitted to an evaluation's own labels; a baseline is asked often."""
    if evaluation not in _own_thresholds:
        _own_thresholds[evaluation] = fitted_threshold(
            evaluation.verdicts.score, evaluation.expected
        )
    return _own_thresholds[evaluation]


def _follows_scores(evaluation: Evaluation) -> bool:
    """Return whether the verdicts follow from scores and threshold alone, without other topics."""
    scores, threshold = evaluation.verdicts.score, evaluation.settings.threshold
    scored = ~np.isnan(scores)
    if threshold is None:
        return False
    matches = _triggered(scores[scored], np.float32(threshold), evaluation.topic.intent)
    return np.array_equal(matches.view(np.int8), evaluation.verdicts.triggered[scored])


def at_threshold(evaluation: Evaluation, threshold: float, source: str) -> Evaluation:
    """Return the evaluation with the same scores at another threshold, which is from `source`.

    No requests are made: rows with a score get new verdicts, others are unchanged.
    """
    return replace(
        evaluation,
        settings=replace(evaluation.settings, threshold=threshold, threshold_source=source),
        verdicts=verdicts_at(evaluation.verdicts, threshold, evaluation.topic.intent),
    )


def verdicts_at(verdicts: Verdicts, threshold: float, intent: Intent) -> Verdicts:
    """Return verdicts with the same scores at another threshold; rows without a score stay."""
    scored = ~np.isnan(verdicts.score)
    matches = _triggered(verdicts.score, np.float32(threshold), intent)
    triggered = np.where(scored, matches.view(np.int8), verdicts.triggered).astype(np.int8)
    return replace(verdicts, triggered=triggered)


def _triggered(
    scores: NDArray[np.float32], cuts: NDArray[np.float32] | np.float32, intent: Intent
) -> NDArray[np.bool_]:
    """Apply cuts (one, or one per prompt) to scores [N] as the scanner does, bool [N]."""
    matches: NDArray[np.bool_] = scores >= cuts
    return matches if intent is Intent.BLOCK else ~matches
