"""The forecast of a scan under way from its own verdicts, while no earlier scan exists."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import numpy as np

from guardtui.domain.evaluation import Evaluation, EvaluationKey
from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import is_answered
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.forecaster import Forecaster, ForecastError, fit
from guardtui.scanners.base import ScannerError

LEAST_OF_EACH_LABEL = 10
"""Minimum number of verdicts on prompts that belong to the topic, and on others.

Of a kind that was not asked nothing is known: the guardrail may know it better than the engine.
"""

LEAST_SHARE = 1 / 3
"""Minimum share of the prompts with a verdict; with fewer the intervals are too narrow."""

_GROWTH = 1.25  # factor of verdicts after which it is worth fitting again


class ScanForecast:
    """Fits a forecaster to a scan in a thread, again and again as its verdicts arrive.

    A fit takes longer than two updates of the screen are apart: the screen never waits for one.
    """

    def __init__(self) -> None:
        self._key: EvaluationKey | None = None
        self._reader: EngineReader | None = None
        self._verdicts = 0
        self._forecaster: Forecaster | None = None
        self._running: asyncio.Future[None] | None = None
        self._stop = threading.Event()

    def forecaster(
        self, scan: Evaluation, prompts: PromptSet, reader: EngineReader
    ) -> Forecaster | None:
        """Return the newest fit to a scan, or None; start the next one if it is due."""
        if self._key != scan.key or self._reader is not reader:
            self.stop()
            self._key, self._reader, self._verdicts = scan.key, reader, 0
        answered = is_answered(scan.verdicts.triggered)
        verdicts = int(np.count_nonzero(answered))
        belonging = int(np.count_nonzero(answered & scan.expected))
        enough = min(
            belonging, verdicts - belonging
        ) >= LEAST_OF_EACH_LABEL and verdicts >= LEAST_SHARE * len(answered)
        free = self._running is None or self._running.done()
        if enough and free and verdicts >= _GROWTH * self._verdicts:
            self._verdicts = verdicts
            loop = asyncio.get_running_loop()
            self._running = loop.run_in_executor(None, self._fit, scan, prompts, reader, self._stop)
        return self._forecaster

    def stop(self) -> None:
        """Cancel a running fit, and forget the last one."""
        self._stop.set()
        self._stop = threading.Event()
        self._forecaster, self._running = None, None

    def _fit(
        self, scan: Evaluation, prompts: PromptSet, reader: EngineReader, stop: threading.Event
    ) -> None:
        # Too few verdicts of one kind, or an engine that fails, which the preview reports.
        with contextlib.suppress(ForecastError, ScannerError):
            forecaster = fit([scan], scan.settings, prompts, reader, stopped=stop.is_set)
            if not stop.is_set():
                self._forecaster = forecaster
