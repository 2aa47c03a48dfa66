"""Words that prompts share with a definition: rare ones count more, and endings do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from guardtui.domain.prompts import prompt_keys
from guardtui.forecast.engine_features import SharedWords, SharedWordsReader

PROMPTS = ["Refund my order", "Where is my order?", "my order refunded", "Wetter", ""]


def read(
    reader: SharedWordsReader, head: str, examples: Sequence[str], prompts: Sequence[str] = PROMPTS
) -> list[list[float]]:
    columns = reader.read(head, examples, pl.Series(prompts), prompt_keys(prompts))
    return [column.tolist() for column in columns]


def test_rare_words_count_more_than_frequent_ones() -> None:
    words = SharedWords(pl.Series(PROMPTS))
    refund, order = words.shares("refund")[0], words.shares("order")[0]
    assert 0 < order < refund < 1
    assert words.shares("refund order")[0] == pytest.approx(refund + order)


def test_case_endings_and_repeated_words_make_no_difference() -> None:
    words = SharedWords(pl.Series(PROMPTS))
    shares = words.shares("refund")
    assert shares[0] > 0
    assert shares[2] > 0
    assert np.array_equal(words.shares("REFUNDS, refunding"), shares)
    assert not words.shares("unknown words").any()
    assert not words.shares("?!").any()


def test_prompts_without_words_share_none() -> None:
    assert not SharedWords(pl.Series(["", "?"])).shares("anything").any()
    assert SharedWords(pl.Series(PROMPTS)).shares("refund order")[4] == 0


def test_columns_are_description_nearest_example_and_mean_of_all() -> None:
    description, nearest, mean = read(SharedWordsReader(), "order", ["refund", "wetter"])
    assert description[3] == 0
    assert nearest[3] > 0
    assert mean[3] == pytest.approx(nearest[3] / 3)
    assert nearest[1] == 0
    assert mean[1] == pytest.approx(description[1] / 3)


def test_description_and_examples_stand_in_for_each_other() -> None:
    reader = SharedWordsReader()
    description, nearest, mean = read(reader, "order", ["", " "])
    assert description == nearest == mean
    description, nearest, _ = read(reader, "", ["refund", "wetter"])
    assert description == nearest
    assert not np.any(read(reader, "", []))


def test_edits_and_other_prompts_are_read_anew() -> None:
    reader = SharedWordsReader()
    first = read(reader, "order", ["refund"])
    assert read(reader, "wetter", ["refund"]) != first
    assert read(reader, "order", ["refund"]) == first
    others = ["order", "nothing"]
    assert read(reader, "order", ["refund"], others) == read(
        SharedWordsReader(), "order", ["refund"], others
    )


def test_words_with_combining_marks_are_shared() -> None:
    index = SharedWords(pl.Series(["हिंदी में कर", "Recipe for soup"]))
    first, second = index.shares("कर कैसे बचाएं हिंदी")
    assert first > 0
    assert second == 0
