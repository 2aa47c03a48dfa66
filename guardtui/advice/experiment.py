"""Experiments: candidate definitions measured on the guardrail itself, and what they prove.

The guardrail answers a growing part of the prompts for each candidate. After each part (a round)
hopeless candidates are dropped, so that most calls go to those that may win, and a candidate that
is shown to be better ends the experiment.

The bounds are repeated confidence intervals: they hold at all rounds together, whichever ends the
experiment (C. Jennison and B. W. Turnbull, Interim analyses: the repeated confidence interval
approach, JRSS B 51, 1989), at levels that are spent over the rounds (K. K. G. Lan and D. L. DeMets,
Discrete sequential boundaries for clinical trials, Biometrika 70, 1983), nearly all at the last
one. Each is a quantile of a bootstrap of the prompts, the same draws for each candidate (the
percentile interval: B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap, 1993, chapter
13). The quantile is the same for all candidates of a round, so small that all of them hold at once
(R. Beran, Balanced simultaneous confidence sets, JASA 83, 1988).

They hold for prompts like these as far as a bootstrap does: with a few prompts of a class they are
approximate, and the choice of the candidates in earlier rounds is no part of the level. How often
an edit is kept of a guardrail that no edit moves, and how often one is worse on other prompts, is
measured (`benchmarks/evidence.py`).

Where fewer than `LABELS_AT_LEAST` prompts of a class count, a bootstrap knows too little of how
verdicts vary: such a round proves nothing and drops nobody.

A better candidate also separates better than chance. Where verdicts have nothing to do with the
labels, a level that happens to fit these prompts looks like a gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.edit_worth import resampled_rates, resamples
from guardtui.domain.operating_point import LABELS_AT_LEAST

Array: TypeAlias = "NDArray[np.float64]"
Bools: TypeAlias = "NDArray[np.bool_]"
Rows: TypeAlias = "NDArray[np.intp]"

ROUNDS = (0.3, 0.6, 1.0)
"""Parts of the prompts, of each class, that are answered at the rounds."""

ALPHA = 0.05
"""Chance that any bound, at any round, is above the true gain."""

SPENT = (0.0005, 0.001, ALPHA - 0.0015)
"""Parts of that chance that the rounds spend."""

KEPT = (1 / 3, 1 / 10)
"""Share of the candidates that stay after the first rounds, at least `KEPT_AT_LEAST`."""

KEPT_AT_LEAST = (3, 2)

WORSE = -0.02
"""Gain at a round below which a candidate is dropped."""

_RESAMPLES = 1000
_UNASKED = -2
_MISSING = -1


class Ending(StrEnum):
    """Reasons for the end of an experiment."""

    BETTER = "a candidate is shown to be better"
    NOT_BETTER = "no candidate is shown to be better"
    HOPELESS = "no candidate looks better"


@dataclass(frozen=True, slots=True)
class Standing:
    """Findings about a candidate: gain of coverage against the current definition.

    `answers` counts its verdicts. `gain` is over the prompts answered in its last round,
    and `low` its lower bound, which holds for all candidates of the round at once and is
    above 0 only where the candidate also separates better than chance; both are None before the
    first round. `dropped` is the round (1, 2 …) that dropped it, or None.
    """

    answers: int = 0
    gain: float | None = None
    low: float | None = None
    dropped: int | None = None

    @property
    def is_better(self) -> bool:
        """Return whether it is better than the current definition."""
        return self.low is not None and self.low > 0


@dataclass(frozen=True, eq=False)
class Comparison:
    """Changes of coverage of candidates: `gains` [k], and the `drawn` ones of resamples [k, b].

    `drawn` is at most TPR + TNR - 1 of the candidate in the resample, which is 0 where verdicts
    have nothing to do with the labels.
    """

    gains: Array
    drawn: Array

    def lows(self, alpha: float) -> Array:
        """Return lower bounds of the gains, [k], that hold together except with chance `alpha`."""
        ordered = np.sort(self.drawn, axis=1)
        ranks = np.array(
            [
                np.searchsorted(row, values, "right")
                for row, values in zip(ordered, self.drawn, strict=True)
            ]
        )
        # In each resample the candidate that lies lowest among its own decides.
        lowest = np.sort(ranks.min(axis=0))
        rank = max(int(lowest[math.floor(alpha * len(lowest))]) - 1, 0)
        bounds: Array = ordered[:, rank]
        return bounds


class Experiment:
    """Decides which prompts are asked for which candidates, and what their verdicts prove.

    `right` [n] is whether the current definition's verdict on each prompt is right, `belongs` [n]
    the labels, and `counted` [k, n] the prompts that count for a candidate: not its own examples,
    nor those without a verdict of the current definition. The same verdicts always give the same
    questions, whatever the order and the pauses in which they were asked.
    """

    def __init__(self, right: Bools, belongs: Bools, counted: Bools, order: Rows) -> None:
        self._right, self._belongs, self._counted = right, belongs, counted
        ranked = [order[belongs[order] == label] for label in (True, False)]
        self._parts = [
            np.concatenate([rows[: round(len(rows) * part)] for rows in ranked]) for part in ROUNDS
        ]
        # Each round takes the prompts of the one before, and more.
        self._more = [
            np.setdiff1d(part, before)
            for before, part in zip([order[:0], *self._parts], self._parts, strict=False)
        ]
        fewest = [fewest_of_a_class(counted[:, rows], belongs[rows]) for rows in self._parts]
        self._few = np.stack(fewest) < LABELS_AT_LEAST
        self._after = np.full(counted.shape, _UNASKED, np.int8)
        self._alive = list(range(len(counted)))
        self._round = 0
        self.standings = [Standing() for _ in self._alive]
        """What is known of each candidate, [k]."""
        self.ending: Ending | None = None if self._alive else Ending.HOPELESS
        """Why the experiment has ended, or None."""

    @property
    def alive(self) -> tuple[int, ...]:
        """Candidates that have not been dropped."""
        return tuple(self._alive)

    @property
    def round(self) -> int:
        """Number of the next round, from 1."""
        return self._round + 1

    @property
    def best(self) -> int | None:
        """The better candidate with the greatest lower bound, or None."""
        better = [index for index, known in enumerate(self.standings) if known.is_better]
        return max(better, key=lambda index: self.standings[index].low or 0.0, default=None)

    @property
    def answered(self) -> int:
        """Number of verdicts so far."""
        return int(np.count_nonzero(self._after != _UNASKED))

    @property
    def wanted(self) -> int:
        """Number of verdicts that the next round takes, known or not."""
        return int(
            np.count_nonzero(
                self._counted[np.ix_(np.array(self._alive, np.intp), self._parts[self._round])]
            )
        )

    def calls_left(self, cached: Bools | None = None) -> tuple[int, int]:
        """Return the smallest and the largest number of calls until the end.

        The first ends at the next round; at the other, as many candidates stay as may, those with
        the most calls. Verdicts that are `cached` [k, n] are no calls.
        """
        if self.ending is not None:
            return 0, 0
        paid = np.ones_like(self._counted) if cached is None else ~cached
        now = sum(int(paid[index, self.unasked(index)].sum()) for index in self._alive)
        most = now
        for index in range(self._round + 1, len(ROUNDS)):
            calls = np.sort(paid[self._alive][:, self._more[index]].sum(axis=1))
            most += int(calls[len(calls) - self._stay(index - 1) :].sum())
        return now, most

    def unasked(self, candidate: int) -> Rows:
        """Return the rows that the next round needs of a candidate, in the order to ask."""
        if self.ending is not None or candidate not in self._alive:
            return np.zeros(0, np.intp)
        rows = self._parts[self._round]
        open_ = (self._after[candidate, rows] == _UNASKED) & self._counted[candidate, rows]
        unasked: Rows = rows[open_]
        return unasked

    def record(self, candidate: int, rows: Rows, right: Sequence[bool | None]) -> None:
        """Record whether verdicts of a candidate are right; None for a failed request.

        A failed request counts as a wrong verdict, so that it never helps to prove anything.
        """
        known = [_MISSING if value is None else int(value) for value in right]
        self._after[candidate, rows] = known
        answers = int(np.count_nonzero(self._after[candidate] != _UNASKED))
        self.standings[candidate] = replace(self.standings[candidate], answers=answers)

    def take_rounds(self) -> None:
        """Take the rounds whose verdicts are all there: measure, drop candidates, or end."""
        while self.ending is None and not any(len(self.unasked(index)) for index in self._alive):
            self._take_round()

    def _take_round(self) -> None:
        rows, alive = self._parts[self._round], np.array(self._alive)
        found = compare(
            self._right[rows],
            self._after[np.ix_(alive, rows)] == 1,
            self._counted[np.ix_(alive, rows)],
            self._belongs[rows],
        )
        lows = np.where(self._few[self._round, alive], -1.0, found.lows(SPENT[self._round]))
        for index, gain, low in zip(self._alive, found.gains, lows, strict=True):
            self.standings[index] = replace(self.standings[index], gain=float(gain), low=float(low))
        self._round += 1
        if (lows > 0).any():
            self.ending = Ending.BETTER
        elif self._round == len(ROUNDS):
            self.ending = Ending.NOT_BETTER
        else:
            self._drop(found.gains)

    def _drop(self, gains: Array) -> None:
        if self._few[self._round - 1, self._alive].any():
            return
        order = np.argsort(-gains, kind="stable")[: self._stay(self._round - 1)]
        stay = sorted(self._alive[index] for index in order if gains[index] >= WORSE)
        for index in set(self._alive) - set(stay):
            self.standings[index] = replace(self.standings[index], dropped=self._round)
        self._alive = stay
        if not stay:
            self.ending = Ending.HOPELESS

    def _stay(self, index: int) -> int:
        """Return how many of those left stay at most after a round (0, 1 …)."""
        most = max(KEPT_AT_LEAST[index], math.ceil(len(self.standings) * KEPT[index]))
        left = len(self._alive)
        return left if self._few[index, self._alive].any() else min(left, most)


def fewest_of_a_class(counted: Bools, belongs: Bools) -> Rows:
    """Return the number of prompts of the rarer class that count for each candidate, [k].

    `counted` [k, n] are the prompts that count for it, `belongs` [n] their labels.
    """
    fewest: Rows = np.minimum((counted & belongs).sum(axis=1), (counted & ~belongs).sum(axis=1))
    return fewest


def compare(before: Bools, after: Bools, counted: Bools, belongs: Bools) -> Comparison:
    """Compare candidates with the current definition on the same prompts, by a bootstrap of these.

    `before` [n] and `after` [k, n] are whether a verdict is right, `counted` [k, n] the prompts
    that count for a candidate, `belongs` [n] their labels.
    """
    weights = resamples(belongs, _RESAMPLES)
    old = resampled_rates(np.broadcast_to(before, after.shape), counted, belongs, weights)
    new = resampled_rates(after, counted, belongs, weights)
    changes: Array = new.min(axis=0) - old.min(axis=0)
    return Comparison(changes[:, 0], np.minimum(changes, new.sum(axis=0) - 1)[:, 1:])
