"""A guardrail of experiments in tests, whose answers are a function of definition and prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.app.experiments.answering import Arrived, DefinitionRows
from guardtui.app.experiments.planning import Design
from guardtui.app.experiments.run import ExperimentRun
from guardtui.domain.guardrail import JUDGE, Guardrail, ScannerSettings
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.scanners.base import Report
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.store import SessionStore

GUARDRAIL = Guardrail(JUDGE, models=("m",))
SETTINGS = ScannerSettings(GUARDRAIL)
TOPIC = Topic(
    name="Tax", description="Questions about tax returns.", examples=("how do I file taxes",)
)

Answer = Callable[[Topic, str, int], Verdict]
"""Returns the verdict of a definition on a prompt; the number is that of its call."""


def prompts(count: int = 120) -> PromptSet:
    """Return prompts of which every other one belongs to the topic."""
    numbers = range(count)
    frame = pl.DataFrame(
        {
            "prompt": [
                f"{'tax' if number % 2 else 'bread'} question {number}" for number in numbers
            ],
            "expected": ["true" if number % 2 else "false" for number in numbers],
        }
    )
    return build_prompt_set(frame, np.arange(2, count + 2, dtype=np.uint32), "p", Intent.BLOCK)


def wording(text: str) -> Candidate:
    topic = TOPIC.model_copy(update={"description": text})
    return Candidate(topic, CandidateKind.TYPED, f"Change the description to “{text}”")


def verdict(*, yes: bool) -> Verdict:
    return Verdict(Triggered(yes))


def better(topic: Topic, text: str, call: int) -> Verdict:
    """Answer rightly for a description with “good”, else miss two of five prompts that belong."""
    missed = int(text.split()[-1]) % 5 < 2 and "good" not in topic.description
    return verdict(yes=text.startswith("tax") and not missed)


def unmoved(topic: Topic, text: str, call: int) -> Verdict:
    """Answer alike for every definition."""
    return better(TOPIC, text, call)


class Scripted:
    """Answers by a function; `asked` are all (number, row) in order, `left` counts exits."""

    settings, probes = SETTINGS, 0
    stored_template: tuple[str, str] | None = ("t1", "Is it about {topic}?")

    def __init__(self, answer: Answer = better, *, stop_after: int | None = None) -> None:
        self.answer, self.stop_after = answer, stop_after
        self.asked: list[tuple[int, int]] = []
        self.entered = self.left = 0
        self.free = asyncio.Event()
        self.free.set()

    @property
    def calls(self) -> int:
        return len(self.asked)

    async def __aenter__(self) -> Self:
        self.entered += 1
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.left += 1

    async def ask(
        self, wanted: Sequence[DefinitionRows], prompts: PromptSet, arrived: Arrived, report: Report
    ) -> None:
        texts = prompts.prompts.to_list()
        for one in wanted:
            for row in one.rows.tolist():
                await self.free.wait()
                if self.stop_after is not None and self.calls >= self.stop_after:
                    raise asyncio.CancelledError
                self.asked.append((one.number, row))
                arrived(one.number, row, self.answer(one.topic, texts[row], self.calls))
                await asyncio.sleep(0)

    def cached(self, definitions: Sequence[Topic], prompts: PromptSet) -> NDArray[np.bool_]:
        return np.zeros((len(definitions), len(prompts)), bool)

    def hold(self, held: bool) -> None:
        (self.free.clear if held else self.free.set)()


CANDIDATES = (*(wording(f"Wording {number}.") for number in range(9)), wording("A good one."))


def log_at(folder: Path) -> ExperimentLog:
    return ExperimentLog(SessionStore(folder / "topic.yaml"))


def planned(
    log: ExperimentLog,
    some: PromptSet,
    candidates: Sequence[Candidate] = CANDIDATES,
    settings: ScannerSettings = SETTINGS,
) -> ExperimentRecord:
    return log.add(Design(some, TOPIC, tuple(candidates)).record(settings))


def run_of(
    log: ExperimentLog, record: ExperimentRecord, some: PromptSet, guardrail: Scripted
) -> ExperimentRun:
    return ExperimentRun(log, record, some, guardrail)


def asked_of(guardrail: Scripted, number: int) -> int:
    return int(np.count_nonzero([one == number for one, _ in guardrail.asked]))
