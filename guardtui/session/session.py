"""The session: the definition, its iterations, baseline and best. Views only read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.comparison import ABSENT, Alignment, align, codes_for, judged_with
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.metrics import metrics_of
from guardtui.domain.operating_point import as_rule
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, describe_changes

PLATEAU = 5
"""Number of consecutive discards that are called a plateau."""

PLATEAU_ADVICE = (
    "Try another angle, not another word: say more precisely what the topic is. Shorten the "
    "description, to under 80 characters. Look at the labels of the prompts that stay wrong. "
    "Where they belong to another domain, add a companion topic to the profile."
)
"""The refinement protocol's advice on a plateau."""

UNDO_STEPS = 500


class Decision(StrEnum):
    """The author's decision on an iteration."""

    KEEP = "keep"
    DISCARD = "discard"
    UNDECIDED = "undecided"


class Recorder(StrEnum):
    """Who recorded an iteration; LOG: its verdicts were given in production."""

    APP = "app"
    COMMAND = "command"
    AGENT = "agent"
    LOG = "log"
    COMPLETED_LOG = "log and scan"

    @property
    def has_log(self) -> bool:
        """Return whether verdicts were given in production."""
        return self in (Recorder.LOG, Recorder.COMPLETED_LOG)

    @property
    def completed(self) -> Recorder:
        """Who recorded an iteration that a scan has completed since."""
        return Recorder.COMPLETED_LOG if self is Recorder.LOG else self


@dataclass(frozen=True, eq=False)
class Iteration:
    """An evaluation recorded in the session; `number` counts from 0, the first baseline.

    `forecast` is the forecast made before the scan, or None. `completions` counts how often it got
    further verdicts.
    """

    number: int
    created: str
    decision: Decision
    evaluation: Evaluation
    forecast: ForecastBefore | None = None
    by: Recorder = Recorder.APP
    completions: int = 0


def is_first_complete(evaluation: Evaluation, others: Iterable[Iteration]) -> bool:
    """Return whether no other scan by the same kind of guardrail is complete or kept."""
    return not evaluation.metrics.missing and not any(
        other.decision is Decision.KEEP or not other.evaluation.metrics.missing
        for other in others
        if other.evaluation.settings.kind == evaluation.settings.kind
    )


def recorded_forecasts(iterations: Sequence[Iteration]) -> dict[int, ForecastBefore]:
    """Return the forecasts recorded before scans, by index among the iterations."""
    return {
        index: iteration.forecast
        for index, iteration in enumerate(iterations)
        if iteration.forecast is not None
    }


@dataclass(frozen=True, slots=True)
class _EditStep:
    topic: Topic
    group: str


@dataclass(frozen=True, eq=False)
class _Best:
    """Cache of the best iteration and its coverage, for a state of the session and prompts."""

    state: int
    shown: ScannerSettings | None
    prompts: PromptSet | None
    iteration: Iteration | None
    coverage: float | None


class Session:
    """One topic file, one prompt set and all iterations. Knows no files, no clock, no scanner.

    Prompts may be relabelled, added and removed during a session. Iterations stay as recorded; the
    best one is determined with the current labels, and two are compared on the prompts that both
    have. Without `prompts`, those of the latest iteration are used.

    Verdicts of two scanners are not comparable: with the settings of the `shown` evaluation,
    baseline, best and derived values are determined among the iterations of that scanner. While its
    threshold is fitted, each definition is judged at its own (`judged_alike`).

    Every change of the definition is an undoable edit. Consecutive edits with the same non-empty
    `group` are one step, so that a typed word is undone as a word.
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
        self.experiments: tuple[Evaluation, ...] = ()
        """Verdicts of experiments on definitions that are no iterations; most rows are open."""
        self._pinned = pinned
        self._undo: list[_EditStep] = []
        self._redo: list[_EditStep] = []
        self._group = ""
        self._prompts = prompts
        self.shown: ScannerSettings | None = None
        self._state = 0  # counts changes that may affect the best iteration
        self._known_best: _Best | None = None

    # --- the definition -------------------------------------------------------------------

    def edit(self, topic: Topic, group: str = "") -> bool:
        """Set the definition; returns False if it is unchanged."""
        if topic == self.topic:
            return False
        if not group or group != self._group:
            self._undo.append(_EditStep(self.topic, group))
            del self._undo[:-UNDO_STEPS]
        self._redo.clear()
        self._group = group
        self.topic = topic
        return True

    def end_group(self) -> None:
        """Make the next edit start a new undo step."""
        self._group = ""

    @property
    def can_undo(self) -> bool:
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        return bool(self._redo)

    def undo(self) -> tuple[str, ...]:
        """Undo the last step; returns descriptions of the edits that were undone, or ()."""
        before = self.topic
        return describe_changes(self.topic, before) if self._step(self._undo, self._redo) else ()

    def redo(self) -> tuple[str, ...]:
        """Redo the last undone step; returns descriptions of its edits, or ()."""
        before = self.topic
        return describe_changes(before, self.topic) if self._step(self._redo, self._undo) else ()

    def _step(self, source: list[_EditStep], target: list[_EditStep]) -> bool:
        if not source:
            return False
        step = source.pop()
        target.append(_EditStep(self.topic, step.group))
        self.topic = step.topic
        self._group = ""
        return True

    # --- iterations -----------------------------------------------------------------------

    def use_prompts(self, prompts: PromptSet) -> None:
        """Determine the best iteration with these prompts and labels from now on."""
        self._prompts = prompts

    @property
    def comparable(self) -> list[Iteration]:
        """The iterations of the selected scanner, oldest first; all if none is selected."""
        return self._by(self.shown)

    def _by(self, settings: ScannerSettings | None) -> list[Iteration]:
        if settings is None:
            return self.iterations
        return [
            iteration
            for iteration in self.iterations
            if iteration.evaluation.settings.kind == settings.kind
        ]

    @property
    def best(self) -> Iteration | None:
        """The kept iteration with the highest coverage, the earliest of equal ones.

        Complete ones come first: the prompts that an incomplete one has asked may be chosen.
        For iterations on different prompts, each is compared with the best one before it, on the
        current prompts that both have; of equal ones there, the one with more of them is the best.
        """
        return self._find_best().iteration

    @property
    def best_coverage(self) -> float | None:
        """Coverage of the best iteration with current labels, on the current prompts it has."""
        return self._find_best().coverage

    def _find_best(self) -> _Best:
        # Other threads may run this too, so a cached result carries the state it is valid for.
        cached, prompts, state = self._known_best, self._prompts, self._state
        shown = None if self.shown is None else as_rule(self.shown)
        if (
            cached is not None
            and cached.prompts is prompts
            and (cached.state, cached.shown) == (state, shown)
        ):
            return cached
        best, best_codes = None, None
        alignment: Alignment | None = None
        aligned = np.empty(0, np.uint64)
        kept = [each for each in self.comparable if each.decision is Decision.KEEP]
        complete = [each for each in kept if not each.evaluation.metrics.open]
        for iteration in complete or kept:
            newest = self.iterations[-1].evaluation
            ground = newest if prompts is None else prompts
            keys = iteration.evaluation.keys
            # Most iterations follow one on the same prompts.
            if alignment is None or not np.array_equal(aligned, keys):
                alignment, aligned = align(keys, ground.keys), keys
            evaluation = iteration.evaluation
            if shown is not None:
                evaluation = judged_with(evaluation, shown, ground.keys, ground.expected, alignment)
            codes = codes_for(evaluation, ground.keys, ground.expected, alignment)
            if best_codes is None or _exceeds(codes, best_codes) or _equals(codes, best_codes):
                best, best_codes = iteration, codes
        coverage = None
        if best_codes is not None:
            coverage = metrics_of(best_codes[best_codes != ABSENT]).coverage
        result = _Best(state, shown, prompts, best, coverage)
        self._known_best = result
        return result

    def baseline_of(self, iteration: Iteration) -> Iteration | None:
        """Return what a recorded iteration is compared with.

        The pinned one; else the last one that the same scanner kept before it.
        """
        if self.pinned is not None and self.pinned != iteration.number:
            return self.baseline
        kind = iteration.evaluation.settings.kind
        kept = (
            earlier
            for earlier in reversed(self.iterations)
            if earlier.decision is Decision.KEEP
            and earlier.number < iteration.number
            and earlier.evaluation.settings.kind == kind
        )
        return next(kept, None)

    @property
    def baseline(self) -> Iteration | None:
        """The iteration that others are compared with: the pinned one, else the latest kept one.

        One of the same guardrail comes before others of its kind.
        """
        return self.baseline_by(self.shown)

    def baseline_by(self, settings: ScannerSettings | None) -> Iteration | None:
        """Return the baseline while evaluations with these settings are shown."""
        if self._pinned is not None:
            for iteration in self.iterations:
                if iteration.number == self._pinned:
                    return iteration
        kept = [each for each in self._by(settings) if each.decision is Decision.KEEP]
        # An experiment is made on another profile than the one in production.
        same = [
            each
            for each in kept
            if settings is not None and each.evaluation.settings.guardrail == settings.guardrail
        ]
        return next(reversed(same or kept), None)

    @property
    def pinned(self) -> int | None:
        """Number of the pinned baseline, or None."""
        return self._pinned

    @property
    def discards_in_a_row(self) -> int:
        """Number of discards since the last kept iteration."""
        count = 0
        for iteration in reversed(self.iterations):
            if iteration.decision is Decision.KEEP:
                break
            count += iteration.decision is Decision.DISCARD
        return count

    @property
    def plateau(self) -> bool:
        """Return whether enough consecutive discards make a plateau."""
        return self.discards_in_a_row >= PLATEAU

    def is_better(self, evaluation: Evaluation) -> bool:
        """Return whether its coverage is greater than that of the best kept iteration.

        If the prompts differ, the comparison is on the prompts of both, with the labels of this
        evaluation. If those are inconclusive, as with another prompt set, the newer one is better.
        """
        best = self.best
        if best is None:
            return evaluation.metrics.coverage is not None
        keys, expected = evaluation.keys, evaluation.expected
        judged = judged_with(best.evaluation, evaluation.settings, keys, expected)
        best_codes = codes_for(judged, keys, expected)
        return _exceeds(evaluation.codes, best_codes)

    def next_iteration(self, evaluation: Evaluation, decision: Decision, created: str) -> Iteration:
        """Return the iteration that would record this evaluation; `created` is ISO 8601 UTC."""
        number = self.iterations[-1].number + 1 if self.iterations else 0
        return Iteration(number, created, decision, evaluation)

    def record(self, iteration: Iteration) -> None:
        """Add an iteration, or replace that of its number; the next edit is an undo step."""
        self.learn([iteration])
        self.end_group()

    @property
    def version(self) -> int:
        """Number of the changes of iterations and baseline."""
        return self._state

    @property
    def marks(self) -> dict[int, tuple[str, int]]:
        """What other programs may change: decision and completions of iterations, by number."""
        return {
            iteration.number: (iteration.decision.value, iteration.completions)
            for iteration in self.iterations
        }

    def learn(self, iterations: Sequence[Iteration]) -> None:
        """Add or replace iterations that another program recorded, decided or completed."""
        known = {iteration.number: iteration for iteration in self.iterations}
        known |= {iteration.number: iteration for iteration in iterations}
        self.iterations = [known[number] for number in sorted(known)]
        self._state += 1

    def iteration(self, number: int) -> Iteration:
        """Return the iteration with this number. Raises KeyError."""
        for iteration in self.iterations:
            if iteration.number == number:
                return iteration
        raise KeyError(number)

    def pin(self, number: int | None) -> None:
        """Compare with this iteration from now on; None: with the latest kept one again."""
        if number is not None:
            self.iteration(number)
        self._pinned = number
        self._state += 1

    def restore_best(self) -> bool:
        """Make the best definition the current one; returns False if it already is."""
        best = self.best
        return self.edit(best.evaluation.topic) if best else False


def _equals(codes: NDArray[np.int8], best_codes: NDArray[np.int8]) -> bool:
    """Return whether coverage is the same on the prompts of both, and more have a verdict."""
    shared = (codes != ABSENT) & (best_codes != ABSENT)
    count, best_count = (int(np.count_nonzero(each != ABSENT)) for each in (codes, best_codes))
    new, old = (metrics_of(each[shared]).coverage for each in (codes, best_codes))
    return count > best_count and new is not None and new == old


def _exceeds(codes: NDArray[np.int8], best_codes: NDArray[np.int8]) -> bool:
    """Return whether coverage is greater than before, on the prompts of both.

    Both arguments are outcome codes of the same prompts, int8 [N], ABSENT for missing prompts.
    """
    shared = (codes != ABSENT) & (best_codes != ABSENT)
    complete = bool(shared.all())
    new = metrics_of(codes[shared]).coverage
    old = metrics_of(best_codes[shared]).coverage
    if new is not None:
        return old is None or new > old
    if complete or old is not None:
        return False
    # The shared prompts lack a class, so the older one says nothing about the current prompts.
    return metrics_of(codes[codes != ABSENT]).coverage is not None
