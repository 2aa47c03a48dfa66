"""What an evaluation makes of scores: epochs reduced, unscored ones counted, metrics by name."""

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

    `name` is the metric's, or where it gave several, that of the one: its key, or its place.
    `group` is then the metric's name. NaN is what could not be measured.
    """

    name: str
    value: float
    group: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScorerSummary:
    """What the metrics say of the scores of one scorer, or of one key of its values.

    `name` is the scorer's or that key, `reducer` how epochs were made one (None: by the mean
    because nothing was said, or not at all). `scored` and `unscored` count what the metrics saw
    and what had no value: samples, or epochs when they are not reduced. `metrics` are by name, in
    the order of the metrics; a name that comes twice gets a number.
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
    """All metrics over the scores of one scorer, called `scorer`; a summary for each view of them.

    `reducers` make one score of a sample's epochs, one view for each: None is `mean_score`, an
    empty sequence leaves every epoch by itself. `metrics` are a sequence of metrics, in which
    mappings may stand too, or one mapping: from a key of dict values, or a glob over the keys of
    the first one, to the metrics over what stands under it, with a summary for each key.
    Metrics made with `scores="unreduced"` see every epoch, in a summary of their own.

    Raises LookupError for an unknown reducer, TypeError when metrics by key meet another value
    than a dict or a dict without that key, ValueError for metrics made with `scores="reduced"`
    when epochs stay by themselves, and what metrics raise (over no scores they give NaN instead).
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
        # Beside other views even the usual reducer is told apart by its name.
        title = name or ("mean" if unreduced else None)
        summaries += _over(reduce_epochs(scores, reducer), reduced, scorer, title)
    if unreduced:
        summaries += _over(list(scores), unreduced, scorer, None)
    return summaries


def scorer_names(scorers: Iterable[Scorer | str]) -> list[str]:
    """The names of scorers without their packages; those used again get 1, 2, …"""
    names: list[str] = []
    for one in scorers:
        plain = one if isinstance(one, str) else _plain_name(one)
        name, count = plain, 0
        while name in names:
            count += 1
            name = f"{plain}{count}"
        names.append(name)
    return names


# --- epochs -----------------------------------------------------------------------------------


def reduce_epochs(scores: Iterable[SampleScore], reducer: ScoreReducer) -> list[SampleScore]:
    """One score for each sample, in the order in which samples come first.

    Samples are told apart by their id as text; scores without one are dropped. The first one's id
    and metadata are kept.
    """
    samples: dict[str, list[SampleScore]] = {}
    for one in scores:
        if one.sample_id is not None:
            samples.setdefault(str(one.sample_id), []).append(one)
    return [
        SampleScore(
            score=reducer([one.score for one in epochs]),
            sample_id=epochs[0].sample_id,
            sample_metadata=epochs[0].sample_metadata,
        )
        for epochs in samples.values()
    ]


def _has_epochs(scores: Iterable[SampleScore]) -> bool:
    ids = [str(one.sample_id) for one in scores if one.sample_id is not None]
    return len(set(ids)) < len(ids)


def _views(reducers: Reducers) -> list[tuple[ScoreReducer, str | None]]:
    if reducers is None:
        return [(mean_score(), None)]
    return [
        (one, reducer_log_name(one) if is_registered(one) else _plain_name(one))
        for one in listed_reducers(reducers)
    ]


def listed_reducers(reducers: Reducers) -> list[ScoreReducer]:
    """Return the reducers that are named; empty for None. Raises LookupError."""
    if reducers is None:
        return []
    if isinstance(reducers, str) or callable(reducers):
        reducers = [reducers]
    return [reducer_by_name(one) if isinstance(one, str) else one for one in reducers]


# --- which metrics ----------------------------------------------------------------------------


def _with_scores(metrics: MetricSet, views: Sequence[str]) -> MetricSet:
    """The metrics that see one of these views; empty when there are none."""
    if isinstance(metrics, Mapping):
        return _keys_with_scores(metrics, views)
    kept: list[_Entry] = []
    for entry in metrics:
        if isinstance(entry, Mapping):
            by_key = _keys_with_scores(entry, views)
            kept += [by_key] if by_key else []
        elif _view_of(entry) in views:
            kept.append(entry)
    return kept


def _keys_with_scores(
    metrics: Mapping[str, Sequence[Metric]], views: Sequence[str]
) -> dict[str, list[Metric]]:
    kept = {key: [one for one in some if _view_of(one) in views] for key, some in metrics.items()}
    return {key: some for key, some in kept.items() if some}


def _view_of(metric: Metric) -> str:
    told = registry_info(metric).metadata.get("scores") if is_registered(metric) else None
    return told if isinstance(told, str) else "auto"


def _sees(metrics: MetricSet, view: str) -> bool:
    return bool(_with_scores(metrics, (view,)))


# --- metrics over one view --------------------------------------------------------------------


def _over(
    scores: list[SampleScore], metrics: MetricSet, scorer: str, reducer: str | None
) -> list[ScorerSummary]:
    if isinstance(metrics, Mapping):
        return list(_by_key(scores, metrics, scorer, reducer))
    scored = [one for one in scores if not is_unscored(one.score.value)]
    simple: list[Metric] = [one for one in metrics if not isinstance(one, Mapping)]
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
    scored = [one for one in scores if not is_unscored(one.score.value)]
    for key, some in _matched(metrics, scored).items():
        entries = [_entry(one, key, scorer) for one in scored]
        known = [one for one in entries if not is_unscored(one.score.value)]
        yield ScorerSummary(
            name=key,
            scorer=scorer,
            reducer=reducer,
            metrics=_measured_of_key(some, known),
            scored=len(known),
            unscored=len(scores) - len(known),
        )


def _matched(
    metrics: Mapping[str, Sequence[Metric]], scored: Sequence[SampleScore]
) -> Mapping[str, Sequence[Metric]]:
    """The metrics of each key of the first dict value; of those of one name only the first."""
    first = next((one.score.value for one in scored if isinstance(one.score.value, dict)), None)
    if first is None:
        return metrics
    matched: dict[str, dict[str, Metric]] = {}
    for glob, some in metrics.items():
        for key in first:
            if re.match(fnmatch.translate(glob), key):
                of_key = matched.setdefault(key, {})
                for one in some:
                    of_key.setdefault(_log_name(one), one)
    return {key: list(some.values()) for key, some in matched.items()}


def _entry(one: SampleScore, key: str, scorer: str) -> SampleScore:
    value = one.score.value
    if not isinstance(value, dict):
        raise TypeError(
            f"{scorer} has metrics by key, but the value of sample {one.sample_id!r} is {value!r}, "
            "which is no dict"
        )
    if key not in value:
        raise TypeError(f"the value of sample {one.sample_id!r} by {scorer} has no key {key!r}")
    return one.model_copy(update={"score": one.score.model_copy(update={"value": value[key]})})


# --- one metric -------------------------------------------------------------------------------


def _measured(metrics: Sequence[Metric], scores: list[SampleScore]) -> dict[str, MetricResult]:
    results: dict[str, MetricResult] = {}
    for metric in metrics:
        plain, params = _plain_name(metric), _params(metric)
        key = _free(plain, results)
        value = _value(metric, scores)
        if isinstance(value, Mapping):
            for name, one in value.items():
                if one is not None:
                    place = _free(name, results)
                    results[place] = MetricResult(name, float(one), plain, params)
        elif _is_row(value):
            for count, one in enumerate(value, start=1):
                if one is not None:
                    place = _free(f"{key}-{count}", results)
                    results[place] = MetricResult(str(count), float(one), plain, params)
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
        for name, one in several:
            if one is not None:
                results[f"{title}_{name}"] = MetricResult(str(name), float(one), plain, params)
    return results


def _is_row(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _free(name: str, taken: Iterable[str]) -> str:
    """A name that is not taken: itself, or with the next number from 2 on."""
    if name not in taken:
        return name
    numbered = re.compile(re.escape(name) + r"(\d+)")
    found = [numbered.match(one) for one in taken]
    numbers = [int(one[1]) for one in found if one is not None]
    return f"{name}{max([1, *numbers]) + 1}"


def _value(metric: Metric, scores: list[SampleScore]) -> Any:
    if scores:
        return _call(metric, scores)
    # Of nothing only a metric with several named values can say what is missing.
    try:
        value = _call(metric, [])
    except Exception as error:  # noqa: BLE001 - a metric of anybody's, over nothing
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
    return call([one.score for one in scores])


_warned: set[str] = set()


def takes_plain_scores(metric: Metric) -> bool:
    """Whether a metric is of the old style, over `list[Score]`.

    The annotation of the first parameter says so: `list[Score]`, `Any`, none at all, or no
    parameter. An object with `__call__` is always of the new style.
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
    """A name without its package."""
    return _full_name(made).rpartition("/")[2]


def _log_name(made: object) -> str:
    """A name with its package, unless that is this one."""
    return _full_name(made).removeprefix(f"{OWN}/")


def _full_name(made: object) -> str:
    if is_registered(made):
        return registry_info(made).name
    return str(getattr(made, "__name__", type(made).__name__))


def _params(metric: Metric) -> dict[str, Any]:
    return registry_params(metric) if is_registered(metric) else {}
