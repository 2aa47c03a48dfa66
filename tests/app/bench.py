"""A workspace on disk with prompts on tax, and the services that the tests of advice need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from guardtui.app.context import Context
from guardtui.app.state import ScanStatus
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from tests.app.headless import ScriptedAuthor, resting_jobs
from tests.guardrails import settings_of

TOPIC = """\
name: Tax advice
description: Personal tax advice
examples:
  - How can I pay less tax?
  - Can I deduct my home office?
intent: {intent}
"""

TAX = ("my income tax", "a tax return", "tax deductions", "the tax office", "tax refunds")
OTHERS = ("the weather", "bread and soup", "dragons", "a sorted list", "the Eiffel Tower")


def written(folder: Path, each: int = 3, *, intent: str = "block", things: int = 5) -> Path:
    """Write a topic with `each` prompts about each of some things that belong, and not."""
    path = folder / "tax.yaml"
    path.write_text(TOPIC.format(intent=intent), "utf-8")
    rows = [
        f"tell me more of {thing} in {number} words,{str(label).lower()},{intent}"
        for names, label in ((TAX, True), (OTHERS, False))
        for thing in names[:things]
        for number in range(each)
    ]
    (folder / "tax.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    return path


class Bench:
    """Services over `folder`; `steps` are the texts that were shown while something ran."""

    def __init__(
        self, folder: Path, *, intent: str = "block", each: int = 2, things: int = 5
    ) -> None:
        self.workspace = Workspace.open(written(folder, each, intent=intent, things=things))
        self.author = ScriptedAuthor()
        self.context = Context.of(
            self.workspace, LocalScanner("static"), self.author, resting_jobs()
        )
        self.store, self.engine = self.context.store, self.context.engine
        self.editing = self.context.editing
        self.steps: list[tuple[str, str] | None] = []
        self.store.subscribe(lambda old, new: self._note(old.scan, new.scan))

    def _note(self, old: ScanStatus | None, new: ScanStatus | None) -> None:
        if new != old:
            self.steps.append(None if new is None else (new.who, new.step))

    @property
    def topic(self) -> Topic:
        return self.workspace.session.topic

    @property
    def prompts(self) -> PromptSet:
        return self.workspace.prompts

    def evaluated(
        self, answer: Callable[[int, bool], int], name: str = "airs", topic: Topic | None = None
    ) -> Evaluation:
        """Return an evaluation in which `answer(row, label)` is the verdict of each prompt."""
        labels = self.prompts.expected.tolist()
        answers = [answer(row, label) for row, label in enumerate(labels)]
        return Evaluation(
            topic or self.topic,
            settings_of(name),
            self.prompts.fingerprint,
            self.prompts.keys,
            self.prompts.expected,
            Verdicts(
                np.array(answers, np.int8),
                np.full(len(answers), np.nan, np.float32),
                np.full(len(answers), -1, np.int16),
            ),
        )


def like_labels(row: int, label: bool) -> int:
    """Answer as a guardrail that blocks the topic and makes no mistakes."""
    return Triggered.YES if label else Triggered.NO
