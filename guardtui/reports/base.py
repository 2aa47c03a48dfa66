"""Input of the reports of an evaluation, and the rows shared by all formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from guardtui.domain.comparison import ABSENT, Change, Comparison, align
from guardtui.domain.document import Foreign, Phrase
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.estimates import Bounds, coverage_bounds
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.example_prompts import EqualTexts, ExamplePrompts
from guardtui.domain.figures import UNDEFINED, change_text
from guardtui.domain.forecast_record import CheckedCoverage, ForecastBefore
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.metrics import Metrics, metrics_by_group, metrics_of
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.profile import only_others
from guardtui.domain.prompts import (
    LARGE,
    SAMPLE,
    PromptSet,
    chosen_caution,
    prompt_keys,
    waiting_text,
)
from guardtui.domain.series import BestOfSeries
from guardtui.domain.statistics import rate_errors
from guardtui.domain.topic import Topic, given_examples
from guardtui.domain.user_metric import UserMetric
from guardtui.domain.verdicts import Outcome, Triggered, Usage, is_answered
from guardtui.session.session import Iteration, Recorder

if TYPE_CHECKING:
    from guardtui.advice.proposals import Proposal


class ReportError(GuardtuiError):
    """Unknown format, or a writer that cannot be loaded; the message is for the author."""

    exit_code = 2


def _details(text: str) -> Any:
    return Field(description=text, exclude_if=lambda value: not value)


Prompt = Annotated[
    str | None, Field(description="The text; null if the prompt file no longer holds it.")
]
Line = Annotated[
    int | None,
    Field(ge=1, description="Line of the prompt file where it begins; of Parquet the row, from 1."),
]
Score = Annotated[
    float | None, Field(ge=0, le=1, description="With six decimals; null where there is none.")
]
Matched = Annotated[
    str | None, Field(description="The nearest part of the definition; null where it is unknown.")
]
Actual = Annotated[bool | None, Field(description="Whether it triggered; null without a verdict.")]
Error = Annotated[str, _details("Why there is no verdict.")]
Note = Annotated[str, _details("A caution about the verdict.")]
StoppedBy = Annotated[tuple[str, ...], _details("Topics of the profile that stopped the prompt.")]
Reason = Annotated[str, _details("The reason of a judge.")]
EpochAnswers = Annotated[
    tuple[bool | None, ...], _details("Whether it triggered in each epoch; null for no answer.")
]


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A prompt with its verdict; `expected_label` is the label as written."""

    number: Annotated[int, Field(exclude=True)]
    prompt: Prompt
    line: Line
    expected_label: bool
    should_trigger: bool
    triggered: Actual
    score: Score
    matched: Matched
    outcome: Annotated[
        Literal["TP", "FN", "FP", "TN", "ERROR", "OPEN"],
        Field(description="ERROR: asked without a verdict. OPEN: not asked."),
    ]
    change: Annotated[str, _details("Change against the baseline.")]
    was: Annotated[str, _details("Outcome in the baseline.")]
    error: Error
    note: Note
    stopped_by: StoppedBy
    reason: Reason
    epochs: EpochAnswers
    extra: Annotated[tuple[object, ...], Field(exclude=True)]


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """Result of a gate; `passed` is None if the figures cannot decide."""

    option: str
    passed: bool | None
    text: str


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page of a list of the brief report: `fp`, `fn`, `broke` or `fixed`; the first is 1."""

    name: str
    number: int = 1


@dataclass(frozen=True, eq=False)
class ReportInput:
    """Everything a report may show.

    `prompts` gives the texts, found by content: its rows may have another order than those of
    `evaluation`, and may lack some. `comparison` compares `evaluation` with `baseline`, whose
    iteration has the number `baseline_number`; `changes` says what was edited in between. If two
    recorded evaluations are compared, `name` and `baseline_title` say where each is from, and
    `baseline_prompts` has the texts of prompts that only the baseline has.
    `series` is what the best of `iterations`, or a baseline that is the best, was chosen from.
    `companions` are the other topics of the profile that were measured together with this one.
    `cluster` is the column whose values say which prompts may depend on each other, or "".
    `reducer` is the name of the reducer of epochs, or "". `fit` is the fit of the threshold, if
    any. `checked` is the status of a check of likely changes, `before` the forecast made before the
    scan. `figures` are values of user-defined metrics. With `every_mistake` lists are complete.
    `prompt_path` is the path by which others should find the prompt file, as relative to the folder
    where a command ran; "" is the path that the prompt set was read from. `gates` are the results
    of gates, and `measured_at` is the time of the verdicts, in ISO 8601 with its zone, or "".
    `template` is the text of the model's template, or "". `iteration` is the number under which
    `evaluation` is recorded, `next_command` the command line to run next, or "", and `more_command`
    one that writes the brief report again. With a `page` that report is only this page of a list.
    `ideas` are the best measured edits, None if they were not measured; `no_ideas` says why there
    are none, or "". `next_step` is what the app shows as the next step, or "". `least` is the
    coverage that a gate requires. `by` recorded the iteration. `doubt` says in a sentence why the
    verdicts may be of another definition, or is "".
    """

    topic: Topic
    evaluation: Evaluation
    prompts: PromptSet | None = None
    baseline: Evaluation | None = None
    comparison: Comparison | None = None
    iterations: Sequence[Iteration] = ()
    series: BestOfSeries | None = None
    changes: tuple[str, ...] = ()
    profile: str = ""
    baseline_number: int | None = None
    companions: tuple[Topic, ...] = ()
    cluster: str = ""
    reducer: str = ""
    prompt_path: str = ""
    figures: tuple[UserMetric, ...] = ()
    every_mistake: bool = False
    fit: ThresholdFit | None = None
    checked: CheckedCoverage | None = None
    before: ForecastBefore | None = None
    gates: tuple[GateOutcome, ...] = ()
    measured_at: str = ""
    template: str = ""
    doubt: str = ""
    by: Recorder | None = None
    name: str = ""
    baseline_title: str = ""
    baseline_prompts: PromptSet | None = None
    iteration: int | None = None
    next_command: str = ""
    more_command: str = ""
    page: PageRequest | None = None
    ideas: tuple[Proposal, ...] | None = None
    no_ideas: str = ""
    next_step: str = ""
    least: float | None = None

    @property
    def baseline_name(self) -> str:
        """Name of the baseline in a sentence."""
        if self.baseline_number is None:
            return "the baseline"
        return f"the baseline (iteration {self.baseline_number})"

    @property
    def baseline_caution(self) -> str:
        """What to expect of a baseline named as the best, to append to a sentence, or ""."""
        if self.series is None or self.iterations:
            return ""
        return f" (the baseline: {self.series.text})"

    @property
    def sample(self) -> str:
        """Note that the prompts are a sample of a larger set, or ""."""
        findings = self.prompts.findings if self.prompts is not None else ()
        return next((finding.message for finding in findings if finding.code == SAMPLE), "")

    @property
    def waiting(self) -> int:
        """Number of prompts that wait for a label and are in no figure."""
        return 0 if self.prompts is None else len(self.prompts.waiting)

    @property
    def unlabelled(self) -> str:
        """How many prompts wait for a label and are in no figure, or ""."""
        return "" if self.prompts is None else waiting_text(self.prompts)

    @property
    def prompt_file(self) -> str:
        """Path of the prompt file, or ""."""
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
            # Each removed prompt is a cluster.
            alone = np.arange(len(self._places)) + len(codes) + 1
            clusters = np.where(self._places >= 0, codes[self._places], alone)
        share = None
        if verdicts.repeats is not None:
            known = is_answered(verdicts.repeats)
            with np.errstate(invalid="ignore"):
                yes = (verdicts.repeats == Triggered.YES).sum(axis=0)
                share = (yes / known.sum(axis=0)).astype(np.float32)
        return rate_errors(self.evaluation.codes, self.evaluation.should_trigger, share, clusters)

    @property
    def epochs_text(self) -> str:
        """Number of epochs and how much the answers differ, or "" for one epoch."""
        repeats = self.evaluation.verdicts.repeats
        parts = []
        if repeats is not None:
            flaky = int(np.count_nonzero(self.evaluation.verdicts.flaky))
            parts.append(f"{len(repeats)} epochs, {flaky} flaky prompt{'s' * (flaky != 1)}")
        errors = self.standard_errors
        if errors:
            named = (("TPR", "true_positive_rate"), ("TNR", "true_negative_rate"))
            figures = (
                f"{title} ±{errors[name]:.3f}" for title, name in named if errors[name] is not None
            )
            over = f", clustered by {self.cluster}" if self.cluster else ""
            parts.append(f"standard error {', '.join(figures) or UNDEFINED}{over}")
        return "; ".join(parts)

    @cached_property
    def coverage_bounds(self) -> Bounds | None:
        """Coverage in the worst and in the best case; None if every prompt has a verdict."""
        if not self.evaluation.metrics.missing:
            return None
        return coverage_bounds(self.evaluation.codes, self.evaluation.should_trigger)

    @cached_property
    def example_prompts(self) -> ExamplePrompts | None:
        """The topic's examples that are prompts of the set, or None.

        Compared by letters and digits, as in `guardtui check`; prompts without a known text only by
        their exact key.
        """
        known = self._places >= 0
        equal = None if self.prompts is None else EqualTexts(self.prompts.prompts)
        numbers, equal_rows = [], np.zeros(len(self._places), np.bool_)
        for number, text in given_examples(self.topic):
            same = self.evaluation.keys == prompt_keys([text])[0]
            if equal is not None:
                same |= known & np.isin(self._places, np.concatenate(equal.rows(text)))
            if same.any():
                numbers.append(number)
                equal_rows |= same
        if not numbers:
            return None
        return ExamplePrompts(
            tuple(numbers), equal_rows, metrics_of(self.evaluation.codes[~equal_rows])
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        """Why the rates may mislead, a sentence each, without foreign text."""
        examples = self.example_prompts
        sentence = "" if examples is None else examples.sentence
        chosen = "" if self.prompts is None else chosen_caution(self.prompts)
        logged = {
            Recorder.LOG: "the verdicts are from a log of production",
            Recorder.COMPLETED_LOG: "some of the verdicts are from a log of production",
        }.get(self.by or Recorder.APP, "")
        return tuple(filter(None, (self.doubt, logged, sentence, chosen)))

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Row in the prompt set of each prompt, intp [N]; -1 where it is not there."""
        count = len(self.evaluation.keys)
        if self.prompts is None:
            return np.full(count, -1, np.intp)
        index = align(self.prompts.keys, self.evaluation.keys).index
        return np.arange(count, dtype=np.intp) if index is None else index

    @cached_property
    def _columns(self) -> Mapping[str, Any]:
        if self.prompts is None:
            return {}
        frame = self.prompts.frame
        if len(frame) > LARGE:  # as objects of Python, all cells would take a gigabyte
            return {name: frame[name] for name in frame.columns}
        return {name: frame[name].to_list() for name in frame.columns}

    @cached_property
    def extra_columns(self) -> tuple[str, ...]:
        """Names of the prompt set's own columns, besides prompt, expected and intent."""
        known = ("key", "line", "prompt", "expected")
        return tuple(name for name in self._columns if name not in known)

    @cached_property
    def categories(self) -> tuple[NDArray[np.intp], Sequence[str]]:
        """Category of each prompt (intp [N], -1 for none) and the names of the categories.

        Without a category column there are none. Prompts that the prompt set no longer contains
        have none.
        """
        codes = np.full(len(self._places), -1, np.intp)
        if self.prompts is None or self.prompts.category_column is None:
            return codes, ()
        of_prompts, names = self.prompts.groups(self.prompts.category_column)
        known = self._places >= 0
        codes[known] = of_prompts[self._places[known]]
        return codes, names

    @cached_property
    def by_category(self) -> dict[str, Metrics]:
        """Metrics of each category; empty without a category column."""
        codes, names = self.categories
        known = codes >= 0
        return metrics_by_group(self.evaluation.codes[known], codes[known], names)

    @cached_property
    def removed(self) -> tuple[RemovedPrompt, ...]:
        """Prompts that only the baseline has, in its order."""
        if self.baseline is None or self.comparison is None or not self.comparison.removed:
            return ()
        baseline, prompts = self.baseline, self.baseline_prompts
        rows = np.flatnonzero(~np.isin(baseline.keys, self.evaluation.keys))
        removed = []
        for row in rows.tolist():
            text, line = None, None
            place = None if prompts is None else prompts.row_of(int(baseline.keys[row]))
            if prompts is not None and place is not None:
                text = str(prompts.frame["prompt"][place])
                line = int(prompts.frame["line"][place]) or None
            was = Outcome(int(baseline.codes[row])).name
            removed.append(RemovedPrompt(text, line, was, bool(baseline.expected[row])))
        return tuple(removed)

    def row(self, number: int) -> ReportRow:
        """Return the prompt at this place (from 0) of the evaluation."""
        evaluation, verdicts = self.evaluation, self.evaluation.verdicts
        position = int(self._places[number])
        present = position >= 0
        triggered = int(verdicts.triggered[number])
        score, problem = float(verdicts.score[number]), verdicts.errors.get(number, "")
        change, was = "", ""
        if self.comparison is not None:
            kind = Change(int(self.comparison.changes[number]))
            change = "" if kind is Change.SAME else kind.name.lower().replace("_", " ")
            before = int(self.comparison.before[number])
            was = "" if before == ABSENT else Outcome(before).name
        columns, part = self._columns, int(verdicts.matched[number])
        return ReportRow(
            number=number,
            line=int(columns["line"][position]) if present else None,
            prompt=str(columns["prompt"][position]) if present else None,
            expected_label=bool(evaluation.expected[number]),
            should_trigger=bool(evaluation.should_trigger[number]),
            triggered=None if triggered < Triggered.NO else bool(triggered),
            outcome=Outcome(int(evaluation.codes[number])).name,  # type: ignore[arg-type]
            score=round(score, 6) if np.isfinite(score) else None,
            matched=None if part < 0 else f"example {part}" if part else "description",
            change=change,
            was=was,
            error="" if triggered == Triggered.NOT_ASKED else problem,
            extra=tuple(
                columns[name][position] if present else None for name in self.extra_columns
            ),
            note=problem if triggered == Triggered.NOT_ASKED else verdicts.notes.get(number, ""),
            stopped_by=tuple(verdicts.stopped_by.get(number, ())),
            reason=verdicts.reasons.get(number, ""),
            epochs=self._epochs(number),
        )

    def _epochs(self, number: int) -> tuple[bool | None, ...]:
        repeats = self.evaluation.verdicts.repeats
        if repeats is None:
            return ()
        answers = repeats[:, number].tolist()
        return tuple(None if answer < Triggered.NO else bool(answer) for answer in answers)

    def worst_first(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return rows, those that are farthest on the wrong side of the threshold first.

        Without scores regressions come first, and then the order of the file decides.
        """
        evaluation, comparison = self.evaluation, self.comparison
        score = evaluation.verdicts.score[rows].astype(np.float64)
        beyond = score - (evaluation.settings.threshold or 0.0)
        beyond = np.where(evaluation.expected[rows], -beyond, beyond)
        regression = np.zeros(len(rows), np.bool_)
        if comparison is not None:
            regression = comparison.changes[rows] == Change.REGRESSION
        order = np.lexsort((rows, ~regression, -np.nan_to_num(beyond, nan=-np.inf)))
        ordered: NDArray[np.intp] = rows[order]
        return ordered

    @cached_property
    def listed(self) -> NDArray[np.intp] | None:
        """Places (intp [k]) of the prompts that are listed one by one; None for all.

        Of more than `LARGE` prompts, those that are wrong or without a verdict are listed, at most
        as many.
        """
        codes = self.evaluation.codes
        return None if len(codes) <= LARGE else np.flatnonzero(codes >= Outcome.FP)[:LARGE]

    def rows(self) -> Iterator[ReportRow]:
        """Return all prompts that are listed, in the order of the evaluation."""
        return self.every_row() if self.listed is None else map(self.row, self.listed.tolist())

    def every_row(self) -> Iterator[ReportRow]:
        """Return all prompts, in the order of the evaluation."""
        return map(self.row, range(len(self.evaluation.keys)))

    def with_outcome(self, outcome: Outcome) -> Iterator[ReportRow]:
        """Return the prompts of one outcome."""
        return map(self.row, np.flatnonzero(self.evaluation.codes == outcome).tolist())

    def with_change(self, change: Change) -> Iterator[ReportRow]:
        """Return the prompts that changed in this way; none without a comparison."""
        if self.comparison is None:
            return iter(())
        return map(self.row, np.flatnonzero(self.comparison.changes == change).tolist())


@dataclass(frozen=True, slots=True)
class RemovedPrompt:
    """A prompt that only the baseline has; text and line are None if they are unknown."""

    prompt: str | None
    line: int | None
    was: str
    expected_label: bool


def guardrail_phrase(settings: ScannerSettings) -> Phrase:
    """Return a guardrail with its revision and threshold."""
    # The revision of models only tells their addresses apart.
    shown = settings.revision and not settings.guardrail.models
    revision = f", revision {settings.revision}" if shown else ""
    parts: list[str | Foreign] = [Foreign(settings.guardrail.text(str) + revision)]
    if settings.threshold is not None:
        parts.append(f", threshold {settings.threshold:.3f}")
        if settings.threshold_source:
            parts += [" (", Foreign(settings.threshold_source), ")"]
    return tuple(parts)


def delta_text(value: float | None) -> str:
    """Return a difference of rates with its sign; empty when there is none."""
    return "" if value is None else change_text(value)


def missing_text(report: ReportInput) -> str:
    """Return how many prompts have no verdict, and the bounds of coverage, or ""."""
    metrics, bounds = report.evaluation.metrics, report.coverage_bounds
    if not metrics.missing:
        return ""
    counts = ((metrics.open, "not asked"), (metrics.errors, "asked without a verdict"))
    text = f"{metrics.errors} of {metrics.prompts} prompts have no verdict"
    if metrics.open:
        listed = ", ".join(f"{count} {state}" for count, state in counts if count)
        text = f"the scan is not complete: of {metrics.prompts} prompts {listed}"
    if bounds is None:
        return text
    return f"{text}: with theirs, coverage is from {bounds.low:.3f} to {bounds.high:.3f}"


def usage_text(used: Usage | None) -> str:
    """Return the usage of models in a line, or ""."""
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


GONE = "(no longer in the prompt file)"
"""Stands for the text of a prompt that is no longer known."""


def grounds(report: ReportInput, row: ReportRow) -> Iterator[Phrase]:
    """Yield the error, score, matched part and other facts of a verdict."""
    if row.error:
        yield Foreign(row.error)
    if verdict := verdict_text(row):
        yield verdict
    if others := other_topics(report, row):
        yield ("stopped by ", Foreign(others))
    answers = [answer for answer in row.epochs if answer is not None]
    if answers:
        yield f"triggered in {sum(answers)} of {len(answers)} epochs"
    if row.note:
        yield ("note: ", Foreign(row.note))
    if row.reason:
        yield ("reason: ", Foreign(row.reason))


def other_topics(report: ReportInput, row: ReportRow) -> str:
    """Return the topics that stopped the prompt, if the report's topic is not among them."""
    return ", ".join(only_others(report.topic, row.stopped_by))


def verdict_text(row: ReportRow) -> str:
    """Return score, matched part and change of a prompt, for a line."""
    parts = [] if row.score is None else [f"score {row.score:.3f}"]
    if row.matched:
        parts.append(row.matched)
    if row.was and row.change:
        parts.append(f"was {row.was}")
    return ", ".join(parts)
