"""The audit of a profile: its topics on their prompts together, as a document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
from guardtui.domain.figures import ON_NEW_PROMPTS, count_text, interval_text, rate_text
from guardtui.domain.guardrail import ScannerSettings, measured_by
from guardtui.domain.profile_conflicts import Conflict, ConflictKind
from guardtui.domain.profile_evaluation import ProfileEvaluation
from guardtui.domain.profile_labels import Label
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Outcome, Triggered
from guardtui.reports.base import guardrail_phrase
from guardtui.reports.glossary import AUDIT_TERMS
from guardtui.reports.rates import counts_text, rates_table

KIND_TITLES: dict[ConflictKind, str] = {
    ConflictKind.STOPPED: "Stopped by another topic",
    ConflictKind.BOTH: "Matched by an allow and a block topic",
    ConflictKind.LABELS: "Labels that contradict",
    ConflictKind.OVERLAP: "Topics that overlap",
}

REMEDIES: dict[ConflictKind, str] = {
    ConflictKind.STOPPED: "narrow the topic that stops them; or, where it is right to, put the "
    "prompt into its prompt set too, with the label that says so",
    ConflictKind.BOTH: "the allow topic is taken to win: narrow it, or the block topic",
    ConflictKind.LABELS: "decide what should happen to them, and correct one of the two sets",
    ConflictKind.OVERLAP: "one of them may not be needed, or both are wider than meant",
}


@dataclass(frozen=True, eq=False)
class AuditReport:
    """Content of an audit's report; `notices` are doubts about how it was measured."""

    evaluation: ProfileEvaluation
    settings: ScannerSettings
    profile: str = ""
    notices: tuple[str, ...] = ()


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
        Section("Topics", "topics", tuple(_topics(report))),
        Section(
            f"Conflicts ({evaluation.conflict_count})", "conflicts", tuple(_conflicts(evaluation))
        ),
    ]
    if evaluation.cross_table:
        sections.append(Section("Which topic matches whose prompts", "cross", _cross(evaluation)))
    sections.append(Section("Prompts", "prompts", (_grid(evaluation),), titled=False))
    sections.append(Section("Definitions", "definitions", _definitions(evaluation), Depth.PAGE))
    name: Phrase = "Guardrail profile audit"
    if report.profile:
        name = ("Guardrail profile audit: ", Foreign(report.profile))
    return Document(
        name,
        (
            quoting(lambda quote: measured_by(report.settings, quote)),
            _verdict_text(evaluation),
        ),
        tuple(sections),
        made_with=Facts(tuple(_made_with(report))),
        cautions=tuple(_cautions(report)),
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
    default = "stopped" if evaluation.closed else "let through"
    yield "default", f"what no topic matches is {default}"
    yield "guardrail", guardrail_phrase(report.settings)


def _composite(evaluation: ProfileEvaluation) -> Iterator[Paragraph | Table]:
    yield rates_table(evaluation.metrics)
    yield Paragraph(f"{counts_text(evaluation.metrics)}.")
    if text := _open_text(evaluation):
        yield Paragraph(f"{text}.")


def _topics(report: AuditReport) -> Iterator[Paragraph | Table]:
    evaluation, fitted = report.evaluation, report.settings.has_fitted_threshold
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
        Column(ON_NEW_PROMPTS, figure=False),
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
                interval_text(rate_intervals(alone, fitted=fitted)["coverage"]),
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
    sentence = quoting(lambda quote: _conflict_text(evaluation, conflict, quote))
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


def _grid(evaluation: ProfileEvaluation) -> Prompts:
    def cells(row: int) -> list[Cell]:
        notes = [evaluation.errors.get(row, ""), evaluation.notes.get(row, "")]
        if evaluation.undecided[row]:
            notes.append("counts as a mistake because a topic that matched has no label here")
        return [
            evaluation.outcome(row),
            evaluation.texts[row],
            _labels_text(evaluation, row, str),
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
        pairs.append(("sha256", topic.fingerprint[:12]))
        blocks.append(Facts(tuple(pairs)))
    return tuple(blocks)


def _name(evaluation: ProfileEvaluation, index: int) -> Phrase:
    return Foreign(evaluation.name(index)) if evaluation.name(index) else "(no name)"


def _about(evaluation: ProfileEvaluation, row: int) -> Phrase:
    def write(quote: Quote) -> str:
        locations = ", ".join(map(quote, evaluation.locations(row)[:2]))
        labels = _labels_text(evaluation, row, quote, _LABELS_SHOWN)
        fate = _outcome_text(evaluation, row, quote)
        return f"{locations}, {labels}; {fate}: {quote(evaluation.texts[row])}"

    return quoting(write)


# --- sentences ----------------------------------------------------------------------------


def _verdict_text(evaluation: ProfileEvaluation) -> str:
    """Return the result of the audit in two sentences."""
    metrics, count = evaluation.metrics, evaluation.conflict_count
    parts = [
        f"The profile stops {metrics.tp} of {metrics.tp + metrics.fn} prompts that it should stop, "
        f"and lets {metrics.tn} of {metrics.tn + metrics.fp} pass that it should let pass.",
        f"{count} conflict{'s' * (count != 1)} between topics." if count else "No conflicts.",
    ]
    return " ".join(parts)


def _open_text(evaluation: ProfileEvaluation) -> str:
    """Return the uncertainty of the profile's rates that is due to labels and errors, or ""."""
    parts = []
    undecided = int(evaluation.undecided.sum())
    if undecided:
        right = evaluation.metrics_if_right
        parts.append(
            f"{_prompts(undecided, 'counts', 'count')} as a mistake only because a topic that "
            "matched has no label there: if it is right to match, "
            f"coverage is {rate_text(right.coverage)} (TPR {rate_text(right.true_positive_rate)}, "
            f"TNR {rate_text(right.true_negative_rate)})"
        )
    contradictory = int(evaluation.contradictory.sum())
    if contradictory:
        parts.append(
            f"{_prompts(contradictory, 'has', 'have')} labels that contradict, and no part in rates"
        )
    if evaluation.error_count:
        parts.append(
            f"{_prompts(evaluation.error_count, 'has', 'have')} no verdict, and no part in rates"
        )
    if evaluation.open_count:
        parts.append(
            f"{_prompts(evaluation.open_count, 'was', 'were')} not asked, and have no part in rates"
        )
    return "; ".join(parts)


def _cautions(report: AuditReport) -> Iterator[Phrase]:
    """Yield cautions about the figures, a sentence each."""
    evaluation = report.evaluation
    yield from map(Foreign, report.notices)
    if evaluation.idle:
        yield quoting(
            lambda quote: (
                "block topics change no verdict here: what no allow topic matches is stopped "
                "without them, and what one matches is let through: "
                + ", ".join(quote(evaluation.name(index)) for index in evaluation.idle)
            )
        )
    for index, member in enumerate(evaluation.members):
        name = Foreign(evaluation.name(index))
        if not member.labelled:
            yield (name, " has no prompt set: it is seen on the prompts of the others only")


def _conflict_text(evaluation: ProfileEvaluation, conflict: Conflict, quote: Quote) -> str:
    """Return one conflict as a sentence; names are quoted."""
    first, second = quote(evaluation.name(conflict.first)), quote(evaluation.name(conflict.second))
    count = len(conflict.rows)
    if conflict.kind is ConflictKind.STOPPED:
        labels = evaluation.members[conflict.second].labels[conflict.rows]
        unlabelled = int((labels == Label.UNLABELLED).sum())
        block = evaluation.members[conflict.first].topic.intent is Intent.BLOCK
        lets = "lets pass" if block else "should let pass"
        part = "" if unlabelled == count else f"{unlabelled} of them "
        tail = f", {part}without a label for it" if unlabelled else ""
        return f"{_prompts(count, '', '')}that {first} {lets}, stopped by {second}{tail}"
    if conflict.kind is ConflictKind.BOTH:
        through = int((evaluation.stopped[conflict.rows] == Triggered.NO).sum())
        part = "" if through == count else f"{through} of them "
        return (
            f"{_prompts(count, '', '')}matched by {first} (allow) and {second} (block), "
            f"{part}let through"
        )
    if conflict.kind is ConflictKind.LABELS:
        return (
            f"{_prompts(count, '', '')}that must pass as part of {first}, and must be stopped as "
            f"part of {second}"
        )
    interval = conflict.interval
    bounds = f" ({interval_text(interval)} {ON_NEW_PROMPTS})" if interval else ""
    total = round(count / conflict.share) if conflict.share else count
    return (
        f"{first} and {second} both match {count} of the {total} prompts that either matches: "
        f"{rate_text(conflict.share)}{bounds}"
    )


def _labels_text(
    evaluation: ProfileEvaluation, row: int, quote: Quote, limit: int | None = None
) -> str:
    """Return the labels of a prompt with the names of their topics; the first `limit`."""
    words = {Label.YES: "in", Label.NO: "not in", Label.BOTH: "in and not in"}
    labels = []
    for index, member in enumerate(evaluation.members):
        label = Label(int(member.labels[row]))
        if label is not Label.UNLABELLED:
            labels.append(f"{words[label]} {quote(evaluation.name(index))}")
    more = f" and {len(labels) - limit} more" if limit is not None and len(labels) > limit else ""
    return ", ".join(labels[:limit]) + more


def _outcome_text(evaluation: ProfileEvaluation, row: int, quote: Quote) -> str:
    """Return what the profile did with a prompt."""
    if row in evaluation.errors:
        state = "not asked" if evaluation.stopped[row] == Triggered.NOT_ASKED else "no verdict"
        reason = evaluation.errors[row]
        return state if reason == state else f"{state}: {quote(reason)}"
    if stopped_by := evaluation.stopped_by.get(row, ()):
        return f"stopped by {', '.join(map(quote, stopped_by))}"
    matched = evaluation.matched(row)
    return f"let through, matched by {', '.join(map(quote, matched))}" if matched else "let through"


def _prompts(count: int, singular: str, plural: str) -> str:
    """Return a number of prompts with the singular or plural form of a verb, or a blank."""
    return f"{count_text(count, 'prompt')} {singular if count == 1 else plural}"
