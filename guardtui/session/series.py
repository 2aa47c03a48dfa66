"""How much the best iteration of a session owes to being the best of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import as_rule
from guardtui.domain.series import BestOfSeries, best_of_series
from guardtui.domain.verdicts import Outcome, is_correct
from guardtui.session.session import Iteration


def series_of(iterations: Sequence[Iteration], best: Iteration | None) -> BestOfSeries | None:
    """Return the series that `best` was chosen from; None if it is too short.

    It has the iterations with another definition, on the same prompts and labels, by the same
    guardrail at the same threshold (or each at its own fitted one); of a definition with several,
    the last one counts. Prompts without a verdict in one of them are left out. Blocks.
    """
    if best is None:
        return None
    shown = best.evaluation
    rule = _rule(shown.settings)
    members: dict[object, Evaluation] = {
        iteration.evaluation.topic: iteration.evaluation
        for iteration in iterations
        if iteration.evaluation.prompt_set == shown.prompt_set
        and _rule(iteration.evaluation.settings) == rule
        and np.array_equal(iteration.evaluation.keys, shown.keys)
    }
    members[shown.topic] = shown
    series = list(members.values())
    codes = np.stack([evaluation.codes for evaluation in series])
    answered = (codes < Outcome.ERROR).all(axis=0)
    return best_of_series(
        is_correct(codes[:, answered]),
        shown.should_trigger[answered],
        list(members).index(shown.topic),
        fitted=shown.settings.has_fitted_threshold,
    )


def _rule(settings: ScannerSettings) -> ScannerSettings:
    return replace(as_rule(settings), revision="")
