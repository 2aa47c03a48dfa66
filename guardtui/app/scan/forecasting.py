"""The preview of a remote guardrail: a forecast from its recorded verdicts, after each edit."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass, replace
from operator import is_

import numpy as np

from guardtui.app.context import Context
from guardtui.app.scan.plan import FlipGrounds
from guardtui.app.scan.record import LEAST_SHARE, iteration_of
from guardtui.app.scan.subject import FigureSubject
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.comparison import codes_for, whole_coverage
from guardtui.domain.estimates import Estimate
from guardtui.domain.evaluation import Evaluation, EvaluationKey
from guardtui.domain.guardrail import ScannerSettings, forecast_settings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import is_answered
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.forecaster import Forecast, Forecaster, ForecastError, fit, guardrails
from guardtui.forecast.trust import Trust, check_forecasts
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.scanner import LocalScanner, Stopped
from guardtui.session.session import Recorder, recorded_forecasts

LEAST_OF_EACH_LABEL = 10
"""Minimum number of verdicts on prompts that belong to the topic, and on others.

Of a kind that was not asked nothing is known: the guardrail may know it better than the engine.
"""

_GROWTH = 1.25  # factor of verdicts after which it is worth fitting again


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A forecaster with its basis; None if there are too few verdicts."""

    scans: tuple[Evaluation, ...]
    prompt_set: str
    scanner: LocalScanner
    forecaster: Forecaster | None

    def serves(
        self, scans: tuple[Evaluation, ...], prompts: PromptSet, scanner: LocalScanner
    ) -> bool:
        """Return whether its basis is unchanged."""
        same = len(scans) == len(self.scans) and all(map(is_, scans, self.scans))
        return same and self.prompt_set == prompts.fingerprint and self.scanner is scanner


class Forecasting:
    """Forecasts the guardrail that figures are about; refitted when it has more verdicts."""

    def __init__(self, context: Context, subject: FigureSubject) -> None:
        self._session, self._engine, self._subject = context.session, context.engine, subject
        self._fitted: _Fitted | None = None
        self._reader: tuple[LocalScanner, EngineReader] | None = None
        self._one_at_a_time = threading.Lock()
        self._check: FlipGrounds | None = None
        self._scan_forecast = ScanForecast()

    async def preview(self, topic: Topic, prompts: PromptSet) -> Forecast | None:
        """Forecast a definition for the screen; None if the author wants the engine's figures."""
        return None if self._subject.engine_only else await self.forecast(topic, prompts)

    async def estimate(self, scan: Evaluation, prompts: PromptSet) -> Estimate | None:
        """Estimate the rates of a scan with open rows, or None.

        The forecaster is that of a check of likely changes, of the recorded scans, or in a first
        scan of the verdicts so far. There is no estimate until enough verdicts have arrived, nor
        while prompts wait to be embedded.
        """
        if self._engine.waiting(prompts):
            return None
        try:
            forecaster = await self._of_other_definitions(scan, prompts)
            first_scan = forecaster is None
            if forecaster is None:
                reader = self._reader_of(self._engine.scanner)
                forecaster = self._scan_forecast.forecaster(scan, prompts, reader)
            if forecaster is None:
                return None
            forecast = await asyncio.to_thread(
                forecaster.forecast,
                scan.topic,
                answered=scan.verdicts.triggered,
                first_scan=first_scan,
            )
        except ScannerError:
            return None  # already reported by the preview with the same engine
        if forecast is None:
            return None
        return Estimate(forecast.rates.by_name)

    async def _of_other_definitions(
        self, scan: Evaluation, prompts: PromptSet
    ) -> Forecaster | None:
        """Return a forecaster that knows the guardrail's verdicts on other definitions, or None.

        A part of the prompts that was chosen, such as the likely changes, tells nothing of the
        others by itself. Raises ScannerError.
        """
        check, scans, scanner = self._check, self._scans(), self._engine.scanner
        if check is not None and check.is_of(scan) and check.forecaster is not None:
            return check.forecaster
        others = (one for one in scans if one.topic != scan.topic)
        if not any(one.settings.guardrail == scan.settings.guardrail for one in others):
            return None
        return await run_stoppable(
            lambda stopped: self._forecaster(scans, prompts, scanner, stopped)
        )

    def close(self) -> None:
        """Cancel a fit that runs in a thread."""
        self._scan_forecast.stop()

    async def forecast(self, topic: Topic, prompts: PromptSet) -> Forecast | None:
        """Forecast a definition; None if too few verdicts are recorded."""
        scans = self._scans()
        if not scans:
            return None
        scanner, before = self._engine.scanner, self._reference(scans, prompts)

        def forecast(stopped: Stopped) -> Forecast | None:
            try:
                forecaster = self._forecaster(scans, prompts, scanner, stopped)
                if forecaster is None:
                    return None
                return forecaster.forecast(topic, stopped, before=before)
            except ScannerError:
                return None  # already reported by the preview with the same engine

        return await run_stoppable(forecast)

    def grounds(
        self,
        topic: Topic,
        prompts: PromptSet,
        settings: ScannerSettings,
        completed: Evaluation | None,
    ) -> FlipGrounds:
        """Return the basis for a check of likely changes and for estimated rates.

        `completed` is the scan that the check continues.
        """
        known = None if completed is None else iteration_of(self._session, completed)
        recorded = [
            iteration.evaluation for iteration in self._session.iterations if iteration is not known
        ]
        reader = self._reader_of(self._engine.scanner)
        self._check = FlipGrounds(recorded, settings, topic, prompts, reader)
        return self._check

    async def trust(self, prompts: PromptSet) -> Trust | None:
        """Compare each recorded scan with its forecast; None without any verdicts.

        Raises `ForecastError` if nothing can be compared, and `ScannerError`.
        """
        iterations = tuple(self._session.iterations)
        evaluations = [iteration.evaluation for iteration in iterations]
        settings = self._subject.settings
        if settings is None:
            return None
        scanner = self._engine.scanner
        return await run_stoppable(
            lambda stopped: check_forecasts(
                evaluations,
                settings,
                prompts,
                self._reader_of(scanner),
                scanner.settings_for(prompts),
                stopped=stopped,
                recorded=recorded_forecasts(iterations),
            )
        )

    def forecaster(self, prompts: PromptSet, stopped: Stopped = lambda: False) -> Forecaster | None:
        """Return the forecaster of previews; None if there are too few verdicts. Blocks.

        Raises ScannerError.
        """
        scans = self._scans()
        return self._forecaster(scans, prompts, self._engine.scanner, stopped) if scans else None

    def beside(
        self,
        topics: tuple[Topic, Topic],
        prompts: PromptSet,
        scanner: LocalScanner,
        stopped: Stopped = lambda: False,
    ) -> tuple[Forecast, Forecast] | None:
        """Forecast two definitions on other prompts than those shown, with their own `scanner`.

        Returns None if there are too few verdicts, or if stopped. Blocks. Raises ScannerError.
        """
        scans = self._scans()
        if not scans:
            return None
        try:
            settings = guardrails(scans)[0]
            forecaster = fit(scans, settings, prompts, EngineReader(scanner), stopped=stopped)
        except ForecastError:
            return None
        if forecaster is None:
            return None
        before, after = (forecaster.forecast(topic, stopped) for topic in topics)
        return None if before is None or after is None else (before, after)

    def _forecaster(
        self,
        scans: tuple[Evaluation, ...],
        prompts: PromptSet,
        scanner: LocalScanner,
        stopped: Stopped,
    ) -> Forecaster | None:
        """Return the forecaster, refitted if the scans changed; None if stopped."""
        with self._one_at_a_time:
            known = self._fitted
            if known is not None and known.serves(scans, prompts, scanner):
                return known.forecaster
            try:
                reader = self._reader_of(scanner)
                forecaster = fit(scans, guardrails(scans)[0], prompts, reader, stopped=stopped)
                if forecaster is None:
                    return None
            except ForecastError:
                forecaster = None
            self._fitted = _Fitted(scans, prompts.fingerprint, scanner, forecaster)
            return forecaster

    def _reference(self, scans: tuple[Evaluation, ...], prompts: PromptSet) -> float | None:
        """Return the coverage of the baseline, which fixes and regressions are counted against.

        None if that is no scan of all these prompts by the guardrail: forecasts are compared with
        the latest scan then.
        """
        settings = guardrails(scans)[0]
        baseline = self._session.baseline_by(settings)
        if baseline is None:
            return None
        scan = baseline.evaluation
        if scan.settings.guardrail != settings.guardrail:
            return None
        return whole_coverage(codes_for(scan, prompts.keys, prompts.expected))

    def _scans(self) -> tuple[Evaluation, ...]:
        """Return the verdicts of the guardrail: those that count least, not of a scan, first."""
        session, settings = self._session, self._subject.settings
        if settings is None:
            return ()
        ordered = sorted(session.iterations, key=lambda iteration: iteration.by is not Recorder.LOG)
        return tuple(
            evaluation
            for evaluation in (
                *session.experiments,
                *(iteration.evaluation for iteration in ordered),
            )
            if evaluation.settings.guardrail == settings.guardrail
        )

    def _reader_of(self, scanner: LocalScanner) -> EngineReader:
        """Return the reader of an engine, with the features of the last prompts cached."""
        known = self._reader
        if known is None or known[0] is not scanner:
            known = self._reader = scanner, EngineReader(scanner)
        return known[1]


def as_evaluation(forecast: Forecast, engine: Evaluation) -> Evaluation:
    """Return the likelier verdict of each prompt, with the probability to trigger as score.

    `engine` is the engine's evaluation of the same definition, for the matched parts.
    """
    verdicts = replace(
        engine.verdicts,
        triggered=forecast.likelier,
        score=forecast.triggers.astype(np.float32),
    )
    settings = forecast_settings(forecast.grounds.settings)
    return replace(engine, settings=settings, verdicts=verdicts)


# --- forecasts of a scan under way ------------------------------------------------------------


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
