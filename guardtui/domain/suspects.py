"""Doubtful labels: those that several independent guardrails contradict."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.verdicts import Triggered, is_answered

LEAST_AGAINST = 2
"""Independent guardrails that must contradict a label; a single one may simply be weak."""


def suspects(should_trigger: NDArray[np.bool_], answers: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return which labels (bool [N]: should trigger) are doubtful, bool [N].

    Each row of `answers` (int8 [S, N], values of `Triggered`) holds the answers of one independent
    guardrail. A label is doubtful if at least two contradict it, and more contradict than confirm
    it. Raises ValueError if the shapes differ.
    """
    if answers.shape[1:] != should_trigger.shape:
        raise ValueError(f"{answers.shape} answers for {should_trigger.shape} labels")
    answered = is_answered(answers)
    confirming = answered & ((answers == Triggered.YES) == should_trigger)
    against = (answered & ~confirming).sum(axis=0)
    doubtful: NDArray[np.bool_] = (against >= LEAST_AGAINST) & (against > confirming.sum(axis=0))
    return doubtful
