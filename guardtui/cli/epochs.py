"""Repeated scans: their options, number of epochs, reducer, and rows to repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from guardtui.domain.evaluation import Evaluation
    from guardtui.session.epochs import Epochs

Function = TypeVar("Function", bound=Callable[..., Any])

REPEATED = ("all", "flipped", "near")

_NEAR = 0.1
"""Maximum distance of a score of the embedded engine from its threshold that counts as near."""


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


def parse_epochs(flags: EpochFlags) -> Epochs | None:
    """Return the number of epochs and their reducer, or None for a single scan.

    Raises UsageError.
    """
    if flags.epochs is None or flags.epochs == 1:
        for option, value in (("--reducer", flags.reducer), ("--repeat", flags.repeat)):
            if value is not None:
                raise click.UsageError(f"{option} needs --epochs of at least 2")
        return None
    from guardtui.scorer.expression import ExpressionError
    from guardtui.session.epochs import Epochs

    try:
        return Epochs.parse(flags.epochs, flags.reducer or "mode")
    except ExpressionError as error:
        raise click.UsageError(f"--reducer: {error}") from error


def repeated_rows(
    flags: EpochFlags,
    before: Evaluation | None,
    scores: Callable[[], tuple[NDArray[np.float32], float]],
) -> Callable[[Evaluation], NDArray[np.intp]] | None:
    """Return the function that chooses the rows to scan again after the first epoch; None for all.

    `before` is the baseline; `scores` returns those of the embedded engine (float32 [N]) and its
    threshold.
    """
    import numpy as np

    from guardtui.domain.comparison import Change, compare

    if flags.repeat == "flipped" and before is not None:
        baseline = before

        def flipped(now: Evaluation) -> NDArray[np.intp]:
            changes = compare(baseline, now).changes
            return np.flatnonzero((changes == Change.REGRESSION) | (changes == Change.FIX))

        return flipped
    if flags.repeat == "near":

        def near(now: Evaluation) -> NDArray[np.intp]:
            score, threshold = scores()
            return np.flatnonzero(np.abs(score - threshold) <= _NEAR)

        return near
    return None
