"""The reports of `guardtui forecast`: a forecast, and scans against their forecasts (`--trust`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from guardtui.domain.document import (
    Block,
    Bullets,
    Column,
    Document,
    Facts,
    Foreign,
    Item,
    Paragraph,
    Phrase,
    Section,
    Table,
    quoting,
)
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.evaluation import Evaluation, should_trigger
from guardtui.domain.figures import count_text, interval_text, rate_text
from guardtui.domain.forecast_record import CalibrationBin, Repeats, WrongVerdicts
from guardtui.domain.guardrail import ScannerSettings, guardrail_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.statistics import Interval
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered
from guardtui.reports.formats import render as render_document
from guardtui.reports.json_data import Count, MeasuredGuardrail, Rate, Share, encode
from guardtui.session.session import Iteration

if TYPE_CHECKING:
    from guardtui.forecast.forecaster import Forecast
    from guardtui.forecast.trust import ScanCheck, Trust

LIMIT = 20
"""Likely changes in a table."""

NOTE = "This is a forecast, not a measurement: a gate, and the decision to keep, need a full scan."

_SHOWN_SCANS = 10
_NEAREST = 5  # prompts listed if no flip is likely
_LEAST = 0.1  # their minimum probability
_VERDICTS = {Triggered.YES: "triggered", Triggered.NO: "not triggered"}
_INSIDE = {True: "yes", False: "no", None: "–"}
_DIRECTION = {True: "right", False: "wrong", None: "–"}


@dataclass(frozen=True, eq=False)
class RecordedGuardrail:
    """A guardrail with verdicts in a session, the other such guardrails, and all iterations.

    `experiments` are verdicts on definitions that are no iterations; most of their rows are open.
    """

    settings: ScannerSettings
    others: tuple[ScannerSettings, ...]
    iterations: tuple[Iteration, ...]
    experiments: tuple[Evaluation, ...] = ()

    @property
    def evaluations(self) -> list[Evaluation]:
        """All verdicts; those of experiments come first, since a fit is to the last ones."""
        return [*self.experiments, *(iteration.evaluation for iteration in self.iterations)]


@dataclass(frozen=True, eq=False)
class RecordedForecast:
    """A forecast with the iterations it is based on, oldest first.

    `compared` is the newest scan of the whole prompt set; `measured` is the newest complete scan of
    the forecast definition. Both may be None.
    """

    guardrail: RecordedGuardrail
    forecast: Forecast
    prompts: PromptSet
    scans: tuple[Iteration, ...]
    compared: Iteration | None
    measured: Iteration | None


@dataclass(frozen=True, eq=False)
class RecordedTrust:
    """Every scan of a guardrail compared with its forecast.

    The checks refer to iterations by their index in `guardrail`. `engine` gave the engine's
    verdicts.
    """

    guardrail: RecordedGuardrail
    trust: Trust
    prompts: PromptSet
    engine: ScannerSettings


def render(report: RecordedForecast | RecordedTrust, format_name: str) -> str:
    """Return a report in the format of this name."""
    if isinstance(report, RecordedTrust):
        if format_name == "json":
            return encode("trust", TrustData.of(report))
        return render_document(trust_document(report), format_name)
    if format_name == "json":
        return encode("forecast", ForecastData.of(report))
    return render_document(forecast_document(report), format_name)


# --- a forecast ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroundsData:
    """What a forecast rests on."""

    scans: Count
    iterations: list[int]
    prompts: Count
    asked: Count
    never_asked: Count
    share_without_verdict: Share
    asked_twice: Repeats
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpectedData:
    """Expected rates, each null for a class without prompts."""

    coverage: RateEstimate | None
    tpr: RateEstimate | None
    tnr: RateEstimate | None


@dataclass(frozen=True, slots=True)
class ComparedWith:
    """The newest scan of all prompts."""

    iteration: int
    coverage: Rate


@dataclass(frozen=True, slots=True)
class LikelyFlip:
    """A prompt whose verdict is likely to change."""

    line: int
    prompt: str
    probability: Share
    was: str
    expected: str
    change: Literal["regression", "fix"]


@dataclass(frozen=True, slots=True)
class ForecastPrompt:
    """What is expected of a prompt; null where it has no verdict yet."""

    line: int
    prompt: str
    should_trigger: bool
    probability_triggered: Share
    last_verdict: bool | None
    probability_changed: Share | None


@dataclass(frozen=True, slots=True)
class ForecastData:
    """A forecast of the verdicts of a guardrail, made without a call; prompts as in the file."""

    note: str
    guardrail: MeasuredGuardrail
    other_guardrails: tuple[MeasuredGuardrail, ...]
    definition: Topic
    prompt_file: str
    prompt_set_fingerprint: str
    grounds: GroundsData
    expected: ExpectedData
    compared_with: ComparedWith | None
    probability_better: Share | None
    measured_by_iteration: int | None
    expected_flips: float
    flips: list[LikelyFlip]
    prompts: list[ForecastPrompt]

    @classmethod
    def of(cls, report: RecordedForecast) -> ForecastData:
        """Return the content of a forecast's JSON."""
        forecast, compared = report.forecast, report.compared
        grounds, rates = forecast.grounds, forecast.rates
        return cls(
            note=NOTE,
            guardrail=grounds.settings,
            other_guardrails=report.guardrail.others,
            definition=forecast.topic,
            prompt_file=report.prompts.source,
            prompt_set_fingerprint=forecast.prompt_set,
            grounds=GroundsData(
                scans=grounds.scans,
                iterations=[other.number for other in report.scans],
                prompts=grounds.prompts,
                asked=grounds.asked,
                never_asked=grounds.never_asked,
                share_without_verdict=grounds.lost,
                asked_twice=grounds.repeats,
                doubts=tuple(grounds.doubts),
            ),
            expected=ExpectedData(rates.coverage, rates.tpr, rates.tnr),
            compared_with=None
            if compared is None
            else ComparedWith(compared.number, forecast.before),
            probability_better=rates.better,
            measured_by_iteration=None if report.measured is None else report.measured.number,
            expected_flips=float(np.nansum(forecast.changes)),
            flips=[_flip(report, row) for row in forecast.flips().tolist()],
            prompts=_prompts(report),
        )


def _prompts(report: RecordedForecast) -> list[ForecastPrompt]:
    """Return what is expected of each prompt, in the order of the file."""
    forecast, frame = report.forecast, report.prompts.frame
    duty = should_trigger(report.prompts.expected, forecast.topic.intent)
    answers = {int(Triggered.YES): True, int(Triggered.NO): False}
    return [
        ForecastPrompt(
            line, prompt, should, triggers, answers.get(last), changed if last in answers else None
        )
        for line, prompt, should, triggers, last, changed in zip(
            frame["line"].to_list(),
            frame["prompt"].to_list(),
            duty.tolist(),
            forecast.triggers.tolist(),
            forecast.last.tolist(),
            forecast.changes.tolist(),
            strict=True,
        )
    ]


def _flip(report: RecordedForecast, row: int) -> LikelyFlip:
    """Return the likely change of a row."""
    forecast, frame = report.forecast, report.prompts.frame
    fires = bool(forecast.last[row] == Triggered.YES)
    should = bool(should_trigger(report.prompts.expected, forecast.topic.intent)[row])
    return LikelyFlip(
        line=int(frame["line"][row]),
        prompt=str(frame["prompt"][row]),
        probability=float(forecast.changes[row]),
        was=_VERDICTS[Triggered.YES if fires else Triggered.NO],
        expected=_VERDICTS[Triggered.NO if fires else Triggered.YES],
        change="regression" if fires == should else "fix",
    )


def forecast_document(report: RecordedForecast) -> Document:
    """Return the expected rates, the likely changes, and what the forecast rests on."""
    forecast = report.forecast
    sections = [
        Section("Expected rates", "rates", tuple(_rates(report))),
        Section("Likely changes", "flips", tuple(_flips(report))),
        Section("Note", "note", (Paragraph(NOTE),), titled=False),
    ]
    if report.measured is not None:
        sections.insert(0, Section("Measured", "measured", (_measured(report.measured),)))
    return Document(
        ("Forecast for ", Foreign(forecast.topic.name)),
        (
            quoting(
                lambda quote: (
                    f"Forecast of {guardrail_text(forecast.grounds.settings, quote)}. "
                    "No service was called."
                )
            ),
        ),
        tuple(sections),
        made_with=Facts(tuple(_grounds(report))),
        cautions=forecast.grounds.doubts,
    )


def _grounds(report: RecordedForecast) -> Iterator[tuple[Phrase, Phrase]]:
    topic, grounds = report.forecast.topic, report.forecast.grounds
    numbers = ", ".join(f"#{scan.number}" for scan in report.scans[-_SHOWN_SCANS:])
    yield "topic", (Foreign(topic.name), f" ({topic.intent.value}), as in its file")
    yield (
        "rests on",
        f"{count_text(grounds.scans, 'scan')} ({numbers}): {grounds.asked:,} of "
        f"{grounds.prompts:,} prompts have a verdict",
    )


def _measured(scan: Iteration) -> Paragraph:
    coverage = rate_text(scan.evaluation.metrics.coverage)
    return Paragraph(
        f"#{scan.number} has scanned this very definition, with a coverage of {coverage}: that is "
        "a measurement, and counts."
    )


def _rates(report: RecordedForecast) -> Iterator[Block]:
    forecast = report.forecast
    rates = forecast.rates
    rows = tuple(
        (name, "n/a" if figure is None else rate_text(figure.value), interval_of(figure))
        for name, figure in (("coverage", rates.coverage), ("TPR", rates.tpr), ("TNR", rates.tnr))
    )
    columns = (Column("rate", figure=False), Column("expected"), Column("if scanned"))
    yield Table(columns, rows, named="Expected rates")
    if report.compared is not None and rates.better is not None:
        yield Paragraph(
            f"{rates.better:.0%} likely that coverage is above {rate_text(forecast.before)}, "
            f"that of #{report.compared.number}, the newest scan of all prompts."
        )


def interval_of(figure: RateEstimate | None) -> str:
    """Return the interval of an expected figure, or ""."""
    return "" if figure is None else interval_text(Interval(figure.low, figure.high))


def _flips(report: RecordedForecast) -> Iterator[Block]:
    forecast = report.forecast
    changes = np.nan_to_num(forecast.changes)
    rows = forecast.flips().tolist()
    total = len(rows)
    expected = f"{changes.sum():.1f} of all verdicts are expected to change"
    if rows:
        yield Paragraph(f"{total} against each prompt's newest verdict; {expected}.")
    else:
        yield Paragraph(f"No verdict is more likely to change than not; {expected}.")
        nearest = np.argsort(-changes, kind="stable")[:_NEAREST]
        rows = nearest[changes[nearest] > _LEAST].tolist()
        if not rows:
            return
        yield Paragraph("The most likely to change, against each prompt's newest verdict:")
    columns = (
        Column("chance"),
        Column("change", figure=False),
        Column("verdict", figure=False),
        Column("line"),
        Column("prompt", figure=False),
    )
    cells = tuple(
        (
            f"{flip.probability:.0%}",
            flip.change,
            f"{flip.was} → {flip.expected}",
            str(flip.line),
            Foreign(flip.prompt),
        )
        for flip in (_flip(report, row) for row in rows[:LIMIT])
    )
    yield Table(columns, cells, named="Likely changes")
    if total > LIMIT:
        yield Paragraph(f"… and {total - LIMIT} more (in JSON).")


# --- scans against their forecasts --------------------------------------------------------


def _number(report: RecordedTrust, index: int) -> int:
    """Return the number of an iteration by its index."""
    return report.guardrail.iterations[index].number


@dataclass(frozen=True, slots=True)
class OverallTrust:
    """How often forecasts came true."""

    intervals: Count
    intervals_held: Count
    directions: Count
    directions_right: Count
    wrong_verdicts: WrongVerdicts


@dataclass(frozen=True, slots=True)
class CoverageOfScan:
    """Coverage before a scan, as it was expected, and as it came true."""

    before: Rate
    expected: RateEstimate | None
    came_true: Rate


@dataclass(frozen=True, slots=True)
class CheckedScan:
    """A scan compared with its forecast; null where there is nothing to compare."""

    iteration: int
    definition: Topic
    scanned_before: bool
    forecast_recorded: bool
    prompts: Count
    coverage: CoverageOfScan
    interval_held: bool | None
    direction_right: bool | None
    wrong_verdicts: WrongVerdicts


@dataclass(frozen=True, slots=True)
class UncheckedData:
    """A scan without a forecast."""

    iteration: int
    reason: str


@dataclass(frozen=True, slots=True)
class TrustData:
    """Every scan of a guardrail compared with its forecast."""

    summary: str
    guardrail: MeasuredGuardrail
    other_guardrails: tuple[MeasuredGuardrail, ...]
    engine: MeasuredGuardrail
    engine_threshold: Rate
    prompt_file: str
    prompt_set_fingerprint: str
    overall: OverallTrust
    scans: list[CheckedScan]
    not_checked: list[UncheckedData]
    calibration: tuple[CalibrationBin, ...]

    @classmethod
    def of(cls, report: RecordedTrust) -> TrustData:
        """Return the content of the JSON on earlier scans and their forecasts."""
        trust = report.trust
        (held, intervals), (right, directions) = trust.intervals, trust.directions
        return cls(
            summary=trust.summary,
            guardrail=trust.settings,
            other_guardrails=report.guardrail.others,
            engine=report.engine,
            engine_threshold=report.engine.threshold,
            prompt_file=report.prompts.source,
            prompt_set_fingerprint=report.prompts.fingerprint,
            overall=OverallTrust(intervals, held, directions, right, trust.wrong),
            scans=[_scan(report, check) for check in trust.checks],
            not_checked=[
                UncheckedData(_number(report, scan.index), scan.reason) for scan in trust.unchecked
            ],
            calibration=trust.calibration,
        )


def _scan(report: RecordedTrust, check: ScanCheck) -> CheckedScan:
    return CheckedScan(
        iteration=_number(report, check.index),
        definition=check.topic,
        scanned_before=check.repeated,
        forecast_recorded=check.stored,
        prompts=check.prompts,
        coverage=CoverageOfScan(check.before, check.expected, check.coverage),
        interval_held=check.inside,
        direction_right=check.direction,
        wrong_verdicts=check.wrong,
    )


def trust_document(report: RecordedTrust) -> Document:
    """Return each scan beside its forecast, and the calibration of the probabilities."""
    trust, engine = report.trust, report.engine
    return Document(
        "Forecasts against scans",
        (
            quoting(
                lambda quote: (
                    f"Forecasts of {guardrail_text(trust.settings, quote)}, against the scans that "
                    "followed."
                )
            ),
            trust.summary,
        ),
        (
            Section("Scans", "scans", tuple(_scans(report))),
            Section("Calibration", "calibration", (_calibration(report),)),
        ),
        made_with=Facts(
            (
                (
                    "checked",
                    f"{count_text(len(trust.checks), 'scan')}, each against the forecast from the "
                    "scans before it",
                ),
                (
                    "engine",
                    "threshold fitted to the labels at each definition"
                    if engine.threshold is None
                    else (
                        f"threshold {rate_text(engine.threshold)} (",
                        Foreign(engine.threshold_source),
                        ")",
                    ),
                ),
            )
        ),
    )


def _scans(report: RecordedTrust) -> Iterator[Block]:
    trust = report.trust
    columns = (
        Column("scan", figure=False),
        Column("prompts"),
        Column("expected"),
        Column("if scanned"),
        Column("coverage"),
        Column("inside", figure=False),
        Column("direction", figure=False),
        *map(Column, ("forecast wrong", "last wrong", "engine wrong")),
    )
    rows = tuple(
        (
            f"#{_number(report, check.index)}{' =' * check.repeated}{' *' * check.stored}",
            str(check.prompts),
            "n/a" if check.expected is None else rate_text(check.expected.value),
            interval_of(check.expected),
            rate_text(check.coverage),
            _INSIDE[check.inside],
            _DIRECTION[check.direction],
            str(check.wrong.forecast),
            str(check.wrong.last_verdicts),
            str(check.wrong.engine),
        )
        for check in trust.checks
    )
    yield Table(columns, rows, named="Scans")
    yield Paragraph(
        "Coverage, expected and measured; then the wrong verdicts of the forecast, of each "
        "prompt's last verdict, and of the engine alone."
    )
    if any(check.repeated for check in trust.checks):
        yield Paragraph("= the definition had been scanned before")
    if any(check.stored for check in trust.checks):
        yield Paragraph("* this forecast was recorded before the scan; the others are made now")
    if trust.unchecked:
        yield Bullets(
            tuple(
                Item((f"#{_number(report, scan.index)}: no forecast: ", Foreign(scan.reason)))
                for scan in trust.unchecked
            )
        )


def _calibration(report: RecordedTrust) -> Table:
    rows = tuple(
        (
            f"{group.low:.1f} to {group.high:.1f}",
            str(group.prompts),
            f"{group.expected:.1f}",
            str(group.triggered),
        )
        for group in report.trust.calibration
    )
    titles = ("prompts", "expected to trigger", "triggered")
    columns = (Column("probability", figure=False), *map(Column, titles))
    return Table(columns, rows, named="Calibration")
