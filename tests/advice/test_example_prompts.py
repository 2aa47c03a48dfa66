"""Prompts as examples: readable ones, in one language, those that represent most first."""

from __future__ import annotations

import numpy as np
import pytest

from guardtui.advice.example_prompts import MOST, example_rows, in_one_language, is_readable
from guardtui.scanners.local.matrix import PromptMatrix

from .conftest import Bench, prompt_set_of


@pytest.mark.parametrize(
    "text",
    [
        "How do I deduct my car?",
        "is a visa required to visit cancun",
        "I've earned 2,000 abroad. Do I declare it?",
        "¿Puedo deducir mi coche este año?",
        "確定申告はいつまでにすればいいですか",
    ],
)
def test_sentences_are_readable(text: str) -> None:
    assert is_readable(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tax",
        "tax pls",
        "whats the trick w/ scratch cards",
        "HOW DO I DEDUCT MY CAR THIS YEAR",
        "t4x 1099 w2 k1 f8949 help",
        "see https://example.org for my taxes",
        "a\u202eb c d e f",
        "word " * 40,
        "税",
    ],
)
def test_noise_is_not(text: str) -> None:
    assert not is_readable(text)


def test_another_language_is_left_out() -> None:
    texts = [f"What should I do with my {thing}?" for thing in ("car", "house", "boat", "dog")]
    assert in_one_language([*texts, "Wie kann ich mein Auto von der Steuer absetzen?"]) == [
        True,
        True,
        True,
        True,
        False,
    ]


def test_the_first_examples_represent_all_and_odd_ones_are_left_out() -> None:
    """Three groups of four alike, and two prompts that are like no others."""
    axes = np.eye(6, dtype=np.float32)
    random = np.random.default_rng(0)
    vectors = [axes[group] + 0.05 * random.random(6) for group in (0, 0, 0, 0, 1, 1, 1, 1)]
    vectors += [axes[2] + 0.05 * random.random(6) for _ in range(4)] + [axes[4], axes[5]]
    unit = np.array(vectors, np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    rows = [(f"Is this the sentence of number {number}?", True) for number in range(14)]
    prompts = prompt_set_of([*rows, ("Something else entirely here", False)])
    matrix = PromptMatrix.empty(15, 6)
    matrix.put(slice(None), np.vstack([unit, axes[3:4]]))
    found = example_rows(prompts, np.arange(15), matrix).tolist()
    assert {row // 4 for row in found[:3]} == {0, 1, 2}
    assert not {12, 13, 14} & {*found}


def test_rows_are_some_of_those_given_and_belong(bench: Bench) -> None:
    rows = bench.rows.chosen_on[::2]
    found = bench.scores.example_rows(rows)
    assert 0 < len(found) <= MOST
    assert {*found.tolist()} <= {*rows.tolist()}
    assert bench.prompts.expected[found].all()
    assert all(map(is_readable, bench.prompts.prompts.gather(found)))
