"""Forecasts from the recorded evaluations of a session, without any request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from guardtui.app.scan.subject import scanned_last
from guardtui.domain.comparison import carried_over
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.domain.guardrail import (
    ENGINE,
    Guardrail,
    ScannerSettings,
    distinct_texts,
    guardrail_text,
    matches,
)
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.forecaster import (
    Forecast,
    Forecaster,
    ForecastError,
    fit,
    guardrails,
    scans_of,
)
from guardtui.forecast.trust import check_forecasts
from guardtui.reports.forecast import RecordedForecast, RecordedGuardrail, RecordedTrust
from guardtui.scanners.base import Report
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.experiments import ExperimentLog
from guardtui.session.report_reader import has_iterations
from guardtui.session.session import Iteration, recorded_forecasts
from guardtui.session.store import SessionStore


def recorded_guardrail(topic_path: Path, wanted: Guardrail | None = None) -> RecordedGuardrail:
    """Find a guardrail in the session of a topic file: by default the one that was scanned last.

    A profile of AIRS that only experiments asked is the default only without another. `wanted`
    states what is known of the guardrail (`Guardrail.fits`). The session is not changed. Raises
    StoreError, and ForecastError without verdicts, or if several guardrails are meant.
    """
    iterations = _iterations(topic_path)
    answered = guardrails([iteration.evaluation for iteration in iterations])
    if not answered:
        raise ForecastError(
            f"{topic_path}: no verdicts of a guardrail are recorded in its session\n"
            f"  {_remedy(topic_path)}"
        )
    log = ExperimentLog(SessionStore(topic_path, reading=True))
    chosen = scanned_last(answered, iterations, log.experiments) or answered[0]
    if wanted is not None:
        found = matches(wanted, [settings.guardrail for settings in answered])
        if not found:
            raise not_recorded(topic_path, wanted, answered)
        if len(found) > 1:
            raise ForecastError(
                f"{topic_path}: {wanted.text()} is the name of several guardrails with verdicts\n"
                f"  give one of: {'; '.join(distinct_texts(found))}"
            )
        chosen = next(settings for settings in answered if settings.guardrail == found[0])
    others = tuple(settings for settings in answered if settings is not chosen)
    return RecordedGuardrail(
        chosen, others, tuple(iterations), _experiments(topic_path, iterations)
    )


def fit_recorded(
    topic_path: Path,
    prompts: PromptSet,
    guardrail: RecordedGuardrail,
    engine: LocalScanner,
    report: Report = lambda _: None,
) -> Forecaster:
    """Fit a forecaster to the iterations of a session. Blocks.

    Raises ForecastError where the verdicts do not suffice, and ScannerError.
    """
    try:
        forecaster = fit(
            guardrail.evaluations, guardrail.settings, prompts, EngineReader(engine), report
        )
    except ForecastError as error:
        raise explained(error, topic_path, guardrail) from error
    assert forecaster is not None  # noqa: S101 - nothing stops it
    return forecaster


def last_forecaster(
    topic_path: Path,
    prompts: PromptSet,
    engine: LocalScanner,
    wanted: Guardrail | None = None,
    report: Report = lambda _: None,
) -> Forecaster | None:
    """Return the forecaster of a guardrail, by default of the one that answered last, or None.

    Raises StoreError and ScannerError, and ForecastError if that of a `wanted` one is impossible.
    """
    if wanted is not None and wanted.kind == ENGINE:
        return None
    try:
        guardrail = recorded_guardrail(topic_path, wanted)
        return fit_recorded(topic_path, prompts, guardrail, engine, report)
    except ForecastError:
        if wanted is not None:
            raise
        return None


def forecast_recorded(
    topic_path: Path,
    topic: Topic,
    prompts: PromptSet,
    guardrail: RecordedGuardrail,
    engine: LocalScanner,
    report: Report = lambda _: None,
) -> RecordedForecast:
    """Forecast a definition from the iterations of a session. Blocks.

    Raises ForecastError where the verdicts do not suffice, and ScannerError.
    """
    iterations, settings = guardrail.iterations, guardrail.settings
    forecaster = fit_recorded(topic_path, prompts, guardrail, engine, report)
    forecast = forecaster.forecast(topic)
    assert forecast is not None  # noqa: S101 - nothing stops it
    before = len(guardrail.experiments)
    indices = [index for index, _ in scans_of(guardrail.evaluations, settings, prompts)]
    used = indices[-forecaster.grounds.scans :]
    scans = tuple(iterations[index - before] for index in used if index >= before)
    return RecordedForecast(
        guardrail,
        forecast,
        prompts,
        scans,
        _compared(scans, forecaster),
        _measured(scans, topic, prompts),
    )


def check_recorded(
    topic_path: Path,
    prompts: PromptSet,
    guardrail: RecordedGuardrail,
    engine: LocalScanner,
    report: Report = lambda _: None,
) -> RecordedTrust:
    """Compare each recorded scan with the forecast from earlier scans. Blocks.

    Raises ForecastError if no scan can be checked, and
    ScannerError.
    """
    own = engine.settings_for(prompts)
    evaluations = [iteration.evaluation for iteration in guardrail.iterations]
    reader, settings = EngineReader(engine), guardrail.settings
    try:
        trust = check_forecasts(
            evaluations,
            settings,
            prompts,
            reader,
            own,
            report,
            recorded=recorded_forecasts(guardrail.iterations),
        )
    except ForecastError as error:
        raise explained(error, topic_path, guardrail) from error
    assert trust is not None  # noqa: S101 - nothing stops it
    return RecordedTrust(guardrail, trust, prompts, own)


def forecast_before(forecast: Forecast, scan: Evaluation) -> ForecastBefore | None:
    """Return the record of a forecast made before a scan.

    None if it is for another definition, prompt set or guardrail.
    """
    grounds, rates = forecast.grounds, forecast.rates
    fits = scan.key.same_subject(forecast.topic, forecast.prompt_set)
    if not fits or grounds.settings.guardrail != scan.settings.guardrail:
        return None
    return ForecastBefore(
        rates.by_name,
        grounds.scans,
        grounds.asked,
        forecast.triggers.astype(np.float32),
    )


def recorded_forecast_before(
    topic_path: Path, scan: Evaluation, prompts: PromptSet, engine: LocalScanner
) -> ForecastBefore | None:
    """Forecast a scan from the recorded ones; None if that fails. Blocks."""
    try:
        iterations = _iterations(topic_path)
        evaluations = [iteration.evaluation for iteration in iterations]
        tried = _experiments(topic_path, iterations)
        forecaster = fit([*tried, *evaluations], scan.settings, prompts, EngineReader(engine))
        forecast = None if forecaster is None else forecaster.forecast(scan.topic)
    except GuardtuiError:  # an error of the session or the engine must not lose the verdicts
        return None
    return None if forecast is None else forecast_before(forecast, scan)


def explained(
    error: ForecastError, topic_path: Path, guardrail: RecordedGuardrail
) -> ForecastError:
    """Return the error with the topic file and the other guardrails that have verdicts."""
    text = f"{topic_path}: {error}"
    if guardrail.others:
        name = guardrail_text(guardrail.settings)
        text += (
            f"\n  this is about {name}; others have verdicts too: "
            f"{names_of(guardrail.others)} (--guardrail chooses)"
        )
    return ForecastError(text)


def not_recorded(
    topic_path: Path, wanted: Guardrail, answered: Sequence[ScannerSettings]
) -> ForecastError:
    """Return the error that no verdicts of a guardrail are recorded, with those that are."""
    name, *others = distinct_texts([wanted, *(settings.guardrail for settings in answered)])
    return ForecastError(
        f"{topic_path}: no verdicts of {name} are recorded in its session\n"
        f"  recorded are those of: {'; '.join(dict.fromkeys(others))}"
    )


def names_of(settings: Sequence[ScannerSettings]) -> str:
    """Return guardrails in words, separated by semicolons."""
    return "; ".join(dict.fromkeys(map(guardrail_text, settings)))


def _iterations(topic_path: Path) -> list[Iteration]:
    if not has_iterations(topic_path):
        raise ForecastError(
            f"{topic_path}: nothing is recorded to forecast from\n  {_remedy(topic_path)}"
        )
    return SessionStore(topic_path, reading=True).iterations()


def _experiments(topic_path: Path, iterations: Sequence[Iteration]) -> tuple[Evaluation, ...]:
    """Return what experiments measured of definitions that are no iterations."""
    log = ExperimentLog(SessionStore(topic_path, reading=True))
    return tuple(log.evaluations([iteration.evaluation.topic for iteration in iterations]))


def _remedy(topic_path: Path) -> str:
    return (
        f"scan it once with AIRS or a judge: in the app, or by 'guardtui eval {topic_path} "
        "--prompts FILE --guardrail NAME'"
    )


def _compared(scans: Sequence[Iteration], forecaster: Forecaster) -> Iteration | None:
    return next(
        (iteration for iteration in scans if iteration.evaluation is forecaster.compared), None
    )


def _measured(scans: Sequence[Iteration], topic: Topic, prompts: PromptSet) -> Iteration | None:
    for iteration in reversed(scans):
        evaluation = iteration.evaluation
        if evaluation.topic == topic and not carried_over(evaluation, prompts).metrics.missing:
            return iteration
    return None
