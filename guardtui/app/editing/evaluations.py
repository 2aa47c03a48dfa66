"""The shown evaluation, its comparison to the baseline, and the user's own metrics."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from guardtui.app.context import Context
from guardtui.domain.comparison import Alignment, Comparison, align, compare
from guardtui.domain.estimates import Estimate, PartialRates, partial_rates
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import (
    ThresholdFit,
)
from guardtui.domain.prompts import PromptSet
from guardtui.domain.series import BestOfSeries
from guardtui.domain.user_metric import UserMetric
from guardtui.forecast.forecaster import Forecast
from guardtui.session.series import series_of
from guardtui.session.session import Iteration

if TYPE_CHECKING:
    from guardtui.session.own_metrics import OwnMetric


class LiveUserMetrics:
    """Keeps the figures of `metrics` up to date without delaying the editor.

    A slow metric is never run twice at once: of evaluations that arrive meanwhile only the newest
    is measured. `show` is called when `figures` changed.
    """

    def __init__(self, show: Callable[[], None]) -> None:
        self.metrics: Sequence[OwnMetric] = ()
        self.figures: tuple[UserMetric, ...] = ()
        self._show = show
        self._of: Evaluation | None = None
        self._newest: tuple[Evaluation, PromptSet, Comparison | None] | None = None
        self._running = False

    def of(self, evaluation: Evaluation | None) -> tuple[UserMetric, ...] | None:
        """Return the figures of an evaluation, or None while they are computed."""
        if not self.metrics:
            return ()
        return self.figures if evaluation is self._of else None

    async def follow(
        self, evaluation: Evaluation, prompts: PromptSet, comparison: Comparison | None
    ) -> None:
        """Measure this evaluation, once the previous run has ended."""
        self._newest = (evaluation, prompts, comparison)
        if self._running or not self.metrics:
            return
        self._running = True
        try:
            while self._newest is not None:
                (measured, texts, changes), self._newest = self._newest, None
                # Loads the library of scorers only if there are metrics.
                from guardtui.session.own_metrics import own_figures

                figures = await _in_thread(
                    partial(own_figures, self.metrics, measured, texts, changes)
                )
                self.figures, self._of = figures, measured
                self._show()
        finally:
            self._running = False


THREAD = "own metrics"


async def _in_thread(call: Callable[[], tuple[UserMetric, ...]]) -> tuple[UserMetric, ...]:
    """Run a call in a daemon thread: a user's metric may never end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[UserMetric, ...]] = loop.create_future()

    def settle(figures: tuple[UserMetric, ...] | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(figures or ())

    def work() -> None:
        figures, error = None, None
        try:
            figures = call()
        except BaseException as problem:  # noqa: BLE001 - it belongs to whoever waits
            error = problem
        with contextlib.suppress(RuntimeError):  # the app has ended
            loop.call_soon_threadsafe(settle, figures, error)

    threading.Thread(target=work, name=THREAD, daemon=True).start()
    return await done


class Evaluations:
    """Publishes evaluations; caches the alignment of their prompts with the baseline's."""

    def __init__(self, context: Context, figures: LiveUserMetrics) -> None:
        self._store, self._workspace = context.store, context.workspace
        self._engine, self._jobs = context.engine, context.jobs
        self._figures = figures
        self._alignment: tuple[Iteration, str, Alignment] | None = None
        self._known_series: tuple[object, BestOfSeries | None] | None = None

    async def show(
        self,
        evaluation: Evaluation,
        predicted: NDArray[np.int8] | None = None,
        forecast: Forecast | None = None,
        estimate: Estimate | None = None,
    ) -> None:
        """Compare an evaluation with the baseline and publish both.

        `predicted` are expected verdicts of open rows, int8 [N]; `estimate` are rates of an
        incomplete scan by a forecast. With a `forecast` the evaluation holds its verdicts, and the
        baseline is by the guardrail that is forecast. An evaluation of outdated prompts is ignored.
        """
        session, prompts = self._workspace.session, self._workspace.prompts
        settings = evaluation.settings if forecast is None else forecast.grounds.settings
        session.shown = settings
        baseline = session.baseline
        if evaluation.prompt_set != prompts.fingerprint:
            return

        def work_out() -> tuple[
            Comparison | None, PartialRates | None, ThresholdFit | None, BestOfSeries | None
        ]:
            comparison = None
            if baseline is not None:
                alignment = self._aligned(baseline, evaluation)
                comparison = compare(baseline.evaluation, evaluation, alignment)
                # Computed here, not while the screen is drawn.
                _ = comparison.sentence, comparison.separation
            _ = evaluation.separation
            fit = self._engine.own_fit(evaluation)
            _ = evaluation.intervals
            partial = partial_rates(evaluation, predicted, estimate)
            return comparison, partial, fit, self._series_of(session.iterations, session.best)

        comparison, partial, fit, series = await asyncio.to_thread(work_out)
        self._store.publish(
            replace(
                self._store.state,
                evaluation=evaluation,
                evaluated=prompts,
                comparison=comparison,
                partial=partial,
                forecast=forecast,
                fit=fit,
                series=series,
                figures=self._figures.of(evaluation),
            )
        )
        self._jobs.start(self._figures.follow(evaluation, prompts, comparison), group="figures")

    def _series_of(
        self, iterations: Sequence[Iteration], best: Iteration | None
    ) -> BestOfSeries | None:
        # The same at each pause in typing, until an iteration is recorded.
        known = self._known_series
        key = (len(iterations), best)
        if known is None or known[0] != key:
            self._known_series = known = key, series_of(iterations, best)
        return known[1]

    def _aligned(self, baseline: Iteration, current: Evaluation) -> Alignment:
        # Edits of the definition do not change the prompts: align once for each baseline.
        known = self._alignment
        if known is None or known[0] is not baseline or known[1] != current.prompt_set:
            aligned = align(baseline.evaluation.keys, current.keys)
            known = self._alignment = baseline, current.prompt_set, aligned
        return known[2]
