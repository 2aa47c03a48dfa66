"""Descriptions of wrong verdicts on single prompts, shared by several formats."""

from __future__ import annotations

from collections.abc import Iterator

from guardtui import __version__
from guardtui.domain.text import display_start, display_text
from guardtui.reports.as_text import plain
from guardtui.reports.base import GONE, ReportInput, ReportRow, grounds

_CHARACTERS = 300  # of a note, a reason or the names of topics
_CLAIMS = {
    "FP": "triggered, and should not",
    "FN": "did not trigger, and should",
    "ERROR": "has no verdict",
    "OPEN": "was not asked",
}


def prompt_line(report: ReportInput, row: ReportRow) -> int | None:
    """Return the line of a prompt in its file, or None.

    Prompts of a Parquet file have no line.
    """
    return None if report.prompt_file.lower().endswith(".parquet") else row.line


def prompt_hash(report: ReportInput, row: ReportRow) -> str:
    """Return the hash of a prompt's text: 16 hexadecimal digits, the same in every report."""
    return f"{int(report.evaluation.keys[row.number]):016x}"


def prompt_start(row: ReportRow, characters: int) -> str:
    """Return the start of the prompt, inert, in one line."""
    if row.prompt is None:
        return GONE
    return display_start(row.prompt, characters)


def is_regression(row: ReportRow) -> bool:
    """Return whether the prompt was correct in the baseline and is wrong now."""
    return row.change == "regression"


def statement(report: ReportInput, row: ReportRow) -> str:
    """Return what the guardrail did and should have done, with the grounds, inert, in one line."""
    claim = ("regression: " if is_regression(row) else "") + _CLAIMS[row.outcome]
    known = ", ".join(plain(phrase, _CHARACTERS) for phrase in grounds(report, row))
    return f"{claim} ({known})" if known else claim


def about(report: ReportInput) -> Iterator[tuple[str, str]]:
    """Yield names and values, inert, of versions and hashes behind the verdicts."""
    evaluation, settings = report.evaluation, report.evaluation.settings
    yield "guardtui", __version__
    yield "topic", display_text(report.topic.name)
    yield "intent", report.topic.intent.value
    if report.profile:
        yield "profile", display_text(report.profile)
    for companion in report.companions:
        yield "companion", display_text(companion.name)
    if report.sample:
        yield "sample", report.sample
    yield "guardrail", settings.guardrail.text()
    if settings.revision:
        yield "guardrail.revision", display_text(settings.revision)
    if settings.threshold is not None:
        yield "threshold", f"{settings.threshold:.6g}"
        if settings.threshold_source:
            yield "threshold.source", display_text(settings.threshold_source)
    if report.cautions:
        yield "caution", "; ".join(report.cautions)
    yield "topic.sha256", report.topic.fingerprint
    yield "prompts.sha256", display_text(evaluation.prompt_set)
    if report.baseline is not None:
        if report.baseline_number is not None:
            yield "baseline.iteration", str(report.baseline_number)
        yield "baseline.topic.sha256", report.baseline.topic.fingerprint
