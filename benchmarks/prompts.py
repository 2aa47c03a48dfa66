"""Made-up prompts for measuring: any number, all different, the same every time."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl

from guardtui.domain.prompts import PromptSet, build_prompt_set

_WORDS = [
    "how",
    "do",
    "I",
    "pay",
    "less",
    "tax",
    "this",
    "year",
    "can",
    "you",
    "help",
    "me",
    "move",
    "money",
    "to",
    "another",
    "account",
    "without",
    "anybody",
    "noticing",
    "what",
    "is",
    "the",
    "weather",
    "in",
    "Paris",
    "write",
    "a",
    "poem",
    "about",
    "autumn",
    "leaves",
    "explain",
    "the",
    "difference",
    "between",
    "a",
    "loan",
    "and",
    "a",
    "mortgage",
    "my",
    "cousin",
    "says",
    "the",
    "state",
    "takes",
    "half",
    "of",
    "my",
    "bonus",
]


def made_up(count: int) -> PromptSet:
    """A prompt set of `count` rows, half of each label."""
    generator = random.Random(count)
    texts = [
        f"{' '.join(generator.choices(_WORDS, k=generator.randint(4, 16)))} {number}"
        for number in range(count)
    ]
    raw = pl.DataFrame(
        {
            "prompt": texts,
            "expected": ["true", "false"] * (count // 2) + ["true"] * (count % 2),
            "intent": ["block"] * count,
            "category": [f"category {number % 7}" for number in range(count)],
        }
    )
    return build_prompt_set(raw, np.arange(2, count + 2, dtype=np.uint32), "made-up")


def write_csv(count: int, path: Path) -> None:
    """The same prompts as a file."""
    prompts = made_up(count)
    prompts.frame.select(
        "prompt", "expected", pl.lit("block").alias("intent"), "category"
    ).write_csv(path)
