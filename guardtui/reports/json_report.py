"""The report for programs: a superset of the JSON that `airs runtime topics eval` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from guardtui.domain.comparison import Change
from guardtui.domain.estimates import Bounds, RateEstimate
from guardtui.domain.forecast_record import CheckedCoverage
from guardtui.domain.series import BestOfSeries
from guardtui.domain.significance import POWER, RESAMPLES, Significance, observed_changes
from guardtui.domain.statistics import CONFIDENCE, Interval
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome, Usage
from guardtui.reports.airs_json import mirrored, mistake
from guardtui.reports.base import (
    Actual,
    EpochAnswers,
    Error,
    Line,
    Matched,
    Note,
    Prompt,
    Reason,
    RemovedPrompt,
    ReportInput,
    ReportRow,
    Score,
    StoppedBy,
)
from guardtui.reports.json_data import (
    RATE_KEYS,
    Count,
    Intervals,
    Measured,
    MeasuredGuardrail,
    Rate,
    Rates,
    Sha256,
    Share,
    by_key,
    encode,
)
from guardtui.session.session import Iteration

KIND = "evaluation"


def _said(text: str) -> Any:
    return Field(description=text)


@dataclass(frozen=True, slots=True)
class AirsMetrics:
    """As the airs CLI gives them: an undefined rate is 0. `total` counts prompts with a verdict."""

    tp: Count
    tn: Count
    fp: Count
    fn: Count
    tpr: Share
    tnr: Share
    coverage: Share
    f1: Share
    total: Count


@dataclass(frozen=True, slots=True)
class Mistake:
    """A prompt with a wrong verdict, or without one."""

    prompt: Prompt
    expected: Annotated[bool, _said("Whether the guardrail should trigger.")]
    actual: Actual
    line: Line
    score: Score
    matched: Matched
    error: Error
    note: Note
    stopped_by: StoppedBy
    reason: Reason
    epochs: EpochAnswers


@dataclass(frozen=True, slots=True)
class ChangedPrompt:
    """A prompt that differs from the baseline; `was` is its outcome there, or empty."""

    prompt: Prompt
    expected: Annotated[bool, _said("Whether the guardrail should trigger.")]
    actual: Actual
    was: str
    line: Line


@dataclass(frozen=True, slots=True)
class Epochs:
    """How often prompts were asked, and standard errors over prompts, by rate."""

    count: Annotated[int, Field(ge=1)]
    flaky: Annotated[int, Field(ge=0, description="Prompts whose answers differ.")]
    cluster: Annotated[str, _said("The column to cluster by, or empty.")]
    standard_errors: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class OwnMetric:
    """A metric of --metric; `error` says why it failed."""

    name: str
    value: Annotated[float | None, _said("Null where it is undefined or the metric failed.")]
    error: str | None


@dataclass(frozen=True, slots=True)
class ForecastOfScan:
    """The forecast of this scan before it was made, from `verdicts` prompts of `scans` scans."""

    rates: Annotated[
        dict[str, RateEstimate | None],
        _said("By rate, with 95 % intervals; null for a class without prompts."),
    ]
    scans: Count
    verdicts: Count
    triggers: Annotated[
        list[float], _said("Probability of each prompt to trigger, in the order of `results`.")
    ]


@dataclass(frozen=True, slots=True)
class ExamplesInPrompts:
    """Examples of the topic that are prompts of the set, and the rates without those prompts."""

    examples: Annotated[list[int], _said("Numbers of the examples, from 1.")]
    prompts: Annotated[int, _said("Prompts that are such an example.")]
    lines: Annotated[list[int], _said("Their lines in the prompt file, where known.")]
    rates_without: Rates
    sentence: str


@dataclass(frozen=True, slots=True)
class ChangeOf:
    """A change against the baseline, with its 95 % interval."""

    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SignificanceData:
    """Significance of a difference."""

    test: Literal["McNemar, exact"]
    p_value: Share
    difference: str
    could_be_chance: bool
    compared: Count
    more_prompts: int | None
    power: Share
    confidence: Share
    changes: dict[str, ChangeOf | None]
    kept_share: float | None
    resamples: int

    @classmethod
    def of(cls, significance: Significance) -> SignificanceData:
        """Return the significance of a difference."""
        changes = observed_changes(significance.pairs)
        return cls(
            test="McNemar, exact",
            p_value=significance.p_value,
            difference=significance.difference.value,
            could_be_chance=significance.could_be_chance,
            compared=significance.compared,
            more_prompts=significance.more_prompts,
            power=POWER,
            confidence=CONFIDENCE,
            changes=by_key(
                {
                    name: interval and ChangeOf(changes[name], interval.low, interval.high)
                    for name, interval in significance.intervals.items()
                }
            ),
            kept_share=significance.kept_share,
            resamples=RESAMPLES,
        )


@dataclass(frozen=True, slots=True)
class BaselineData:
    """The baseline itself; `name` says where a compared evaluation is from."""

    name: str
    guardrail: MeasuredGuardrail
    threshold: Rate
    definition: Topic
    prompt_set_fingerprint: str
    measured: Measured


@dataclass(frozen=True, slots=True)
class ComparisonData:
    """Comparison with the baseline."""

    baseline_iteration: Annotated[int | None, _said("Null if the baseline is not an iteration.")]
    baseline_topic_fingerprint: Sha256
    deltas: dict[str, float | None]
    regressions: Count
    fixes: Count
    no_verdict: Count
    open: Annotated[int, _said("Prompts that one of the two evaluations did not ask.")]
    added: Count
    removed: Count
    relabelled: Count
    p_value: Share | None
    sentence: str
    significance: SignificanceData
    wrong_in_both: Count
    relabelled_prompts: Annotated[
        list[ChangedPrompt], _said("Prompts with another label in the baseline.")
    ]
    added_prompts: Annotated[list[ChangedPrompt], _said("Prompts that the baseline lacks.")]
    removed_prompts: Annotated[
        tuple[RemovedPrompt, ...], _said("Prompts that only the baseline has.")
    ]
    baseline: BaselineData
    caveats: tuple[str, ...]
    changes: Annotated[tuple[str, ...], _said("What was edited since the baseline.")]


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The fit of the threshold."""

    threshold: Share
    built_in: Share
    labels: Count


@dataclass(frozen=True, slots=True)
class SeparationData:
    """Area under the ROC curve, which does not depend on the threshold."""

    area: Rate
    interval: Interval | None
    change: ChangeOf | None


@dataclass(frozen=True, slots=True)
class IterationData:
    """An iteration of the session."""

    number: Count
    created: Annotated[str, _said("When it was recorded, in ISO 8601.")]
    decision: Literal["keep", "discard", "undecided"]
    guardrail: MeasuredGuardrail
    rates: Rates
    error_count: Count
    open_count: Count
    definition: Topic


@dataclass(frozen=True, slots=True)
class EvaluationData:
    """What `guardtui eval`, `export` and `compare` write with `--format json`.

    Further keys may be added within a version; what is described here stays.
    """

    name: Annotated[str, _said("Where a compared evaluation is from; else empty.")]
    profile: Annotated[str, _said("The security profile, or a label for it; empty without one.")]
    topic: Annotated[str, _said("Name of the topic.")]
    intent: Literal["block", "allow"]
    metrics: AirsMetrics
    false_positives: list[Mistake]
    false_negatives: list[Mistake]
    rates: Rates
    error_count: Annotated[
        int, Field(ge=0, description="Prompts that were asked and have no verdict.")
    ]
    open_count: Annotated[int, Field(ge=0, description="Prompts that were not asked.")]
    usage: Annotated[Usage | None, _said("Null if no model was asked.")]
    epochs: Annotated[Epochs | None, _said("Null if prompts were asked once, without clusters.")]
    own_metrics: list[OwnMetric]
    flip_check: Annotated[CheckedCoverage | None, _said("Null without a check of likely changes.")]
    forecast_before: Annotated[ForecastOfScan | None, _said("Null without a known forecast.")]
    coverage_bounds: Annotated[
        Bounds | None, _said("How far coverage can still move; null if all verdicts are known.")
    ]
    cautions: Annotated[tuple[str, ...], _said("Why the figures may mislead, a sentence each.")]
    examples_in_prompts: Annotated[ExamplesInPrompts | None, _said("Null if no example is one.")]
    errors: Annotated[list[Mistake], _said("Prompts that were asked and have no verdict.")]
    regressions: Annotated[list[ChangedPrompt], _said("Right in the baseline and wrong now.")]
    fixes: Annotated[list[ChangedPrompt], _said("Wrong in the baseline and right now.")]
    by_category: dict[str, Measured]
    intervals: Intervals
    comparison: Annotated[ComparisonData | None, _said("Null without a baseline.")]
    guardrail: MeasuredGuardrail
    threshold: Rate
    threshold_source: str
    operating_point: Annotated[OperatingPoint | None, _said("Null if nothing was fitted.")]
    separation: Annotated[SeparationData | None, _said("Null for a guardrail without scores.")]
    definition: Topic
    companions: Annotated[tuple[Topic, ...], _said("Other topics that were measured with it.")]
    sample: Annotated[str, _said("That the prompts are a sample; empty if they are all.")]
    unlabelled: Annotated[Count, _said("Prompts that wait for a label: they are in no figure.")]
    topic_fingerprint: Annotated[Sha256, _said("Of the definition.")]
    prompt_set_fingerprint: Annotated[str, _said("Sha256 of prompts, labels and intent.")]
    iterations: list[IterationData]
    best_of_series: Annotated[
        BestOfSeries | None,
        _said("What the best iteration, or a baseline named `best`, was chosen from."),
    ]
    results: Annotated[list[ReportRow], _said("All prompts, in the order of the evaluation.")]


def write(report: ReportInput) -> str:
    """Return JSON, one line per entry of `results`.

    In `metrics`, which mirrors the other tool, an undefined rate is 0; everywhere else it is null.
    As in that tool, `expected` in the lists of prompts means *should trigger*; the label in the
    prompt set is `expected_label` in `results`.
    """
    return encode(KIND, evaluation_data(report))


def evaluation_data(report: ReportInput) -> EvaluationData:
    """Return the content of the report."""
    evaluation, mirror = report.evaluation, mirrored(report)
    metrics, settings = evaluation.metrics, evaluation.settings
    return EvaluationData(
        name=report.name,
        profile=mirror["profile"],
        topic=mirror["topic"],
        intent=mirror["intent"],
        metrics=AirsMetrics(**mirror["metrics"]),
        false_positives=_mistakes(report, Outcome.FP),
        false_negatives=_mistakes(report, Outcome.FN),
        rates=Rates.of(metrics),
        error_count=metrics.errors,
        open_count=metrics.open,
        usage=evaluation.verdicts.used,
        epochs=_epochs(report),
        own_metrics=[
            OwnMetric(figure.name, figure.value, figure.problem or None)
            for figure in report.figures
        ],
        flip_check=report.checked,
        forecast_before=_forecast_before(report),
        coverage_bounds=report.coverage_bounds,
        cautions=report.cautions,
        examples_in_prompts=_examples_in_prompts(report),
        errors=_mistakes(report, Outcome.ERROR),
        regressions=_changed(report, Change.REGRESSION),
        fixes=_changed(report, Change.FIX),
        by_category={name: Measured.of(group) for name, group in report.by_category.items()},
        intervals=Intervals.of(metrics, fitted=settings.has_fitted_threshold),
        comparison=_comparison(report),
        guardrail=settings,
        threshold=settings.threshold,
        threshold_source=settings.threshold_source,
        operating_point=_operating_point(report),
        separation=_separation(report),
        definition=report.topic,
        companions=report.companions,
        sample=report.sample,
        unlabelled=report.waiting,
        topic_fingerprint=report.topic.fingerprint,
        prompt_set_fingerprint=evaluation.prompt_set,
        iterations=[_iteration(iteration) for iteration in report.iterations],
        best_of_series=report.series,
        results=list(report.rows()),
    )


def _operating_point(report: ReportInput) -> OperatingPoint | None:
    fit = report.fit
    if fit is None:
        return None
    return OperatingPoint(
        threshold=fit.threshold,
        built_in=fit.built_in,
        labels=fit.labels,
    )


def _forecast_before(report: ReportInput) -> ForecastOfScan | None:
    before = report.before
    if before is None:
        return None
    triggers = [round(float(probability), 4) for probability in before.triggers]
    return ForecastOfScan(by_key(before.rates), before.scans, before.verdicts, triggers)


def _separation(report: ReportInput) -> SeparationData | None:
    separation, comparison = report.evaluation.separation, report.comparison
    if separation is None:
        return None
    change = comparison and comparison.separation
    return SeparationData(
        separation.area,
        separation.interval,
        ChangeOf(change.value, change.low, change.high) if change else None,
    )


def _epochs(report: ReportInput) -> Epochs | None:
    repeats, errors = report.evaluation.verdicts.repeats, report.standard_errors
    if repeats is None and not errors:
        return None
    return Epochs(
        count=1 if repeats is None else len(repeats),
        flaky=int(report.evaluation.verdicts.flaky.sum()),
        cluster=report.cluster,
        standard_errors=by_key(errors),
    )


def _examples_in_prompts(report: ReportInput) -> ExamplesInPrompts | None:
    examples = report.example_prompts
    if examples is None:
        return None
    lines = (report.row(number).line for number in np.flatnonzero(examples.prompts).tolist())
    return ExamplesInPrompts(
        examples=list(examples.numbers),
        prompts=int(examples.prompts.sum()),
        lines=[line for line in lines if line is not None],
        rates_without=Rates.of(examples.metrics),
        sentence=examples.sentence,
    )


def _comparison(report: ReportInput) -> ComparisonData | None:
    comparison, baseline = report.comparison, report.baseline
    if comparison is None or baseline is None:
        return None
    return ComparisonData(
        baseline_iteration=report.baseline_number,
        baseline_topic_fingerprint=baseline.topic.fingerprint,
        deltas={key: comparison.deltas.get(name) for name, key in RATE_KEYS.items()},
        regressions=comparison.regressions,
        fixes=comparison.fixes,
        no_verdict=comparison.no_verdict,
        open=comparison.open,
        added=comparison.added,
        removed=comparison.removed,
        relabelled=comparison.relabelled,
        p_value=comparison.p_value,
        sentence=comparison.sentence,
        significance=SignificanceData.of(comparison.significance),
        wrong_in_both=comparison.wrong_in_both,
        relabelled_prompts=_changed(report, Change.RELABELLED),
        added_prompts=_changed(report, Change.ADDED),
        removed_prompts=report.removed,
        baseline=BaselineData(
            name=report.baseline_title,
            guardrail=baseline.settings,
            threshold=baseline.settings.threshold,
            definition=baseline.topic,
            prompt_set_fingerprint=baseline.prompt_set,
            measured=Measured.of(baseline.metrics, fitted=baseline.settings.has_fitted_threshold),
        ),
        caveats=tuple(comparison.caveats),
        changes=report.changes,
    )


def _iteration(iteration: Iteration) -> IterationData:
    evaluation = iteration.evaluation
    return IterationData(
        number=iteration.number,
        created=iteration.created,
        decision=iteration.decision.value,
        guardrail=evaluation.settings,
        rates=Rates.of(evaluation.metrics),
        error_count=evaluation.metrics.errors,
        open_count=evaluation.metrics.open,
        definition=evaluation.topic,
    )


# --- prompts ------------------------------------------------------------------------------


def _mistakes(report: ReportInput, outcome: Outcome) -> list[Mistake]:
    return [
        Mistake(
            **mistake(row),
            line=row.line,
            score=row.score,
            matched=row.matched,
            error=row.error,
            note=row.note,
            stopped_by=row.stopped_by,
            reason=row.reason,
            epochs=row.epochs,
        )
        for row in report.with_outcome(outcome)
    ]


def _changed(report: ReportInput, change: Change) -> list[ChangedPrompt]:
    return [
        ChangedPrompt(**mistake(row), was=row.was, line=row.line)
        for row in report.with_change(change)
    ]
