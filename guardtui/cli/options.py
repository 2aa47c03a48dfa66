"""Options and types that several commands share; parsed strictly, imported fast."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    _FloatType = click.ParamType[float]
else:  # older versions of click do not have it generic
    _FloatType = click.ParamType

Function = TypeVar("Function", bound=Callable[..., Any])

ENCODERS = ("minilm", "static")
"""The local scanner's encoders; a test holds them against its own list."""

REGIONS = ("us", "de", "in", "sg")
"""Regions of AIRS; a test holds them against the addresses."""

FILE = click.Path(path_type=Path)
"""A path; what reads it says what is wrong with it, in better words than click's."""


def _number(value: Any) -> float:
    """The number that was written; nan, which is in no range, for what is none."""
    try:
        return float(value)
    except ValueError:
        return math.nan


class Fraction(_FloatType):
    """A number from 0 to 1; `inside` leaves out the ends. Not nan, not inf, no percent sign."""

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


class PerSecond(_FloatType):
    """A rate above 0, at most 10000. Not nan, which compares with nothing."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = _number(value)
        if not 0 < number <= 10_000:
            self.fail(f"{value!r} is not a number above 0, at most 10000", param, ctx)
        return number


class Amount(_FloatType):
    """Money: a number above 0, or from 0 on. Not nan, not inf."""

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


def tenant_option(function: Function) -> Function:
    """Add --tenant."""
    return click.option(
        "--tenant",
        metavar="NAME",
        help="The tenant of airs-cli whose settings count (default: its active one).",
    )(function)


def address_options(function: Function) -> Function:
    """Add --region and --scan-endpoint (where scans go), and --tenant."""
    function = tenant_option(function)
    function = click.option(
        "--scan-endpoint",
        metavar="URL",
        help="Where scans go, in place of a region (default: PANW_AI_SEC_API_ENDPOINT).",
    )(function)
    return click.option(
        "--region",
        type=click.Choice(REGIONS),
        help="The region of the API key, where scans go (default: us).",
    )(function)


def profile_option(function: Function) -> Function:
    """Add --profile."""
    return click.option(
        "--profile",
        default="",
        metavar="NAME",
        help="The security profile of AIRS; with the local scanner a label for the report.",
    )(function)


def sending_options(function: Function) -> Function:
    """Add how prompts are sent to AIRS: --retries, --batch, --fresh, and where scans go."""
    for option in reversed(
        (
            click.option(
                "--retries",
                type=click.IntRange(0, 5),
                metavar="N",
                help="How often is asked again for a prompt that failed (default: 5).",
            ),
            click.option(
                "--batch", is_flag=True, help="Send AIRS batches, to be judged when it has time."
            ),
            click.option("--fresh", is_flag=True, help="Ask again for verdicts that are kept."),
            address_options,
        )
    ):
        function = option(function)
    return function


def require_fitting(scanner: str, others: Mapping[str, object]) -> None:
    """Raise a usage error when an option was given (is not None) that the scanner does not know."""
    for option, value in others.items():
        if value is not None:
            raise click.UsageError(f"{option} does not fit --scanner {scanner}: leave it out")


def model_options(function: Function) -> Function:
    """Add what names models and how they judge: --model, --endpoints and their like."""
    for option in reversed(
        (
            click.option(
                "--model",
                "models",
                multiple=True,
                metavar="URL#NAME",
                help="A model that judges; several vote. Its key: GUARDTUI_MODEL_KEY (of several "
                "addresses: GUARDTUI_MODEL_KEYS).",
            ),
            click.option(
                "--endpoints",
                type=FILE,
                metavar="FILE",
                help="Lines URL [concurrency=N] [rate=R] [key_env=VARIABLE] of services with one "
                "--model NAME; --concurrency and --rate then hold for each.",
            ),
            click.option(
                "--judge-template",
                type=FILE,
                metavar="FILE",
                help="What the judge is told (see 'guardtui judge-template').",
            ),
            click.option(
                "--judge-form",
                metavar="answer|graded|pattern:EXPR",
                help="How the judge's answer is read (default: answer).",
            ),
            click.option(
                "--model-option",
                "model_options",
                multiple=True,
                metavar="NAME=JSON",
                help="An option that goes with every call to a model, as seed=7 (repeatable).",
            ),
            click.option("--allow-http", is_flag=True, help="Models may be at http:// elsewhere."),
        )
    ):
        function = option(function)
    return function


def budget_options(function: Function) -> Function:
    """Add what limits the cost of a judge: --budget, prices, --max-tokens, --answer-tokens."""
    for option in reversed(
        (
            click.option(
                "--budget",
                type=Amount(above=True),
                metavar="X",
                help="Money that the judge may cost; the run ends before it is passed.",
            ),
            click.option(
                "--price-in",
                type=Amount(),
                metavar="X",
                help="Price of a million tokens that a model is sent.",
            ),
            click.option(
                "--price-out",
                type=Amount(),
                metavar="X",
                help="Price of a million tokens that a model answers.",
            ),
            click.option(
                "--max-tokens",
                type=click.IntRange(min=1),
                metavar="N",
                help="Tokens of the whole run; it ends before they are passed.",
            ),
            click.option(
                "--answer-tokens",
                type=click.IntRange(1, 100_000),
                metavar="N",
                help="Tokens that one answer may have (default: 512).",
            ),
        )
    ):
        function = option(function)
    return function


def scanner_options(function: Function) -> Function:
    """Add --encoder and --threshold."""
    function = click.option(
        "--threshold",
        type=Fraction(inside=True),
        metavar="X",
        help="Score from which on a prompt matches, between 0 and 1.",
    )(function)
    return click.option(
        "--encoder",
        type=click.Choice(ENCODERS),
        help="Encoder of the local scanner: minilm (better, the default) or static (faster).",
    )(function)


def output_option(function: Function) -> Function:
    """Add --output."""
    return click.option(
        "--output", "-o", type=FILE, metavar="FILE", help="Write to this file, not to the screen."
    )(function)
