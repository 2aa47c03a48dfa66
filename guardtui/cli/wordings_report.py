"""What `guardtui refine --scanner decision` found, as a table, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from guardtui.advice.wordings import ERROR, Measured, WordingSweep
from guardtui.app.next_steps import gain_text
from guardtui.cli.refine_report import definition_diff
from guardtui.domain.guardrail import measured_by
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.verdicts import Usage
from guardtui.reports.as_markdown import code_span
from guardtui.reports.base import usage_text

SCHEMA_VERSION = 1
_LISTED = 12  # wordings in a table


@dataclass(frozen=True)
class WordingsFound:
    """All that was found, and what it cost."""

    sweep: WordingSweep
    prompts: PromptSet
    used: Usage


def render(found: WordingsFound, format_name: str) -> str:
    """The whole report in the form of this name."""
    if format_name == "json":
        return json.dumps(_document(found), indent=2, ensure_ascii=False) + "\n"
    lines = _markdown(found) if format_name == "md" else _table(found)
    return "\n".join(lines) + "\n"


def _coverage(metrics: Metrics) -> str:
    return "n/a" if metrics.coverage is None else f"{metrics.coverage:.3f}"


def _head(found: WordingsFound) -> Iterator[str]:
    sweep = found.sweep
    split = sweep.split
    yield measured_by(sweep.settings)
    yield (
        f"{len(sweep.wordings) + 1} wordings on {len(found.prompts)} prompts, the definition among "
        f"them: chosen on {len(split.search_rows)}, reported on {len(split.report_rows)} "
        f"({split.source})"
    )
    if found.used.calls:
        yield f"asked: {usage_text(found.used)}"
    if sweep.missing:
        yield f"{sweep.missing} answers are missing: prompts without one count in no figure"
    yield from (f"note: {note}" for note in split.notes)


def _reported(one: Measured) -> tuple[str, str]:
    """Gain, and fixes against regressions, on the held-out prompts."""
    report = one.report
    if report is None:
        return "", ""
    return gain_text(report.gain), f"{len(report.fixes)} / {len(report.regressions)}"


def _rows(sweep: WordingSweep) -> Iterator[tuple[str, ...]]:
    for number, one in enumerate(sweep.wordings[:_LISTED], start=1):
        gain, counts = _reported(one)
        change = one.wording.change or one.wording.topic.description
        yield str(number), _coverage(one.metrics), f"{one.threshold:.2f}", gain, counts, change


_COLUMNS = ("#", "chosen on", "threshold", "gain on the others", "fixed / broken", "wording")


def _closing(sweep: WordingSweep) -> str:
    return (
        "Gains are of prompts that had no part in the choice, each wording at the threshold fitted "
        f"on the others; the chance that a lower bound is too high is {ERROR:.0%} for all together."
    )


def _no_proposal(sweep: WordingSweep) -> str:
    finalists = [one for one in sweep.wordings if one.report is not None]
    if not finalists:
        return "no wording is better than the definition on the prompts to choose on"
    best = max(finalists, key=lambda one: one.report.gain.low if one.report else -1.0)
    assert best.report is not None  # noqa: S101 - a finalist has one
    return (
        "no wording is shown to be better on the prompts to report on: the best gains "
        f"{gain_text(best.report.gain)}"
    )


def _details(best: Measured) -> Iterator[str]:
    report = best.report
    assert report is not None  # noqa: S101 - it is advised
    yield (
        f"coverage {gain_text(report.gain)} on the prompts to report on: "
        f"{_coverage(report.before)} → {_coverage(report.after)}, {len(report.fixes)} fixed, "
        f"{len(report.regressions)} broken"
    )
    yield f"threshold {best.threshold:.3f}, fitted on the prompts to choose on"
    yield f"from {best.wording.origin}"


def _table(found: WordingsFound) -> Iterator[str]:
    shown: Callable[[str], str] = display_text
    sweep = found.sweep
    yield from _head(found)
    yield ""
    yield (
        f"the definition: coverage {_coverage(sweep.here.metrics)} on the prompts to choose on, "
        f"at the threshold {sweep.here.threshold:.2f}"
    )
    _, chosen_on, at, gains, fixed, what = _COLUMNS
    yield f"{'#':>3}  {chosen_on:>9} {at:>9}  {gains:<25} {fixed:<14} {what}"
    for number, chosen, threshold, gain, counts, change in _rows(sweep):
        yield (f"{number:>3}  {chosen:>9} {threshold:>9}  {gain:<25} {counts:<14} {shown(change)}")
    if len(sweep.wordings) > _LISTED:
        yield f"     and {len(sweep.wordings) - _LISTED} more (in JSON)"
    yield ""
    best = sweep.best
    if best is None:
        yield f"No proposal: {_no_proposal(sweep)}."
        return
    yield "Proposal"
    yield from (f"  {line}" for line in _details(best))
    yield ""
    for sign, field, text in definition_diff(sweep.here.wording.topic, best.wording.topic):
        yield f"  {sign} {field}: {shown(text)}"
    yield ""
    yield _closing(sweep)


def _markdown(found: WordingsFound) -> Iterator[str]:
    sweep = found.sweep
    yield from ("# Wordings", "")
    for line in _head(found):
        yield from (line, "")
    yield "| " + " | ".join(_COLUMNS) + " |"
    yield "|---" * len(_COLUMNS) + "|"
    for *cells, change in _rows(sweep):
        yield "| " + " | ".join([*cells, code_span(change)]) + " |"
    yield ""
    best = sweep.best
    if best is None:
        yield f"No proposal: {_no_proposal(sweep)}."
        return
    yield from ("## Proposal", "")
    yield from (f"- {line}" for line in _details(best))
    yield ""
    for sign, field, text in definition_diff(sweep.here.wording.topic, best.wording.topic):
        yield f"- {code_span(sign)} {field}: {code_span(text)}"
    yield from ("", _closing(sweep))


def _document(found: WordingsFound) -> dict[str, Any]:
    sweep, used = found.sweep, found.used
    lines = found.prompts.frame["line"]
    return {
        "schema_version": SCHEMA_VERSION,
        "scanner": {"name": sweep.settings.name, "identity": sweep.settings.identity},
        "prompts": {
            "total": len(found.prompts),
            "chosen_on": len(sweep.split.search_rows),
            "reported_on": len(sweep.split.report_rows),
            "split": sweep.split.source,
        },
        "missing_answers": sweep.missing,
        "usage": {
            "calls": used.calls,
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cost": used.cost,
        },
        "error": ERROR,
        "definition": _wording(sweep.here, lines),
        "wordings": [_wording(one, lines) for one in sweep.wordings],
        "proposals": [sweep.wordings.index(one) for one in sweep.advised],
    }


def _wording(one: Measured, lines: pl.Series) -> dict[str, Any]:
    topic, report = one.wording.topic, one.report
    return {
        "description": topic.description,
        "examples": list(topic.examples),
        "change": one.wording.change,
        "origin": one.wording.origin,
        "threshold": one.threshold,
        "value": one.value,
        "coverage": one.metrics.coverage,
        "report": None
        if report is None
        else {
            "coverage_before": report.before.coverage,
            "coverage_after": report.after.coverage,
            "gain": report.gain.value,
            "low": report.gain.low,
            "high": report.gain.high,
            "fixes": [int(lines[int(row)]) for row in report.fixes],
            "regressions": [int(lines[int(row)]) for row in report.regressions],
            "advised": one.is_advised,
        },
    }
