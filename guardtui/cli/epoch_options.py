"""Options of repeated scans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

REPEATED = ("all", "flipped", "near")


@dataclass(frozen=True, slots=True)
class EpochFlags:
    """Values of the command line, by the names of the options."""

    epochs: int | None = None
    reducer: str | None = None
    repeat: str | None = None

    def check_usage(self, *, baseline: bool) -> None:
        """Raise UsageError if a baseline is needed and missing."""
        if self.repeat == "flipped" and not baseline:
            raise click.UsageError("--repeat flipped needs --baseline")


def epoch_options(function: Function) -> Function:
    """Add --epochs, --reducer and --repeat."""
    function = click.option(
        "--repeat",
        type=click.Choice(REPEATED),
        help="With --epochs, the prompts to scan again: all (default), flipped (since the "
        "baseline) or near (the embedded engine's threshold).",
    )(function)
    function = click.option(
        "--reducer",
        metavar="NAME",
        help="With --epochs, how the verdicts on a prompt become one: mode (default), mean, "
        "at_least_2, …",
    )(function)
    return click.option(
        "--epochs", type=click.IntRange(1, 100), metavar="N", help="Scan each prompt N times."
    )(function)
