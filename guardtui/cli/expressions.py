"""Options for a user's own code and expressions: plugins, scorers, metrics, reducers, epochs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.diagnostics import InputError, warn
from guardtui.cli.guardrail_options import Function
from guardtui.cli.options import FILE

if TYPE_CHECKING:
    from guardtui.scorer.decorators import MetricSet
    from guardtui.scorer.types import Scorer, ScoreReducer
    from guardtui.session.epochs import Epochs
    from guardtui.session.own_metrics import OwnMetric


def plugin_option(function: Function) -> Function:
    """Add --plugin, which may be given several times."""
    return click.option(
        "--plugin",
        "plugins",
        type=FILE,
        multiple=True,
        metavar="FILE.py",
        help="Run this Python file, and use the scorers, metrics and reducers it registers "
        "(repeatable).",
    )(function)


def load_plugins(plugins: Sequence[Path]) -> None:
    """Run each file. Raises InputError naming the file, the line and the problem."""
    if not plugins:
        return
    from guardtui.scorer.plugins import PluginError, load_plugin

    for path in plugins:
        try:
            plugin = load_plugin(path)
        except PluginError as error:
            remedy = "correct the file, or leave out --plugin"
            raise InputError(f"--plugin {error}\n  {remedy}") from error
        if not plugin.names:
            warn(
                f"--plugin {path}: it registers nothing\n"
                "  decorate what is to be used: @scorer, @metric or @score_reducer of "
                "guardtui.scorer"
            )


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


def epoch_options(function: Function) -> Function:
    """Add --epochs and --reducer, whose values `parse_epochs` takes."""
    function = click.option(
        "--reducer",
        metavar="NAME",
        help="With --epochs, how the verdicts on a prompt become one: mode (default), mean, "
        "at_least_2, …",
    )(function)
    return click.option(
        "--epochs", type=click.IntRange(1, 100), metavar="N", help="Scan each prompt N times."
    )(function)


def parse_epochs(epochs: int | None, reducer: str | None) -> Epochs | None:
    """Return the number of epochs and their reducer, or None for a single scan.

    Raises UsageError.
    """
    if epochs is None or epochs == 1:
        if reducer is not None:
            raise click.UsageError("--reducer needs --epochs of at least 2")
        return None
    from guardtui.scorer.expression import ExpressionError
    from guardtui.session.epochs import Epochs

    try:
        return Epochs.parse(epochs, reducer or "mode")
    except ExpressionError as error:
        raise click.UsageError(f"--reducer: {error}") from error
