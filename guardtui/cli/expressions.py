"""Scorers, metrics and reducers as the options of commands name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.diagnostics import InputError
from guardtui.cli.guardrail_options import Function

if TYPE_CHECKING:
    from guardtui.scorer.decorators import MetricSet
    from guardtui.scorer.types import Scorer, ScoreReducer
    from guardtui.session.own_metrics import OwnMetric


def parsed(option: str, text: str, parse: Callable[[str], Any]) -> Any:
    """Return the value of an expression. Raises InputError pointing at the error."""
    from guardtui.scorer.expression import ExpressionError

    try:
        return parse(text)
    except ExpressionError as error:
        shown = text if len(text) <= 200 and "\n" not in text else ""
        mark = f"\n    {shown}\n    {' ' * error.start}^" if shown else ""
        raise InputError(f"{option}: {error.problem}{mark}\n  {error.remedy}") from error


def named_scorers(expressions: Sequence[str]) -> list[tuple[str, Scorer]]:
    """Return the scorers of `--scorer`, each with its expression. Raises InputError."""
    from guardtui.scorer.expression import parse_scorer

    return [(text, parsed("--scorer", text, parse_scorer)) for text in expressions]


def named_metrics(expressions: Sequence[str]) -> MetricSet | None:
    """Return one set of all metrics of `--metric`, or None if none is named. Raises InputError."""
    from guardtui.scorer.expression import parse_metrics

    sets: list[MetricSet] = [parsed("--metric", text, parse_metrics) for text in expressions]
    if len(sets) < 2:
        return sets[0] if sets else None
    joined: list[Any] = []
    for parsed_metrics in sets:
        joined += [parsed_metrics] if isinstance(parsed_metrics, Mapping) else parsed_metrics
    return joined


def own_metrics(expressions: Sequence[str]) -> tuple[OwnMetric, ...]:
    """Return the metrics of `--metric` that are shown beside the built-in rates.

    Raises InputError.
    """
    if not expressions:
        return ()
    from guardtui.scorer.expression import parse_metric
    from guardtui.session.own_metrics import OwnMetric

    return tuple(OwnMetric(text, parsed("--metric", text, parse_metric)) for text in expressions)


def own_metric_option(function: Function) -> Function:
    """Add --metric for the metrics that `own_metrics` reads."""
    return click.option(
        "--metric",
        "metrics",
        multiple=True,
        metavar="EXPRESSION",
        help="A metric over the verdicts, shown beside the built-in rates (repeatable).",
    )(function)


def named_reducers(expressions: Sequence[str]) -> list[ScoreReducer] | None:
    """Return the reducers of `--reducer`, or None if none is named. Raises InputError."""
    from guardtui.scorer.expression import parse_reducer

    return [parsed("--reducer", text, parse_reducer) for text in expressions] or None
