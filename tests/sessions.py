"""Sessions made up for tests: a guardrail that has scanned some definitions of a topic file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.session.session import Decision, Iteration
from guardtui.session.store import SessionStore
from tests.guardrails import airs_settings, judge_settings

AIRS = airs_settings("prod", "3")
JUDGE = judge_settings("model-1")
SUBJECTS = ("income tax", "a tax refund", "my tax return", "bread", "dragons", "the train")
DESCRIPTIONS = ("Tax", "Advice on income tax", "Personal tax returns", "Tax of any kind")


class Scanned:
    """A folder with `topic.yaml`, `tax.csv` and a session; `scan` records one more scan."""

    def __init__(self, folder: Path, count: int = 60) -> None:
        self.folder, self.count = folder, count
        rows = [f"tell me about {SUBJECTS[row % 6]} number {row}" for row in range(count)]
        labelled = [f"{row},{'true' if 'tax' in row else 'false'}" for row in rows]
        (folder / "tax.csv").write_text("\n".join(["prompt,expected", *labelled, ""]), "utf-8")

    @property
    def topic_path(self) -> Path:
        return self.folder / "topic.yaml"

    @property
    def topic(self) -> Topic:
        """The definition that the topic file has."""
        return load_topic(self.topic_path).topic

    @property
    def prompts(self) -> PromptSet:
        return load_prompts(self.folder / "tax.csv", self.topic.intent)

    def scan(
        self,
        description: str | None = None,
        settings: ScannerSettings = AIRS,
        triggered: Sequence[int] | np.ndarray | None = None,
        prompts: PromptSet | None = None,
    ) -> Evaluation:
        """Record a scan of a description (default: the file's); answers as `answers` has them."""
        prompts = prompts or self.prompts
        topic = self.topic
        if description is not None:
            topic = topic.model_copy(update={"description": description})
        given = answers(prompts, topic.description) if triggered is None else triggered
        count = len(prompts)
        verdicts = Verdicts(
            np.asarray(given, np.int8),
            np.full(count, np.nan, np.float32),
            np.full(count, -1, np.int16),
        )
        evaluation = Evaluation(
            topic, settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
        )
        created = "2026-01-01T00:00:00Z"
        SessionStore(self.topic_path).add_iteration(
            Iteration(0, created, Decision.UNDECIDED, evaluation)
        )
        return evaluation


def answers(prompts: PromptSet, description: str) -> np.ndarray:
    """What the guardrail answers, int8 [N]: the labels but for a few prompts of its own."""
    shift = len(description) % 7
    wrong = np.arange(len(prompts)) % 11 == shift
    result: np.ndarray = (prompts.expected ^ wrong).astype(np.int8)
    return result
