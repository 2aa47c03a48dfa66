"""The audit for terminals: plain text, without colours, whose every line is inert."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.audit import Audit, Kind
from guardtui.domain.guardrail import measured_by
from guardtui.domain.metrics import RATE_TITLES, RATES
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.text import display_start
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

LIMIT = 20
"""Prompts in one list."""

CONFLICT_LIMIT = 5
"""Prompts below one conflict."""

_CHARACTERS = 100  # of one prompt
_NAME_CHARACTERS = 30  # of a topic in a table
_LABELS_SHOWN = 3  # of one prompt
_TEXT_CHARACTERS = 200  # of a name or message in a sentence


def write(report: AuditReport) -> str:
    """The profile, its topics, their conflicts, who fires on whose prompts, and the mistakes."""
    audit = report.audit
    sections = (
        _head(report),
        _composite(audit),
        _topics(audit),
        _conflicts(audit),
        _cross(audit),
        _list(audit, "stopped, and should not be", audit.rows_with(Outcome.FP)),
        _list(audit, "let through, and should not be", audit.rows_with(Outcome.FN)),
        _list(audit, "without a verdict", np.array(sorted(audit.errors), np.intp)),
    )
    return "\n\n".join(text for section in sections if (text := "\n".join(section))) + "\n"


def _quote(text: str) -> str:
    return display_start(text, _TEXT_CHARACTERS)


def _head(report: AuditReport) -> Iterator[str]:
    audit = report.audit
    yield measured_by(report.settings, _quote)
    if report.profile:
        yield f"profile    {_quote(report.profile)}"
    yield f"topics     {len(audit.members)}, over {len(audit)} distinct prompts"
    yield f"default    what no topic matches is {default_text(audit)}"
    yield f"scanner    {scanner_text(report, _quote)}"
    for doubt in doubts(report, _quote):
        yield f"caution    {doubt}"


def _composite(audit: Audit) -> Iterator[str]:
    yield "the profile as a whole"
    intervals = rate_intervals(audit.metrics)
    for name in RATES:
        interval = intervals.get(name)
        bounds = f"[{interval.low:.3f} – {interval.high:.3f}]" if interval else ""
        value = rate_text(getattr(audit.metrics, name))
        yield f"{RATE_TITLES[name]:<10} {value:<5}  {bounds}".rstrip()
    yield counts_text(audit.metrics)
    if told := open_text(audit):
        yield told
    yield verdict_text(audit)


def _topics(audit: Audit) -> Iterator[str]:
    rows = []
    for place, one in enumerate(audit.members):
        alone, whole = one.alone, audit.in_profile(place)
        interval = rate_intervals(alone)["coverage"]
        bounds = f"[{interval.low:.2f} – {interval.high:.2f}]" if interval else ""
        rows.append(
            [
                str(place + 1),
                _name(audit, place),
                one.topic.intent.value,
                str(len(one.own)),
                rate_text(alone.coverage),
                bounds,
                rate_text(alone.true_positive_rate),
                rate_text(alone.true_negative_rate),
                str(alone.fn),
                str(alone.fp),
                str(alone.missing),
                rate_text(whole.coverage) if one.labelled else "n/a",
            ]
        )
    header = ["#", "topic", "intent", "prompts", "coverage", "95 %", "TPR", "TNR", "FN", "FP"]
    yield "each topic by itself, on its own prompts; at the end the coverage of the profile on them"
    yield from _aligned([*header, "no verdict", "profile"], rows, left=(1, 2, 5))


def _conflicts(audit: Audit) -> Iterator[str]:
    yield f"conflicts ({audit.conflict_count})"
    for kind in Kind:
        found = [one for one in audit.conflicts if one.kind is kind]
        if not found:
            continue
        yield f"  {KIND_TITLES[kind]}: {REMEDIES[kind]}"
        for one in found:
            yield f"    {conflict_text(audit, one, _quote)}"
            if kind is not Kind.OVERLAP:
                for row in one.rows[:CONFLICT_LIMIT].tolist():
                    yield f"      {_about(audit, row)}"
                if len(one.rows) > CONFLICT_LIMIT:
                    yield f"      … and {len(one.rows) - CONFLICT_LIMIT} more"


def _cross(audit: Audit) -> Iterator[str]:
    if not audit.cross_table:
        return
    yield "prompts of each set that each topic matches (numbers as above), and that are stopped"
    header = ["prompts", "", "all", *(str(place + 1) for place in range(len(audit.members)))]
    rows = [
        [
            _name(audit, one.topic),
            "in" if one.belongs else "not in",
            str(one.prompts),
            *map(str, one.matched),
            str(one.stopped),
        ]
        for one in audit.cross_table
    ]
    yield from _aligned([*header, "stopped"], rows, left=(0, 1))


def _list(audit: Audit, title: str, rows: NDArray[np.intp]) -> Iterator[str]:
    if not len(rows):
        return
    yield f"{title} ({len(rows)})"
    for row in rows[:LIMIT].tolist():
        yield f"  {_about(audit, row)}"
    if len(rows) > LIMIT:
        yield f"  … and {len(rows) - LIMIT} more"


def _about(audit: Audit, row: int) -> str:
    place = ", ".join(_quote(one) for one in audit.places_of(row)[:2])
    text = display_start(audit.prompts[row], _CHARACTERS)
    text += "…" if len(audit.prompts[row]) > _CHARACTERS else ""
    labels = labels_text(audit, row, _quote, _LABELS_SHOWN)
    return f"{place}  {labels}; {fate_text(audit, row, _quote)}  {text}"


def _name(audit: Audit, place: int) -> str:
    name = audit.name(place)
    more = "…" if len(name) > _NAME_CHARACTERS else ""
    return (display_start(name, _NAME_CHARACTERS) or "(no name)") + more


def _aligned(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int]
) -> Iterator[str]:
    """Columns below each other; those in `left` begin at one place, the others end at one."""
    widths = [max(map(_cells, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - _cells(cell))
            cells.append(cell + blanks if place in left else blanks + cell)
        yield "  ".join(cells).rstrip()


def _cells(text: str) -> int:
    """Columns that a terminal gives the text, near enough to line up names."""
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return len(text) + wide - sum(unicodedata.combining(sign) > 0 for sign in text)
