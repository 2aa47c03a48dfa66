"""The threshold of a decision model in a session, applied to recorded probabilities."""

from __future__ import annotations

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import DECISION, Guardrail
from guardtui.domain.operating_point import BY_HAND, at_threshold
from guardtui.session.chosen_thresholds import read_decision_threshold, write_decision_threshold
from guardtui.session.store import SessionStore


class DecisionThreshold:
    """Sets the threshold at which probabilities become verdicts, without requests."""

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions
        self._chosen: dict[Guardrail, float | None] = {}
        self._applied: tuple[Evaluation, Evaluation] | None = None

    def chosen(self, guardrail: Guardrail) -> float | None:
        """Return the threshold set by hand for a model in this session, or None for the recorded.

        Raises StoreError.
        """
        if guardrail not in self._chosen:
            settings = self._sessions.settings()
            self._chosen[guardrail] = read_decision_threshold(settings, guardrail)
        return self._chosen[guardrail]

    def applied(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation at the chosen threshold, if a decision model made it in one epoch.

        The same evaluation and threshold give the same object. Raises StoreError.
        """
        settings = evaluation.settings
        if settings.kind != DECISION or evaluation.verdicts.repeats is not None:
            return evaluation
        threshold = self.chosen(settings.guardrail)
        chosen = threshold, BY_HAND
        if threshold is None or chosen == (settings.threshold, settings.threshold_source):
            return evaluation
        if self._applied is not None and self._applied[0] is evaluation:
            now = self._applied[1].settings
            if chosen == (now.threshold, now.threshold_source):
                return self._applied[1]
        applied = at_threshold(evaluation, threshold, BY_HAND)
        self._applied = evaluation, applied
        return applied

    def use(self, chosen: float | None, guardrail: Guardrail) -> None:
        """Use a threshold until the app ends, unless `keep` stores it."""
        self._chosen[guardrail] = chosen

    def keep(self, guardrail: Guardrail) -> None:
        """Store the threshold in the session. Raises StoreError."""
        chosen = self.chosen(guardrail)
        self._sessions.update_settings(write_decision_threshold(chosen, guardrail))
