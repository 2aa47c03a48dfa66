"""The preview: an evaluation of the current definition after each pause in typing."""

from __future__ import annotations

import asyncio

from guardtui.app.context import Context
from guardtui.app.editing.evaluations import Evaluations
from guardtui.app.scan.forecasting import Forecasting, as_evaluation
from guardtui.app.scan.record import ScanResults
from guardtui.app.state import AppState
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import REMOTE
from guardtui.domain.topic import Topic

LET_IT_END = "A scan is under way: let it end, or stop it first."

PAUSE = 0.03
"""Default pause in typing before a preview, in seconds."""

_GROUP = "preview"


class Preview:
    """Keeps the shown evaluation up to date with the definition and the prompts.

    Shown is what the guardrail said of the definition (`FigureSubject`), else what is forecast of
    it, else what the engine says.
    """

    follows = ("topic", "prompts", "companions", "pinned")

    def __init__(
        self,
        context: Context,
        evaluations: Evaluations,
        forecasting: Forecasting,
        results: ScanResults,
    ) -> None:
        self._store, self._workspace, self._engine = (
            context.store,
            context.workspace,
            context.engine,
        )
        self._editing, self._author, self._jobs = context.editing, context.author, context.jobs
        self._evaluations, self._forecasting, self._results = evaluations, forecasting, results
        self.pause = PAUSE
        self.begun = False
        """True if the first evaluation is done: an edit before that must not cancel it."""
        self._completing = 0
        self._owed = False  # whether a preview was skipped during `complete`

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Start a preview if definition, prompts or baseline changed."""
        same_prompts = new.prompts is old.prompts and new.companions is old.companions
        if not same_prompts or new.topic != old.topic or new.pinned != old.pinned:
            self.request()

    def request(self) -> None:
        """Start a preview, which cancels an older one."""
        if self.begun or self._completing:
            self._jobs.start(self._run(), group=_GROUP, exclusive=True)

    async def _run(self) -> None:
        await asyncio.sleep(self.pause)
        scan = self._results.standing()
        if scan is not None:
            await self.show(scan)
            return
        topic, prompts = self._workspace.session.topic, self._workspace.prompts
        scanner = self._engine.scanner
        async for part in self._engine.parts(topic, prompts):
            await self.show(part)
        if self._completing or not self.begun or self._engine.scanner is not scanner:
            # `open`, `complete` or another engine evaluates the whole; doing it here would cancel
            # that evaluation.
            self._owed = True
            return
        evaluation = await self._evaluate()
        if evaluation is None:
            return
        forecast = await self._forecasting.preview(evaluation.topic, self._workspace.prompts)
        if forecast is None:
            await self.show(evaluation)
        else:
            likelier = as_evaluation(forecast, evaluation)
            await self._evaluations.show(likelier, forecast=forecast)

    async def _evaluate(self) -> Evaluation | None:
        return await self._engine.evaluate(self._workspace.session.topic, self._workspace.prompts)

    async def complete(self, topic: Topic) -> Evaluation | None:
        """Evaluate a definition on all prompts, uncancelled by edits; None if that fails.

        It is not shown. Until all prompts are embedded, previews show those that are.
        """
        self._completing += 1
        try:
            while True:
                prompts, scanner = self._workspace.prompts, self._engine.scanner
                self.request()
                await self._engine.embed(prompts)
                if prompts is self._workspace.prompts and scanner is self._engine.scanner:
                    return await self._engine.evaluate(topic, prompts)
        finally:
            self._completing -= 1
            if self._owed and not self._completing:
                self._owed = False
                if self.begun:
                    self.request()

    async def show(self, evaluation: Evaluation) -> None:
        """Publish an evaluation, of the engine or of a scan."""
        estimate = None
        if evaluation.metrics.open and evaluation.settings.kind in REMOTE:
            estimate = await self._forecasting.estimate(evaluation, self._workspace.prompts)
        predicted = self._results.predicted(evaluation)
        await self._evaluations.show(evaluation, predicted, estimate=estimate)

    async def current(self) -> Evaluation | None:
        """Return the guardrail's evaluation of the current definition, else the engine's.

        What is shown stays. None, with a message, before the first evaluation, during a scan or an
        embedding, or if the engine fails.
        """
        await self._editing.finish_typing()
        waiting = self._engine.waiting(self._workspace.prompts)
        if not self.begun:
            self._author.notify(needs_all(waiting) if waiting else "Nothing is evaluated yet.")
            return None
        if self._results.scanning:
            self._author.notify(LET_IT_END)
            return None
        if (scan := self._results.standing()) is not None:
            return scan
        if waiting:
            self._author.notify(needs_all(waiting))
            return None
        shown, topic = self._store.state.evaluation, self._workspace.session.topic
        if shown is not None and self._engine.has_judged(shown, topic, self._workspace.prompts):
            return shown
        self._jobs.cancel(_GROUP)  # a running preview would cancel this evaluation
        evaluation = await self._evaluate()
        self.request()
        return evaluation

    def has_all(self) -> bool:
        """Return whether all prompts are embedded; otherwise notify the author."""
        waiting = self._engine.waiting(self._workspace.prompts)
        if waiting:
            self._author.notify(needs_all(waiting))
        return not waiting


def needs_all(waiting: str) -> str:
    """Return why something cannot be done yet, from `Engine.waiting`."""
    return f"Not yet: {waiting}, and this needs all of them."
