"""What a report is made from, the rows all formats share, and finding a writer by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import ABSENT, Change, Comparison, align
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.estimates import Bounds, coverage_bounds
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.example_prompts import EqualTexts, ExamplePrompts, given_examples
from guardtui.domain.figures import UNDEFINED, change_text, rate_text, threshold_text
from guardtui.domain.forecast_record import CheckedCoverage, ForecastBefore
from guardtui.domain.metrics import Metrics, metrics_by_group, metrics_of
from guardtui.domain.operating_point import ThresholdFit, held_out_metrics, is_fitted_with
from guardtui.domain.own_figure import OwnFigure
from guardtui.domain.profile import only_others
from guardtui.domain.prompts import SAMPLE, PromptSet, prompt_keys
from guardtui.domain.statistics import rate_errors
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome, Triggered, Usage, is_answered
from guardtui.session.session import Iteration

if TYPE_CHECKING:
    from guardtui.advice.prompt_set import Survey

GROUP = "guardtui.reports"
"""Entry-point group by which other packages add formats: a name and a `Writer`."""

_BUILT_IN = {
    "table": "guardtui.reports.topic_text",
    "json": "guardtui.reports.json_report",
    "csv": "guardtui.reports.csv_report",
    "tsv": "guardtui.reports.tsv_report",
    "md": "guardtui.reports.topic_markdown",
    "html": "guardtui.reports.html.report",
    "inspect-log": "guardtui.reports.inspect_log",
    "junit": "guardtui.reports.junit",
    "sarif": "guardtui.reports.sarif",
    "airs-json": "guardtui.reports.airs_json",
    "litellm": "guardtui.reports.litellm",
    "csv-excel": "guardtui.reports.csv_excel",
    "junit-regressions": "guardtui.reports.junit_regressions",
}


class ReportError(GuardtuiError):
    """There is no such format, or its writer cannot be loaded; the message is for the author."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt of an evaluation, in words.

    `prompt` and `line` are None when the prompt set at hand no longer holds the prompt. `matched`
    is `description`, `example k` or empty, `was` the baseline's outcome or empty. `note` says what
    is doubtful about the verdict, or why the prompt was not asked; `stopped_by` are the topics of
    the profile that stopped it, and `reason` is what a judge gave as its reason, `epochs` the
    answers of each, None for none.
    """

    number: int
    line: int | None
    prompt: str | None
    expected: bool
    should_trigger: bool
    triggered: bool | None
    outcome: str
    score: float | None
    matched: str
    change: str
    was: str
    error: str
    extra: tuple[object, ...]
    note: str = ""
    stopped_by: tuple[str, ...] = ()
    reason: str = ""
    epochs: tuple[bool | None, ...] = ()


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What came of a demand of automation: `passed` is None where the figures cannot say."""

    option: str
    passed: bool | None
    text: str


@dataclass(frozen=True, eq=False)
class ReportInput:
    """Everything a report may tell.

    `prompts` gives the texts, found by content: its rows may have another order than those of
    `evaluation`, and may lack some. `comparison` is `evaluation` held against `baseline`, whose
    iteration has the number `baseline_number`; `changes` says what was edited in between.
    `companions` are the other topics of the profile that were measured together with this one.
    `cluster` is the column whose values say which prompts may depend on each other, or "".
    `reducer` is what made one verdict of several epochs, as the author named it, or "".
    `fit` is what the threshold was fitted by, None where it was not. `checked` is coverage as a
    check of the likely flips left it, `before` what was forecast of the scan before it was made.
    `figures` are what metrics of the user's own say. With `every_mistake` the lists of a table do
    not end early.
    `survey` is what is known of groups of alike prompts, None where nobody looked.
    `prompt_path` is the path by which others should find the prompt file, as relative to the
    folder where a command ran; "" is the path that the prompt set was read from.
    Of a prompt set too large to be listed, `category_metrics` are those of all its prompts, and
    `listed` are the places (intp [k]) of those that are listed one by one, and `places` are the
    rows of `prompts`, intp [N], -1 where a prompt is not there. `gates` are what automation
    demanded, and `measured_at` is when the verdicts were given, in ISO 8601 with its zone, or "".
    `template` is the text of the template that a model was asked by, "" where it is not known.
    """

    topic: Topic
    evaluation: Evaluation
    prompts: PromptSet | None = None
    baseline: Evaluation | None = None
    comparison: Comparison | None = None
    iterations: Sequence[Iteration] = ()
    changes: tuple[str, ...] = ()
    profile: str = ""
    baseline_number: int | None = None
    companions: tuple[Topic, ...] = ()
    cluster: str = ""
    reducer: str = ""
    survey: Survey | None = None
    prompt_path: str = ""
    category_metrics: Mapping[str, Metrics] | None = None
    listed: NDArray[np.intp] | None = None
    places: NDArray[np.intp] | None = None
    figures: tuple[OwnFigure, ...] = ()
    every_mistake: bool = False
    fit: ThresholdFit | None = None
    checked: CheckedCoverage | None = None
    before: ForecastBefore | None = None
    gates: tuple[GateOutcome, ...] = ()
    measured_at: str = ""
    template: str = ""

    @property
    def baseline_name(self) -> str:
        """What the baseline is called in a sentence."""
        if self.baseline_number is None:
            return "the baseline"
        return f"the baseline (iteration {self.baseline_number})"

    @property
    def sample(self) -> str:
        """That the prompts are a sample of more, and what that means; "" when they are all."""
        findings = self.prompts.findings if self.prompts is not None else ()
        return next((one.message for one in findings if one.code == SAMPLE), "")

    @property
    def prompt_file(self) -> str:
        """The path of the prompt file; "" when it is not at hand."""
        return self.prompt_path or (self.prompts.source if self.prompts is not None else "")

    @cached_property
    def standard_errors(self) -> dict[str, float | None]:
        """Standard errors of TPR, TNR and accuracy over prompts, by the rate's name in `Metrics`.

        Empty unless prompts were asked in several epochs, or a column to cluster by is named.
        """
        verdicts = self.evaluation.verdicts
        if verdicts.repeats is None and not self.cluster:
            return {}
        clusters = None
        if self.cluster and self.prompts is not None:
            codes, _ = self.prompts.groups(self.cluster)
            # Prompts that are not there any more are a cluster each.
            alone = np.arange(len(self._places)) + len(codes) + 1
            clusters = np.where(self._places >= 0, codes[self._places], alone)
        share = None
        if verdicts.repeats is not None:
            known = is_answered(verdicts.repeats)
            with np.errstate(invalid="ignore"):
                yes = (verdicts.repeats == Triggered.YES).sum(axis=0)
                share = (yes / known.sum(axis=0)).astype(np.float32)
        return rate_errors(self.evaluation.codes, self.evaluation.should_trigger, share, clusters)

    @cached_property
    def held_out(self) -> Metrics | None:
        """Metrics with each prompt judged by a threshold that its label had no part in.

        None where the threshold was not fitted to these labels.
        """
        return None if self.fit is None else held_out_metrics(self.fit, self.evaluation)

    @property
    def operating_text(self) -> str:
        """The fitted threshold, what it was fitted to, and coverage cross-validated; else ""."""
        fit = self.fit
        if fit is None or not is_fitted_with(self.evaluation, fit):
            return ""
        kept = f" of {display_start(fit.prompts, 200)}, in the session" if fit.prompts else ""
        held_out = "" if self.held_out is None else rate_text(self.held_out.coverage)
        return (
            f"threshold {threshold_text(fit.threshold)}, {fit.source}{kept} "
            f"(shipped {threshold_text(fit.shipped)})"
        ) + (f"; coverage cross-validated {held_out}" if held_out else "")

    @property
    def epochs_text(self) -> str:
        """How often prompts were asked and how much the answers differ; "" for once."""
        repeats = self.evaluation.verdicts.repeats
        parts = []
        if repeats is not None:
            flaky = int(np.count_nonzero(self.evaluation.verdicts.flaky))
            parts.append(f"{len(repeats)} epochs, {flaky} flaky prompt{'s' * (flaky != 1)}")
        errors = self.standard_errors
        if errors:
            named = (("TPR", "true_positive_rate"), ("TNR", "true_negative_rate"))
            told = (
                f"{title} ±{errors[name]:.3f}" for title, name in named if errors[name] is not None
            )
            over = f", clustered by {self.cluster}" if self.cluster else ""
            parts.append(f"standard error {', '.join(told) or UNDEFINED}{over}")
        return "; ".join(parts)

    @cached_property
    def coverage_bounds(self) -> Bounds | None:
        """Coverage in the worst and in the best case; None when every prompt has a verdict."""
        if not self.evaluation.metrics.missing:
            return None
        return coverage_bounds(self.evaluation.codes, self.evaluation.should_trigger)

    @cached_property
    def example_prompts(self) -> ExamplePrompts | None:
        """The topic's examples that are prompts of the set; None when none is.

        By letters and digits, as `guardtui check` finds them; prompts whose text is not at hand
        count only when they are exactly the same.
        """
        known = self._places >= 0
        equal = None if self.prompts is None else EqualTexts(self.prompts.prompts)
        numbers, found = [], np.zeros(len(self._places), np.bool_)
        for number, text in given_examples(self.topic):
            same = self.evaluation.keys == prompt_keys([text])[0]
            if equal is not None:
                same |= known & np.isin(self._places, np.concatenate(equal.rows(text)))
            if same.any():
                numbers.append(number)
                found |= same
        if not numbers:
            return None
        return ExamplePrompts(tuple(numbers), found, metrics_of(self.evaluation.codes[~found]))

    @property
    def cautions(self) -> tuple[str, ...]:
        """Why the rates may flatter or mislead, a sentence each, in our own words and figures."""
        return () if self.example_prompts is None else (self.example_prompts.sentence,)

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Row in the prompt set of each prompt, intp [N]; -1 where it is not there."""
        if self.places is not None:
            return self.places
        count = len(self.evaluation.keys)
        if self.prompts is None:
            return np.full(count, -1, np.intp)
        index = align(self.prompts.keys, self.evaluation.keys).index
        return np.arange(count, dtype=np.intp) if index is None else index

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        if self.prompts is None:
            return {}
        frame = self.prompts.frame
        return {name: frame[name].to_list() for name in frame.columns}

    @cached_property
    def extra_columns(self) -> tuple[str, ...]:
        """Names of the prompt set's own columns, besides prompt, expected and intent."""
        known = ("key", "line", "prompt", "expected")
        return tuple(name for name in self._columns if name not in known)

    @cached_property
    def by_category(self) -> dict[str, Metrics]:
        """Metrics of each category; empty without a category column.

        Prompts that the prompt set no longer holds have no category and are left out.
        """
        if self.category_metrics is not None:
            return dict(self.category_metrics)
        if self.prompts is None or self.prompts.category_column is None:
            return {}
        codes, names = self.prompts.groups(self.prompts.category_column)
        known = self._places >= 0
        groups = codes[self._places[known]]
        return metrics_by_group(self.evaluation.codes[known], groups, names)

    def row(self, number: int) -> Row:
        """The prompt at this place (from 0) of the evaluation."""
        evaluation, verdicts = self.evaluation, self.evaluation.verdicts
        place = int(self._places[number])
        present = place >= 0
        triggered = int(verdicts.triggered[number])
        score, told = float(verdicts.score[number]), verdicts.errors.get(number, "")
        change, was = "", ""
        if self.comparison is not None:
            kind = Change(int(self.comparison.changes[number]))
            change = "" if kind is Change.SAME else kind.name.lower().replace("_", " ")
            before = int(self.comparison.before[number])
            was = "" if before == ABSENT else Outcome(before).name
        columns = self._columns
        return Row(
            number=number,
            line=int(columns["line"][place]) if present else None,
            prompt=str(columns["prompt"][place]) if present else None,
            expected=bool(evaluation.expected[number]),
            should_trigger=bool(evaluation.should_trigger[number]),
            triggered=None if triggered < Triggered.NO else bool(triggered),
            outcome=Outcome(int(evaluation.codes[number])).name,
            score=round(score, 6) if np.isfinite(score) else None,
            matched=matched_part(int(verdicts.matched[number])),
            change=change,
            was=was,
            error="" if triggered == Triggered.NOT_ASKED else told,
            extra=tuple(columns[name][place] if present else None for name in self.extra_columns),
            note=told if triggered == Triggered.NOT_ASKED else verdicts.notes.get(number, ""),
            stopped_by=tuple(verdicts.stopped_by.get(number, ())),
            reason=verdicts.reasons.get(number, ""),
            epochs=self._epochs(number),
        )

    def _epochs(self, number: int) -> tuple[bool | None, ...]:
        repeats = self.evaluation.verdicts.repeats
        if repeats is None:
            return ()
        answers = repeats[:, number].tolist()
        return tuple(None if one < Triggered.NO else bool(one) for one in answers)

    def rows(self) -> Iterator[Row]:
        """All prompts that are listed, in the order of the evaluation."""
        if self.listed is not None:
            return map(self.row, self.listed.tolist())
        return map(self.row, range(len(self.evaluation.keys)))

    def with_outcome(self, outcome: Outcome) -> Listing:
        """The prompts of one outcome."""
        return Listing(self, np.flatnonzero(self.evaluation.codes == outcome))

    def with_change(self, change: Change) -> Listing:
        """The prompts that changed in this way; none without a comparison."""
        if self.comparison is None:
            return Listing(self, np.empty(0, np.intp))
        return Listing(self, np.flatnonzero(self.comparison.changes == change))


@dataclass(frozen=True, eq=False)
class Listing:
    """Some prompts of a report, made into rows only as far as they are asked for."""

    report: ReportInput
    numbers: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Row]:
        return self.first(len(self.numbers))

    def first(self, count: int) -> Iterator[Row]:
        """The first rows, at most `count`."""
        return (self.report.row(int(number)) for number in self.numbers[:count])


def matched_part(code: int) -> str:
    """A code of `Verdicts.matched` in words; empty when unknown."""
    if code < 0:
        return ""
    return f"example {code}" if code else "description"


def delta_text(value: float | None) -> str:
    """A difference of rates with its sign; empty when there is none."""
    return "" if value is None else change_text(value)


def missing_text(report: ReportInput) -> str:
    """How many prompts have no verdict and what that leaves open; empty when all have one."""
    metrics, bounds = report.evaluation.metrics, report.coverage_bounds
    if not metrics.missing:
        return ""
    counts = ((metrics.open, "not asked"), (metrics.errors, "asked without a verdict"))
    text = f"{metrics.errors} of {metrics.prompts} prompts have no verdict"
    if metrics.open:
        told = ", ".join(f"{count} {what}" for count, what in counts if count)
        text = f"the scan is not complete: of {metrics.prompts} prompts {told}"
    if bounds is None:
        return text
    return f"{text}: with theirs, coverage is from {bounds.low:.3f} to {bounds.high:.3f}"


def usage_text(used: Usage | None) -> str:
    """What models used, for a line about it; empty when none was asked."""
    if used is None or not used.calls:
        return ""
    text = (
        f"{used.calls} call{'s' * (used.calls != 1)}, {used.input_tokens} tokens in, "
        f"{used.output_tokens} out"
    )
    if used.cost:
        text += f", cost {used.cost:.4g}"
    if used.uncounted:
        text += f" ({used.uncounted} not counted by the service: taken for the most they can be)"
    return text


def other_topics(report: ReportInput, row: Row) -> str:
    """Who stopped the prompt, where the topic of the report had no part in it; else empty."""
    return ", ".join(only_others(report.topic, row.stopped_by))


def verdict_text(row: Row) -> str:
    """Score, matched part and what became of it, for a line about one prompt."""
    parts = [] if row.score is None else [f"score {row.score:.3f}"]
    if row.matched:
        parts.append(row.matched)
    if row.was and row.change:
        parts.append(f"was {row.was}")
    return ", ".join(parts)


Writer = Callable[[ReportInput], str]
"""Makes the whole text of a report; the same input gives the same text."""


def report_formats() -> tuple[str, ...]:
    """All formats: the built-in ones, then those that other packages add, sorted."""
    from importlib.metadata import entry_points

    added = {point.name for point in entry_points(group=GROUP)} - set(_BUILT_IN)
    return (*_BUILT_IN, *sorted(added))


def load_writer(name: str) -> Writer:
    """The writer of a format; raises `ReportError` when there is none or it cannot be loaded."""
    if name in _BUILT_IN:
        writer: Writer = import_module(_BUILT_IN[name]).write
        return writer
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        try:
            loaded: Writer = point.load()
        except Exception as error:
            raise ReportError(
                f"the report format {name!r} of {point.value} cannot be loaded "
                f"({type(error).__name__})"
            ) from error
        return loaded
    raise ReportError(
        f"unknown report format {name!r}: choose one of {', '.join(report_formats())}"
    )


def write_report(name: str, report: ReportInput, path: Path) -> None:
    """Write a report to a file, atomically; raises `ReportError`, and `FileError`."""
    from guardtui.files.atomic import write_atomically

    text = load_writer(name)(report)
    # A lone surrogate of a topic is the one thing that UTF-8 cannot carry.
    write_atomically(path, text.encode("utf-8", "replace"), backup_folder=None)
