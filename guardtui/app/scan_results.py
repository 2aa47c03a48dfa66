"""Evaluations by remote guardrails: of the current definition, and the newest of any."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from guardtui.app.connections import Connections
from guardtui.app.decision_threshold import DecisionThreshold
from guardtui.app.ports import Author
from guardtui.app.problems import problems_shown
from guardtui.app.scan_plan import Prediction
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import DECISION, REMOTE
from guardtui.session.evaluator import RemoteEvaluator
from guardtui.session.workspace import Workspace


class ScanResults:
    """Finds the scan that belongs to the current definition, prompts and guardrail."""

    def __init__(self, workspace: Workspace, connections: Connections, author: Author) -> None:
        self._workspace, self._session = workspace, workspace.session
        self._connections, self._author = connections, author
        self.threshold = DecisionThreshold(workspace.store)
        """Threshold of the decision model used by scans."""
        self.evaluator: RemoteEvaluator | None = None
        """Evaluator of the newest scan, which may be under way, or None."""
        self.newest: Evaluation | None = None
        """Newest scan, complete or not, which the session may not have recorded, or None."""
        self.prediction: Prediction | None = None
        """Verdicts expected of the newest scan, or None."""
        self.prefers_preview = False
        """Whether the author wants the engine's preview instead of an existing scan."""

    @property
    def scanning(self) -> bool:
        """Whether a scan is running or paused."""
        return self.evaluator is not None and self.evaluator.busy

    def so_far(self) -> Evaluation | None:
        """Return the evaluation of the verdicts so far, or None."""
        return self.evaluator.so_far() if self.evaluator is not None and self.scanning else None

    def is_current(self, evaluation: Evaluation) -> bool:
        """Return whether this is a remote scan of the current definition and prompts."""
        return evaluation.settings.kind in REMOTE and evaluation.key.same_subject(
            self._session.topic, self._workspace.prompts.fingerprint
        )

    def standing(self) -> Evaluation | None:
        """Return the newest current scan; None without one, or if the preview is preferred."""
        return None if self.prefers_preview else self.current()

    def current(self) -> Evaluation | None:
        """Return the newest current scan by the chosen guardrail, or None."""
        recorded = (iteration.evaluation for iteration in reversed(self._session.iterations))
        for evaluation in (self.so_far(), self.newest, *recorded):
            if evaluation is None or not self._connections.follows(evaluation.settings):
                continue
            if self.is_current(evaluation):
                return self.at_chosen_threshold(evaluation)
        return None

    def at_chosen_threshold(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation at the threshold chosen for its scanner."""
        with problems_shown(self._author):
            return self.threshold.applied(evaluation)
        return evaluation

    def last(self) -> Evaluation | None:
        """Return the newest scan by the connected guardrail, of any definition."""
        name, follows = self._connections.asked_name, self._connections.follows
        for iteration in reversed(self._session.iterations):
            settings = iteration.evaluation.settings
            if settings.kind == name and follows(settings):
                return iteration.evaluation
        newest = self.newest
        return newest if newest is not None and follows(newest.settings) else None

    def predicted(self, evaluation: Evaluation) -> NDArray[np.int8] | None:
        """Return the expected verdicts of a scan, int8 [N], or None."""
        prediction = self.prediction
        if prediction is None or evaluation.settings.kind not in REMOTE:
            return None
        fits = evaluation.key.same_subject(prediction.topic, prediction.prompt_set)
        return prediction.triggered if fits else None

    def decided(self) -> Evaluation | None:
        """Return the shown scan if it is by a decision model, whose threshold can change."""
        scan = self.standing()
        return scan if scan is not None and scan.settings.kind == DECISION else None

    def keep_partial(self) -> Evaluation | None:
        """Keep and return the verdicts of an incomplete scan, or None."""
        evaluation = self.evaluator.so_far() if self.evaluator is not None else None
        if evaluation is None or not evaluation.metrics.total:
            return None
        known = self.current()
        if known is None or evaluation.metrics.missing <= known.metrics.missing:
            self.newest = evaluation
        return evaluation
