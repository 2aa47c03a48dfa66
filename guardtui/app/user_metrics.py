"""User-defined metrics of the newest evaluation, computed in a thread, one run at a time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from guardtui.domain.comparison import Comparison
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.user_metric import UserMetric

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
                figures = await _in_thread(
                    partial(_measured, self.metrics, measured, texts, changes)
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


def _measured(
    metrics: Sequence[OwnMetric],
    evaluation: Evaluation,
    prompts: PromptSet,
    comparison: Comparison | None,
) -> tuple[UserMetric, ...]:
    # Loads the library of scorers only if there are metrics.
    from guardtui.session.own_metrics import own_figures

    return own_figures(metrics, evaluation, prompts, comparison)
