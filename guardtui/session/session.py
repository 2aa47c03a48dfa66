"""The session: the definition, its iterations, baseline and best. Views only read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import ABSENT, Alignment, align, codes_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.domain.metrics import metrics_of
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, describe_changes

PLATEAU = 5
"""Discards in a row that are called a plateau."""

PLATEAU_ADVICE = (
    "Try another angle, not another word: say more precisely what the topic is. Shorten the "
    "description, to under 80 characters. Look at the labels of the prompts that stay wrong. "
    "Where they belong to another domain, add a companion topic to the profile."
)
"""What the refinement protocol advises then."""

UNDO_STEPS = 500


class Decision(StrEnum):
    """What the author made of an iteration."""

    KEEP = "keep"
    DISCARD = "discard"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Iteration:
    """An evaluation recorded in the session. `number` counts from 0, the first baseline.

    `forecast` is what was expected of a scan before it was made, None where nothing was.
    """

    number: int
    created: str
    decision: Decision
    evaluation: Evaluation
    forecast: ForecastBefore | None = None


def recorded_forecasts(iterations: Sequence[Iteration]) -> dict[int, ForecastBefore]:
    """Return the forecasts that were recorded before scans, by index among the iterations."""
    return {
        index: iteration.forecast
        for index, iteration in enumerate(iterations)
        if iteration.forecast is not None
    }


@dataclass(frozen=True, slots=True)
class _Step:
    topic: Topic
    group: str


@dataclass(frozen=True, eq=False)
class _Best:
    """The best iteration, and its coverage, as told by these prompts in a state of the session."""

    state: int
    scanner: str
    prompts: PromptSet | None
    iteration: Iteration | None
    coverage: float | None


class Session:
    """One topic file, one prompt set and all iterations. Knows no files, no clock, no scanner.

    Prompts may be relabelled, added and removed while a session lasts. Iterations stay as they were
    recorded; which of them is best is told by the labels of now, and two are compared on the
    prompts that both have. Without `prompts` those of the newest iteration hold.

    Verdicts of two scanners do not compare: with `scanner` set, baseline, best and what follows
    from them are told among the iterations of the scanner of that name.

    Every change of the definition is an edit that can be undone. Edits with the same non-empty
    `group` that follow each other are one step, so that a word typed is undone as a word.
    """

    def __init__(
        self,
        topic: Topic,
        iterations: Sequence[Iteration] = (),
        pinned: int | None = None,
        prompts: PromptSet | None = None,
    ) -> None:
        self.topic = topic
        self.iterations: list[Iteration] = list(iterations)
        self._pinned = pinned
        self._undo: list[_Step] = []
        self._redo: list[_Step] = []
        self._group = ""
        self._prompts = prompts
        self.scanner = ""
        self._state = 0  # counts what may change the best iteration
        self._known_best: _Best | None = None

    # --- the definition -------------------------------------------------------------------

    def edit(self, topic: Topic, group: str = "") -> bool:
        """Make `topic` the definition; False when it is the same already."""
        if topic == self.topic:
            return False
        if not group or group != self._group:
            self._undo.append(_Step(self.topic, group))
            del self._undo[:-UNDO_STEPS]
        self._redo.clear()
        self._group = group
        self.topic = topic
        return True

    def end_group(self) -> None:
        """The next edit starts a step of its own."""
        self._group = ""

    @property
    def can_undo(self) -> bool:
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        return bool(self._redo)

    def undo(self) -> tuple[str, ...]:
        """Take the last step back; what that changed, in words (empty when there is none)."""
        return self._step(self._undo, self._redo)

    def redo(self) -> tuple[str, ...]:
        """Do again what was undone; what that changed, in words (empty when there is none)."""
        return self._step(self._redo, self._undo)

    def _step(self, source: list[_Step], target: list[_Step]) -> tuple[str, ...]:
        if not source:
            return ()
        step = source.pop()
        target.append(_Step(self.topic, step.group))
        changes = describe_changes(self.topic, step.topic)
        self.topic = step.topic
        self._group = ""
        return changes

    # --- iterations -----------------------------------------------------------------------

    def use_prompts(self, prompts: PromptSet) -> None:
        """Tell the best iteration by these prompts and labels from now on."""
        self._prompts = prompts

    @property
    def comparable(self) -> list[Iteration]:
        """The iterations of the scanner that is looked at, oldest first; all when none is named."""
        if not self.scanner:
            return self.iterations
        return [one for one in self.iterations if one.evaluation.settings.name == self.scanner]

    @property
    def best(self) -> Iteration | None:
        """The kept iteration with the greatest coverage, the earliest of equal ones.

        Where they ran on different prompts: the one that remains when each is held against the
        best one before it, on the prompts of now that both have.
        """
        return self._find_best().iteration

    @property
    def best_coverage(self) -> float | None:
        """Coverage of the best iteration by the labels of now, of the prompts of now it had."""
        return self._find_best().coverage

    def _find_best(self) -> _Best:
        # Another thread may do this too: what is known holds for what it was found by.
        known, prompts, state = self._known_best, self._prompts, self._state
        scanner = self.scanner
        asked = (state, scanner)
        if known is not None and known.prompts is prompts and (known.state, known.scanner) == asked:
            return known
        best, best_codes = None, None
        alignment: Alignment | None = None
        aligned = np.empty(0, np.uint64)
        for iteration in self.comparable:
            if iteration.decision is not Decision.KEEP:
                continue
            newest = self.iterations[-1].evaluation
            ground = newest if prompts is None else prompts
            keys = iteration.evaluation.keys
            # Most iterations follow one on the same prompts.
            if alignment is None or not np.array_equal(aligned, keys):
                alignment, aligned = align(keys, ground.keys), keys
            codes = codes_for(iteration.evaluation, ground.keys, ground.expected, alignment)
            if best_codes is None or _exceeds(codes, best_codes):
                best, best_codes = iteration, codes
        coverage = None
        if best_codes is not None:
            coverage = metrics_of(best_codes[best_codes != ABSENT]).coverage
        found = _Best(state, scanner, prompts, best, coverage)
        self._known_best = found
        return found

    @property
    def baseline(self) -> Iteration | None:
        """What others are compared to: the pinned iteration, or else the last kept one."""
        if self._pinned is not None:
            for iteration in self.iterations:
                if iteration.number == self._pinned:
                    return iteration
        kept = [one for one in self.comparable if one.decision is Decision.KEEP]
        return kept[-1] if kept else None

    @property
    def pinned(self) -> int | None:
        """Number of the pinned baseline, if one is."""
        return self._pinned

    @property
    def discards_in_a_row(self) -> int:
        """Discards since the last kept iteration."""
        count = 0
        for iteration in reversed(self.comparable):
            if iteration.decision is Decision.KEEP:
                break
            count += iteration.decision is Decision.DISCARD
        return count

    @property
    def plateau(self) -> bool:
        """Whether as many discards followed each other as make a plateau."""
        return self.discards_in_a_row >= PLATEAU

    def is_better(self, evaluation: Evaluation) -> bool:
        """Whether its coverage is strictly greater than that of the best kept iteration.

        On the prompts that both have and by its own labels, when they ran on different ones; where
        these tell nothing, as with another prompt set, the newer one is better.
        """
        best = self.best
        if best is None:
            return evaluation.metrics.coverage is not None
        then = codes_for(best.evaluation, evaluation.keys, evaluation.expected)
        return _exceeds(evaluation.codes, then)

    def next_iteration(self, evaluation: Evaluation, decision: Decision, created: str) -> Iteration:
        """The iteration that recording this evaluation would add; `created` is ISO 8601 UTC."""
        number = self.iterations[-1].number + 1 if self.iterations else 0
        return Iteration(number, created, decision, evaluation)

    def record(self, iteration: Iteration) -> None:
        """Add an iteration; its number must be higher than all others (ValueError)."""
        if self.iterations and iteration.number <= self.iterations[-1].number:
            raise ValueError(f"iteration {iteration.number} is not the next one")
        self.iterations.append(iteration)
        self._state += 1
        self.end_group()

    def complete(self, iteration: Iteration) -> None:
        """Put an iteration in the place of the one with its number: it has more verdicts now.

        Raises KeyError for an unknown number.
        """
        place = self.iterations.index(self.iteration(iteration.number))
        self.iterations[place] = iteration
        self._state += 1

    def learn(self, iterations: Sequence[Iteration]) -> bool:
        """Take over iterations that another window recorded; whether there were any."""
        known = {one.number for one in self.iterations}
        new = [one for one in iterations if one.number not in known]
        if new:
            self.iterations = sorted([*self.iterations, *new], key=lambda one: one.number)
            self._known_best = None
        return bool(new)

    def decide(self, number: int, decision: Decision) -> Iteration:
        """Change the decision on an iteration; raises KeyError for an unknown number."""
        for place, iteration in enumerate(self.iterations):
            if iteration.number == number:
                self.iterations[place] = replace(iteration, decision=decision)
                self._state += 1
                return self.iterations[place]
        raise KeyError(number)

    def iteration(self, number: int) -> Iteration:
        """The iteration of this number; raises KeyError."""
        for iteration in self.iterations:
            if iteration.number == number:
                return iteration
        raise KeyError(number)

    def pin(self, number: int | None) -> None:
        """Compare with this iteration from now on; None: with the last kept one again."""
        if number is not None:
            self.iteration(number)
        self._pinned = number

    def restore_best(self) -> bool:
        """Make the best definition the current one, examples included; False when it is already."""
        best = self.best
        return self.edit(best.evaluation.topic) if best else False


def _exceeds(codes: NDArray[np.int8], then: NDArray[np.int8]) -> bool:
    """Whether coverage is strictly greater than it was, on the prompts that both have.

    Both are outcome codes of the same prompts, int8 [N], ABSENT where one did not have it.
    """
    shared = (codes != ABSENT) & (then != ABSENT)
    complete = bool(shared.all())
    new = metrics_of(codes[shared]).coverage
    old = metrics_of(then[shared]).coverage
    if new is not None:
        return old is None or new > old
    if complete or old is not None:
        return False
    # What they share lacks a class: the older one tells nothing about the prompts of now.
    return metrics_of(codes[codes != ABSENT]).coverage is not None
