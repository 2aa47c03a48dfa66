"""Objectives of a search: how well each prompt matches a definition, by a guardrail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, CandidateKind, Material
from guardtui.domain.figures import change_interval_text
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic

Array: TypeAlias = "NDArray[np.floating]"
Rows: TypeAlias = "NDArray[np.intp]"
Stopped = Callable[[], bool]

CONFIDENCE = 0.8
"""Confidence of the interval of a gain; its lower bound holds in nine cases of ten."""

QUANTILE = 1.2816
"""Half width of that interval, in standard deviations."""

OPTIMISM = 0.14
"""Standard errors of the smaller class's rate by which the best edits look better than they are.

The bias of the choice, for any number of edits. Measured on a hundred halves of 25 topics with 15
prompts that belong to each (`benchmarks/refine.py`).
"""

_MATERIAL = 1000  # maximum number of prompts of each kind


@dataclass(frozen=True, slots=True)
class Gain:
    """Expected gain in coverage on other prompts, with its interval (`CONFIDENCE`)."""

    value: float
    low: float
    high: float

    @property
    def is_certain(self) -> bool:
        """Whether the lower bound is positive, which advice requires."""
        return self.low > 0

    @property
    def text(self) -> str:
        """The gain with its interval: `+0.051 [+0.012, +0.090]`."""
        return change_interval_text(self.value, self.low, self.high)


@dataclass(frozen=True, eq=False)
class Appraisal:
    """A definition measured on the prompts that edits are chosen on, [n] each.

    `soft` is how far each prompt matches, from 0 to 1, and `matches` whether it does. `counted` is
    False for the definition's own examples. `z` are the engine's raw scores and `cut` its operating
    point. `spread` is a forecast's standard deviation of coverage. `threshold` is that of a model,
    and `verdicts` say whether each prompt of the set matches at it, int8 [N], -1 for those that do
    not count.
    """

    soft: Array
    matches: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    z: Array | None = None
    cut: float | None = None
    spread: float = 0.0
    threshold: float | None = None
    verdicts: NDArray[np.int8] | None = None


class Objective(Protocol):
    """Measures definitions on some prompts of a set."""

    prompts: PromptSet
    rows: Rows
    """Rows of the set that edits are chosen on, in their order."""

    @property
    def settings(self) -> ScannerSettings:
        """Settings of the measured guardrail."""

    def values(
        self, candidates: Sequence[Candidate], stopped: Stopped = lambda: False
    ) -> Array | None:
        """Return a cautious coverage of each candidate to choose by, [c]; None if stopped."""

    def appraise(self, candidate: Candidate, stopped: Stopped = lambda: False) -> Appraisal | None:
        """Return the appraisal of one definition; None if stopped."""

    def gain(self, before: Appraisal, after: Appraisal) -> Gain:
        """Return the expected gain in coverage on other prompts of edits chosen by `values`."""

    def judge(self, topic: Topic, appraisal: Appraisal, rows: Rows) -> NDArray[np.bool_]:
        """Return whether other prompts of the set match an appraised definition, bool [n]."""


def unchanged(topic: Topic) -> Candidate:
    """Return the candidate without any edit."""
    return Candidate(topic, CandidateKind.COMPLETE, "")


def material_of(objective: Objective, matches: NDArray[np.bool_]) -> Material:
    """Return the material of edits, given which of the objective's prompts match, bool [n].

    Each kind has at most `_MATERIAL` prompts, sampled by hash, in row order.
    """
    prompts, rows = objective.prompts, objective.rows
    expected = prompts.expected[rows]

    def texts(chosen: NDArray[np.bool_]) -> tuple[str, ...]:
        some = rows[chosen]
        if len(some) > _MATERIAL:
            order = np.argpartition(prompts.keys[some], _MATERIAL)
            some = np.sort(some[order[:_MATERIAL]])
        return tuple(prompts.prompts.gather(some).to_list())

    return Material(texts(expected & ~matches), texts(expected & matches))


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


def gain_of(before: float, after: float, smaller: int, deviation: float) -> Gain:
    """Return the gain of chosen edits, from the cautious coverage before and after them.

    `smaller` is the number of prompts in the smaller class, on which the bias of the choice depends
    (`OPTIMISM`). `deviation` is the standard deviation of the change.
    """
    rate = min(max(before, 0.0), 1.0)
    value = after - before - OPTIMISM * float(np.sqrt(rate * (1 - rate) / max(smaller, 1)))
    margin = QUANTILE * deviation
    return Gain(value, value - margin, value + margin)
