"""Prompts of the sample and scores of definitions on them, with the faster encoder."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.engine_scores import EngineScores, open_scores
from guardtui.advice.measured_rows import MeasuredRows, measured_rows
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
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


@pytest.fixture(scope="session")
def prompts() -> PromptSet:
    return load_prompts(sample_folder() / "tax-advice.csv")


@pytest.fixture(scope="module")
def bench(prompts: PromptSet) -> Bench:
    return bench_of(prompts)
