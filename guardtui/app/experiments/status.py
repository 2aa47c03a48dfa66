"""What is known of an experiment: its plan, its status while it runs, and its result."""

from __future__ import annotations

from dataclasses import dataclass

from guardtui.advice.candidates import Candidate
from guardtui.advice.experiment import Ending, Standing
from guardtui.advice.experiment_candidates import names
from guardtui.app.ports import Question
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Traffic


@dataclass(frozen=True, eq=False)
class ExperimentPlan(Question[int]):
    """Question whether to make an experiment; the answer is the limit of calls, None declines.

    It tries `candidates` for `topic` on the guardrail `who` with about `expected` calls, at most
    `most`; `recorded` verdicts are known already. `cost` and `duration` are words, each may be "".
    `changes` says what happens to a profile meanwhile, or "". `notes` are problems of a writer.
    """

    topic: Topic
    candidates: tuple[Candidate, ...]
    who: str
    expected: int
    most: int
    recorded: int = 0
    cost: str = ""
    duration: str = ""
    changes: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateStatus:
    """A candidate with what is known of it."""

    candidate: Candidate
    standing: Standing


@dataclass(frozen=True, eq=False)
class ExperimentStatus:
    """Snapshot of an experiment; an immutable value that a screen may read at any time.

    `round` of `rounds` is under way, with `calls` made of about `expected`, at most `most`. `step`
    says what happens now. `ending` is None until it has ended; `stopped` says why it ended early,
    or "", after which it can be resumed.
    """

    settings: ScannerSettings
    topic: Topic
    candidates: tuple[CandidateStatus, ...]
    round: int
    rounds: int
    calls: int
    expected: int
    most: int
    step: str = ""
    held: bool = False
    traffic: Traffic | None = None
    best: int | None = None
    ending: Ending | None = None
    stopped: str = ""

    @property
    def names(self) -> list[str]:
        """The name of each candidate; foreign texts in it are shortened."""
        return names(self.topic, [candidate.candidate for candidate in self.candidates])
