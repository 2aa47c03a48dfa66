"""Options of repeated scans: how often, by which reducer, and which rows again."""

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
"""Distance of the embedded engine's score from its threshold up to which a prompt is near it."""


@dataclass(frozen=True, slots=True)
class EpochFlags:
    """What was given on the command line, by the names of the options."""

    epochs: int | None = None
    reducer: str | None = None
    repeat: str | None = None

    def parsed(self) -> Epochs | None:
        """What was asked for; None for one epoch. Raises UsageError."""
        from guardtui.scorer.expression import ExpressionError
        from guardtui.session.epochs import Epochs

        if self.epochs is None or self.epochs == 1:
            for option, value in (("--reducer", self.reducer), ("--repeat", self.repeat)):
                if value is not None:
                    raise click.UsageError(f"{option} needs --epochs, of 2 at least")
            return None
        try:
            return Epochs.parse(self.epochs, self.reducer or "mode")
        except ExpressionError as error:
            raise click.UsageError(f"--reducer: {error}") from error

    def chooser(
        self, before: Evaluation | None, scores: Callable[[], tuple[NDArray[np.float32], float]]
    ) -> Callable[[Evaluation], NDArray[np.intp]] | None:
        """What says which rows are asked again after the first epoch; None for all.

        `before` is the baseline, `scores` gives those of the embedded engine (float32 [N]) and its
        threshold. Raises UsageError where the baseline is needed and missing.
        """
        import numpy as np

        from guardtui.domain.comparison import Change, compare

        if self.repeat == "flipped":
            if before is None:
                raise click.UsageError("--repeat flipped needs --baseline: flipped since what?")
            baseline = before

            def flipped(now: Evaluation) -> NDArray[np.intp]:
                changes = compare(baseline, now).changes
                return np.flatnonzero((changes == Change.REGRESSION) | (changes == Change.FIX))

            return flipped
        if self.repeat == "near":

            def near(now: Evaluation) -> NDArray[np.intp]:
                score, threshold = scores()
                return np.flatnonzero(np.abs(score - threshold) <= _NEAR)

            return near
        return None


def epoch_options(function: Function) -> Function:
    """Add --epochs, --reducer and --repeat."""
    function = click.option(
        "--repeat",
        type=click.Choice(REPEATED),
        help="Which prompts are asked again: all (the default), those that flipped since the "
        "baseline, or those near the embedded engine's threshold.",
    )(function)
    function = click.option(
        "--reducer",
        metavar="NAME",
        help="What makes one verdict of the epochs: mode (the default), mean, at_least_2, …",
    )(function)
    return click.option(
        "--epochs", type=click.IntRange(1, 100), metavar="N", help="Ask for each prompt N times."
    )(function)
