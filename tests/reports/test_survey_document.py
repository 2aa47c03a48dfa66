"""The survey of a prompt set as text and as JSON types: lists are cut, JSON has everything."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import polars as pl

from guardtui.advice.duplicates import Duplicates, PromptPair
from guardtui.advice.prompt_set import LabelSuggestion, Survey
from guardtui.domain.prompts import build_prompt_set
from guardtui.reports.survey_document import (
    NearDuplicates,
    SurveyedPrompt,
    labels_next,
    survey_table,
)

COUNT = 50


def survey(pairs: int, total: int, spots: int, *, among: int = COUNT, exact: bool = True) -> Survey:
    """Return a survey of 50 prompts with some pairs and suggestions."""
    labels = ["true" if row % 2 else "false" for row in range(COUNT)]
    rows = pl.DataFrame(
        {
            "prompt": [f"prompt {row}\x1b[1m" for row in range(COUNT)],
            "expected": labels,
            "intent": ["block"] * COUNT,
        }
    )
    prompts = build_prompt_set(rows, np.arange(2, COUNT + 2, dtype=np.uint32), "test.csv")
    found = tuple(PromptPair(row, row + 1, 0.95, contradicts=row == 0) for row in range(pairs))
    duplicates = Duplicates(found, total, min(1, pairs), 0.92, exact=exact, among=among)
    suggestions = tuple(
        LabelSuggestion(0.5 - spot / 10, (spot, spot + 1), 2.0, 0.5, 2, wanted=False)
        for spot in range(spots)
    )
    return Survey(prompts, cast("Any", None), duplicates, suggestions)


def test_a_survey_without_findings_has_no_text() -> None:
    assert survey_table(survey(0, 0, 0)) == ""


def test_lists_are_cut_and_counted_and_prompts_are_inert() -> None:
    text = survey_table(survey(30, 40, 5))
    assert "40 pairs, 1 with contradicting labels." in text
    assert text.count("similarity 0.950") == 20
    assert "contradicting labels, similarity 0.950" in text
    assert "… and 20 more pairs." in text
    assert text.count("  prompts like these (") == 3
    assert "prompts like these (0.500); few labels nearby are false" in text
    assert "    line 3, true: prompt 1␛[1m" in text
    assert "\x1b" not in text


def test_a_text_has_only_what_was_found_and_says_what_was_compared() -> None:
    assert "Near-duplicates" not in survey_table(survey(0, 0, 1))
    assert "label next" not in survey_table(survey(1, 1, 0))
    assert "Compared: 20 of 50 prompts." in survey_table(survey(1, 1, 0, among=20, exact=False))
    assert "some pairs may be missed" in survey_table(survey(1, 1, 0, exact=False))


def test_json_has_every_pair_and_suggestion_with_lines_of_the_file() -> None:
    surveyed = survey(30, 40, 5)
    pairs = NearDuplicates.of(surveyed).pairs
    assert len(pairs) == 30
    assert (pairs[0].first.line, pairs[0].second.line, pairs[0].contradicts) == (2, 3, True)
    assert pairs[0].second == SurveyedPrompt(3, True, "prompt 1\x1b[1m")
    spots = labels_next(surveyed)
    assert [spot.score for spot in spots] == [0.5, 0.4, 0.3, 0.2, 0.1]
    assert spots[0].labels_nearby == {"true": 2.0, "false": 0.5}
    assert (spots[0].rare_label, spots[0].unsure) == (False, 2)
