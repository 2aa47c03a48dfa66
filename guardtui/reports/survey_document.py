"""Near-duplicates of a prompt set and where to label next, as a document and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from guardtui.domain.document import (
    Block,
    Bullets,
    Document,
    Foreign,
    Item,
    Lines,
    Paragraph,
    Phrase,
    Section,
)
from guardtui.domain.figures import count_text

if TYPE_CHECKING:
    from guardtui.advice.prompt_set import LabelSuggestion, Survey

PAIRS = 20
"""Pairs of near-duplicates in a list; the JSON has up to 500."""

SPOTS = 3
"""Suggestions in a list; the JSON has all."""


def survey_document(survey: Survey) -> Document | None:
    """Return the near-duplicates and what to label next; None if there is neither."""
    sections = []
    if survey.duplicates.total:
        sections.append(
            Section("Near-duplicates", "near-duplicates", tuple(_near_duplicates(survey)))
        )
    if survey.spots:
        spots = tuple(_spot(survey, suggestion) for suggestion in survey.spots[:SPOTS])
        lead = Paragraph("Where the engine hesitates and labels of one kind are few:")
        sections.append(Section("Label next", "label-next", (lead, Bullets(spots))))
    return Document("The prompt set", (), tuple(sections)) if sections else None


def survey_json(survey: Survey) -> dict[str, Any]:
    """Return the survey as JSON types; lines are those of the file."""
    lines = survey.prompts.frame["line"].to_list()
    texts = survey.prompts.prompts
    labels = survey.prompts.expected.tolist()

    def prompt(row: int) -> dict[str, Any]:
        return {"line": int(lines[row]), "expected": labels[row], "prompt": str(texts[row])}

    duplicates = survey.duplicates
    return {
        "near_duplicates": {
            "cosine": duplicates.near,
            "total": duplicates.total,
            "contradicting": duplicates.contradicting,
            "compared": duplicates.among,
            "exact": duplicates.exact,
            "pairs": [
                {
                    "cosine": round(pair.cosine, 4),
                    "contradicts": pair.contradicts,
                    "first": prompt(pair.first),
                    "second": prompt(pair.second),
                }
                for pair in duplicates.pairs
            ],
        },
        "label_next": [
            {
                "score": round(suggestion.score, 4),
                "rare_label": suggestion.wanted,
                "labels_nearby": {
                    "true": round(suggestion.belong, 3),
                    "false": round(suggestion.others, 3),
                },
                "unsure": suggestion.near_threshold,
                "prompts": [prompt(row) for row in suggestion.rows],
            }
            for suggestion in survey.spots
        ],
    }


def _near_duplicates(survey: Survey) -> Iterator[Block]:
    duplicates = survey.duplicates
    yield Paragraph(
        f"Near-duplicates (cosine {duplicates.near} or more): "
        f"{count_text(duplicates.total, 'pair')}, {duplicates.contradicting} with contradicting "
        "labels."
    )
    if duplicates.among < len(survey.prompts):
        yield Paragraph(f"Compared: {duplicates.among} of {len(survey.prompts)} prompts.")
    elif not duplicates.exact:
        yield Paragraph("In a set of this size some pairs may be missed.")
    pairs = duplicates.pairs[:PAIRS]
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


def _spot(survey: Survey, suggestion: LabelSuggestion) -> Item:
    rare = "true" if suggestion.wanted else "false"
    sentence = f"prompts like these ({suggestion.score:.3f}); few labels nearby are {rare}"
    return Item(sentence, _prompts(survey, suggestion.rows))


def _prompts(survey: Survey, rows: tuple[int, ...]) -> Lines:
    return Lines(len(rows), lambda index: _prompt(survey, rows[index]))


def _prompt(survey: Survey, row: int) -> Phrase:
    label = "true" if survey.prompts.expected[row] else "false"
    line = int(survey.prompts.frame["line"][row])
    return (f"line {line}, {label}: ", Foreign(str(survey.prompts.prompts[row])))
