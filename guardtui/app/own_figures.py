"""The user's own metrics beside the screen: of the newest evaluation, one run at a time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from guardtui.domain.comparison import Comparison
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.own_figure import OwnFigure
from guardtui.domain.prompts import PromptSet

if TYPE_CHECKING:
    from guardtui.session.own_metrics import OwnMetric


class LiveFigures:
    """Keeps the figures of `metrics` up to date without holding up what is typed.

    A metric that takes long is never run twice at once: of evaluations that came meanwhile only the
    newest one is measured. `show` is called whenever `figures` changed.
    """

    def __init__(self, show: Callable[[], None]) -> None:
        self.metrics: Sequence[OwnMetric] = ()
        self.figures: tuple[OwnFigure, ...] = ()
        self._show = show
        self._of: Evaluation | None = None
        self._newest: tuple[Evaluation, PromptSet, Comparison | None] | None = None
        self._running = False

    def of(self, evaluation: Evaluation | None) -> tuple[OwnFigure, ...] | None:
        """Return the figures of an evaluation, or None while they are being worked out."""
        if not self.metrics:
            return ()
        return self.figures if evaluation is self._of else None

    async def follow(
        self, evaluation: Evaluation, prompts: PromptSet, comparison: Comparison | None
    ) -> None:
        """Measure this evaluation, now or once the run before it has ended."""
        self._newest = (evaluation, prompts, comparison)
        if self._running or not self.metrics:
            return
        self._running = True
        try:
            while self._newest is not None:
                (measured, texts, changes), self._newest = self._newest, None
                found = await _in_thread(partial(_measured, self.metrics, measured, texts, changes))
                self.figures, self._of = found, measured
                self._show()
        finally:
            self._running = False


THREAD = "own metrics"


async def _in_thread(call: Callable[[], tuple[OwnFigure, ...]]) -> tuple[OwnFigure, ...]:
    """Run a call in a thread that no exit waits for: a metric of anybody's may never end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[OwnFigure, ...]] = loop.create_future()

    def settle(found: tuple[OwnFigure, ...] | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(found or ())

    def work() -> None:
        found, error = None, None
        try:
            found = call()
        except BaseException as problem:  # noqa: BLE001 - it belongs to whoever waits
            error = problem
        with contextlib.suppress(RuntimeError):  # the app has ended meanwhile
            loop.call_soon_threadsafe(settle, found, error)

    threading.Thread(target=work, name=THREAD, daemon=True).start()
    return await done


def _measured(
    metrics: Sequence[OwnMetric],
    evaluation: Evaluation,
    prompts: PromptSet,
    comparison: Comparison | None,
) -> tuple[OwnFigure, ...]:
    # Only who has metrics of their own waits for the library of scorers.
    from guardtui.session.own_metrics import own_figures

    return own_figures(metrics, evaluation, prompts, comparison)
