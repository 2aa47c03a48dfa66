"""Options and types that several commands share; parsed strictly, imported fast."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from guardtui.cli.diagnostics import Exit
from guardtui.cli.guardrail_options import Function, encoder_option
from guardtui.domain.prompt_reading import Reading, Unlabelled

if TYPE_CHECKING:
    from guardtui.domain.operating_point import Wanted

    _WantedType = click.ParamType[float | str]
else:  # older versions of click do not have it generic
    _WantedType = click.ParamType


def general_exits() -> dict[Exit, str]:
    """Return the exit codes that every command has."""
    return {code: code.meaning for code in (Exit.DONE, Exit.BAD_INPUT, Exit.INTERRUPTED)}


def exits(codes: Mapping[Exit, str]) -> Callable[[Function], Function]:
    """Give a command what exit codes mean for it, for its help; `exits_of` returns them."""

    def add(function: Function) -> Function:
        vars(function)["exits"] = codes
        return function

    return add


def exits_of(command: click.Command) -> Mapping[Exit, str]:
    """Return the exit codes that `exits` gave a command."""
    codes: Mapping[Exit, str] = vars(command.callback).get("exits", {})
    return codes


FILE = click.Path(path_type=Path)
"""A path; the reader of the file reports errors, with better messages than click's."""


class Number(click.FloatRange):
    """A number in a range. Not nan, and no percent sign."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


SHARE = Number(0, 1)
"""A number from 0 to 1."""

INSIDE = Number(0, 1, min_open=True, max_open=True)
"""A number between 0 and 1, both left out."""


class Threshold(_WantedType):
    """`built-in`, `fitted`, or a number between 0 and 1, both excluded."""

    name = "threshold"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        if value in ("built-in", "fitted"):
            return str(value)
        try:
            return INSIDE.convert(value, param, ctx)
        except click.BadParameter:
            self.fail(
                f"{value!r} is not a number between 0 and 1, both excluded, nor built-in or fitted",
                param,
                ctx,
            )


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run that are no keys of a guardrail; None and () without a value."""

    threshold: Wanted = None
    fresh: bool = False
    companion_paths: tuple[Path, ...] = ()
    jobs: int | None = None
    ray: str | None = None


def given_words(names: Collection[str]) -> tuple[str, ...]:
    """Return the words of a command line that set these parameters of the current command."""
    context = click.get_current_context()
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in names and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            value = context.params[name]
            for single in value if isinstance(value, tuple) else (value,):
                words += [parameter.opts[0], str(single)]
    return tuple(words)


def prompts_option(function: Function) -> Function:
    """Add --prompts, which is required."""
    return click.option(
        "--prompts",
        type=FILE,
        required=True,
        metavar="FILE",
        help="Labelled prompts (CSV, JSON, Parquet, Excel; - for standard input).",
    )(function)


def json_option(function: Function) -> Function:
    """Add --json, passed as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def threshold_option(function: Function) -> Function:
    """Add --threshold."""
    return click.option(
        "--threshold",
        type=Threshold(),
        metavar="X",
        help="Minimum score of a match: a number between 0 and 1, built-in, or fitted (to the "
        "labels). Default: fitted, if each class has 10 labels (audit: built-in); in the app, "
        "and of a decision model, that of the topic's session.",
    )(function)


def engine_options(function: Function) -> Function:
    """Add --set, passed as `encoder`, and --threshold."""
    return encoder_option(threshold_option(function))


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --unlabelled and --sheet, passed as `reading`: None if neither is given."""

    @click.option(
        "--unlabelled",
        type=click.Choice([unlabelled.value for unlabelled in Unlabelled]),
        help="What rows with an empty label are: in the inbox (default), left out, false, or an "
        "error.",
    )
    @sheet_option
    @functools.wraps(function)
    def command(*, unlabelled: str | None, sheet: str | None, **values: Any) -> Any:
        reading = Reading(Unlabelled(unlabelled or Unlabelled.INBOX), sheet or "")
        given = unlabelled is not None or sheet is not None
        return function(reading=reading if given else None, **values)

    return command


def reading_words(reading: Reading | None) -> list[str]:
    """Return the options that give a reading, as words to show."""
    if reading is None:
        return []
    words = {"--unlabelled": reading.unlabelled.value, "--sheet": reading.sheet}
    return [word for option, value in words.items() if value for word in (option, value)]


def sheet_option(function: Function) -> Function:
    """Add --sheet."""
    return click.option(
        "--sheet", metavar="NAME", help="Sheet of an Excel workbook (default: the first)."
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
