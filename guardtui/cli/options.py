"""Options and types that several commands share; parsed strictly, imported fast."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from guardtui.domain.prompt_reading import Reading, Unlabelled
from guardtui.scanners.airs.command_options import ADDRESS, TENANT
from guardtui.scanners.local.command_options import ENGINE
from guardtui.scanners.options import OptionKind, ScannerOption, all_options, unfit_option

if TYPE_CHECKING:
    _FloatType = click.ParamType[float]
    _WantedType = click.ParamType[float | str]
else:  # older versions of click do not have it generic
    _FloatType = click.ParamType
    _WantedType = click.ParamType

Function = TypeVar("Function", bound=Callable[..., Any])

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


class PerSecond(_FloatType):
    """A rate above 0, at most 10000. Not nan."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = _number(value)
        if not 0 < number <= 10_000:
            self.fail(f"{value!r} is not a number above 0, at most 10000", param, ctx)
        return number


class Amount(_FloatType):
    """Money: a number above 0, or at least 0. Not nan, not inf."""

    name = "number"

    def __init__(self, *, above: bool = False) -> None:
        self.above = above

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = _number(value)
        if not (0 < number < math.inf or (number == 0 and not self.above)):
            span = "above 0" if self.above else "from 0 on"
            self.fail(f"{value!r} is not a number {span}", param, ctx)
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


_TYPES: Mapping[OptionKind, click.ParamType[Any]] = {
    OptionKind.TEXT: click.STRING,
    OptionKind.FILE: FILE,
    OptionKind.THRESHOLD: Threshold(),
    OptionKind.RATE: PerSecond(),
    OptionKind.PRICE: Amount(),
    OptionKind.AMOUNT: Amount(above=True),
}


def declared(*options: ScannerOption) -> Callable[[Function], Function]:
    """Add options that scanners declare, in this order."""

    def add(function: Function) -> Function:
        for option in reversed(options):
            function = _click_option(option)(function)
        return function

    return add


def _click_option(option: ScannerOption) -> Callable[[Function], Function]:
    names = (option.name, option.key)
    if option.kind is OptionKind.FLAG:
        return click.option(*names, is_flag=True, help=option.help)
    kind: click.ParamType[Any]
    if option.choices:
        kind = click.Choice(option.choices)
    elif option.kind is OptionKind.INTEGER:
        kind = click.IntRange(option.low, option.high)
    else:
        kind = _TYPES[option.kind]
    return click.option(
        *names, type=kind, multiple=option.repeated, metavar=option.metavar, help=option.help
    )


def scanner_options(function: Function) -> Function:
    """Add the options of all scanners, each once; `values_of` takes their values."""
    return declared(*all_options())(function)


def values_of(options: Iterable[ScannerOption], values: dict[str, Any]) -> dict[str, Any]:
    """Take the values of these options out of a command's values."""
    return {option.key: values.pop(option.key) for option in options if option.key in values}


def require_fitting(scanner: str, values: Mapping[str, Any]) -> None:
    """Raise a usage error if an option was given that the scanner does not declare."""
    option = unfit_option(scanner, values)
    if option is not None:
        raise click.UsageError(f"{option.name} does not fit --scanner {scanner}: omit it")


engine_options = declared(*ENGINE)
"""Adds --encoder and --threshold."""

tenant_option = declared(TENANT)
"""Adds --tenant."""

address_options = declared(*ADDRESS)
"""Adds --region and --scan-endpoint (where scans go), and --tenant."""


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


def profile_option(function: Function) -> Function:
    """Add --profile."""
    return click.option(
        "--profile",
        default="",
        metavar="NAME",
        help="The security profile of AIRS; with the engine, a label for the report.",
    )(function)


def output_option(function: Function) -> Function:
    """Add --output."""
    return click.option(
        "--output",
        "-o",
        type=FILE,
        metavar="FILE",
        help="Write to this file instead of the screen.",
    )(function)
