"""Lint of the definition: of its text at each key, with measured effects after each preview."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from guardtui.advice.engine_scores import EngineScores, open_scores
from guardtui.advice.lint import lint
from guardtui.advice.lint_advice import Advice
from guardtui.advice.text_lint import lint_text
from guardtui.app.context import Context
from guardtui.app.state import AppState
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.evaluation import Evaluation, EvaluationKey
from guardtui.domain.guardrail import REMOTE
from guardtui.domain.metrics import Metrics
from guardtui.domain.operating_point import Threshold
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.scanner import LocalScanner, Stopped

BY_TEXT = frozenset({"exclusion", "long", "languages"})
"""Codes of advice that depends on the text only."""


@dataclass(frozen=True, eq=False)
class _OpenEngine:
    """A lint engine with the scanner and prompts it was made for."""

    scanner: LocalScanner
    prompt_set: str
    threshold: tuple[Threshold, str]
    engine: EngineScores

    def serves(self, scanner: LocalScanner, prompts: PromptSet) -> bool:
        """Return whether it is for this scanner, at its current threshold, and these prompts."""
        same = self.scanner is scanner and self.prompt_set == prompts.fingerprint
        return same and self.threshold == scanner.threshold


def carried_on(shown: Sequence[Advice], fresh: Sequence[Advice]) -> tuple[Advice, ...]:
    """Return `shown` in its order, without advice that is no longer in `fresh`; new advice last.

    Measured effects stay until the next preview, as the rates beside them do.
    """
    known = {(advice.code, advice.field): advice for advice in fresh}
    result: list[Advice] = []
    for advice in shown:
        if advice.code not in BY_TEXT:
            result.append(advice)
        elif (now := known.pop((advice.code, advice.field), None)) is not None:
            result.append(replace(now, removal=advice.removal))
    return (*result, *known.values())


_Subject = tuple[EvaluationKey, Metrics | None]
"""Key of the evaluation behind measured advice, and its metrics once it is complete."""


def _counted(evaluation: Evaluation) -> Metrics | None:
    """Return the metrics of an evaluation, or None while verdicts are open."""
    return None if evaluation.metrics.open else evaluation.metrics


class DefinitionLint:
    """Keeps `AppState.advice` up to date with the definition and its evaluation."""

    follows = ("topic", "evaluation")

    def __init__(self, context: Context) -> None:
        self._store, self._engine, self._jobs = context.store, context.engine, context.jobs
        self._measured: _Subject | None = None
        self._measuring: _Subject | None = None
        self._open_engine: _OpenEngine | None = None
        self._one_at_a_time = threading.Lock()

    @property
    def measured_on(self) -> EvaluationKey | None:
        """Key of the evaluation that the advice was measured on, or None."""
        return None if self._measured is None else self._measured[0]

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Lint the text when the definition changed, and measure effects after a preview."""
        measured = self.measured_on
        if new.topic != old.topic and (measured is None or measured.topic != new.topic):
            self._measured = None
            advice = carried_on(new.advice, lint_text(new.topic))
            self._store.publish(replace(self._store.state, advice=advice))
        evaluation = new.evaluation
        if evaluation is None or evaluation is old.evaluation:
            return
        if not evaluation.key.same_subject(new.topic, new.prompts.fingerprint):
            return  # a newer preview is on its way
        # During a scan there are four evaluations a second; advice on a part would not hold.
        subject = evaluation.key, _counted(evaluation)
        if subject not in (self._measured, self._measuring):
            self._measuring = subject
            self._jobs.start(self._follow(evaluation, new.prompts), group="lint", exclusive=True)

    async def _follow(self, evaluation: Evaluation, prompts: PromptSet) -> None:
        subject = evaluation.key, _counted(evaluation)
        try:
            # During a scan nothing is embedded; while prompts are embedded, only the text is
            # linted.
            opens = evaluation.settings.kind not in REMOTE and not evaluation.is_of_a_part
            advice = await self._lint(evaluation.topic, evaluation, prompts, opens=opens)
        finally:
            if self._measuring == subject:
                self._measuring = None
        if self._store.state.topic == evaluation.topic:
            self._measured = subject
            self._store.publish(replace(self._store.state, advice=advice))

    async def measured(self) -> tuple[Advice, ...]:
        """Return all advice on the definition, measured; embeds the prompts if necessary."""
        state = self._store.state
        evaluation, prompts = state.evaluation, state.evaluated
        if evaluation is None or prompts is None or self.measured_on == evaluation.key:
            return state.advice
        return await self._lint(state.topic, evaluation, prompts, opens=True)

    async def _lint(
        self, topic: Topic, evaluation: Evaluation, prompts: PromptSet, *, opens: bool
    ) -> tuple[Advice, ...]:
        """Return the advice; without `opens`, only an open engine measures effects."""
        scanner = self._engine.scanner
        # Of any scanner: only the real guardrail shows that a definition separates nothing.
        metrics = _counted(evaluation) if evaluation.topic == topic else None

        def work_out(stopped: Stopped) -> tuple[Advice, ...]:
            with self._one_at_a_time:  # an engine is for one thread at a time
                engine = self._engine_for(scanner, prompts, stopped, opens=opens)
                return lint(topic, prompts, engine, stopped, metrics)

        return await run_stoppable(work_out)

    def _engine_for(
        self,
        scanner: LocalScanner,
        prompts: PromptSet,
        stopped: Stopped,
        *,
        opens: bool,
    ) -> EngineScores | None:
        known = self._open_engine
        if known is not None and known.serves(scanner, prompts):
            return known.engine
        if not opens or stopped():
            return None
        try:
            engine = open_scores(scanner, prompts, lambda progress: None, stopped)
        except ScannerError:
            return None  # already reported by the preview
        if engine is not None:
            self._open_engine = _OpenEngine(scanner, prompts.fingerprint, scanner.threshold, engine)
        return engine
