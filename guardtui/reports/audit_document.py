"""The audit of a profile as a document."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from guardtui.domain.audit import Audit, Conflict, Kind
from guardtui.domain.document import (
    Bullets,
    Cell,
    Column,
    Depth,
    Document,
    Facts,
    Foreign,
    GridColumn,
    Item,
    Lines,
    Paragraph,
    Phrase,
    Prompts,
    Quote,
    Section,
    Table,
    View,
    quoting,
)
from guardtui.domain.figures import count_text, interval_text, rate_text
from guardtui.domain.guardrail import measured_by
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.verdicts import Outcome
from guardtui.reports.audit_base import (
    KIND_TITLES,
    REMEDIES,
    AuditReport,
    conflict_text,
    default_text,
    doubts,
    fate_text,
    labels_text,
    open_text,
    scanner_text,
    verdict_text,
)
from guardtui.reports.rates import counts_text, rates_table
from guardtui.reports.terms import AUDIT_TERMS

_LABELS_SHOWN = 3  # of one prompt in a line
_GRID = (
    GridColumn("outcome", 8),
    GridColumn("prompt"),
    GridColumn("labels", 24, priority=2),
    GridColumn("matched by", grid=False),
    GridColumn("stopped by", 18),
    GridColumn("where", grid=False),
    GridColumn("note", grid=False),
)


def audit_document(report: AuditReport) -> Document:
    """Return the profile, its topics, their conflicts, who matches whose prompts, and mistakes."""
    audit = report.audit
    sections = [
        Section("The profile as a whole", "composite", tuple(_composite(audit))),
        Section("Topics", "topics", tuple(_topics(audit))),
        Section(f"Conflicts ({audit.conflict_count})", "conflicts", tuple(_conflicts(audit))),
    ]
    if audit.cross_table:
        sections.append(Section("Which topic matches whose prompts", "cross", _cross(audit)))
    sections.append(Section("Prompts", "prompts", (_prompts(audit),), titled=False))
    sections.append(Section("Definitions", "definitions", _definitions(audit), Depth.PAGE))
    name: Phrase = "Guardrail profile audit"
    if report.profile:
        name = ("Guardrail profile audit: ", Foreign(report.profile))
    return Document(
        name,
        (
            quoting(lambda quote: measured_by(report.settings, quote)),
            verdict_text(audit),
        ),
        tuple(sections),
        made_with=Facts(tuple(_made_with(report))),
        cautions=tuple(doubts(report)),
        glossary=AUDIT_TERMS,
    )


def _made_with(report: AuditReport) -> Iterator[tuple[Phrase, Phrase]]:
    audit = report.audit
    if report.profile:
        yield "profile", Foreign(report.profile)
    yield "topics", f"{len(audit.members)}, over {count_text(len(audit), 'distinct prompt')}"
    yield "default", f"what no topic matches is {default_text(audit)}"
    yield "scanner", quoting(lambda quote: scanner_text(report, quote))


def _composite(audit: Audit) -> Iterator[Paragraph | Table]:
    yield rates_table(audit.metrics)
    yield Paragraph(f"{counts_text(audit.metrics)}.")
    if text := open_text(audit):
        yield Paragraph(f"{text}.")


def _topics(audit: Audit) -> Iterator[Paragraph | Table]:
    yield Paragraph(
        "Each topic by itself on its own prompts; the last column is of the whole profile."
    )
    figures = ("TPR", "TNR", "FN", "FP", "no verdict", "profile")
    columns = (
        Column("#"),
        Column("topic", figure=False),
        Column("intent", figure=False),
        Column("prompts"),
        Column("coverage"),
        Column("95 % interval", figure=False),
        *map(Column, figures),
    )
    rows = []
    for index, member in enumerate(audit.members):
        alone = member.alone
        whole = audit.in_profile(index)
        rows.append(
            (
                str(index + 1),
                _name(audit, index),
                member.topic.intent.value,
                str(len(member.own)),
                rate_text(alone.coverage),
                interval_text(rate_intervals(alone)["coverage"]),
                rate_text(alone.true_positive_rate),
                rate_text(alone.true_negative_rate),
                str(alone.fn),
                str(alone.fp),
                str(alone.missing),
                rate_text(whole.coverage if member.labelled else None),
            )
        )
    yield Table(columns, tuple(rows), named="Topics")


def _conflicts(audit: Audit) -> Iterator[Paragraph | Bullets]:
    for kind in Kind:
        conflicts = [conflict for conflict in audit.conflicts if conflict.kind is kind]
        if conflicts:
            yield Paragraph(f"{KIND_TITLES[kind]}. What to do: {REMEDIES[kind]}.")
            yield Bullets(tuple(_conflict(audit, conflict) for conflict in conflicts))


def _conflict(audit: Audit, conflict: Conflict) -> Item:
    sentence = quoting(lambda quote: conflict_text(audit, conflict, quote))
    if conflict.kind is Kind.OVERLAP:
        return Item(sentence)
    rows = conflict.rows
    return Item(sentence, Lines(len(rows), lambda number: _about(audit, int(rows[number]))))


def _cross(audit: Audit) -> tuple[Paragraph, Table]:
    numbers = [str(index + 1) for index in range(len(audit.members))]
    columns = (Column("prompts", figure=False), Column("label", figure=False))
    rows = tuple(
        (
            _name(audit, line.topic),
            "in" if line.belongs else "not in",
            str(line.prompts),
            *map(str, line.matched),
            str(line.stopped),
        )
        for line in audit.cross_table
    )
    return (
        Paragraph("Columns with a number are the topics in the order of the table above."),
        Table(
            (*columns, *map(Column, ("all", *numbers, "stopped"))), rows, named="Matched prompts"
        ),
    )


def _prompts(audit: Audit) -> Prompts:
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
        View("Undecided", np.flatnonzero(audit.undecided).tolist(), listed=False),
    ]
    for kind in Kind:
        rows = sorted({int(row) for one in audit.conflicts if one.kind is kind for row in one.rows})
        if rows:
            views.append(View(KIND_TITLES[kind], rows, listed=False))
    if audit.errors:
        views.append(View("Without a verdict", sorted(audit.errors)))
    views.append(View("All", listed=False))
    count = len(audit)
    return Prompts(
        "Prompts", _GRID, count, count, cells, lambda row: _about(audit, row), tuple(views)
    )


def _definitions(audit: Audit) -> tuple[Facts | Paragraph, ...]:
    blocks: list[Facts | Paragraph] = []
    for index, member in enumerate(audit.members):
        topic = member.topic
        blocks.append(Paragraph((f"{index + 1}: ", Foreign(audit.name(index)))))
        pairs: list[tuple[Phrase, Phrase]] = [("description", Foreign(topic.description))]
        pairs += [
            (f"example {number}", Foreign(text)) for number, text in enumerate(topic.examples, 1)
        ]
        if member.source:
            pairs.append(("prompt set", Foreign(member.source)))
        pairs.append(("sha256", topic.fingerprint[:12] if member.given else "not read"))
        blocks.append(Facts(tuple(pairs)))
    return tuple(blocks)


def _name(audit: Audit, index: int) -> Phrase:
    return Foreign(audit.name(index)) if audit.name(index) else "(no name)"


def _about(audit: Audit, row: int) -> Phrase:
    def write(quote: Quote) -> str:
        places = ", ".join(map(quote, audit.places_of(row)[:2]))
        labels = labels_text(audit, row, quote, _LABELS_SHOWN)
        return f"{places}, {labels}; {fate_text(audit, row, quote)}: {quote(audit.prompts[row])}"

    return quoting(write)
