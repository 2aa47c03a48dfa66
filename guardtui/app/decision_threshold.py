"""The threshold of a decision model in a session, applied to recorded probabilities."""

from __future__ import annotations

from typing import TypeAlias

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import DECISION, Guardrail
from guardtui.domain.operating_point import BY_HAND, ThresholdFit, at_threshold
from guardtui.session.store import SessionStore
from guardtui.session.threshold_fits import read_decision_threshold, write_decision_threshold

Chosen: TypeAlias = ThresholdFit | float | None
"""A fit, a threshold set by hand, or None for the recorded one."""


class DecisionThreshold:
    """Sets the threshold at which probabilities become verdicts, without requests."""

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions
        self._chosen: dict[Guardrail, Chosen] = {}
        self._applied: tuple[Evaluation, Evaluation] | None = None

    def chosen(self, guardrail: Guardrail) -> Chosen:
        """Return the threshold or fit chosen for a model in this session. Raises StoreError."""
        if guardrail not in self._chosen:
            settings = self._sessions.settings()
            self._chosen[guardrail] = read_decision_threshold(settings, guardrail)
        return self._chosen[guardrail]

    def of(self, guardrail: Guardrail) -> tuple[float, str] | None:
        """Return the chosen threshold of a model and its source, or None. Raises StoreError."""
        chosen = self.chosen(guardrail)
        if isinstance(chosen, ThresholdFit):
            return chosen.threshold, chosen.source
        return None if chosen is None else (chosen, BY_HAND)

    def applied(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation at the chosen threshold, if a decision model made it in one epoch.

        The same evaluation and threshold give the same object. Raises StoreError.
        """
        settings = evaluation.settings
        if settings.kind != DECISION or evaluation.verdicts.repeats is not None:
            return evaluation
        chosen = self.of(settings.guardrail)
        if chosen is None or chosen == (settings.threshold, settings.threshold_source):
            return evaluation
        if self._applied is not None and self._applied[0] is evaluation:
            now = self._applied[1].settings
            if chosen == (now.threshold, now.threshold_source):
                return self._applied[1]
        applied = at_threshold(evaluation, *chosen)
        self._applied = evaluation, applied
        return applied

    def use(self, chosen: Chosen, guardrail: Guardrail) -> None:
        """Use a threshold until the app ends, unless `keep` stores it."""
        self._chosen[guardrail] = chosen

    def keep(self, guardrail: Guardrail) -> None:
        """Store the threshold in the session. Raises StoreError."""
        chosen = self.chosen(guardrail)
        self._sessions.update_settings(write_decision_threshold(chosen, guardrail))
