"""Near-duplicates of a prompt set and where to label next, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

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
from guardtui.reports.formats import render
from guardtui.reports.json_data import Count

if TYPE_CHECKING:
    from guardtui.advice.prompt_set import LabelSuggestion, Survey

PAIRS = 20
"""Pairs of near-duplicates in a list; the JSON has up to 500."""

SPOTS = 3
"""Suggestions in a list; the JSON has all."""


def survey_table(survey: Survey) -> str:
    """Return the near-duplicates and what to label next, as text below a blank line, or ""."""
    sections = []
    if survey.duplicates.total:
        sections.append(
            Section("Near-duplicates", "near-duplicates", tuple(_near_duplicates(survey)))
        )
    if survey.spots:
        spots = tuple(_spot(survey, suggestion) for suggestion in survey.spots[:SPOTS])
        lead = Paragraph("Where the engine hesitates and labels of one kind are few:")
        sections.append(Section("Label next", "label-next", (lead, Bullets(spots))))
    if not sections:
        return ""
    return f"\n{render(Document('The prompt set', (), tuple(sections)), 'table')}"


@dataclass(frozen=True, slots=True)
class SurveyedPrompt:
    """A labelled prompt, with its line in the file."""

    line: int
    expected: bool
    prompt: str

    @classmethod
    def of(cls, survey: Survey, row: int) -> SurveyedPrompt:
        """Return the prompt of a row."""
        prompts = survey.prompts
        return cls(
            int(prompts.frame["line"][row]), bool(prompts.expected[row]), str(prompts.prompts[row])
        )


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two prompts that are nearly the same."""

    cosine: float
    contradicts: Annotated[bool, Field(description="Whether their labels differ.")]
    first: SurveyedPrompt
    second: SurveyedPrompt


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """Pairs of prompts with a cosine of at least `cosine`, the nearest first."""

    cosine: float
    total: Count
    contradicting: Count
    compared: Annotated[Count, Field(description="Prompts that were compared.")]
    exact: Annotated[bool, Field(description="Whether no pair of them can be missed.")]
    pairs: list[NearPair]

    @classmethod
    def of(cls, survey: Survey) -> NearDuplicates:
        """Return the near-duplicates of a prompt set."""
        found = survey.duplicates
        pairs = [
            NearPair(
                round(pair.cosine, 4),
                pair.contradicts,
                SurveyedPrompt.of(survey, pair.first),
                SurveyedPrompt.of(survey, pair.second),
            )
            for pair in found.pairs
        ]
        return cls(found.near, found.total, found.contradicting, found.among, found.exact, pairs)


@dataclass(frozen=True, slots=True)
class LabelNext:
    """Prompts near which another label would be most useful."""

    score: float
    rare_label: bool
    labels_nearby: dict[Literal["true", "false"], float]
    unsure: Count
    prompts: list[SurveyedPrompt]


def labels_next(survey: Survey) -> list[LabelNext]:
    """Return where labels would be most useful, the most useful first."""
    return [
        LabelNext(
            score=round(spot.score, 4),
            rare_label=spot.wanted,
            labels_nearby={"true": round(spot.belong, 3), "false": round(spot.others, 3)},
            unsure=spot.near_threshold,
            prompts=[SurveyedPrompt.of(survey, row) for row in spot.rows],
        )
        for spot in survey.spots
    ]


def _near_duplicates(survey: Survey) -> Iterator[Block]:
    duplicates = survey.duplicates
    yield Paragraph(
        f"Near-duplicates (similarity {duplicates.near} or more): "
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
                f"{'contradicting labels, ' * pair.contradicts}similarity {pair.cosine:.3f}",
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
