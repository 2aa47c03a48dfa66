"""The comparison of `guardtui forecast --trust` as a document or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from guardtui.cli.forecast.report import interval_of
from guardtui.domain.document import (
    Block,
    Bullets,
    Column,
    Document,
    Facts,
    Foreign,
    Item,
    Paragraph,
    Section,
    Table,
    quoting,
)
from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.reports.formats import render as render_document
from guardtui.reports.json_data import encode, guardrail_of

if TYPE_CHECKING:
    from guardtui.app.scan.recorded_forecast import RecordedTrust
    from guardtui.forecast.trust import ScanCheck, WrongVerdicts

_INSIDE = {True: "yes", False: "no", None: "–"}
_DIRECTION = {True: "right", False: "wrong", None: "–"}


def render(report: RecordedTrust, format_name: str) -> str:
    """Return the comparison in the format of this name."""
    if format_name == "json":
        return encode("trust", _data(report))
    return render_document(trust_document(report), format_name)


def _number(report: RecordedTrust, index: int) -> int:
    """Return the number of an iteration by its index."""
    return report.guardrail.iterations[index].number


# --- for programs -------------------------------------------------------------------------


def _data(report: RecordedTrust) -> dict[str, Any]:
    trust = report.trust
    (held, intervals), (right, directions) = trust.intervals, trust.directions
    return {
        "summary": trust.summary,
        "guardrail": guardrail_of(trust.settings),
        "other_guardrails": [guardrail_of(group) for group in report.guardrail.others],
        "engine": report.engine.guardrail.to_json() | {"threshold": report.engine.threshold},
        "prompt_file": report.prompts.source,
        "prompt_set_fingerprint": report.prompts.fingerprint,
        "overall": {
            "intervals": intervals,
            "intervals_held": held,
            "directions": directions,
            "directions_right": right,
            "wrong_verdicts": _wrong(trust.wrong),
        },
        "scans": [_scan(report, check) for check in trust.checks],
        "not_checked": [
            {"iteration": _number(report, group.index), "reason": group.reason}
            for group in trust.unchecked
        ],
        "calibration": list(trust.calibration),
    }


def _scan(report: RecordedTrust, check: ScanCheck) -> dict[str, Any]:
    return {
        "iteration": _number(report, check.index),
        "definition": check.topic,
        "scanned_before": check.repeated,
        "forecast_recorded": check.stored,
        "prompts": check.prompts,
        "coverage": {
            "before": check.before,
            "expected": check.expected,
            "came_true": check.coverage,
        },
        "interval_held": check.inside,
        "direction_right": check.direction,
        "wrong_verdicts": _wrong(check.wrong),
    }


def _wrong(wrong: WrongVerdicts) -> dict[str, int]:
    return {
        "prompts": wrong.prompts,
        "forecast": wrong.forecast,
        "last_verdicts": wrong.kept,
        "engine": wrong.engine,
    }


# --- for readers --------------------------------------------------------------------------


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
        Column("95 % interval"),
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
            str(check.wrong.kept),
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
            f"{group.low:.1f} – {group.high:.1f}",
            str(group.prompts),
            f"{group.expected:.1f}",
            str(group.triggered),
        )
        for group in report.trust.calibration
    )
    titles = ("prompts", "expected to trigger", "triggered")
    columns = (Column("probability", figure=False), *map(Column, titles))
    return Table(columns, rows, named="Calibration")
