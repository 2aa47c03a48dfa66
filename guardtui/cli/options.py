"""Options and types that several commands share; parsed strictly, imported fast."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.guardrail_options import Function, encoder_option
from guardtui.domain.prompt_reading import Reading, Unlabelled

if TYPE_CHECKING:
    from guardtui.domain.operating_point import Wanted

    _FloatType = click.ParamType[float]
    _WantedType = click.ParamType[float | str]
else:  # older versions of click do not have it generic
    _FloatType = click.ParamType
    _WantedType = click.ParamType

FILE = click.Path(path_type=Path)
"""A path; the reader of the file reports errors, with better messages than click's."""


def _number(value: Any) -> float:
    """Return the number in a text; nan, which is in no range, if it is not a number."""
    try:
        return float(value)
    except ValueError:
        return math.nan


class Fraction(_FloatType):
    """A number from 0 to 1; `inside` excludes the ends. Not nan, not inf, no percent sign."""

    name = "number"

    def __init__(self, *, inside: bool = False) -> None:
        self.inside = inside

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = _number(value)
        fits = 0 < number < 1 if self.inside else 0 <= number <= 1
        if not fits:
            span = "between 0 and 1, both left out" if self.inside else "from 0 to 1"
            self.fail(f"{value!r} is not a number {span}", param, ctx)
        return number


class Threshold(_WantedType):
    """`shipped`, `fitted`, or a number between 0 and 1, both excluded."""

    name = "threshold"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        if value in ("shipped", "fitted"):
            return str(value)
        number = _number(value)
        if not 0 < number < 1:
            self.fail(
                f"{value!r} is not a number between 0 and 1, both excluded, nor shipped or fitted",
                param,
                ctx,
            )
        return number


class Amount(_FloatType):
    """Money: a number above 0. Not nan, not inf."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = _number(value)
        if not 0 < number < math.inf:
            self.fail(f"{value!r} is not a number above 0", param, ctx)
        return number


class Seconds(_FloatType):
    """A time from 0 to an hour. Not nan, not inf."""

    name = "seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = _number(value)
        if not 0 <= number <= 3600:
            self.fail(f"{value!r} is not a number of seconds from 0 to 3600", param, ctx)
        return number


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run that are no keys of a guardrail; None and () without a value."""

    threshold: Wanted = None
    fresh: bool = False
    budget: float | None = None
    max_tokens: int | None = None
    companion_paths: tuple[Path, ...] = ()
    jobs: int | None = None
    ray: str | None = None


ONE_RUN = RunOptions()
"""No options."""


def threshold_option(function: Function) -> Function:
    """Add --threshold."""
    return click.option(
        "--threshold",
        type=Threshold(),
        metavar="X",
        help="Minimum score of a match: a number between 0 and 1, shipped, or fitted (to the "
        "labels). Default: that of the topic's session; else fitted, if each class has 10 labels.",
    )(function)


def engine_options(function: Function) -> Function:
    """Add --set, passed as `encoder`, and --threshold."""
    return encoder_option(threshold_option(function))


def budget_options(function: Function) -> Function:
    """Add --budget and --max-tokens."""
    for add in (
        click.option(
            "--max-tokens",
            type=click.IntRange(1),
            metavar="N",
            help="Maximum tokens of the whole run, which stops before it exceeds them.",
        ),
        click.option(
            "--budget",
            type=Amount(),
            metavar="X",
            help="Maximum cost, in the currency of the prices; the run stops before it exceeds "
            "this.",
        ),
    ):
        function = add(function)
    return function


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --unlabelled and --sheet, passed as `reading`: None if neither is given."""

    @unlabelled_option
    @sheet_option
    @functools.wraps(function)
    def command(*, unlabelled: str | None, sheet: str | None, **values: Any) -> Any:
        reading = Reading(Unlabelled(unlabelled or Unlabelled.ERROR), sheet or "")
        given = unlabelled is not None or sheet is not None
        return function(reading=reading if given else None, **values)

    return command


def sheet_option(function: Function) -> Function:
    """Add --sheet."""
    return click.option(
        "--sheet", metavar="NAME", help="Sheet of an Excel workbook (default: the first)."
    )(function)


def unlabelled_option(function: Function) -> Function:
    """Add --unlabelled."""
    return click.option(
        "--unlabelled",
        type=click.Choice([unlabelled.value for unlabelled in Unlabelled]),
        help="What rows with an empty label are: an error (default), left out, or false.",
    )(function)


def writer_option(help_text: str) -> Callable[[Function], Function]:
    """Add --writer."""
    return click.option("--writer", metavar="URL#NAME", help=help_text)


def output_option(function: Function) -> Function:
    """Add --output."""
    return click.option(
        "--output",
        "-o",
        type=FILE,
        metavar="FILE",
        help="Write to this file instead of the screen.",
    )(function)
