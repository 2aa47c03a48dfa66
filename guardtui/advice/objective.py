"""Objectives of a search: how well each prompt matches a definition, by a guardrail."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, CandidateKind, Material
from guardtui.domain.figures import change_interval_text, change_text
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic

Array: TypeAlias = "NDArray[np.floating]"
Rows: TypeAlias = "NDArray[np.intp]"
Stopped = Callable[[], bool]


CONFIDENCE = 0.8
"""Confidence of the interval of a gain; its lower bound holds in nine cases of ten."""

_GUESSED = 0.5
"""Share of the folds' gain that other prompts show where the gain is not likely.

Least squares over 25 such choices on halves of 37 topics; with each topic left out in turn +0.010
is guessed, and the other halves gain +0.013 (`benchmarks/evidence.py`).
"""


_QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True, slots=True)
class Gain:
    """Expected gain in coverage on other prompts, with its interval (`CONFIDENCE`).

    The interval is for a set of as many other prompts. Without `likely`, the value is the best
    guess: prompts that had no part in the choice did not confirm it.
    """

    value: float
    low: float
    high: float
    likely: bool

    @property
    def text(self) -> str:
        """The gain with its interval, and whether it is likely only; or a guess."""
        if not self.likely:
            return f"best guess {change_text(self.value)}"
        return self.interval_text if self.low > 0 else f"likely {self.interval_text}"

    @property
    def short_text(self) -> str:
        """The gain without its interval."""
        return change_text(self.value) if self.likely else f"guess {change_text(self.value)}"

    @property
    def standard_error(self) -> float:
        """Standard error of the value, from the interval."""
        return (self.high - self.low) / 2 / (_QUANTILE * math.sqrt(2.0))

    def guess(self, less: float = 0.0) -> Gain:
        """Return the guess for an edit that is worth so much less than the measured one."""
        share = 1.0 if self.likely else _GUESSED
        value = share * self.value - less
        half = (self.high - self.low) / 2
        return Gain(value, value - half, value + half, likely=False)

    @property
    def is_positive(self) -> bool:
        """Return whether it is above 0 in three decimals."""
        return round(self.value, 3) > 0

    @property
    def interval_text(self) -> str:
        """The gain with its interval: `+0.051 (+0.012 to +0.090)`."""
        return change_interval_text(self.value, self.low, self.high)


@dataclass(frozen=True, eq=False)
class Appraisal:
    """A definition measured on the prompts that edits are chosen on, [n] each.

    `soft` is how far each prompt matches, from 0 to 1, and `matches` whether it does. `counted` is
    False for the definition's own examples. `z` are the engine's raw scores and `cut` its operating
    point. `spread` is a forecast's standard deviation of coverage.
    """

    soft: Array
    matches: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    z: Array | None = None
    cut: float | None = None


class Appraiser(Protocol):
    """Measures definitions on some prompts of a set."""

    prompts: PromptSet
    rows: Rows
    """Rows of the set that edits are chosen on, in their order."""

    @property
    def settings(self) -> ScannerSettings:
        """Settings of the measured guardrail."""

    def appraise(self, candidate: Candidate, stopped: Stopped = lambda: False) -> Appraisal | None:
        """Return the appraisal of one definition; None if stopped."""

    def judge(self, topic: Topic, appraisal: Appraisal, rows: Rows) -> NDArray[np.bool_]:
        """Return whether other prompts of the set match an appraised definition, bool [n]."""


class Objective(Appraiser, Protocol):
    """Also compares many definitions, and on any part of the prompts."""

    sources: Rows
    """Those of the rows whose prompts may become examples, the first ones first."""

    def values(
        self, candidates: Sequence[Candidate], stopped: Stopped = lambda: False
    ) -> Array | None:
        """Return a cautious coverage of each candidate to choose by, [c]; None if stopped."""

    def on(self, rows: Rows) -> Objective:
        """Return the same measure on other rows of the set."""


def unchanged(topic: Topic) -> Candidate:
    """Return the candidate without any edit."""
    return Candidate(topic, CandidateKind.COMPLETE, "")


def material_of(objective: Objective, matches: NDArray[np.bool_]) -> Material:
    """Return the material of edits, given which of the objective's prompts match, bool [n]."""
    prompts = objective.prompts
    matching = np.zeros(len(prompts), bool)
    matching[objective.rows] = matches
    texts = prompts.prompts.gather(objective.sources).to_list()
    found = matching[objective.sources].tolist()
    missed = tuple(text for text, match in zip(texts, found, strict=True) if not match)
    return Material(missed, tuple(text for text, match in zip(texts, found, strict=True) if match))


class OwnPrompts:
    """Excludes the prompts in a candidate: its examples and its sources."""

    def __init__(self, prompts: PromptSet, rows: Rows) -> None:
        self._count = len(rows)
        self._columns: dict[str, list[int]] = {}
        for column, text in enumerate(prompts.prompts.gather(rows).to_list()):
            self._columns.setdefault(text, []).append(column)

    def counted(self, candidates: Sequence[Candidate]) -> NDArray[np.bool_]:
        """Return whether each prompt counts for each candidate, bool [c, n]."""
        counts = np.ones((len(candidates), self._count), bool)
        for row, candidate in enumerate(candidates):
            for text in (*candidate.topic.examples, *candidate.sources):
                for column in self._columns.get(text, ()):
                    counts[row, column] = False
        return counts
