"""Near misses: sets without them are reported, others are not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from guardtui.advice.near_misses import near_miss_finding, nearest_positives
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.local.matrix import PromptMatrix
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.topic_places import sample_folder

TAX = ("How can I pay less tax?", "Can I deduct my car?", "How do I file my tax return?")
FAR = ("How do I make onion soup?", "Who won the world cup?", "Why do cats purr at night?")


def prompt_set(negatives: tuple[str, ...], intent: str = "block") -> PromptSet:
    texts = [*TAX, *negatives]
    raw = pl.DataFrame(
        {
            "prompt": texts,
            "expected": [str(row < len(TAX)).lower() for row in range(len(texts))],
            "intent": [intent] * len(texts),
        }
    )
    return build_prompt_set(raw, np.arange(2, 2 + len(texts), dtype=np.uint32), "test.csv")


@pytest.mark.parametrize("name", ["tax-advice", "airline-service", "harm-intent"])
def test_samples_have_near_misses(name: str) -> None:
    prompts = load_prompts(sample_folder() / f"{name}.csv")
    assert near_miss_finding(LocalScanner("static"), prompts) is None


@pytest.mark.parametrize("name", ["tax-advice", "airline-service", "harm-intent"])
def test_the_positives_of_samples_against_soup_cats_and_football_have_none(name: str) -> None:
    prompts = load_prompts(sample_folder() / f"{name}.csv")
    belonging = prompts.frame.filter(pl.col("expected"))["prompt"].to_list()
    raw = pl.DataFrame(
        {
            "prompt": [*belonging, *FAR],
            "expected": ["true"] * len(belonging) + ["false"] * len(FAR),
            "intent": [prompts.intent.value] * (len(belonging) + len(FAR)),
        }
    )
    lines = np.arange(2, 2 + len(raw), dtype=np.uint32)
    finding = near_miss_finding(LocalScanner("static"), build_prompt_set(raw, lines, "far.csv"))
    assert finding is not None
    assert finding.code == "no-near-misses"


def test_the_finding_names_the_nearest_and_the_inflated_rate() -> None:
    finding = near_miss_finding(LocalScanner("static"), prompt_set(FAR))
    assert finding is not None
    assert "none of 3 prompts that do not belong comes near" in finding.message
    assert "TNR is flattered" in finding.message
    assert "“How do I make onion soup?” (0." in finding.message
    assert finding.lines == (5, 6, 7)


def test_for_an_allow_topic_tpr_is_inflated() -> None:
    prompts = prompt_set(FAR, "allow")
    assert prompts.intent is Intent.ALLOW
    finding = near_miss_finding(LocalScanner("static"), prompts)
    assert finding is not None
    assert "TPR is flattered" in finding.message


def test_one_near_miss_of_few_is_enough() -> None:
    prompts = prompt_set((*FAR, "When was income tax invented, and who had to pay less tax?"))
    assert near_miss_finding(LocalScanner("static"), prompts) is None


def test_attacks_among_the_nearest_are_named_inert() -> None:
    finding = near_miss_finding(LocalScanner("static"), prompt_set(("soup \x1b]0;x\x07 now",)))
    assert finding is not None
    assert "\x1b" not in finding.message


def test_of_very_many_a_sample_stands_for_all() -> None:
    count = 12_001
    vectors = np.random.default_rng(3).normal(size=(count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    matrix = PromptMatrix.empty(count, 8)
    matrix.put(slice(None), vectors)
    expected = np.arange(count) % 2 == 0
    nearness = nearest_positives(matrix, expected)
    assert nearness is not None
    rows, cosines = nearness
    assert len(rows) == 5_000
    assert not expected[rows].any()
    exact = (vectors[expected] @ vectors[rows[:50]].T).max(axis=0)
    assert (cosines[:50] <= exact + 0.01).all()  # the matrix rounds to int8
    assert nearest_positives(matrix, expected, lambda: True) is None
    everything = nearest_positives(matrix, np.zeros(count, bool))
    assert everything is not None
    assert (everything[1] == -1).all()
