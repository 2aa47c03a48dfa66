"""Reducers: several scores of a sample to one, by mode, mean, median, maximum or count."""

from __future__ import annotations

import copy
import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from guardtui.scorer.decorators import score_reducer
from guardtui.scorer.registry import (
    OWN,
    find,
    full_names,
    is_registered,
    load_entry_points,
    lookup,
    registry_info,
    registry_params,
)
from guardtui.scorer.types import (
    DEFAULT_TO_FLOAT,
    Score,
    ScoreReducer,
    Value,
    ValueToFloat,
    is_unscored,
)

_Reduce: TypeAlias = Callable[[list[Any]], Any]


@score_reducer(name="mode")
def mode_score() -> ScoreReducer:
    """The most frequent value, with its type; of equally frequent ones the one seen first."""

    def reduce(scores: list[Score]) -> Score:
        return _reduced(scores, _most_frequent, scalars_only=True)

    return reduce


def _most_frequent(values: list[Any]) -> Any:
    counts: dict[Any, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    # A dict keeps the first of equal keys in order, and max returns the first maximum.
    return max(counts, key=counts.__getitem__)


@score_reducer(name="mean")
def mean_score(value_to_float: ValueToFloat = DEFAULT_TO_FLOAT) -> ScoreReducer:
    """Return the arithmetic mean of the converted values."""

    def reduce(scores: list[Score]) -> Score:
        return _reduced(scores, _of_numbers(_mean, value_to_float), converts=True)

    return reduce


def _mean(numbers: list[float]) -> float:
    # A plain sum, because fmean treats infinities and overflow differently.
    return sum(numbers) / len(numbers)


def _median(numbers: list[float]) -> float:
    numbers.sort()
    middle = len(numbers) // 2
    if len(numbers) % 2:
        return float(numbers[middle])
    return (numbers[middle - 1] + numbers[middle]) / 2


@score_reducer(name="median")
def median_score(value_to_float: ValueToFloat = DEFAULT_TO_FLOAT) -> ScoreReducer:
    """Return the median of the converted values; of an even count the mean of the middle two."""

    def reduce(scores: list[Score]) -> Score:
        return _reduced(scores, _of_numbers(_median, value_to_float), converts=True)

    return reduce


@score_reducer(name="max")
def max_score(value_to_float: ValueToFloat = DEFAULT_TO_FLOAT) -> ScoreReducer:
    """Return the value whose conversion is largest, with its type; of equal ones the first."""

    def largest(values: list[Any]) -> Any:
        return max(values, key=value_to_float)

    def reduce(scores: list[Score]) -> Score:
        return _reduced(scores, largest)

    return reduce


@score_reducer(name="majority")
def majority_score() -> ScoreReducer:
    """Return the value of more than half of all scores, including those without a value; else NaN.

    `panel` in the metadata has the votes (None for a score without a value), their number, and
    index, reason and explanation of each failure.
    """

    def reduce(scores: list[Score]) -> Score:
        def winner(values: list[Any]) -> Any:
            favourite = _most_frequent(values)
            return favourite if 2 * values.count(favourite) > len(scores) else math.nan

        result = _reduced(scores, winner, scalars_only=True)
        result.metadata = {**(result.metadata or {}), "panel": _panel(scores)}
        return result

    return reduce


def _panel(scores: list[Score]) -> dict[str, Any]:
    failures = [
        {"index": index, "reason": score.reason, "explanation": score.explanation}
        for index, score in enumerate(scores)
        if is_unscored(score.value)
    ]
    votes = [None if is_unscored(score.value) else copy.copy(score.value) for score in scores]
    return {"votes": votes, "size": len(scores), "failures": failures}


@score_reducer(name="collect")
def collect_score() -> ScoreReducer:
    """Return all values as a list, without NaN. Raises ValueError for a value that is no scalar."""

    def reduce(scores: list[Score]) -> Score:
        for score in scores:
            if not isinstance(score.value, str | int | float):
                raise ValueError(f"collect takes scalars only, not {score.value!r}")
        values = [score.value for score in scores if not is_unscored(score.value)]
        return _with_rest(scores, values or math.nan)

    return reduce


@score_reducer
def at_least(
    k: int, value: float = 1.0, value_to_float: ValueToFloat = DEFAULT_TO_FLOAT
) -> ScoreReducer:
    """1 if at least `k` values convert to `value` or more, else 0."""

    def count(values: list[Any]) -> int:
        return int(sum(value_to_float(item) >= value for item in values) >= k)

    def reduce(scores: list[Score]) -> Score:
        return _reduced(scores, count, scalars_only=True)

    return reduce


@score_reducer
def pass_k(
    k: int, value: float = 1.0, value_to_float: ValueToFloat = DEFAULT_TO_FLOAT
) -> ScoreReducer:
    """Return the probability that all of `k` values drawn without replacement are `value` or more.

    C(c, k) / C(n, k) for c of n values (Yao et al. 2024, arXiv:2406.12045); NaN for fewer than `k`
    values.
    """

    def probability(numbers: list[float]) -> float:
        if len(numbers) < k:
            return math.nan
        right = sum(number >= value for number in numbers)
        return math.comb(right, k) / math.comb(len(numbers), k)

    def reduce(scores: list[Score]) -> Score:
        return _reduced(scores, _of_numbers(probability, value_to_float), converts=True)

    return reduce


@score_reducer
def pass_at(
    k: int, value: float = 1.0, value_to_float: ValueToFloat = DEFAULT_TO_FLOAT
) -> ScoreReducer:
    """The probability that of `k` values drawn without replacement at least one is `value` or more.

    1 - C(n - c, k) / C(n, k) for c of n values (Chen et al. 2021, arXiv:2107.03374, section 2.1);
    NaN for fewer than `k` values.
    """

    def probability(numbers: list[float]) -> float:
        total = len(numbers)
        wrong = sum(not number >= value for number in numbers)
        if total < k:
            return math.nan
        if wrong < k:
            return 1.0
        misses = 1.0
        for number in range(wrong + 1, total + 1):
            misses *= 1.0 - k / number
        return 1.0 - misses

    def reduce(scores: list[Score]) -> Score:
        return _reduced(scores, _of_numbers(probability, value_to_float), converts=True)

    return reduce


# --- what all of them share -------------------------------------------------------------------


def _of_numbers(statistic: Callable[[list[float]], float], value_to_float: ValueToFloat) -> _Reduce:
    """Return a reduction by a statistic of the converted values; NaN values are skipped.

    The result is NaN if none is left.
    """

    def reduce(values: list[Any]) -> float:
        converted = [value_to_float(item) for item in values]
        numbers = [number for number in converted if not math.isnan(number)]
        return statistic(numbers) if numbers else math.nan

    return reduce


def _reduced(
    scores: list[Score], reduce: _Reduce, *, scalars_only: bool = False, converts: bool = False
) -> Score:
    """Reduce scores to one: by key for dicts, by position for lists, skipping NaN at every level.

    With `converts`, the reduction also gets NaN values, because its conversion decides about them.
    Raises ValueError for mixed shapes, and if keys or lengths differ.
    """
    scored = [score.value for score in scores if not is_unscored(score.value)]
    if not scored:
        return _with_rest(scores, math.nan)
    first = scored[0]
    if isinstance(first, dict | list) and not converts:
        reduce = functools.partial(_of_known, reduce)
    if isinstance(first, dict):
        return _with_rest(scores, _by_key(scored, first, reduce))
    if isinstance(first, list):
        return _with_rest(scores, _by_place(scored, first, reduce))
    if scalars_only and not all(isinstance(value, str | int | float) for value in scored):
        raise ValueError("scalars cannot be reduced together with dicts or sequences")
    return _with_rest(scores, reduce([score.value for score in scores] if converts else scored))


def _by_key(values: Sequence[Value], first: dict[str, Any], reduce: _Reduce) -> dict[str, Any]:
    for value in values:
        if not isinstance(value, dict):
            raise ValueError("dicts cannot be reduced together with other values")
        if value.keys() != first.keys():
            raise ValueError(f"keys differ: {sorted(first)} and {sorted(value)}")
    return {key: reduce([value[key] for value in values]) for key in first}  # type: ignore[call-overload,index]


def _by_place(values: Sequence[Value], first: list[Any], reduce: _Reduce) -> list[Any]:
    for value in values:
        if not isinstance(value, list):
            raise ValueError("lists cannot be reduced together with other values")
        if len(value) != len(first):
            raise ValueError(f"lengths differ: {len(first)} and {len(value)}")
    return [reduce(list(column)) for column in zip(*values, strict=True)]


def _of_known(reduce: _Reduce, values: list[Any]) -> Any:
    with_value = [value for value in values if not is_unscored(value)]
    return reduce(with_value) if with_value else math.nan


def _with_rest(scores: list[Score], value: Any) -> Score:
    return Score(
        value=value,
        answer=_shared(scores, "answer"),
        explanation=_shared(scores, "explanation"),
        metadata=scores[0].metadata if scores else None,
        reason=_shared(scores, "reason"),
    )


def _shared(scores: list[Score], name: str) -> str | None:
    """Return a field if all scores have the same value there, else None."""
    first: str | None = getattr(scores[0], name) if scores else None
    if first is None:
        return None
    for score in scores:
        if getattr(score, name) != first:
            return None
    return first


# --- by name ----------------------------------------------------------------------------------

_COUNTED = re.compile(r"(?P<base>.+)_(?P<k>\d+)")


def reducer_by_name(name: str) -> ScoreReducer:
    """Return a reducer by name; "at_least_2" is `at_least(2)` unless a reducer has that name.

    Raises LookupError for an unknown name, and TypeError for a reducer that needs a count.
    """
    if find("score_reducer", name) is None:
        load_entry_points()
    counted = _COUNTED.fullmatch(name)
    if counted is not None and not full_names("score_reducer", name):
        made: ScoreReducer = lookup("score_reducer", counted["base"])(k=int(counted["k"]))
    else:
        made = lookup("score_reducer", name)()
    return made


def epochs_needed(reducer: ScoreReducer) -> int | None:
    """Return the minimum number of epochs for a built-in reducer; None if any number will do."""
    if not is_registered(reducer) or registry_info(reducer).name not in _COUNTING:
        return None
    count = registry_params(reducer).get("k")
    return count if isinstance(count, int) else None


_COUNTING = {f"{OWN}/{name}" for name in ("at_least", "pass_at", "pass_k")}


def reducer_log_name(reducer: ScoreReducer) -> str:
    """Return the name of a reducer as written in results: with its count, if it has one."""
    name = registry_info(reducer).name.rpartition("/")[2]
    count = registry_params(reducer).get("k")
    return name if count is None else f"{name}_{count}"
