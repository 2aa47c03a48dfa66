"""Prompts of the sample and scores of definitions on them, with the faster encoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.engine_scores import EngineScores, open_scores
from guardtui.advice.measured_rows import MeasuredRows, measured_rows
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.topic_places import sample_folder

TOPIC = Topic(
    name="Tax advice",
    description="Questions, requests and pleas for personal advice on taxes",
    examples=("Can I deduct my car?", "How do I pay less tax?"),
)


@dataclass(frozen=True)
class Bench:
    prompts: PromptSet
    rows: MeasuredRows
    scanner: LocalScanner
    scores: EngineScores

    def objective(self, *, fitted: bool = True) -> EngineObjective:
        return EngineObjective(self.scores, self.rows.chosen_on, fitted=fitted)


def bench_of(prompts: PromptSet, scanner: LocalScanner | None = None) -> Bench:
    scanner = scanner or LocalScanner("static")
    scores = open_scores(scanner, prompts)
    assert scores is not None
    return Bench(prompts, measured_rows(prompts), scanner, scores)


def prompt_set_of(rows: list[tuple[str, bool]], intent: Intent = Intent.BLOCK) -> PromptSet:
    """Return a prompt set of texts and labels."""
    columns = {
        "prompt": [text for text, _ in rows],
        "expected": ["true" if belongs else "false" for _, belongs in rows],
    }
    lines = np.arange(2, len(rows) + 2, dtype=np.uint32)
    return build_prompt_set(pl.DataFrame(columns), lines, "made up", intent)


@pytest.fixture(scope="session")
def prompts() -> PromptSet:
    return load_prompts(sample_folder() / "tax-advice.csv")


@pytest.fixture(scope="module")
def bench(prompts: PromptSet) -> Bench:
    return bench_of(prompts)
