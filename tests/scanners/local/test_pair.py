"""The encoder `pair` weighs its halves by the language of a text."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from guardtui.scanners.local.encoder import WEIGHTS, load_encoder
from guardtui.scanners.local.pair import Pair
from guardtui.scanners.local.scoring import load_scoring, similarity_rows
from guardtui.scanners.local.use import Use

ENGLISH = ["How can I lower my tax bill?", "Write a short poem about rain on a tin roof"]
OTHERS = [
    "Wie kann ich meine Steuern senken?",
    "屋根に降る雨について短い詩を書いて",
    "Hur kan jag betala mindre skatt?",
]
FIT_DATA = Path(__file__).parents[3] / "scripts" / "fit_data"


@pytest.fixture(scope="module")
def pair() -> Pair:
    encoder = load_encoder("pair")
    assert isinstance(encoder, Pair)
    return encoder


@pytest.fixture(scope="module")
def use() -> Use:
    return Use(WEIGHTS)


def test_cosine_of_english_texts_is_the_mean_of_both_encoders(pair: Pair, use: Use) -> None:
    first, second = pair.encode(ENGLISH)
    halves = (use.encode(ENGLISH), load_encoder("minilm").encode(ENGLISH))
    expected = np.mean([one @ other for one, other in halves])
    assert float(first @ second) == pytest.approx(expected, abs=1e-6)


def test_texts_in_other_languages_have_the_multilingual_half_alone(pair: Pair, use: Use) -> None:
    vectors = pair.encode(OTHERS)
    assert not vectors[:, : pair.english_columns].any()
    np.testing.assert_allclose(vectors[:, pair.english_columns :], use.encode(OTHERS), atol=1e-6)


def test_similarity_across_languages_is_that_of_the_multilingual_half(pair: Pair, use: Use) -> None:
    columns = load_scoring("pair").english_columns
    rows = similarity_rows(pair.encode(OTHERS), pair.encode(ENGLISH), columns)
    np.testing.assert_allclose(rows, use.encode(ENGLISH) @ use.encode(OTHERS).T, atol=0.01)


def test_vector_does_not_depend_on_the_texts_beside_it(pair: Pair) -> None:
    together = pair.encode([*ENGLISH, *OTHERS, "alarm um 8"])
    for text, vector in zip([*ENGLISH, *OTHERS, "alarm um 8"], together, strict=True):
        np.testing.assert_array_equal(pair.encode([text])[0], vector)


def test_constants_are_those_of_encoders_with_or_without_english_columns(pair: Pair) -> None:
    assert load_scoring("pair").english_columns == pair.english_columns
    assert [load_scoring(name).english_columns for name in ("minilm", "static")] == [0, 0]


@pytest.mark.exhaustive  # hundreds of prompts; the fast stage has one for each language
def test_language_of_labelled_prompts_is_told_by_their_vectors(pair: Pair) -> None:
    rows = [
        row
        for file in sorted(FIT_DATA.glob("*/*.csv"))[::5]
        for row in csv.DictReader(file.read_text("utf-8").splitlines())
        if "\n" not in row["prompt"]
    ]
    vectors = pair.encode([row["prompt"] for row in rows])
    english = np.square(vectors[:, : pair.english_columns]).sum(axis=1) > 0.25
    labelled = np.array([row["language"] == "en" for row in rows])
    assert len(rows) > 300
    assert (english != labelled).sum() <= 1
