"""The survey of a prompt set as a document: clusters, near-duplicates, where to label next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from guardtui.domain.document import (
    Block,
    Bullets,
    Column,
    Document,
    Foreign,
    Item,
    Lines,
    Paragraph,
    Phrase,
    Section,
    Table,
    quoting,
)
from guardtui.domain.figures import count_text, interval_text, rate_text
from guardtui.domain.guardrail import measured_by

if TYPE_CHECKING:
    from guardtui.advice.prompt_set import LabelSuggestion, Survey

CLUSTERS = 200
"""Clusters in a table."""

PAIRS = 20
"""Pairs of near-duplicates in a list; the JSON has up to 500."""

_PROMPT_CHARACTERS = 160


def clusters_table(survey: Survey) -> Table:
    """Return the clusters with their error rates, labels and most central prompts."""
    titles = ("prompts", "true", "false", "error", "95 % interval", "FP", "FN")
    columns = (
        Column("cluster", figure=False),
        *map(Column, titles),
        Column("lacks", figure=False),
        Column("typical", figure=False),
    )
    texts = survey.prompts.prompts
    rows = tuple(
        (
            Foreign(cluster.name),
            str(cluster.size),
            str(cluster.belong),
            str(cluster.others),
            rate_text(cluster.error_rate),
            interval_text(cluster.error_interval),
            str(cluster.metrics.fp),
            str(cluster.metrics.fn),
            cluster.lacks,
            Foreign(_start(str(texts[cluster.central]))),
        )
        for cluster in survey.clusters[:CLUSTERS]
    )
    return Table(columns, rows, named="Clusters")


def near_duplicates_text(survey: Survey) -> str:
    """Return the number of near-duplicates in a sentence."""
    duplicates = survey.duplicates
    return (
        f"Near-duplicates (cosine {duplicates.near} or more): "
        f"{count_text(duplicates.total, 'pair')}, {duplicates.contradicting} with contradicting "
        "labels."
    )


def survey_document(survey: Survey) -> Document:
    """Return the clusters, worst error rate first, the near-duplicates, and what to label next."""
    return Document(
        "The prompt set",
        (quoting(lambda quote: measured_by(survey.evaluation.settings, quote)),),
        (
            Section("Clusters, worst error rate first", "clusters", tuple(_clusters(survey))),
            Section("Near-duplicates", "near-duplicates", tuple(_near_duplicates(survey))),
            Section("Label next", "label-next", (_label_next(survey),)),
        ),
    )


def _clusters(survey: Survey) -> Iterator[Block]:
    yield clusters_table(survey)
    if len(survey.clusters) > CLUSTERS:
        yield Paragraph(f"… and {len(survey.clusters) - CLUSTERS} more clusters (in JSON).")
    yield Paragraph(
        "Clusters are groups of similar prompts, by the vectors of the embedded engine; true and "
        "false count labels."
    )


def _near_duplicates(survey: Survey) -> Iterator[Block]:
    duplicates = survey.duplicates
    yield Paragraph(near_duplicates_text(survey))
    if duplicates.among < len(survey.prompts):
        yield Paragraph(f"Compared: {duplicates.among} of {len(survey.prompts)} prompts.")
    elif not duplicates.exact:
        yield Paragraph("In a set of this size some pairs may be missed.")
    pairs = duplicates.pairs[:PAIRS]
    if pairs:
        yield Bullets(
            tuple(
                Item(
                    f"{'contradicting labels, ' * pair.contradicts}cosine {pair.cosine:.3f}",
                    _prompts(survey, (pair.first, pair.second)),
                )
                for pair in pairs
            )
        )
    if duplicates.total > len(pairs):
        yield Paragraph(f"… and {duplicates.total - len(pairs)} more pairs.")


def _label_next(survey: Survey) -> Block:
    if not survey.spots:
        return Paragraph("The engine hesitates nowhere.")
    return Bullets(tuple(_spot(survey, suggestion) for suggestion in survey.spots))


def _spot(survey: Survey, suggestion: LabelSuggestion) -> Item:
    rare = "true" if suggestion.wanted else "false"
    sentence = (
        f"prompts like these of cluster {suggestion.cluster} ({suggestion.score:.3f}); "
        f"few labels nearby are {rare}"
    )
    return Item(sentence, _prompts(survey, suggestion.rows))


def _prompts(survey: Survey, rows: tuple[int, ...]) -> Lines:
    return Lines(len(rows), lambda index: _prompt(survey, rows[index]))


def _prompt(survey: Survey, row: int) -> Phrase:
    label = "true" if survey.prompts.expected[row] else "false"
    line = int(survey.prompts.frame["line"][row])
    return (f"line {line}, {label}: ", Foreign(str(survey.prompts.prompts[row])))


def _start(text: str) -> str:
    return text if len(text) <= _PROMPT_CHARACTERS else f"{text[:_PROMPT_CHARACTERS]}…"
