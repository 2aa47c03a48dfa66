"""Edits of the definition, measured by the embedded engine."""

from __future__ import annotations

import asyncio
from functools import partial

from guardtui.advice.effects import Effect, effects
from guardtui.advice.lint import open_lint_engine
from guardtui.advice.measuring import Stopped, TopicScorer, open_scorer
from guardtui.advice.splits import SplitError, split_prompts
from guardtui.advice.whatif import Shortlist, shortlist
from guardtui.app.editing import Editing
from guardtui.app.engine import Engine
from guardtui.app.state import Store
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from guardtui.session.workspace import Workspace


class RefinementError(GuardtuiError):
    """Edits cannot be measured; the message is for the author."""


class Refinement:
    """Measures edits of the definition on the prompts as they are."""

    def __init__(
        self, store: Store, workspace: Workspace, engine: Engine, editing: Editing
    ) -> None:
        self._store, self._workspace = store, workspace
        self._engine, self._editing = engine, editing

    @property
    def _topic(self) -> Topic:
        return self._workspace.session.topic

    async def scorer(self) -> TopicScorer:
        """Return what measures definitions on both halves of the prompts, embedded by then.

        Raises RefinementError.
        """
        await self._editing.finish_typing()
        prompts, scanner = self._workspace.prompts, self._engine.scanner
        try:
            split = await asyncio.to_thread(split_prompts, prompts)
            scorer = await run_stoppable(
                lambda stopped: open_scorer(scanner, prompts, split, lambda progress: None, stopped)
            )
        except (SplitError, ScannerError, ValueError) as error:
            raise RefinementError(str(error)) from error
        if scorer is None:
            raise RefinementError("the embedding was stopped")
        return scorer

    async def single_edits(self) -> Shortlist | None:
        """Return the single edits of the definition, measured; None when that was stopped.

        They are of the definition as it is at the end: it is measured again if it was edited
        meanwhile. Raises RefinementError.
        """
        with self._store.step("edits are measured …"):
            scorer = await self.scorer()
            while True:
                topic = self._topic
                edits = await run_stoppable(partial(_single_edits, scorer, topic))
                await self._editing.finish_typing()
                if edits is None or topic == self._topic:
                    return edits

    async def effects(self) -> tuple[Effect, ...]:
        """Return what each part of the definition does on all prompts; empty without parts.

        Raises ScannerError.
        """
        topic = await self._editing.finish_typing()
        prompts, scanner = self._workspace.prompts, self._engine.scanner

        def measure(stopped: Stopped) -> tuple[Effect, ...]:
            engine = open_lint_engine(scanner, prompts, lambda progress: None, stopped)
            measured = effects(engine, topic, stopped) if engine is not None else None
            for effect in measured or ():
                _ = effect.worth.intervals  # computed here and not while the screen is drawn
            return measured or ()

        with self._store.step("each part is left out and measured …"):
            return await run_stoppable(measure)


def _single_edits(scorer: TopicScorer, topic: Topic, stopped: Stopped) -> Shortlist | None:
    return shortlist(scorer, topic, stopped=stopped)
