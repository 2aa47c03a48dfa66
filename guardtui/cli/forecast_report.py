"""What `guardtui forecast` says, as a table or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from guardtui.domain.evaluation import should_trigger
from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.verdicts import Triggered
from guardtui.reports.json_report import definition_of, scanner_of
from guardtui.reports.json_text import dumps

if TYPE_CHECKING:
    from guardtui.app.recorded_forecast import RecordedForecast
    from guardtui.forecast.expected import Expected

SCHEMA_VERSION = 1

LIMIT = 20
"""Prompts that the table lists."""

NOTE = "This is a forecast, not a measurement: a gate, and the decision to keep, need a full scan."

_CHARACTERS = 100  # of one prompt
_SHOWN_SCANS = 10
_NEAREST = 5  # prompts listed where no flip is likely
_LEAST = 0.1  # probability of theirs at least
_VERDICTS = {Triggered.YES: "triggered", Triggered.NO: "not triggered"}


def render(found: RecordedForecast, format_name: str) -> str:
    """Return the forecast in the form of this name."""
    if format_name == "json":
        return dumps(_document(found), indent=2) + "\n"
    return "\n".join(_table(found)) + "\n"


# --- for programs -------------------------------------------------------------------------


def _document(found: RecordedForecast) -> dict[str, Any]:
    forecast, prompts = found.forecast, found.prompts
    grounds, rates = forecast.grounds, forecast.rates
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "forecast",
        "note": NOTE,
        "guardrail": scanner_of(grounds.settings),
        "other_guardrails": [scanner_of(one) for one in found.guardrail.others],
        "definition": definition_of(forecast.topic),
        "prompt_file": prompts.source,
        "prompt_set_fingerprint": forecast.prompt_set,
        "grounds": {
            "scans": grounds.scans,
            "iterations": [one.number for one in found.scans],
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
        "expected": {
            "coverage": expected_of(rates.coverage),
            "tpr": expected_of(rates.tpr),
            "tnr": expected_of(rates.tnr),
        },
        "compared_with": found.compared
        and {"iteration": found.compared.number, "coverage": forecast.before},
        "probability_better": rates.better,
        "measured_by_iteration": found.measured and found.measured.number,
        "expected_flips": float(np.nansum(forecast.changes)),
        "flips": [_flip(found, row) for row in forecast.flips().tolist()],
        "prompts": _prompts(found),
    }


def expected_of(figure: Expected | None) -> dict[str, float] | None:
    """Return a figure that is expected, with its 95 % interval, for JSON."""
    if figure is None:
        return None
    return {"value": figure.value, "low": figure.low, "high": figure.high}


def _prompts(found: RecordedForecast) -> list[dict[str, Any]]:
    """What is expected of each prompt, in the order of the file."""
    forecast, frame = found.forecast, found.prompts.frame
    duty = should_trigger(found.prompts.expected, forecast.topic.intent)
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


def _flip(found: RecordedForecast, row: int) -> dict[str, Any]:
    """What a likely flip is, by the prompt's index."""
    forecast, frame = found.forecast, found.prompts.frame
    fires = forecast.last[row] == Triggered.YES
    should = bool(should_trigger(found.prompts.expected, forecast.topic.intent)[row])
    return {
        "line": int(frame["line"][row]),
        "prompt": str(frame["prompt"][row]),
        "probability": float(forecast.changes[row]),
        "from": _VERDICTS[Triggered.YES if fires else Triggered.NO],
        "to": _VERDICTS[Triggered.NO if fires else Triggered.YES],
        "change": "regression" if fires == should else "fix",
    }


# --- for readers --------------------------------------------------------------------------


def _table(found: RecordedForecast) -> Iterator[str]:
    forecast = found.forecast
    grounds, rates = forecast.grounds, forecast.rates
    numbers = [f"#{one.number}" for one in found.scans]
    yield f"Forecast of {guardrail_text(grounds.settings)}. No service was called."
    yield (
        f"topic      {display_text(forecast.topic.name)} ({forecast.topic.intent.value}), "
        "as its file has it"
    )
    yield (
        f"rests on   {count_text(grounds.scans, 'scan')} ({', '.join(numbers[-_SHOWN_SCANS:])}): "
        f"{grounds.asked:,} of {grounds.prompts:,} prompts have a verdict"
    )
    yield ""
    if found.measured is not None:
        coverage = found.measured.evaluation.metrics.coverage
        yield (
            f"#{found.measured.number} has scanned this very definition, with a coverage of "
            f"{rate_text(coverage)}: that is a measurement, and counts."
        )
        yield ""
    yield "           expected  95 % interval"
    for name, figure in (("coverage", rates.coverage), ("TPR", rates.tpr), ("TNR", rates.tnr)):
        yield f"{name:<10} {expected_text(figure)}"
    if found.compared is not None and rates.better is not None:
        yield (
            f"{rates.better:.0%} likely that coverage is above {rate_text(forecast.before)}, "
            f"that of #{found.compared.number}, the newest scan of all prompts"
        )
    yield ""
    yield from _flips(found)
    if grounds.doubts:
        yield ""
        yield from (f"doubt: {doubt}" for doubt in grounds.doubts)
    yield ""
    yield NOTE


def expected_text(figure: Expected | None) -> str:
    """Return a figure that is expected and its interval, for a column."""
    if figure is None:
        return f"{'n/a':<8}"
    return f"{figure.value:<8.3f}  [{figure.low:.3f} – {figure.high:.3f}]"


def _flips(found: RecordedForecast) -> Iterator[str]:
    forecast = found.forecast
    changes = np.nan_to_num(forecast.changes)
    rows = forecast.flips().tolist()
    about = f"{changes.sum():.1f} of all verdicts are expected to change"
    if rows:
        yield f"Likely flips, against each prompt's newest verdict ({len(rows)}; {about}):"
    else:
        yield f"No verdict is more likely to change than not; {about}."
        nearest = np.argsort(-changes, kind="stable")[:_NEAREST]
        rows = nearest[changes[nearest] > _LEAST].tolist()
        if rows:
            yield "The most likely to change, against each prompt's newest verdict:"
    for row in rows[:LIMIT]:
        flip = _flip(found, row)
        prompt = flip["prompt"]
        text = display_start(prompt, _CHARACTERS) + "…" * (len(prompt) > _CHARACTERS)
        change = f"{flip['from']} → {flip['to']}"
        yield (
            f"  {flip['probability']:>4.0%}  {flip['change']:<10}  {change:<25}  "
            f"line {flip['line']:<6} {text}"
        )
    if len(rows) > LIMIT:
        yield f"  … and {len(rows) - LIMIT} more, which --format json has"
