"""The forecast of `guardtui forecast` as a document or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from guardtui.domain.document import (
    Block,
    Column,
    Document,
    Facts,
    Foreign,
    Paragraph,
    Phrase,
    Section,
    Table,
    quoting,
)
from guardtui.domain.evaluation import should_trigger
from guardtui.domain.figures import count_text, interval_text, rate_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.statistics import Interval
from guardtui.domain.verdicts import Triggered
from guardtui.reports.formats import render as render_document
from guardtui.reports.json_data import encode, guardrail_of

if TYPE_CHECKING:
    from guardtui.app.scan.recorded_forecast import RecordedForecast
    from guardtui.domain.estimates import RateEstimate
    from guardtui.session.session import Iteration

LIMIT = 20
"""Likely flips in a table."""

NOTE = "This is a forecast, not a measurement: a gate, and the decision to keep, need a full scan."

_SHOWN_SCANS = 10
_NEAREST = 5  # prompts listed if no flip is likely
_LEAST = 0.1  # their minimum probability
_VERDICTS = {Triggered.YES: "triggered", Triggered.NO: "not triggered"}


def render(report: RecordedForecast, format_name: str) -> str:
    """Return the forecast in the format of this name."""
    if format_name == "json":
        return encode("forecast", _data(report))
    return render_document(forecast_document(report), format_name)


# --- for programs -------------------------------------------------------------------------


def _data(report: RecordedForecast) -> dict[str, Any]:
    forecast, prompts = report.forecast, report.prompts
    grounds, rates = forecast.grounds, forecast.rates
    return {
        "note": NOTE,
        "guardrail": guardrail_of(grounds.settings),
        "other_guardrails": [guardrail_of(other) for other in report.guardrail.others],
        "definition": forecast.topic,
        "prompt_file": prompts.source,
        "prompt_set_fingerprint": forecast.prompt_set,
        "grounds": {
            "scans": grounds.scans,
            "iterations": [other.number for other in report.scans],
            "prompts": grounds.prompts,
            "asked": grounds.asked,
            "never_asked": grounds.never_asked,
            "share_without_verdict": grounds.lost,
            "asked_twice": {
                "answers": grounds.repeats.pairs,
                "differing": grounds.repeats.differing,
            },
            "doubts": list(grounds.doubts),
        },
        "expected": {"coverage": rates.coverage, "tpr": rates.tpr, "tnr": rates.tnr},
        "compared_with": report.compared
        and {"iteration": report.compared.number, "coverage": forecast.before},
        "probability_better": rates.better,
        "measured_by_iteration": report.measured and report.measured.number,
        "expected_flips": float(np.nansum(forecast.changes)),
        "flips": [_flip(report, row) for row in forecast.flips().tolist()],
        "prompts": _prompts(report),
    }


def _prompts(report: RecordedForecast) -> list[dict[str, Any]]:
    """Return what is expected of each prompt, in the order of the file."""
    forecast, frame = report.forecast, report.prompts.frame
    duty = should_trigger(report.prompts.expected, forecast.topic.intent)
    answers = {int(Triggered.YES): True, int(Triggered.NO): False}
    return [
        {
            "line": line,
            "prompt": prompt,
            "should_trigger": should,
            "probability_triggered": probability,
            "last_verdict": answers.get(last),
            "probability_changed": changed if last in answers else None,
        }
        for line, prompt, should, probability, last, changed in zip(
            frame["line"].to_list(),
            frame["prompt"].to_list(),
            duty.tolist(),
            forecast.triggers.tolist(),
            forecast.last.tolist(),
            forecast.changes.tolist(),
            strict=True,
        )
    ]


def _flip(report: RecordedForecast, row: int) -> dict[str, Any]:
    """Return the likely flip of a row."""
    forecast, frame = report.forecast, report.prompts.frame
    fires = forecast.last[row] == Triggered.YES
    should = bool(should_trigger(report.prompts.expected, forecast.topic.intent)[row])
    return {
        "line": int(frame["line"][row]),
        "prompt": str(frame["prompt"][row]),
        "probability": float(forecast.changes[row]),
        "from": _VERDICTS[Triggered.YES if fires else Triggered.NO],
        "to": _VERDICTS[Triggered.NO if fires else Triggered.YES],
        "change": "regression" if fires == should else "fix",
    }


# --- for readers --------------------------------------------------------------------------


def forecast_document(report: RecordedForecast) -> Document:
    """Return the expected rates, the likely flips, and what the forecast rests on."""
    forecast = report.forecast
    sections = [
        Section("Expected rates", "rates", tuple(_rates(report))),
        Section("Likely flips", "flips", tuple(_flips(report))),
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
    columns = (Column("rate", figure=False), Column("expected"), Column("95 % interval"))
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
            f"{flip['probability']:.0%}",
            flip["change"],
            f"{flip['from']} → {flip['to']}",
            str(flip["line"]),
            Foreign(flip["prompt"]),
        )
        for flip in (_flip(report, row) for row in rows[:LIMIT])
    )
    yield Table(columns, cells, named="Likely flips")
    if total > LIMIT:
        yield Paragraph(f"… and {total - LIMIT} more (in JSON).")
