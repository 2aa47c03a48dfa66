"""What other guardrails said of the prompts that are shown, and which labels they put in doubt."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from guardtui.app.editing.engine import Engine
from guardtui.app.state import AppState
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE
from guardtui.domain.prompts import PromptSet
from guardtui.scanners.base import ScannerError
from guardtui.session.other_verdicts import OtherVerdicts, other_verdicts, suspect_labels
from guardtui.session.session import Iteration
from guardtui.session.workspace import Workspace


@dataclass(frozen=True, eq=False)
class LabelDoubts:
    """Labels in doubt, and those that the author confirmed (`confirmed`, bool [N])."""

    evaluation: Evaluation
    prompts: PromptSet
    iterations: tuple[Iteration, ...]
    engine: Engine
    confirmed: NDArray[np.bool_]

    @cached_property
    def suspect(self) -> NDArray[np.bool_]:
        """Unconfirmed labels that independent guardrails contradict, bool [N].

        Slow: may evaluate the definition with the engine.
        """
        topic, engine = self.evaluation.topic, None
        if self.evaluation.settings.kind == ENGINE:
            engine = self.evaluation
        else:
            # The engine itself reports why it cannot be loaded.
            with contextlib.suppress(ScannerError):
                engine = self.engine.evaluate_now(topic, self.prompts)
        doubtful = suspect_labels(topic, self.prompts, self.iterations, engine)
        return doubtful & ~self.confirmed


class OtherGuardrails:
    """Verdicts of the guardrails that are not shown, and doubts about labels; both cached."""

    def __init__(self, workspace: Workspace, engine: Engine) -> None:
        self._workspace, self._engine = workspace, engine
        self._confirmed: frozenset[int] | None = None
        self._key: tuple[object, ...] = ()
        self._newest = OtherVerdicts()

    def verdicts(self, state: AppState) -> OtherVerdicts:
        """Return the verdicts of the guardrails that are not shown, on the prompts shown."""
        evaluation, prompts = state.evaluation, state.evaluated
        if evaluation is None or prompts is None:
            return OtherVerdicts()
        topic, shown = evaluation.topic, evaluation.settings
        # Of a definition that nobody has judged only the intent matters: typing changes nothing.
        judged = any(iteration.evaluation.topic == topic for iteration in state.iterations)
        subject = topic if judged else topic.intent
        key = (subject, prompts, state.iterations, shown.kind, shown.guardrail)
        if key != self._key:
            self._newest = other_verdicts(topic, prompts, state.iterations, shown)
            self._key = key
        return self._newest

    def doubts(self, state: AppState) -> LabelDoubts | None:
        """Return the doubts about the labels shown; None before an evaluation.

        Raises StoreError.
        """
        evaluation, prompts = state.evaluation, state.evaluated
        if evaluation is None or prompts is None:
            return None
        if self._confirmed is None:
            self._confirmed = self._workspace.store.confirmed_labels()
        confirmed = np.isin(prompts.keys, np.array(sorted(self._confirmed), np.uint64))
        return LabelDoubts(evaluation, prompts, state.iterations, self._engine, confirmed)

    def confirm(self, keys: Collection[int]) -> bool:
        """Confirm these labels as right or, if all are, put them in doubt again.

        Returns whether they are confirmed now. Raises StoreError.
        """
        store = self._workspace.store
        right = not store.confirmed_labels().issuperset(keys)
        store.confirm_labels(keys, right=right)
        self._confirmed = store.confirmed_labels()
        return right
