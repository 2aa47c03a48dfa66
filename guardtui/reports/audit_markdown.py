"""The audit for people, as Markdown in which no text that is not ours can act."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.audit import Audit, Kind
from guardtui.domain.guardrail import measured_by
from guardtui.domain.metrics import RATE_TITLES, RATES
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.verdicts import Outcome
from guardtui.reports.audit_base import (
    KIND_TITLES,
    REMEDIES,
    AuditReport,
    conflict_text,
    counts_text,
    default_text,
    doubts,
    fate_text,
    labels_text,
    open_text,
    scanner_text,
    verdict_text,
)
from guardtui.reports.base import rate_text
from guardtui.reports.markdown import LIMIT, code_span

CONFLICT_LIMIT = 50
"""Prompts below one conflict."""


def write(report: AuditReport) -> str:
    """The whole audit; lists are cut, and say how many prompts are left out."""
    audit = report.audit
    sections = (
        _head(report),
        _composite(audit),
        _topics(audit),
        _conflicts(audit),
        _cross(audit),
        _list(audit, "Stopped, and should not be", audit.rows_with(Outcome.FP)),
        _list(audit, "Let through, and should not be", audit.rows_with(Outcome.FN)),
        _list(audit, "Without a verdict", np.array(sorted(audit.errors), np.intp)),
    )
    return "\n".join(line for section in sections for line in section).rstrip("\n") + "\n"


def _head(report: AuditReport) -> Iterator[str]:
    audit = report.audit
    said = f"{measured_by(report.settings, code_span)} {verdict_text(audit)}"
    yield from ("# Guardrail profile audit", "", said, "")
    if report.profile:
        yield f"- profile: {code_span(report.profile)}"
    yield f"- topics: {len(audit.members)}, over {len(audit)} distinct prompts"
    yield f"- what no topic matches is {default_text(audit)}"
    yield f"- scanner: {code_span(report.settings.name)}, {scanner_text(report, code_span)}"
    for doubt in doubts(report, code_span):
        yield f"- caution: {doubt}"
    yield ""


def _composite(audit: Audit) -> Iterator[str]:
    intervals = rate_intervals(audit.metrics)
    yield from ("## The profile as a whole", "", "| rate | value | 95 % interval |")
    yield "|---|--:|---|"
    for name in RATES:
        interval = intervals.get(name)
        bounds = f"{interval.low:.3f} – {interval.high:.3f}" if interval else ""
        yield f"| {RATE_TITLES[name]} | {rate_text(getattr(audit.metrics, name))} | {bounds} |"
    yield from ("", f"{counts_text(audit.metrics).replace('  ', ', ')}.", "")
    if told := open_text(audit):
        yield from (f"{told}.", "")


def _topics(audit: Audit) -> Iterator[str]:
    yield from (
        "## Topics",
        "",
        "Each by itself on its own prompts; in the last column the profile on them.",
        "",
        "| # | topic | intent | prompts | coverage | 95 % interval | TPR | TNR | FN | FP "
        "| no verdict | profile |",
        "|--:|---|---|--:|--:|---|--:|--:|--:|--:|--:|--:|",
    )
    for place, one in enumerate(audit.members):
        alone = one.alone
        interval = rate_intervals(alone)["coverage"]
        cells = (
            place + 1,
            code_span(audit.name(place), cell=True),
            one.topic.intent.value,
            len(one.own),
            rate_text(alone.coverage),
            f"{interval.low:.3f} – {interval.high:.3f}" if interval else "",
            rate_text(alone.true_positive_rate),
            rate_text(alone.true_negative_rate),
            alone.fn,
            alone.fp,
            alone.missing,
            rate_text(audit.in_profile(place).coverage),
        )
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""


def _conflicts(audit: Audit) -> Iterator[str]:
    yield from (f"## Conflicts ({audit.conflict_count})", "")
    for kind in Kind:
        found = [one for one in audit.conflicts if one.kind is kind]
        if not found:
            continue
        yield from (f"### {KIND_TITLES[kind]}", "", f"What to do: {REMEDIES[kind]}.", "")
        for one in found:
            yield f"- {conflict_text(audit, one, code_span)}"
            if kind is not Kind.OVERLAP:
                for row in one.rows[:CONFLICT_LIMIT].tolist():
                    yield f"  - {_about(audit, row)}"
                if len(one.rows) > CONFLICT_LIMIT:
                    yield f"  - … and {len(one.rows) - CONFLICT_LIMIT} more"
        yield ""


def _cross(audit: Audit) -> Iterator[str]:
    if not audit.cross_table:
        return
    numbers = [str(place + 1) for place in range(len(audit.members))]
    yield from (
        "## Which topic matches whose prompts",
        "",
        f"| prompts | label | all | {' | '.join(numbers)} | stopped |",
        f"|---|---|--:|{'--:|' * len(numbers)}--:|",
    )
    for one in audit.cross_table:
        matched = " | ".join(map(str, one.matched))
        label = "in" if one.belongs else "not in"
        name = code_span(audit.name(one.topic), cell=True)
        yield f"| {name} | {label} | {one.prompts} | {matched} | {one.stopped} |"
    yield ""


def _list(audit: Audit, title: str, rows: NDArray[np.intp]) -> Iterator[str]:
    if not len(rows):
        return
    yield from (f"## {title} ({len(rows)})", "")
    yield from (f"- {_about(audit, row)}" for row in rows[:LIMIT].tolist())
    if len(rows) > LIMIT:
        yield f"- … and {len(rows) - LIMIT} more"
    yield ""


def _about(audit: Audit, row: int) -> str:
    places = ", ".join(map(code_span, audit.places_of(row)))
    labels, fate = labels_text(audit, row, code_span), fate_text(audit, row, code_span)
    return f"{places}, {labels}; {fate}: {code_span(audit.prompts[row])}"
