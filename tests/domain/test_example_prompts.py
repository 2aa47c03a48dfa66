"""Examples that are prompts: which texts are equal, and the sentence about them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from guardtui.domain.example_prompts import EqualTexts, ExamplePrompts
from guardtui.domain.metrics import Metrics

METRICS = Metrics(tp=3, tn=4, fp=1, fn=1, errors=0)


def test_texts_are_equal_by_letters_and_digits() -> None:
    texts = EqualTexts(pl.Series(["How do I pay?", "how  do I PAY", "How do you pay?", "?!"]))
    assert [rows.tolist() for rows in texts.rows("How do I pay?")] == [[0], [1]]
    assert [rows.tolist() for rows in texts.rows("?!")] == [[3], []]
    assert [rows.tolist() for rows in texts.rows("!")] == [[], []]
    assert [rows.tolist() for rows in texts.rows("lone \ud800")] == [[], []]


@pytest.mark.parametrize(
    ("numbers", "metrics", "sentence"),
    [
        ((1, 3), METRICS, "examples 1 and 3 are prompts of the set; coverage without them: 0.750"),
        ((2,), METRICS, "example 2 is a prompt of the set; coverage without it: 0.750"),
        (
            (1, 2, 4),
            Metrics(tp=0, tn=4, fp=0, fn=0, errors=0),
            "examples 1, 2 and 4 are prompts of the set; coverage without them: n/a",
        ),
    ],
)
def test_the_sentence_names_them_and_the_coverage_without(
    numbers: tuple[int, ...], metrics: Metrics, sentence: str
) -> None:
    assert ExamplePrompts(numbers, np.zeros(9, np.bool_), metrics).sentence == sentence
