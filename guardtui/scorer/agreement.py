"""`krippendorff_alpha`: agreement of several raters, whose ratings are lists."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from guardtui.scorer.decorators import metric
from guardtui.scorer.types import Metric, SampleScore, Value, ValueToFloat

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]

_logger = logging.getLogger(__name__)


@metric
def krippendorff_alpha(level: Level = "nominal", to_float: ValueToFloat | None = None) -> Metric:
    """Return Krippendorff's alpha of ratings: 1 for full agreement, 0 for that of chance.

    Each value is a list with a rating of each rater, as `multi_scorer` with the reducer `collect`
    gives it; samples with fewer than two ratings are skipped. Levels "ordinal" and "interval" need
    numbers: `to_float` converts others. NaN without usable samples, 1.0 if all ratings are equal.
    Raises ValueError for another level, and for ratings that are not numbers.

    Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", sections C to E.
    """
    if level not in ("nominal", "ordinal", "interval"):
        raise ValueError(f"the level is 'nominal', 'ordinal' or 'interval', not {level!r}")

    def measure(scores: list[SampleScore]) -> Value:
        units = _units(scores)
        if level == "nominal":
            _warn_of_numbers(units)
            return _alpha(units, _unequal_pairs)
        numbers = [[_number(rating, level, to_float) for rating in unit] for unit in units]
        return _alpha(_ranked(numbers) if level == "ordinal" else numbers, _squared_differences)

    return measure


def _units(scores: list[SampleScore]) -> list[Sequence[Any]]:
    """Return the ratings of each sample that has at least two."""
    values = [sample.score.value for sample in scores]
    lists = [value for value in values if isinstance(value, list | tuple)]
    units: list[Sequence[Any]] = [value for value in lists if len(value) > 1]
    if len(lists) < len(values):
        skipped = len(values) - len(lists)
        _logger.warning("krippendorff_alpha: %d values are no lists of ratings: skipped", skipped)
    if len(units) < len(lists):
        skipped = len(lists) - len(units)
        _logger.warning("krippendorff_alpha: %d lists have fewer than 2 ratings: skipped", skipped)
    return units


def _number(rating: Any, level: Level, to_float: ValueToFloat | None) -> float:
    if isinstance(rating, int | float):
        return float(rating)
    if to_float is None:
        raise ValueError(
            f"krippendorff_alpha: the rating {rating!r} is not a number, which the level {level} "
            "needs: pass to_float, such as value_to_float()"
        )
    return to_float(rating)


def _warn_of_numbers(units: Sequence[Sequence[Any]]) -> None:
    distinct = {rating for unit in units for rating in unit}
    numbers = [item for item in distinct if isinstance(item, int | float) and item is not True]
    if len(distinct) > 2 and len(numbers) == len(distinct):
        _logger.warning(
            "krippendorff_alpha: the ratings are numbers, whose order the level nominal ignores: "
            "see 'ordinal' and 'interval'"
        )


def _ranked(units: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return each rating's middle position among all: squared differences are then ordinal."""
    counts = Counter(rating for unit in units for rating in unit)
    below, positions = 0, {}
    for rating in sorted(counts):
        positions[rating] = below + counts[rating] / 2
        below += counts[rating]
    return [[positions[rating] for rating in unit] for unit in units]


def _unequal_pairs(ratings: Sequence[Any]) -> float:
    """Return the number of ordered pairs of different ratings."""
    return len(ratings) ** 2 - sum(count**2 for count in Counter(ratings).values())


def _squared_differences(ratings: Sequence[float]) -> float:
    """Return the sum of squared differences over all ordered pairs."""
    mean = sum(ratings) / len(ratings)
    return 2 * len(ratings) * sum((rating - mean) ** 2 for rating in ratings)


def _alpha(units: Sequence[Sequence[Any]], disagreement: Callable[[Sequence[Any]], float]) -> float:
    ratings = [rating for unit in units for rating in unit]
    if not ratings:
        return math.nan
    observed = sum(disagreement(unit) / (len(unit) - 1) for unit in units)
    expected = disagreement(ratings) / (len(ratings) - 1)
    return 1 - observed / expected if expected else 1.0
