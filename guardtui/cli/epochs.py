"""Repeated scans: number of epochs, reducer, and rows to repeat."""

from __future__ import annotations

from collections.abc import Callable

import click
import numpy as np
from numpy.typing import NDArray

from guardtui.cli.epoch_options import EpochFlags
from guardtui.domain.comparison import Change, compare
from guardtui.domain.evaluation import Evaluation
from guardtui.scorer.expression import ExpressionError
from guardtui.session.epochs import Epochs

_NEAR = 0.1
"""Maximum distance of a score of the embedded engine from its threshold that counts as near."""


def parse_epochs(flags: EpochFlags) -> Epochs | None:
    """Return the number of epochs and their reducer, or None for a single scan.

    Raises UsageError.
    """
    if flags.epochs is None or flags.epochs == 1:
        for option, value in (("--reducer", flags.reducer), ("--repeat", flags.repeat)):
            if value is not None:
                raise click.UsageError(f"{option} needs --epochs of at least 2")
        return None
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
