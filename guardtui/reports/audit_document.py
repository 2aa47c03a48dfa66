"""The audit of a profile as a document."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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
    PromptView,
    Quote,
    Section,
    Table,
    quoting,
)
from guardtui.domain.figures import count_text, interval_text, rate_text
from guardtui.domain.guardrail import measured_by
from guardtui.domain.profile_conflicts import Conflict, ConflictKind
from guardtui.domain.profile_evaluation import ProfileEvaluation
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
from guardtui.reports.glossary import AUDIT_TERMS
from guardtui.reports.rates import counts_text, rates_table

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
    evaluation = report.evaluation
    sections = [
        Section("The profile as a whole", "composite", tuple(_composite(evaluation))),
        Section("Topics", "topics", tuple(_topics(evaluation))),
        Section(
            f"Conflicts ({evaluation.conflict_count})", "conflicts", tuple(_conflicts(evaluation))
        ),
    ]
    if evaluation.cross_table:
        sections.append(Section("Which topic matches whose prompts", "cross", _cross(evaluation)))
    sections.append(Section("Prompts", "prompts", (_prompts(evaluation),), titled=False))
    sections.append(Section("Definitions", "definitions", _definitions(evaluation), Depth.PAGE))
    name: Phrase = "Guardrail profile audit"
    if report.profile:
        name = ("Guardrail profile audit: ", Foreign(report.profile))
    return Document(
        name,
        (
            quoting(lambda quote: measured_by(report.settings, quote)),
            verdict_text(evaluation),
        ),
        tuple(sections),
        made_with=Facts(tuple(_made_with(report))),
        cautions=tuple(doubts(report)),
        glossary=AUDIT_TERMS,
    )


def _made_with(report: AuditReport) -> Iterator[tuple[Phrase, Phrase]]:
    evaluation = report.evaluation
    if report.profile:
        yield "profile", Foreign(report.profile)
    yield (
        "topics",
        f"{len(evaluation.members)}, over {count_text(len(evaluation), 'distinct prompt')}",
    )
    yield "default", f"what no topic matches is {default_text(evaluation)}"
    yield "guardrail", quoting(lambda quote: scanner_text(report, quote))


def _composite(evaluation: ProfileEvaluation) -> Iterator[Paragraph | Table]:
    yield rates_table(evaluation.metrics)
    yield Paragraph(f"{counts_text(evaluation.metrics)}.")
    if text := open_text(evaluation):
        yield Paragraph(f"{text}.")


def _topics(evaluation: ProfileEvaluation) -> Iterator[Paragraph | Table]:
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
    for index, member in enumerate(evaluation.members):
        alone = member.alone
        in_profile = evaluation.in_profile(index)
        rows.append(
            (
                str(index + 1),
                _name(evaluation, index),
                member.topic.intent.value,
                str(len(member.own)),
                rate_text(alone.coverage),
                interval_text(rate_intervals(alone)["coverage"]),
                rate_text(alone.true_positive_rate),
                rate_text(alone.true_negative_rate),
                str(alone.fn),
                str(alone.fp),
                str(alone.missing),
                rate_text(in_profile.coverage if member.labelled else None),
            )
        )
    yield Table(columns, tuple(rows), named="Topics")


def _conflicts(evaluation: ProfileEvaluation) -> Iterator[Paragraph | Bullets]:
    for kind in ConflictKind:
        conflicts = [conflict for conflict in evaluation.conflicts if conflict.kind is kind]
        if conflicts:
            yield Paragraph(f"{KIND_TITLES[kind]}. What to do: {REMEDIES[kind]}.")
            yield Bullets(tuple(_conflict(evaluation, conflict) for conflict in conflicts))


def _conflict(evaluation: ProfileEvaluation, conflict: Conflict) -> Item:
    sentence = quoting(lambda quote: conflict_text(evaluation, conflict, quote))
    if conflict.kind is ConflictKind.OVERLAP:
        return Item(sentence)
    rows = conflict.rows
    return Item(sentence, Lines(len(rows), lambda number: _about(evaluation, int(rows[number]))))


def _cross(evaluation: ProfileEvaluation) -> tuple[Paragraph, Table]:
    numbers = [str(index + 1) for index in range(len(evaluation.members))]
    columns = (Column("prompts", figure=False), Column("label", figure=False))
    rows = tuple(
        (
            _name(evaluation, line.topic),
            "in" if line.belongs else "not in",
            str(line.prompts),
            *map(str, line.matched),
            str(line.stopped),
        )
        for line in evaluation.cross_table
    )
    return (
        Paragraph("Columns with a number are the topics in the order of the table above."),
        Table(
            (*columns, *map(Column, ("all", *numbers, "stopped"))), rows, named="Matched prompts"
        ),
    )


def _prompts(evaluation: ProfileEvaluation) -> Prompts:
    def cells(row: int) -> list[Cell]:
        notes = [evaluation.errors.get(row, ""), evaluation.notes.get(row, "")]
        if evaluation.undecided[row]:
            notes.append("counts as a mistake because a topic that matched has no label here")
        return [
            evaluation.outcome(row),
            evaluation.texts[row],
            labels_text(evaluation, row, str),
            ", ".join(evaluation.matched(row)),
            ", ".join(evaluation.stopped_by.get(row, ())),
            ", ".join(evaluation.locations(row)),
            "; ".join(filter(None, notes)),
        ]

    views = [
        PromptView("Stopped, and should not be", evaluation.rows_with(Outcome.FP).tolist()),
        PromptView("Let through, and should not be", evaluation.rows_with(Outcome.FN).tolist()),
        PromptView("Undecided", np.flatnonzero(evaluation.undecided).tolist(), listed=False),
    ]
    for kind in ConflictKind:
        rows = sorted(
            {
                int(row)
                for conflict in evaluation.conflicts
                if conflict.kind is kind
                for row in conflict.rows
            }
        )
        if rows:
            views.append(PromptView(KIND_TITLES[kind], rows, listed=False))
    if evaluation.errors:
        views.append(PromptView("Without a verdict", sorted(evaluation.errors)))
    views.append(PromptView("All", listed=False))
    count = len(evaluation)
    return Prompts(
        "Prompts", _GRID, count, count, cells, lambda row: _about(evaluation, row), tuple(views)
    )


def _definitions(evaluation: ProfileEvaluation) -> tuple[Facts | Paragraph, ...]:
    blocks: list[Facts | Paragraph] = []
    for index, member in enumerate(evaluation.members):
        topic = member.topic
        blocks.append(Paragraph((f"{index + 1}: ", Foreign(evaluation.name(index)))))
        pairs: list[tuple[Phrase, Phrase]] = [("description", Foreign(topic.description))]
        pairs += [
            (f"example {number}", Foreign(text)) for number, text in enumerate(topic.examples, 1)
        ]
        if member.source:
            pairs.append(("prompt set", Foreign(member.source)))
        pairs.append(("sha256", topic.fingerprint[:12] if member.given else "not read"))
        blocks.append(Facts(tuple(pairs)))
    return tuple(blocks)


def _name(evaluation: ProfileEvaluation, index: int) -> Phrase:
    return Foreign(evaluation.name(index)) if evaluation.name(index) else "(no name)"


def _about(evaluation: ProfileEvaluation, row: int) -> Phrase:
    def write(quote: Quote) -> str:
        locations = ", ".join(map(quote, evaluation.locations(row)[:2]))
        labels = labels_text(evaluation, row, quote, _LABELS_SHOWN)
        fate = fate_text(evaluation, row, quote)
        return f"{locations}, {labels}; {fate}: {quote(evaluation.texts[row])}"

    return quoting(write)
