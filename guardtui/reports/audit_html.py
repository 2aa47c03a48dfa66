"""The audit as a page: for a browser, from disk, on paper."""

from __future__ import annotations

import numpy as np

from guardtui.domain.audit import Audit, Kind
from guardtui.domain.guardrail import measured_by
from guardtui.domain.metrics import RATE_TITLES, RATES
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.text import display_start, display_text
from guardtui.domain.verdicts import Outcome
from guardtui.reports.audit_base import (
    KIND_TITLES,
    REMEDIES,
    AuditReport,
    conflict_text,
    counts_text,
    default_text,
    doubts,
    labels_text,
    open_text,
    scanner_text,
    verdict_text,
)
from guardtui.reports.base import rate_text
from guardtui.reports.html.page import (
    Cell,
    Column,
    Content,
    Markup,
    Section,
    View,
    bullets,
    facts,
    join,
    page,
    paragraph,
    quoted,
    rows_table,
    table,
    tag,
)

_NAME = 120  # characters of a name in a title
_COLUMNS = (
    Column("outcome", 8),
    Column("prompt"),
    Column("labels", 24, priority=2),
    Column("matched by", grid=False),
    Column("stopped by", 18),
    Column("where", grid=False),
    Column("note", grid=False),
)


def write(report: AuditReport) -> str:
    """The whole page; all prompts are in it, with views for mistakes and for each conflict."""
    audit = report.audit
    name = display_start(report.profile, _NAME) if report.profile else ""
    sections = [
        Section("The profile as a whole", "composite", _composite(audit)),
        Section("Topics", "topics", _topics(audit)),
        Section(f"Conflicts ({audit.conflict_count})", "conflicts", _conflicts(audit)),
        Section("Which topic matches whose prompts", "cross", _cross(audit)),
        Section("Prompts", "prompts", _prompts(audit)),
        Section("Provenance", "provenance", _provenance(report)),
    ]
    title = "Guardrail profile audit" + (f": {name}" if name else "")
    return page(title, sections, lead=_lead(report))


def _plain(value: str) -> str:
    """A name within a sentence that is escaped as a whole when it is put in."""
    return f"“{display_text(value)}”"


def _lead(report: AuditReport) -> Markup:
    cautions = bullets(doubts(report, _plain))
    said = f"{measured_by(report.settings)} {verdict_text(report.audit)}"
    return join(paragraph(said, class_="verdict"), cautions)


def _composite(audit: Audit) -> Markup:
    intervals = rate_intervals(audit.metrics)
    rows: list[list[Content]] = []
    for name in RATES:
        interval = intervals.get(name)
        bounds = f"{interval.low:.3f} – {interval.high:.3f}" if interval else ""
        rows.append([RATE_TITLES[name], rate_text(getattr(audit.metrics, name)), bounds])
    told = open_text(audit)
    return join(
        table(["rate", "value", "95 % interval"], rows),
        paragraph(f"{counts_text(audit.metrics)}."),
        paragraph(f"{told}.") if told else None,
    )


def _topics(audit: Audit) -> Markup:
    headers = ["#", "topic", "intent", "prompts", "coverage", "95 % interval", "TPR", "TNR"]
    rows: list[list[Content]] = []
    for place, one in enumerate(audit.members):
        alone = one.alone
        interval = rate_intervals(alone)["coverage"]
        rows.append(
            [
                place + 1,
                quoted(audit.name(place)),
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
            ]
        )
    definitions = [_definition(audit, place) for place in range(len(audit.members))]
    return join(
        paragraph("Each by itself on its own prompts; in the last column the profile on them."),
        table([*headers, "FN", "FP", "no verdict", "profile"], rows, text_columns=(1, 2, 5)),
        *definitions,
    )


def _definition(audit: Audit, place: int) -> Markup:
    one = audit.members[place]
    examples = [
        (f"example {number}", quoted(text)) for number, text in enumerate(one.topic.examples, 1)
    ]
    source: list[tuple[Content, Content]] = []
    if one.source:
        source.append(("prompt set", quoted(one.source)))
    return tag(
        "details",
        tag("summary", f"{place + 1}: ", quoted(audit.name(place))),
        facts([("description", quoted(one.topic.description)), *examples, *source]),
    )


def _conflicts(audit: Audit) -> Markup:
    parts: list[Content] = []
    for kind in Kind:
        found = [one for one in audit.conflicts if one.kind is kind]
        if found:
            parts += [
                tag("h3", KIND_TITLES[kind]),
                bullets(conflict_text(audit, one, _plain) for one in found),
                paragraph(f"What to do: {REMEDIES[kind]}."),
            ]
    if not parts:
        return paragraph("None.")
    return join(*parts, paragraph("The prompts are in the views of the same names below."))


def _cross(audit: Audit) -> Markup:
    numbers = [str(place + 1) for place in range(len(audit.members))]
    rows: list[list[Content]] = [
        [
            quoted(audit.name(one.topic)),
            "in" if one.belongs else "not in",
            one.prompts,
            *one.matched,
            one.stopped,
        ]
        for one in audit.cross_table
    ]
    return join(
        paragraph("Columns with a number are the topics in the order of the table above."),
        table(["prompts", "label", "all", *numbers, "stopped"], rows, text_columns=(0, 1)),
    )


def _prompts(audit: Audit) -> Markup:
    def cells(row: int) -> list[Cell]:
        notes = [audit.errors.get(row, ""), audit.notes.get(row, "")]
        if audit.undecided[row]:
            notes.append("counts as a mistake because a topic that matched has no label here")
        return [
            audit.outcome(row),
            audit.prompts[row],
            labels_text(audit, row, str),
            ", ".join(audit.matched(row)),
            ", ".join(audit.stopped_by(row)),
            ", ".join(audit.places_of(row)),
            "; ".join(filter(None, notes)),
        ]

    views = [
        View("Stopped, and should not be", audit.rows_with(Outcome.FP).tolist()),
        View("Let through, and should not be", audit.rows_with(Outcome.FN).tolist()),
        View("Undecided", np.flatnonzero(audit.undecided).tolist(), printed=False),
    ]
    for kind in Kind:
        rows = sorted({row for one in audit.conflicts if one.kind is kind for row in one.rows})
        if rows:
            views.append(View(KIND_TITLES[kind], [int(row) for row in rows], printed=False))
    if audit.errors:
        views.append(View("Without a verdict", sorted(audit.errors)))
    views.append(View("All", None, printed=False))
    # Nothing is chosen that is empty when there is something to show.
    views.sort(key=lambda view: view.rows is not None and not len(view.rows))
    rows_shown = [cells(row) for row in range(len(audit))]
    return rows_table(_COLUMNS, rows_shown, views, label="prompts")


def _provenance(report: AuditReport) -> Markup:
    audit = report.audit
    pairs: list[tuple[Content, Content]] = [("scanner", scanner_text(report, str))]
    if report.profile:
        pairs.insert(0, ("profile", quoted(report.profile)))
    pairs += [
        ("default", f"what no topic matches is {default_text(audit)}"),
        ("prompts", f"{len(audit)} distinct"),
    ]
    for place, one in enumerate(audit.members):
        sha = one.topic.fingerprint[:12] if one.given else "not read"
        pairs.append((f"definition {place + 1}", sha))
    return facts(pairs)
