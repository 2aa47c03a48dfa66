"""Edits of the definition, measured by the engine, with a forecast of the real guardrail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from guardtui.advice.effects import DefinitionVerdicts, Effect, effects
from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.engine_scores import open_scores
from guardtui.advice.forecast_verdicts import ForecastVerdicts, with_forecasts
from guardtui.advice.measured_rows import MeasuredRows, TooFewPromptsError, measured_rows
from guardtui.advice.objective import Objective, Stopped
from guardtui.advice.proposals import Proposal
from guardtui.advice.search import Search, SearchProgress, SearchResult, advise
from guardtui.advice.splits import SplitError
from guardtui.app.context import Context
from guardtui.app.scan.forecasting import Forecasting
from guardtui.app.scan.subject import FigureSubject
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.guardrail import ScannerSettings, forecast_settings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.forecast.forecaster import Forecaster
from guardtui.scanners.base import Report, ScannerError
from guardtui.scanners.local.scanner import LocalScanner

Result = TypeVar("Result")


class RefinementError(GuardtuiError):
    """Edits cannot be measured; the message is for the author."""


@dataclass(frozen=True, eq=False)
class Measure:
    """An objective and the prompts that definitions are measured on.

    `forecaster` is that of a guardrail that has answered, or None.
    """

    objective: Objective
    rows: MeasuredRows
    forecaster: Forecaster | None = None
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)
    """Held while measuring, which is for one thread at a time."""

    def with_forecasts(
        self, topic: Topic, proposals: tuple[Proposal, ...], stopped: Stopped = lambda: False
    ) -> tuple[Proposal, ...] | None:
        """Return proposals for a definition with their forecasts, if possible; None if stopped.

        Raises ScannerError.
        """
        if self.forecaster is None:
            return proposals
        return with_forecasts(topic, proposals, self.forecaster, self.objective.prompts, stopped)

    def advised(self, topic: Topic, stopped: Stopped = lambda: False) -> SearchResult | None:
        """Return the best single edits; None if stopped. Raises ScannerError."""
        return self._finished(advise(self.objective, topic, self.rows, stopped))

    def searched(
        self,
        topic: Topic,
        budget: float,
        stopped: Stopped,
        progress: Callable[[SearchProgress], None],
    ) -> SearchResult | None:
        """Search for better definitions until it ends, or is stopped. Raises ScannerError.

        Returns None if it was stopped before the definition was measured.
        """
        search = Search(
            self.objective, topic, self.rows, budget=budget, stopped=stopped, progress=progress
        )
        return self._finished(search.run())

    def _finished(self, result: SearchResult | None) -> SearchResult | None:
        # Not stopped with the search, since an ended search still returns its proposals.
        known = None if result is None else self.with_forecasts(result.topic, result.proposals)
        return None if result is None or known is None else replace(result, proposals=known)


def open_measure(
    scanner: LocalScanner,
    prompts: PromptSet,
    forecaster: Forecaster | None = None,
    report: Report = lambda progress: None,
    stopped: Stopped = lambda: False,
) -> Measure | None:
    """Return the measure for these prompts, which are embedded first; None if stopped.

    Blocks. Raises `SplitError`, `TooFewPromptsError` and ScannerError.
    """
    rows = measured_rows(prompts)
    scores = open_scores(scanner, prompts, report, stopped)
    if scores is None:
        return None
    objective = EngineObjective(scores, rows.chosen_on, fitted=scores.is_fitted)
    return Measure(objective, rows, forecaster)


@dataclass(frozen=True, eq=False)
class _Opened:
    """The newest measure with its engine, prompts, threshold and forecast."""

    subject: tuple[LocalScanner, PromptSet, ScannerSettings, Forecaster | None]
    measure: Measure


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of the parts of a definition, and the guardrail that they are for."""

    parts: tuple[Effect, ...]
    settings: ScannerSettings


class Refinements:
    """Measures edits of the definition on the current prompts."""

    def __init__(self, context: Context, forecasting: Forecasting, subject: FigureSubject) -> None:
        self._store, self._workspace = context.store, context.workspace
        self._engine, self._editing = context.engine, context.editing
        self._forecasting, self._subject = forecasting, subject
        self._opened: _Opened | None = None

    @property
    def is_ready(self) -> bool:
        """Return whether all prompts are embedded."""
        return self._engine.scanner.has(self._workspace.prompts)

    async def measure(self, *, typing: bool = True) -> Measure:
        """Return the measure, with the forecaster while forecasts are shown.

        With `typing` it waits for typed keys first. Raises RefinementError.
        """
        if typing:
            await self._editing.finish_typing()
        prompts, scanner = self._workspace.prompts, self._engine.scanner

        def opened(stopped: Stopped) -> Measure | None:
            forecaster = self._forecaster(prompts, stopped)
            subject = scanner, prompts, scanner.settings, forecaster
            known = self._opened
            if known is not None and known.subject == subject:
                return known.measure
            measure = open_measure(scanner, prompts, forecaster, stopped=stopped)
            if measure is not None:
                # Its embedded texts are reused by the next measurement.
                self._opened = _Opened(subject, measure)
            return measure

        try:
            measure = await run_stoppable(opened)
        except (SplitError, TooFewPromptsError, ScannerError, ValueError) as error:
            raise RefinementError(str(error)) from error
        if measure is None:
            raise RefinementError("the embedding was stopped")
        return measure

    def _forecaster(self, prompts: PromptSet, stopped: Stopped) -> Forecaster | None:
        """Return the forecaster while forecasts are shown, or None."""
        if self._subject.engine_only:
            return None
        return self._forecasting.forecaster(prompts, stopped)

    async def advised(self, measure: Measure, topic: Topic) -> SearchResult | None:
        """Return measured edits of one definition; None if stopped. Raises RefinementError."""
        return await self.run(measure, lambda stopped: measure.advised(topic, stopped))

    async def run(
        self, measure: Measure, work: Callable[[Stopped], Result | None]
    ) -> Result | None:
        """Run `work` in a thread; return its result, or None if stopped. Raises RefinementError."""

        def work_out(stopped: Stopped) -> Result | None:
            with measure.one_at_a_time:
                return None if stopped() else work(stopped)

        try:
            return await run_stoppable(work_out)
        except ScannerError as error:
            raise RefinementError(str(error)) from error

    async def effects(self) -> Effects:
        """Return the effect of each part of the definition on all prompts.

        By a forecast while forecasts are shown. Raises ScannerError.
        """
        topic = await self._editing.finish_typing()
        prompts, scanner = self._workspace.prompts, self._engine.scanner

        def measure(stopped: Stopped) -> Effects:
            known = self._forecaster(prompts, stopped)
            judge: DefinitionVerdicts | None
            if known is None:
                settings = scanner.settings
                judge = open_scores(scanner, prompts, lambda progress: None, stopped)
            else:
                settings = forecast_settings(known.grounds.settings)
                judge = ForecastVerdicts(known, prompts)
            measured = effects(judge, topic, stopped) if judge is not None else None
            for effect in measured or ():
                _ = effect.worth.intervals  # computed here, not while the screen is drawn
            return Effects(measured or (), settings)

        with self._store.step("measures each part …"):
            return await run_stoppable(measure)
