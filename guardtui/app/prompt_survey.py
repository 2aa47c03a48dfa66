"""The survey of the prompt set: made on request, and cached until evaluation or prompts change."""

from __future__ import annotations

import contextlib

from guardtui.advice.prompt_set import Survey, survey
from guardtui.app.context import Context
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet


class PromptSurveys:
    """Surveys prompts with the embedded engine; the newest survey is cached."""

    def __init__(self, context: Context) -> None:
        self._store, self._engine = context.store, context.engine
        self._newest: Survey | None = None

    async def survey(
        self, evaluation: Evaluation, prompts: PromptSet, *, quiet: bool = False
    ) -> Survey | None:
        """Return the survey of these prompts with the outcomes of their evaluation.

        With `quiet` no progress is shown. Raises ScannerError.
        """
        known = self._newest
        if known is None or known.evaluation is not evaluation or known.prompts is not prompts:
            scanner = self._engine.scanner
            step = self._store.step("surveys the prompt set …")
            with contextlib.nullcontext() if quiet else step:
                known = await run_stoppable(
                    lambda stopped: survey(scanner, prompts, evaluation, stopped)
                )
            self._newest = known
        return known
