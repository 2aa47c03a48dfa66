"""Reports whose every text tries to act, for tests that hold for all formats."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import Guardrail, ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic, describe_changes
from guardtui.domain.verdicts import Usage, Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.reports.base import ReportInput
from guardtui.session.session import Decision, Iteration

COUNT = 8
NOW = np.array([1, 0, 1, 0, 1, 0, -1, 0], np.int8)
BEFORE = np.array([0, 1, 1, 0, 1, 0, 1, 0], np.int8)


def plain_prompts(folder: Path) -> PromptSet:
    """Eight prompts with a category and a column of their own; their texts are put in later."""
    path = folder / "prompts.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["prompt", "expected", "intent", "category", "own"])
        for row in range(COUNT):
            writer.writerow(
                [f"prompt {row}", str(row in (0, 1, 4, 5, 6)).lower(), "block", "c", "o"]
            )
    return load_prompts(path)


def storable(text: str) -> str:
    """The text as a prompt file can hold it: without half characters."""
    return text.encode("utf-8", "replace").decode()


def hostile_report(prompts: PromptSet, texts: list[str]) -> ReportInput:
    """A report in which each place that takes a text has one of these, in turn."""
    turn = 0

    def some() -> str:
        nonlocal turn
        turn += 1
        return texts[turn % len(texts)]

    def topic() -> Topic:
        # As a session has it that was read from a file: not validated again.
        return Topic.model_construct(
            name=some(), description=some(), examples=(some(), some()), intent=Intent.BLOCK
        )

    frame = prompts.frame.with_columns(
        pl.Series("prompt", [storable(some()) for _ in range(COUNT)]),
        pl.Series("category", [storable(some()) for _ in range(COUNT)]),
        pl.Series("own", [storable(some()) for _ in range(COUNT)]),
    ).rename({"own": storable(f"own {some()}")})
    own = replace(prompts, frame=frame)
    repeats = np.stack([NOW, np.where(NOW == 1, 0, NOW).astype(np.int8)])

    def evaluation(triggered: np.ndarray, told: bool) -> Evaluation:
        rows = range(COUNT) if told else ()
        verdicts = Verdicts(
            triggered,
            np.where(triggered < 0, np.nan, 0.25 + 0.5 * triggered).astype(np.float32),
            np.where(triggered < 0, -1, np.arange(COUNT) % 3).astype(np.int16),
            {row: some() for row in range(COUNT) if triggered[row] < 0},
            {row: some() for row in rows},
            {row: (some(), some()) for row in rows},
            {row: some() for row in rows},
            Usage(3, 40, 5, 0.5) if told else None,
            repeats if told else None,
        )
        settings = ScannerSettings(Guardrail(some(), some(), version=some()), 0.5, some(), some())
        return Evaluation(
            topic(), settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
        )

    baseline, current = evaluation(BEFORE, False), evaluation(NOW, True)
    return ReportInput(
        topic=current.topic,
        evaluation=current,
        prompts=own,
        baseline=baseline,
        comparison=compare(baseline, current),
        iterations=(
            Iteration(0, "2026-01-01T00:00:00Z", Decision.KEEP, baseline),
            Iteration(1, "2026-01-01T00:01:00Z", Decision.DISCARD, current),
        ),
        changes=describe_changes(baseline.topic, current.topic),
        profile=some(),
        baseline_number=0,
        companions=(topic(),),
        cluster="category",
        reducer=some(),
        prompt_path=some(),
    )
