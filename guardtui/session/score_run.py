"""Scores of an output file: every row by every scorer, then metrics overall and by group."""

from __future__ import annotations

import asyncio
import collections
import itertools
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guardtui.files.chats import ChatMessage
from guardtui.files.output_files import OutputSet
from guardtui.scorer.aggregate import (
    Reducers,
    ScorerSummary,
    listed_reducers,
    scorer_names,
    summarise,
)
from guardtui.scorer.decorators import MetricSet
from guardtui.scorer.intermediate import ScoringTask, scoring_task
from guardtui.scorer.metrics import stderr
from guardtui.scorer.models import NoModelError
from guardtui.scorer.reducers import epochs_needed, reducer_log_name
from guardtui.scorer.registry import is_registered, registry_info, registry_params
from guardtui.scorer.state import Choice, Message, TaskState, ToolCall
from guardtui.scorer.time_limit import TimeLimit, TimeLimitError
from guardtui.scorer.types import Metric, SampleScore, Score, Scorer, Target, is_unscored
from guardtui.session.graders import GRADER, GraderError, NotAskedError, ScoreError
from guardtui.session.selected_choices import selected_choices

_BREATH = 0xFF
"""Bit mask: after this many rows the event loop runs other tasks."""

_KEYS = 10
"""Maximum number of keys in a message."""


@dataclass(frozen=True, slots=True)
class NamedScorer:
    """A scorer with its name in results, its expression, and its metrics."""

    name: str
    expression: str
    scorer: Scorer
    metrics: MetricSet


@dataclass(slots=True)
class RowScores:
    """The scores of one judge, one per row.

    None is a row that the scorer declined or that failed. `errors` says why rows failed.
    `not_asked` are those whose model was disabled after too many failures.
    """

    judge: NamedScorer
    scores: list[Score | None] = field(repr=False)
    errors: dict[int, str] = field(default_factory=dict, repr=False)
    not_asked: set[int] = field(default_factory=set, repr=False)

    @property
    def scored(self) -> int:
        """Number of rows with a value."""
        return sum(score is not None and not is_unscored(score.value) for score in self.scores)

    @property
    def unscored(self) -> int:
        """Number of rows whose score has no value."""
        return sum(score is not None and is_unscored(score.value) for score in self.scores)

    @property
    def declined(self) -> int:
        """Number of rows that the scorer declined."""
        return self.scores.count(None) - len(self.errors)


@dataclass(frozen=True, slots=True)
class ScoreGroup:
    """A group of rows with the same value in a column, and their metrics."""

    name: str
    rows: int
    summaries: Sequence[ScorerSummary]


@dataclass(frozen=True, slots=True)
class ScorerResult:
    """Everything about one judge: its scores, their metrics, and those of each group."""

    scores: RowScores
    summaries: Sequence[ScorerSummary]
    groups: Sequence[ScoreGroup] = ()

    @property
    def without_metrics(self) -> str:
        """Reason why there is no metric at all; "" if there is one."""
        if any(summary.metrics for summary in self.summaries):
            return ""
        if not self.scores.judge.metrics:
            return "no metric: the scorer has none; name one with --metric"
        keys = dict.fromkeys(
            key
            for score in self.scores.scores
            if score is not None and isinstance(score.value, dict)
            for key in score.value
        )
        if not keys:
            return "no metric: no row has a value"
        shown = ", ".join(list(keys)[:_KEYS]) + (", …" if len(keys) > _KEYS else "")
        return f"no metric: the values have the keys {shown}"


def make_judges(
    scorers: Sequence[tuple[str, Scorer]], metrics: MetricSet | None
) -> list[NamedScorer]:
    """Return judges for scorers and their expressions; `metrics` replace the scorers' own."""
    names = scorer_names([scorer for _, scorer in scorers])
    return [
        NamedScorer(name, written, scorer, _own_metrics(scorer) if metrics is None else metrics)
        for name, (written, scorer) in zip(names, scorers, strict=True)
    ]


def _own_metrics(scorer: Scorer) -> MetricSet:
    metrics: MetricSet = (
        registry_info(scorer).metadata.get("metrics", []) if is_registered(scorer) else []
    )
    return metrics


def with_standard_errors(metrics: MetricSet, cluster: str | None) -> MetricSet:
    """Return the metrics with a standard error, clustered by a column if given.

    A standard error with its own cluster, or a bootstrapped one, is left unchanged.
    """
    if isinstance(metrics, Mapping):
        return {key: _with_error(of_key, cluster) for key, of_key in metrics.items()}
    plain: list[Metric] = [metric for metric in metrics if not isinstance(metric, Mapping)]
    by_key = [metric for metric in metrics if isinstance(metric, Mapping)]
    extended = _with_error(plain, cluster) if plain or not by_key else []
    return [
        *extended,
        *(
            {key: _with_error(of_key, cluster) for key, of_key in metric.items()}
            for metric in by_key
        ),
    ]


def _with_error(metrics: Sequence[Metric] | Metric, cluster: str | None) -> list[Metric]:
    extended = [metrics] if callable(metrics) else list(metrics)
    names = [registry_info(metric).name if is_registered(metric) else "" for metric in extended]
    own = registry_info(stderr()).name
    if cluster is not None:
        extended = [
            stderr(cluster=cluster) if name == own and not registry_params(metric) else metric
            for name, metric in zip(names, extended, strict=True)
        ]
    if not any(name.endswith("stderr") for name in names):
        extended.append(stderr(cluster=cluster) if cluster is not None else stderr())
    return extended


# --- scoring ----------------------------------------------------------------------------------


async def score_rows(
    outputs: OutputSet,
    judges: Sequence[NamedScorer],
    *,
    concurrency: int = 8,
    progress: Callable[[int], None] | None = None,
    settle: Callable[[], Awaitable[None]] | None = None,
    sample_timeout: float = math.inf,
) -> list[RowScores]:
    """Score every row by every judge, `concurrency` rows at once if a scorer awaits a model.

    A failing row is an error of that row only, also one whose scorer computes for longer than
    `sample_timeout` seconds (`TimeLimit`). `progress` is called with the number of scores so far.
    `settle` is awaited after a row whose model failed: other models of a panel may still be
    answering, and rows that fail at once must not pile up their requests. A scorer may call
    `score()`, which runs the other judges' scorers. Raises ScoreError if a scorer needs a model and
    has none.
    """
    results: list[RowScores] = []
    done = itertools.count(1)

    async def work(
        rows: Iterator[int], result: RowScores, others: Sequence[Scorer], limit: TimeLimit
    ) -> ScoreError | None:
        """Score rows until there are none left; `score()` in a scorer runs the `others`.

        A scorer that awaits nothing does not yield to the event loop: its coroutine runs inside
        this one.
        """
        task = ScoringTask(None, Target(()), others)
        with scoring_task(task):
            for row in rows:
                if not row & _BREATH:
                    await asyncio.sleep(0)
                limit.next_step()
                try:
                    failed = await _score_row(outputs, row, result, task)
                except ScoreError as error:
                    collections.deque(rows, maxlen=0)  # the rest would fail the same way
                    return error
                if settle is not None and failed:
                    await settle()
                if progress is not None:
                    progress(next(done))
        return None

    for judge in judges:
        others = [other.scorer for other in judges if other.scorer is not judge.scorer]
        result = RowScores(judge, [None] * len(outputs))
        results.append(result)
        rows = iter(range(len(outputs)))
        with TimeLimit(sample_timeout) as limit:
            async with asyncio.TaskGroup() as group:
                workers = [
                    group.create_task(work(rows, result, others, limit))
                    for _ in range(min(concurrency, len(outputs)))
                ]
        error = next((worker.result() for worker in workers if worker.result()), None)
        if error is not None:
            raise error
    return results


async def _score_row(outputs: OutputSet, row: int, result: RowScores, task: ScoringTask) -> bool:
    """Score a row; returns whether a model failed. Raises ScoreError if all rows would fail."""
    try:
        task.state, task.target = sample_state(outputs, row), Target(outputs.targets[row])
        score = await result.judge.scorer(task.state, task.target)
        if score is not None and not isinstance(score, Score):
            raise TypeError(f"the scorer returned no score but {type(score).__name__}")
        result.scores[row] = score
    except ScoreError:
        raise
    except NoModelError as error:
        raise ScoreError(_without_model(result.judge, error.role)) from error
    except Exception as error:  # noqa: BLE001 - third-party code; the other rows continue
        result.errors[row] = _reason(error)
        if isinstance(error, NotAskedError):
            result.not_asked.add(row)
        return isinstance(error, GraderError)
    return False


def _without_model(judge: NamedScorer, role: str | None) -> str:
    if role in (None, GRADER):
        return (
            f"{judge.expression} needs a model that grades\n"
            "  name one: --model URL#name, such as --model http://127.0.0.1:11434/v1#qwen3"
        )
    return (
        f"{judge.expression} needs a model for the role {role!r}, and none has it\n"
        f"  name one: --model-role {role}=URL#NAME"
    )


def _reason(error: Exception) -> str:
    """Return the message of a row's error as one short text."""
    text = str(error)
    if isinstance(error, TimeLimitError):
        text += "\n  fix the expression or the scorer, or allow more with --sample-timeout"
    elif isinstance(error, KeyError):
        text = f"{text} is not a column of the file"
    elif not isinstance(error, ValueError | GraderError | TypeError) or not text:
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 2000


def sample_state(outputs: OutputSet, row: int) -> TaskState:
    """Return a row as scorers see it, with its choices selected according to the output.

    Without own messages, the conversation consists of the input and the output.
    """
    output = outputs.outputs[row]
    input_messages = _messages(outputs.input_messages[row]) if outputs.input_messages else []
    messages = _messages(outputs.messages[row]) if outputs.messages else []
    if not messages:
        question = input_messages or [Message("user", outputs.inputs[row])]
        messages = [*question, Message("assistant", output)]
    choices: Sequence[str | Choice] = outputs.choices[row]
    if choices:
        selected = selected_choices(output, len(choices))
        choices = [
            Choice(str(text), index in selected, index) for index, text in enumerate(choices)
        ]
    return TaskState(
        output,
        input=input_messages or outputs.inputs[row],
        messages=messages,
        metadata=outputs.metadata_of(row) if outputs.metadata else None,
        choices=choices,
        sample_id=outputs.ids[row],
        epoch=outputs.epochs[row],
    )


def _messages(chat: Sequence[ChatMessage]) -> list[Message]:
    """Return a conversation in the types of scorers."""
    return [
        Message(
            message.role,
            message.text,
            tool_calls=[
                ToolCall(call.function, dict(call.arguments)) for call in message.tool_calls
            ],
            function=message.function,
            error=message.error,
        )
        for message in chat
    ]


# --- metrics ----------------------------------------------------------------------------------


def summarised(
    outputs: OutputSet,
    scores: RowScores,
    reducers: Reducers = None,
    *,
    group: str | None = None,
    cluster: str | None = None,
) -> ScorerResult:
    """Compute metrics over the scored rows, overall and for each value of a column.

    `group` and `cluster` are column names. Groups are in file order. Raises ScoreError if a metric
    raises, and for reducers that need more epochs than there are.
    """
    require_epochs(outputs, reducers)
    judge = scores.judge
    extra = _cluster_column(outputs, cluster)
    samples: list[SampleScore] = []
    rows_by_group: dict[str, list[int]] = {}
    names = None if group is None else _column(outputs, group)
    (made_by,) = scorer_names([judge.scorer])
    for row, score in enumerate(scores.scores):
        if score is None:
            continue
        if names is not None:
            rows_by_group.setdefault(group_name(names[row]), []).append(len(samples))
        metadata = outputs.metadata_of(row) if outputs.metadata else {}
        if extra is not None:
            metadata[extra[0]] = extra[1][row]
        samples.append(
            SampleScore(
                score=score,
                sample_id=outputs.ids[row],
                sample_metadata=metadata,
                scorer=made_by,
            )
        )
    overall = _measured(judge, samples, reducers)
    groups = [
        ScoreGroup(name, len(rows), _measured(judge, [samples[index] for index in rows], reducers))
        for name, rows in rows_by_group.items()
    ]
    return ScorerResult(scores, overall, groups)


def require_epochs(outputs: OutputSet, reducers: Reducers) -> None:
    """Raise ScoreError for a built-in reducer that needs more epochs than any sample has."""
    for reducer in listed_reducers(reducers):
        needed = epochs_needed(reducer)
        if needed is not None and needed > outputs.most_epochs:
            available = outputs.most_epochs
            raise ScoreError(
                f"{reducer_log_name(reducer)} needs {needed} epochs, but {outputs.source} has "
                f"{available} at most of a sample\n"
                f"  name a count up to {available}, or score a file with more epochs"
            )


def group_name(value: Any) -> str:
    """Return the name of a group of rows with this value; "" for rows without one."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _cluster_column(outputs: OutputSet, cluster: str | None) -> tuple[str, Sequence[Any]] | None:
    """Return a column that is not part of the metadata but used for clustering, or None."""
    column = None if cluster is None else outputs.column(cluster)
    return column if column is not None and column[0] not in outputs.metadata else None


def _column(outputs: OutputSet, name: str) -> Sequence[Any]:
    column = outputs.column(name)
    if column is None:
        raise ScoreError(f"no column is named {name!r}")
    return column[1]


def _measured(
    judge: NamedScorer, samples: list[SampleScore], reducers: Reducers
) -> list[ScorerSummary]:
    try:
        return summarise(samples, judge.metrics, reducers, scorer=judge.name)
    except Exception as error:
        raise ScoreError(
            f"the metrics of {judge.expression} cannot be computed: {_reason(error)}\n"
            "  name others with --metric, or fix the file: grades of models are cached"
        ) from error
