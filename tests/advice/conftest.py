"""A split prompt set of the sample and a scorer over it, with the faster encoder."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from guardtui.advice.measuring import TopicScorer, open_scorer
from guardtui.advice.splits import Split, split_prompts
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import sample_folder

TOPIC = Topic(
    name="Tax advice",
    description="Questions, requests and pleas for personal advice on taxes",
    examples=("Can I deduct my car?", "How do I pay less tax?"),
)


@dataclass(frozen=True)
class Bench:
    prompts: PromptSet
    split: Split
    scanner: LocalScanner
    scorer: TopicScorer


def bench_of(prompts: PromptSet, split: Split, scanner: LocalScanner) -> Bench:
    scorer = open_scorer(scanner, prompts, split, lambda _: None)
    assert scorer is not None
    return Bench(prompts, split, scanner, scorer)


@pytest.fixture(scope="module")
def prompts() -> PromptSet:
    return load_prompts(sample_folder() / "tax-advice.csv")


@pytest.fixture
def bench(prompts: PromptSet) -> Bench:
    return bench_of(prompts, split_prompts(prompts), LocalScanner("static"))
