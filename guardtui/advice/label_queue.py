"""The queue of a log: which prompt to label next, why, and what the labels so far say."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.estimates import RateEstimate
from guardtui.domain.figures import change_interval_text, count_text
from guardtui.domain.inbox import WhyAsked
from guardtui.domain.production_rates import (
    WITHIN,
    ProductionRates,
    SampleCounts,
    count_labels,
    coverage_change,
    labels_until,
    next_chances,
    production_rates,
    refine,
    score_strata,
)

Bools: TypeAlias = "NDArray[np.bool_]"
Floats: TypeAlias = "NDArray[np.floating]"

FIRST = 30
"""Labels before the first estimate of coverage."""

FIRST_CHANGE = 15
"""Labels before the first estimate of a change of coverage."""

HALF_WIDTHS = (0.08, 0.05)
"""Half widths of the interval of coverage that the queue works towards, in turn."""

_LOOK = 5  # labels between two estimates; more when there are many
_PREDICTIONS = 5  # looks whose predictions of the labels that are needed are joined
_NEAREST = 200  # prompts on each side of the operating point that are compared with labelled ones


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt to label: its row in the log, why it is asked, and its chance to be asked now.

    The chance is None for a chosen prompt, which is in no estimate.
    """

    row: int
    why: WhyAsked
    chance: float | None


class AuditedDifference(StrEnum):
    """Difference of two definitions over a log, by the labels."""

    BETTER = "your edit is better"
    WORSE = "your edit is worse"
    SAME = f"your edit changes coverage by at most {WITHIN}"
    OPEN = "not decided yet"


def decide(change: RateEstimate) -> AuditedDifference:
    """Return the decision: the interval of the change excludes 0, or lies within ±`WITHIN`."""
    if change.low > 0:
        return AuditedDifference.BETTER
    if change.high < 0:
        return AuditedDifference.WORSE
    within = change.low >= -WITHIN and change.high <= WITHIN
    return AuditedDifference.SAME if within else AuditedDifference.OPEN


@dataclass(frozen=True, slots=True)
class _Answer:
    """An audited prompt; `asked` is false if its label was known before it was drawn."""

    row: int
    belongs: bool
    asked: bool


class LabelQueue:
    """Asks for labels of a log, and estimates what a guardrail does there.

    `scores` are of the engine, higher where it expects a prompt to belong [N]. `matches` are
    verdicts of the guardrail on every prompt of the log: does it belong to the topic, bool [N]; two
    of them compare two definitions. `vectors` [N, d] are of unit length.

    The audit is reproducible: the same `seed`, strata and labels lead to the same next prompt.
    `strata` of an earlier audit are kept and divided further, so its labels stay valid when the
    definition has changed since; -1 marks prompts that came to the log later. Not thread-safe.
    """

    def __init__(
        self,
        scores: Floats,
        matches: Sequence[Bools],
        *,
        strata: NDArray[np.int64] | None = None,
        vectors: Floats | None = None,
        seed: int = 0,
    ) -> None:
        self._scores = np.asarray(scores, np.float64)
        self._matches = tuple(matches)
        if strata is None:
            self.strata = score_strata(self._scores, self._matches)
        else:
            self.strata = refine(self._with_new(strata), self._matches)
        self._vectors = vectors
        self._seed = seed
        self._audited: list[_Answer] = []
        self._chosen: dict[int, bool] = {}
        self._aside: set[int] = set()
        self._counted: tuple[int, SampleCounts] | None = None
        self._chances: tuple[int, NDArray[np.float64]] | None = None
        self.drawn: list[Question] = []
        """Questions of the audit that nobody is asked, since their labels were known before."""

    @property
    def audited(self) -> int:
        """Number of audited prompts."""
        return len(self._audited)

    @property
    def look(self) -> int:
        """Number of audited prompts at the last estimate.

        Estimates are made only every few labels: each look is a chance to stop by luck.
        """
        if self._is_complete:
            return self.audited
        return max(looks(self.audited, self._first), default=0)

    @property
    def is_estimated(self) -> bool:
        """Return whether there are enough labels for an estimate."""
        return self.look > 0

    def audit(self, row: int, belongs: bool, *, known: bool = False) -> None:
        """Take the label of an audited prompt, in the order they were asked.

        `known` labels were there before the prompt was drawn, and are taken back with the one asked
        before them.
        """
        self._audited.append(_Answer(row, belongs, not known))

    def choose(self, row: int, belongs: bool) -> None:
        """Add the label of a chosen prompt, which is not asked again and is in no estimate.

        If the audit draws it later, it counts there with its chance.
        """
        self._chosen[row] = belongs

    def set_aside(self, row: int) -> None:
        """Take a prompt out of the log, because it cannot be judged."""
        self._aside.add(row)
        self._counted = self._chances = None

    def undo(self) -> int | None:
        """Take back the last audited label that was asked for; return its row or None."""
        while self._audited:
            answer = self._audited.pop()
            for kept in (self._counted, self._chances):
                if kept is not None and kept[0] > self.audited:
                    self._counted = self._chances = None
            if answer.asked:
                return answer.row
        return None

    def next_audited(self, pending: Collection[int] = ()) -> Question | None:
        """Return the next prompt of the audit, or None.

        `pending` are rows that the audit has drawn for other people who have not answered yet.
        Prompts that are drawn and have a label as chosen ones are taken with that and not asked.
        """
        while True:
            question = self._draw(pending)
            if question is None or question.row not in self._chosen:
                return question
            self.drawn.append(question)
            self.audit(question.row, self._chosen[question.row], known=True)

    def next_chosen(self, cut: float) -> Question | None:
        """Return the unlabelled prompt whose label teaches most, or None.

        That is one near the operating point `cut`, a score, as unlike the labelled ones as
        possible; on the side of it that has fewer chosen prompts.
        """
        labelled = [answer.row for answer in self._audited] + list(self._chosen)
        free = np.ones(len(self._scores), bool)
        free[[*labelled, *self._aside]] = False
        above = self._scores >= cut
        sides = [np.flatnonzero(free & (above == side)) for side in (True, False)]
        upper = sum(bool(above[row]) for row in self._chosen)
        preferred = sides if 2 * upper <= len(self._chosen) else sides[::-1]
        rows = next((side for side in preferred if len(side)), None)
        if rows is None:
            return None
        order = np.argsort(np.abs(self._scores[rows] - cut), kind="stable")
        rows = rows[order[:_NEAREST]]
        if self._vectors is None or not labelled:
            return Question(int(rows[0]), WhyAsked.CHOSEN, None)
        nearest = (self._vectors[rows] @ self._vectors[labelled].T).max(axis=1)
        closeness = np.arange(len(rows)) / len(rows)
        return Question(int(rows[np.argmin(nearest + closeness)]), WhyAsked.CHOSEN, None)

    def rates(self) -> ProductionRates:
        """Return the rates of the first definition at the last look."""
        return production_rates(self._counts(self.look))

    def change(self) -> RateEstimate:
        """Return the change of coverage by the second definition at the last look."""
        return coverage_change(self._counts(self.look))

    @property
    def line(self) -> str:
        """The purpose of the next labels, and when to stop."""
        if not self.is_estimated:
            missing = min(self._first, len(self._scores) - len(self._aside)) - self.audited
            return f"{count_text(missing, 'more label')} until the first estimate"
        if len(self._matches) == 2:
            change = self.change()
            decision = decide(change)
            figures = change_interval_text(change.value, change.low, change.high)
            start = "" if decision is AuditedDifference.OPEN else "enough: "
            return f"{start}{decision}: coverage {figures}"
        coverage = self.rates().coverage
        bounds = f"({coverage.low:.2f} to {coverage.high:.2f})"
        shown = f"coverage {coverage.value:.2f} in production {bounds}"
        reached = ""
        for half_width in HALF_WIDTHS:
            if coverage.half_width > half_width:
                more = self._labels_until(half_width)
                return f"{reached}{shown}; about {more} more labels for ±{half_width:.2f}"
            reached = f"enough for ±{half_width:.2f}: "
        return f"enough: {shown}"

    def _labels_until(self, half_width: float) -> int:
        """Predict how many more labels make the interval narrow, in steps of 5, from 100 on of 10.

        That is the median of what the last looks predict of all labels, because one alone jumps
        with each prompt that is found.
        """
        recent = [*looks(self.look - 1, self._first)[1 - _PREDICTIONS :], self.look]
        totals = [look + labels_until(self._counts(look), half_width) for look in recent]
        more = max(float(np.median(totals)) - self.audited, 1)
        step = _LOOK if more < 100 else 2 * _LOOK
        left = len(self._scores) - len(self._aside) - self.audited
        return min(step * math.ceil(more / step), left)

    @property
    def _first(self) -> int:
        return FIRST if len(self._matches) == 1 else FIRST_CHANGE

    @property
    def _is_complete(self) -> bool:
        return self.audited + len(self._aside) >= len(self._scores)

    def _counts(self, labels: int) -> SampleCounts:
        if self._counted is None or self._counted[0] != labels:
            strata = self.strata
            if self._aside:
                strata = strata.copy()
                strata[list(self._aside)] = -1
            answers = [answer for answer in self._audited[:labels] if answer.row not in self._aside]
            rows = [answer.row for answer in answers]
            belong = [answer.belongs for answer in answers]
            self._counted = labels, count_labels(strata, rows, belong, self._matches)
        return self._counted[1]

    def _with_new(self, strata: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the strata with some of their own for prompts that had none."""
        new = strata < 0
        strata = strata.copy()
        strata[new] = score_strata(self._scores[new], [matches[new] for matches in self._matches])
        strata[new] += strata[~new].max(initial=-1) + 1
        return strata

    def _draw(self, pending: Collection[int]) -> Question | None:
        free = np.ones(len(self.strata), bool)
        free[[answer.row for answer in self._audited]] = False
        free[[*self._aside, *pending]] = False
        count = int(self.strata.max(initial=-1)) + 1
        remaining = np.bincount(self.strata[free], minlength=count)
        if not remaining.sum():
            return None
        look = self.look
        if self._chances is None or self._chances[0] != look:
            self._chances = look, next_chances(self._counts(look))
        chances = np.where(remaining > 0, self._chances[1], 0.0)
        if not chances.sum():  # the strata that had a chance are labelled
            chances = remaining.astype(np.float64)
        chances /= chances.sum()
        random = np.random.default_rng([self._seed, self.audited + len(pending)])
        stratum = int(random.choice(count, p=chances))
        rows = np.flatnonzero(free & (self.strata == stratum))
        row = int(rows[int(random.integers(len(rows)))])
        return Question(row, WhyAsked.AUDIT, float(chances[stratum] / len(rows)))


def looks(labels: int, first: int = FIRST) -> list[int]:
    """Return the numbers of labels, up to `labels`, at which estimates are made."""
    counts = [first]
    while counts[-1] <= labels:
        counts.append(counts[-1] + max(_LOOK, counts[-1] // 20))
    return counts[:-1]
