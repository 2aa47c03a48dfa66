"""Accuracy of forecasts: each recorded scan compared with a forecast from the scans before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.estimates import RateEstimate
from guardtui.domain.evaluation import Evaluation, should_trigger
from guardtui.domain.figures import count_text
from guardtui.domain.forecast_record import CalibrationBin, ForecastBefore, WrongVerdicts
from guardtui.domain.guardrail import ScannerSettings, remote_name
from guardtui.domain.metrics import metrics_of
from guardtui.domain.operating_point import settled
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, outcomes
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.forecaster import (
    Forecast,
    ForecastError,
    fit,
    others_text,
    scans_of,
    stopped_by_others,
)
from guardtui.scanners.base import Report
from guardtui.scanners.local.scanner import Stopped
from guardtui.scanners.local.scoring import probability

Array: TypeAlias = "NDArray[np.floating]"

MOVED = 0.02
"""A change of coverage larger than this has a direction."""

_BINS = 10


@dataclass(frozen=True, eq=False)
class ScanCheck:
    """A scan compared with the forecast from the scans before it.

    `index` is the scan's index among the evaluations. `prompts` counts those with a verdict in it;
    `coverage` (actual) and `expected` are for these. `before` is the coverage of their last
    verdicts; `wrong` is for those that have one. `triggers` are the probabilities and `triggered`
    the verdicts, [prompts]. `repeated` says that the definition had been scanned before, `stored`
    that the forecast was recorded before the scan and not fitted now.
    """

    index: int
    topic: Topic
    prompts: int
    expected: RateEstimate | None
    coverage: float | None
    before: float | None
    wrong: WrongVerdicts
    triggers: Array
    triggered: NDArray[np.bool_]
    repeated: bool
    stored: bool = False

    @property
    def inside(self) -> bool | None:
        """Return whether the interval contained the coverage; None without a coverage."""
        if self.expected is None or self.coverage is None:
            return None
        return self.expected.low <= self.coverage <= self.expected.high

    @property
    def direction(self) -> bool | None:
        """Return whether the direction was right; None for changes of at most `MOVED`."""
        if self.expected is None or self.coverage is None or self.before is None:
            return None
        moved = self.coverage - self.before
        if abs(moved) <= MOVED:
            return None
        return (self.expected.value - self.before) * moved > 0


@dataclass(frozen=True, slots=True)
class UncheckedScan:
    """A scan that could not be checked, and why."""

    index: int
    reason: str


@dataclass(frozen=True, eq=False)
class Trust:
    """Every scan of one guardrail after its first, compared with its forecast."""

    settings: ScannerSettings
    checks: tuple[ScanCheck, ...]
    unchecked: tuple[UncheckedScan, ...]
    by_others: int = 0
    """Number of prompts that only other topics of the profile stopped in one of the scans."""

    @property
    def calibration(self) -> tuple[CalibrationBin, ...]:
        """Tenths of probability over all checks, without the empty ones."""
        triggers = np.concatenate([check.triggers for check in self.checks])
        triggered = np.concatenate([check.triggered for check in self.checks])
        tenths = np.minimum((triggers * _BINS).astype(np.intp), _BINS - 1)
        return tuple(
            CalibrationBin(
                tenth / _BINS,
                (tenth + 1) / _BINS,
                int(members.sum()),
                float(triggers[members].sum()),
                int(triggered[members].sum()),
            )
            for tenth in range(_BINS)
            if (members := tenths == tenth).any()
        )

    @property
    def intervals(self) -> tuple[int, int]:
        """How many intervals contained the coverage, and how many there were."""
        return _counted([check.inside for check in self.checks])

    @property
    def directions(self) -> tuple[int, int]:
        """How many directions of coverage were right, and how many there were."""
        return _counted([check.direction for check in self.checks])

    @property
    def wrong(self) -> WrongVerdicts:
        """Wrong verdicts of all checks together."""
        each = [check.wrong for check in self.checks]
        return WrongVerdicts(
            sum(counts.prompts for counts in each),
            sum(counts.forecast for counts in each),
            sum(counts.last_verdicts for counts in each),
            sum(counts.engine for counts in each),
        )

    @property
    def summary(self) -> str:
        """The whole result in one text."""
        held, intervals = self.intervals
        right, directions = self.directions
        wrong = self.wrong
        if directions:
            direction = (
                f"the direction was right in {right} of {directions} that moved coverage by more "
                f"than {MOVED:g}"
            )
        else:
            direction = f"no scan moved coverage by more than {MOVED:g}"
        text = (
            f"Coverage was within its interval in {held} of {count_text(intervals, 'scan')}; "
            f"{direction}; of {count_text(wrong.prompts, 'verdict')} the forecast had "
            f"{wrong.forecast:,} wrong, the last verdicts kept {wrong.last_verdicts:,}, the engine "
            f"alone {wrong.engine:,}."
        )
        repeated = sum(check.repeated for check in self.checks)
        if repeated:
            scans = count_text(repeated, "scan")
            text += f" Easier ones among them: {scans} of a definition that was scanned before."
        stored = sum(check.stored for check in self.checks)
        if stored:
            text += f" The forecast of {count_text(stored, 'scan')} was recorded before the scan."
        if self.by_others:
            text += f" {others_text(self.by_others)}"
        return text


def check_forecasts(
    evaluations: Sequence[Evaluation],
    settings: ScannerSettings,
    prompts: PromptSet,
    reader: EngineReader,
    engine: ScannerSettings,
    report: Report = lambda _: None,
    stopped: Stopped = lambda: False,
    recorded: Mapping[int, ForecastBefore] | None = None,
) -> Trust | None:
    """Forecast each scan of a guardrail from those before it, and compare; None if stopped.

    If a forecast was `recorded` before a scan of all these prompts (by the evaluation's index), its
    coverage and probabilities replace the new ones. `evaluations` are oldest first; labels are
    those of `prompts`; `engine` are the engine's settings for them. Raises `ForecastError` if no
    scan can be checked.
    """
    name = remote_name(settings.kind)
    scans = scans_of(evaluations, settings, prompts)
    if len(scans) < 2:
        raise ForecastError(
            f"{name} has {'scanned these prompts once' if scans else 'not scanned these prompts'}: "
            "a forecast can be checked from the second scan on. Scan another definition."
        )
    checks: list[ScanCheck] = []
    unchecked: list[UncheckedScan] = []
    for index, triggered in scans[1:]:
        answered = triggered >= 0
        if not answered.any():
            unchecked.append(UncheckedScan(index, f"{name} gave no verdict."))
            continue
        earlier, topic = evaluations[:index], evaluations[index].topic
        try:
            forecaster = fit(earlier, settings, prompts, reader, report, stopped)
        except ForecastError as error:
            unchecked.append(UncheckedScan(index, str(error)))
            continue
        if forecaster is None:
            return None
        forecast = forecaster.forecast(topic, stopped, among=answered)
        reading = reader.read(topic, prompts, stopped=stopped)
        if forecast is None or reading is None:
            return None
        before = (recorded or {}).get(index)
        scan = evaluations[index]
        same = scan.prompt_set == prompts.fingerprint and np.array_equal(scan.keys, prompts.keys)
        stored = before is not None and same and bool(answered.all())
        if before is not None and stored:
            forecast = _as_recorded(forecast, before)
        scores = probability(reading.z)
        point = settled(engine, scores, prompts.expected)
        matches = scores >= np.float32(point.threshold)
        by_engine = matches == (topic.intent is Intent.BLOCK)
        repeated = any(evaluations[other].topic == topic for other, _ in scans if other < index)
        checks.append(
            replace(
                _check(index, forecast, triggered, by_engine, prompts.expected, repeated=repeated),
                stored=stored,
            )
        )
    if not checks:
        raise ForecastError(
            f"no forecast can be checked: before the last scan there were too few verdicts. "
            f"{unchecked[-1].reason}"
        )
    by_others = stopped_by_others([evaluations[index] for index, _ in scans])
    return Trust(settings, tuple(checks), tuple(unchecked), by_others)


def _as_recorded(forecast: Forecast, before: ForecastBefore) -> Forecast:
    """Return a forecast with the coverage and the probabilities of one recorded before."""
    return replace(
        forecast,
        triggers=before.triggers.astype(np.float64),
        rates=replace(forecast.rates, coverage=before.rates.get("coverage")),
    )


def _check(
    index: int,
    forecast: Forecast,
    triggered: NDArray[np.int8],
    engine: NDArray[np.bool_],
    belongs: NDArray[np.bool_],
    *,
    repeated: bool,
) -> ScanCheck:
    """Compare a forecast with the actual verdicts, int8 [N]; `engine` are the engine's."""
    answered, duty = triggered >= 0, should_trigger(belongs, forecast.topic.intent)
    both = answered & (forecast.last >= 0)
    actual = triggered == Triggered.YES

    def coverage(verdicts: NDArray[np.int8], group: NDArray[np.bool_]) -> float | None:
        return metrics_of(outcomes(duty[group], verdicts[group])).coverage

    def count_wrong(verdicts: NDArray[np.bool_]) -> int:
        return int((verdicts != actual)[both].sum())

    return ScanCheck(
        index=index,
        topic=forecast.topic,
        prompts=int(answered.sum()),
        expected=forecast.rates.coverage,
        coverage=coverage(triggered, answered),
        before=coverage(forecast.last, both),
        wrong=WrongVerdicts(
            int(both.sum()),
            count_wrong(forecast.likelier == Triggered.YES),
            count_wrong(forecast.last == Triggered.YES),
            count_wrong(engine),
        ),
        triggers=forecast.triggers[answered],
        triggered=actual[answered],
        repeated=repeated,
    )


def _counted(answers: Sequence[bool | None]) -> tuple[int, int]:
    """Return how many answers are true, and how many are known."""
    answered = [answer for answer in answers if answer is not None]
    return sum(answered), len(answered)
