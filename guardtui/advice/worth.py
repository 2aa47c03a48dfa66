"""What an edit that was measured is worth: its fixes and regressions, counted for significance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.evaluation import should_trigger
from guardtui.domain.metrics import Metrics
from guardtui.domain.significance import Pairs, Significance
from guardtui.domain.topic import Intent


def worth_of(
    duty: NDArray[np.bool_], before: NDArray[np.bool_], after: NDArray[np.bool_]
) -> Significance:
    """How sure a difference is, from which prompts were and are right, bool [n] each.

    `duty` says which should trigger, bool [n]; each prompt has a verdict before and after.
    """
    code = 2 * before + after

    def cells(rows: NDArray[np.bool_]) -> tuple[int, int, int, int]:
        wrong, fixed, broken, right = np.bincount(code[rows], minlength=4).tolist()
        return right, broken, fixed, wrong

    pairs = Pairs(cells(duty), cells(~duty))
    fixes, regressions = (pairs.positive[cell] + pairs.negative[cell] for cell in (2, 1))
    return Significance(fixes, regressions, len(duty), pairs)


def worth_of_matches(
    expected: NDArray[np.bool_],
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    intent: Intent,
) -> Significance:
    """The same from labels and from which prompts match two definitions, bool [n] each."""
    # To match is right where the label says so, whatever the guardrail makes of it.
    duty = should_trigger(expected, intent)
    return worth_of(duty, before == expected, after == expected)


def metrics_of_matches(
    expected: NDArray[np.bool_], matches: NDArray[np.bool_], intent: Intent
) -> Metrics:
    """Metrics from labels and from which prompts match, both bool [n]."""
    hits = int(np.count_nonzero(expected & matches))
    belong, false = int(np.count_nonzero(expected)), int(np.count_nonzero(matches)) - hits
    others = len(expected) - belong
    if intent is Intent.BLOCK:
        return Metrics(tp=hits, tn=others - false, fp=false, fn=belong - hits)
    # An allow topic fires on what does not match: what belongs should not trigger.
    return Metrics(tp=others - false, tn=hits, fp=belong - hits, fn=false)
