"""What `guardtui forecast --trust` says, as a table or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from guardtui.cli.forecast_report import expected_of
from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.reports.json_report import definition_of, scanner_of
from guardtui.reports.json_text import dumps

if TYPE_CHECKING:
    from guardtui.app.recorded_forecast import RecordedTrust
    from guardtui.forecast.expected import Expected
    from guardtui.forecast.trust import Check, Wrong

SCHEMA_VERSION = 1

_WORDS = {True: "yes", False: "no", None: "–"}


def render(found: RecordedTrust, format_name: str) -> str:
    """Return the comparison in the form of this name."""
    if format_name == "json":
        return dumps(_document(found), indent=2) + "\n"
    return "\n".join(_table(found)) + "\n"


def _number(found: RecordedTrust, index: int) -> int:
    """The number of an iteration by its index."""
    return found.guardrail.iterations[index].number


# --- for programs -------------------------------------------------------------------------


def _document(found: RecordedTrust) -> dict[str, Any]:
    trust = found.trust
    (held, intervals), (right, directions) = trust.intervals, trust.directions
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "trust",
        "summary": trust.summary,
        "guardrail": scanner_of(trust.settings),
        "other_guardrails": [scanner_of(one) for one in found.guardrail.others],
        "engine": scanner_of(found.engine) | {"threshold": found.engine.threshold},
        "prompt_file": found.prompts.source,
        "prompt_set_fingerprint": found.prompts.fingerprint,
        "overall": {
            "intervals": intervals,
            "intervals_held": held,
            "directions": directions,
            "directions_right": right,
            "wrong_verdicts": _wrong(trust.wrong),
        },
        "scans": [_scan(found, check) for check in trust.checks],
        "not_checked": [
            {"iteration": _number(found, one.index), "reason": one.reason}
            for one in trust.unchecked
        ],
        "calibration": [
            {
                "low": one.low,
                "high": one.high,
                "prompts": one.prompts,
                "expected": one.expected,
                "triggered": one.triggered,
            }
            for one in trust.calibration
        ],
    }


def _scan(found: RecordedTrust, check: Check) -> dict[str, Any]:
    return {
        "iteration": _number(found, check.index),
        "definition": definition_of(check.topic),
        "scanned_before": check.repeated,
        "forecast_recorded": check.stored,
        "prompts": check.prompts,
        "coverage": {
            "before": check.before,
            "expected": expected_of(check.expected),
            "came_true": check.coverage,
        },
        "interval_held": check.inside,
        "direction_right": check.direction,
        "wrong_verdicts": _wrong(check.wrong),
    }


def _wrong(wrong: Wrong) -> dict[str, int]:
    return {
        "prompts": wrong.prompts,
        "forecast": wrong.forecast,
        "last_verdicts": wrong.kept,
        "engine": wrong.engine,
    }


# --- for readers --------------------------------------------------------------------------


def _table(found: RecordedTrust) -> Iterator[str]:
    trust = found.trust
    threshold = found.engine.threshold or 0.0
    scans = count_text(len(trust.checks), "scan")
    yield f"Forecasts of {guardrail_text(trust.settings)}, against what came true."
    yield (
        f"{scans} checked against the forecast from the scans before. "
        f"The engine alone has threshold {threshold:.3f} ({found.engine.threshold_source})."
    )
    yield ""
    yield ("                    coverage                                wrong verdicts of the")
    yield (
        "scan      prompts   expected                 true   inside  direction   "
        "forecast  last verdicts  engine"
    )
    for check in trust.checks:
        wrong = check.wrong
        yield (
            f"{_scan_name(found, check):<9} {check.prompts:>7}   {_expected(check.expected):<23}  "
            f"{rate_text(check.coverage):<5}  {_WORDS[check.inside]:<6}  "
            f"{_direction(check.direction):<9}  "
            f"{wrong.forecast:>9}  {wrong.kept:>13}  {wrong.engine:>6}"
        )
    for one in trust.unchecked:
        yield f"#{_number(found, one.index):<8} no forecast: {one.reason}"
    if any(check.repeated for check in trust.checks):
        yield "= the definition had been scanned before"
    if any(check.stored for check in trust.checks):
        yield "* this forecast was recorded before the scan; the others are made now"
    yield ""
    yield "probability   prompts  expected to trigger  triggered"
    for group in trust.calibration:
        yield (
            f"{group.low:.1f} – {group.high:.1f}   {group.prompts:>8}  {group.expected:>19.1f}  "
            f"{group.triggered:>9}"
        )
    yield ""
    yield trust.summary


def _scan_name(found: RecordedTrust, check: Check) -> str:
    return f"#{_number(found, check.index)}{' =' * check.repeated}{' *' * check.stored}"


def _expected(figure: Expected | None) -> str:
    return "n/a" if figure is None else f"{figure.value:.3f} [{figure.low:.3f} – {figure.high:.3f}]"


def _direction(right: bool | None) -> str:
    return {True: "right", False: "wrong", None: "–"}[right]
