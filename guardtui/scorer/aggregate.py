"""Summaries of scores: epochs reduced, unscored values counted, metrics by name."""

from __future__ import annotations

import fnmatch
import inspect
import logging
import math
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from guardtui.scorer.decorators import MetricSet
from guardtui.scorer.reducers import mean_score, reducer_by_name, reducer_log_name
from guardtui.scorer.registry import OWN, is_registered, registry_info, registry_params
from guardtui.scorer.types import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    ScoreReducer,
    is_unscored,
)

_logger = logging.getLogger(__name__)

_Entry: TypeAlias = Metric | Mapping[str, Sequence[Metric]]
_AnyMetric: TypeAlias = Callable[[list[Any]], Any]

Reducers: TypeAlias = str | ScoreReducer | Sequence[str | ScoreReducer] | None


@dataclass(frozen=True, slots=True)
class MetricResult:
    """One number of a metric.

    `name` is the metric's name; if the metric has several values, it is the key or position of
    this value, and `group` is the metric's name. NaN stands for an undefined value.
    """

    name: str
    value: float
    group: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScorerSummary:
    """Metrics over the scores of one scorer, or over one key of its values.

    `name` is the scorer's name or that key. `reducer` says how epochs were reduced (None: by the
    default mean, or not at all). `scored` and `unscored` count the scores with and without a value:
    samples, or epochs if they are not reduced. `metrics` are by name, in the order of the metrics;
    repeated names get a number.
    """

    name: str
    scorer: str
    reducer: str | None
    metrics: Mapping[str, MetricResult]
    scored: int
    unscored: int


def summarise(
    scores: Sequence[SampleScore],
    metrics: MetricSet,
    reducers: Reducers = None,
    *,
    scorer: str = "score",
) -> list[ScorerSummary]:
    """Compute all metrics over the scores of one scorer, called `scorer`.

    Returns a summary for each view of the scores. `reducers` reduce the epochs of a sample to one
    score, one view each: None is `mean_score`, an empty sequence keeps every epoch. `metrics` is a
    sequence of metrics, which may contain mappings, or one mapping. A mapping goes from a key of
    dict values, or a glob over the keys of the first one, to metrics over the entries with that
    key, with a summary for each key. Metrics made with `scores="unreduced"` get every epoch, in a
    summary of their own.

    Raises LookupError for an unknown reducer. Raises TypeError if metrics by key meet a value that
    is not a dict or lacks the key. Raises ValueError for metrics made with `scores="reduced"` if
    epochs are not reduced. Exceptions of metrics are passed on, except over no scores, where the
    value is NaN.
    """
    views = _views(reducers)
    if not views:
        if _sees(metrics, "reduced") and _has_epochs(scores):
            raise ValueError(
                f'{scorer} has metrics with scores="reduced", but nothing reduces its epochs: '
                'name a reducer, or make them with scores="unreduced"'
            )
        return _over(list(scores), metrics, scorer, None)
    reduced = _with_scores(metrics, ("auto", "reduced"))
    unreduced = _with_scores(metrics, ("unreduced",))
    summaries: list[ScorerSummary] = []
    for reducer, name in views if reduced else []:
        # Beside other views even the default reducer is named.
        title = name or ("mean" if unreduced else None)
        summaries += _over(reduce_epochs(scores, reducer), reduced, scorer, title)
    if unreduced:
        summaries += _over(list(scores), unreduced, scorer, None)
    return summaries


def scorer_names(scorers: Iterable[Scorer | str]) -> list[str]:
    """Return the names of scorers without their packages; repeated ones get 1, 2, …"""
    names: list[str] = []
    for entry in scorers:
        plain = entry if isinstance(entry, str) else _plain_name(entry)
        name, count = plain, 0
        while name in names:
            count += 1
            name = f"{plain}{count}"
        names.append(name)
    return names


# --- epochs -----------------------------------------------------------------------------------


def reduce_epochs(scores: Iterable[SampleScore], reducer: ScoreReducer) -> list[SampleScore]:
    """Reduce to one score per sample, in order of first occurrence.

    Samples are identified by their id as text; scores without one are dropped. Id and metadata are
    those of the first score.
    """
    samples: dict[str, list[SampleScore]] = {}
    for sample in scores:
        if sample.sample_id is not None:
            samples.setdefault(str(sample.sample_id), []).append(sample)
    return [
        SampleScore(
            score=reducer([sample.score for sample in epochs]),
            sample_id=epochs[0].sample_id,
            sample_metadata=epochs[0].sample_metadata,
        )
        for epochs in samples.values()
    ]


def _has_epochs(scores: Iterable[SampleScore]) -> bool:
    ids = [str(score.sample_id) for score in scores if score.sample_id is not None]
    return len(set(ids)) < len(ids)


def _views(reducers: Reducers) -> list[tuple[ScoreReducer, str | None]]:
    if reducers is None:
        return [(mean_score(), None)]
    return [
        (reducer, reducer_log_name(reducer) if is_registered(reducer) else _plain_name(reducer))
        for reducer in listed_reducers(reducers)
    ]


def listed_reducers(reducers: Reducers) -> list[ScoreReducer]:
    """Return the reducers that are named; empty for None. Raises LookupError."""
    if reducers is None:
        return []
    if isinstance(reducers, str) or callable(reducers):
        reducers = [reducers]
    return [
        reducer_by_name(reducer) if isinstance(reducer, str) else reducer for reducer in reducers
    ]


# --- which metrics ----------------------------------------------------------------------------


def _with_scores(metrics: MetricSet, views: Sequence[str]) -> MetricSet:
    """Return the metrics of these views."""
    if isinstance(metrics, Mapping):
        return _keys_with_scores(metrics, views)
    selected: list[_Entry] = []
    for entry in metrics:
        if isinstance(entry, Mapping):
            by_key = _keys_with_scores(entry, views)
            selected += [by_key] if by_key else []
        elif _view_of(entry) in views:
            selected.append(entry)
    return selected


def _keys_with_scores(
    metrics: Mapping[str, Sequence[Metric]], views: Sequence[str]
) -> dict[str, list[Metric]]:
    selected = {
        key: [metric for metric in entries if _view_of(metric) in views]
        for key, entries in metrics.items()
    }
    return {key: entries for key, entries in selected.items() if entries}


def _view_of(metric: Metric) -> str:
    view = registry_info(metric).metadata.get("scores") if is_registered(metric) else None
    return view if isinstance(view, str) else "auto"


def _sees(metrics: MetricSet, view: str) -> bool:
    return bool(_with_scores(metrics, (view,)))


# --- metrics over one view --------------------------------------------------------------------


def _over(
    scores: list[SampleScore], metrics: MetricSet, scorer: str, reducer: str | None
) -> list[ScorerSummary]:
    if isinstance(metrics, Mapping):
        return list(_by_key(scores, metrics, scorer, reducer))
    scored = [score for score in scores if not is_unscored(score.score.value)]
    simple: list[Metric] = [metric for metric in metrics if not isinstance(metric, Mapping)]
    summaries = [
        ScorerSummary(
            name=scorer,
            scorer=scorer,
            reducer=reducer,
            metrics=_measured(simple, scored),
            scored=len(scored),
            unscored=len(scores) - len(scored),
        )
    ]
    for entry in metrics:
        if isinstance(entry, Mapping):
            summaries += _by_key(scores, entry, scorer, reducer)
    return summaries


def _by_key(
    scores: list[SampleScore],
    metrics: Mapping[str, Sequence[Metric]],
    scorer: str,
    reducer: str | None,
) -> Iterator[ScorerSummary]:
    scored = [score for score in scores if not is_unscored(score.score.value)]
    for key, key_metrics in _matched(metrics, scored).items():
        entries = [_entry(score, key, scorer) for score in scored]
        with_value = [score for score in entries if not is_unscored(score.score.value)]
        yield ScorerSummary(
            name=key,
            scorer=scorer,
            reducer=reducer,
            metrics=_measured_of_key(key_metrics, with_value),
            scored=len(with_value),
            unscored=len(scores) - len(with_value),
        )


def _matched(
    metrics: Mapping[str, Sequence[Metric]], scored: Sequence[SampleScore]
) -> Mapping[str, Sequence[Metric]]:
    """Return the metrics of each key of the first dict value; repeated names are dropped."""
    first = next(
        (score.score.value for score in scored if isinstance(score.score.value, dict)), None
    )
    if first is None:
        return metrics
    matched: dict[str, dict[str, Metric]] = {}
    for glob, glob_metrics in metrics.items():
        for key in first:
            if re.match(fnmatch.translate(glob), key):
                of_key = matched.setdefault(key, {})
                for metric in glob_metrics:
                    of_key.setdefault(_log_name(metric), metric)
    return {key: list(by_name.values()) for key, by_name in matched.items()}


def _entry(sample: SampleScore, key: str, scorer: str) -> SampleScore:
    value = sample.score.value
    if not isinstance(value, dict):
        raise TypeError(
            f"{scorer} has metrics by key, but the value of sample {sample.sample_id!r} is "
            f"{value!r}, which is not a dict"
        )
    if key not in value:
        raise TypeError(f"the value of sample {sample.sample_id!r} by {scorer} has no key {key!r}")
    return sample.model_copy(
        update={"score": sample.score.model_copy(update={"value": value[key]})}
    )


# --- one metric -------------------------------------------------------------------------------


def _measured(metrics: Sequence[Metric], scores: list[SampleScore]) -> dict[str, MetricResult]:
    results: dict[str, MetricResult] = {}
    for metric in metrics:
        plain, params = _plain_name(metric), _params(metric)
        key = _free(plain, results)
        value = _value(metric, scores)
        if isinstance(value, Mapping):
            for name, number in value.items():
                if number is not None:
                    free_key = _free(name, results)
                    results[free_key] = MetricResult(name, float(number), plain, params)
        elif _is_row(value):
            for count, number in enumerate(value, start=1):
                if number is not None:
                    free_key = _free(f"{key}-{count}", results)
                    results[free_key] = MetricResult(str(count), float(number), plain, params)
        else:
            results[key] = MetricResult(_log_name(metric), float(value), None, params)
    return results


def _measured_of_key(
    metrics: Sequence[Metric], scores: list[SampleScore]
) -> dict[str, MetricResult]:
    results: dict[str, MetricResult] = {}
    for metric in metrics:
        title, plain, params = _log_name(metric), _plain_name(metric), _params(metric)
        value = _value(metric, scores)
        several: Iterable[tuple[Any, Any]] | None = None
        if isinstance(value, Mapping):
            several = value.items()
        elif _is_row(value):
            several = enumerate(value)
        if several is None:
            results[title] = MetricResult(title, float(value), None, params)
            continue
        for name, number in several:
            if number is not None:
                results[f"{title}_{name}"] = MetricResult(str(name), float(number), plain, params)
    return results


def _is_row(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _free(name: str, taken: Iterable[str]) -> str:
    """Return the name if it is not taken, else with the next number from 2 on."""
    if name not in taken:
        return name
    numbered = re.compile(re.escape(name) + r"(\d+)")
    matches = [numbered.match(taken_name) for taken_name in taken]
    numbers = [int(found_match[1]) for found_match in matches if found_match is not None]
    return f"{name}{max([1, *numbers]) + 1}"


def _value(metric: Metric, scores: list[SampleScore]) -> Any:
    if scores:
        return _call(metric, scores)
    # Without scores only metrics with several named values provide their names.
    try:
        value = _call(metric, [])
    except Exception as error:  # noqa: BLE001 - third-party code, without scores
        _logger.warning("%s has no value over no scores: %s", _log_name(metric), error)
        return math.nan
    return value if isinstance(value, Mapping) and value else math.nan


def _call(metric: Metric, scores: list[SampleScore]) -> Any:
    call: _AnyMetric = metric
    if not takes_plain_scores(metric):
        return call(scores)
    name = _log_name(metric)
    if name not in _warned:
        _warned.add(name)
        _logger.warning("%s sees scores only: let it take a list[SampleScore]", name)
    return call([sample.score for sample in scores])


_warned: set[str] = set()


def takes_plain_scores(metric: Metric) -> bool:
    """Return whether a metric is of the old style, over `list[Score]`.

    This is the case if its first parameter is annotated as `list[Score]` or `Any`, is not
    annotated, or is missing. An object with `__call__` is always of the new style.
    """
    if not inspect.isroutine(metric) and not inspect.isclass(metric):
        return False
    try:
        parameters = inspect.signature(metric).parameters
        hints = typing.get_type_hints(metric)
    except (AttributeError, NameError, TypeError, ValueError):
        return False
    first = next(iter(parameters), None)
    annotation = Any if first is None else hints.get(first, Any)
    if annotation is Any:
        return True
    return typing.get_origin(annotation) is list and typing.get_args(annotation) == (Score,)


def _plain_name(made: object) -> str:
    """Return a name without its package."""
    return _full_name(made).rpartition("/")[2]


def _log_name(made: object) -> str:
    """Return a name with its package, unless it is our own."""
    return _full_name(made).removeprefix(f"{OWN}/")


def _full_name(made: object) -> str:
    if is_registered(made):
        return registry_info(made).name
    return str(getattr(made, "__name__", type(made).__name__))


def _params(metric: Metric) -> dict[str, Any]:
    return registry_params(metric) if is_registered(metric) else {}
