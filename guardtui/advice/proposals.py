"""What an edit brought: chosen on one half of the prompts, told for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, Kind
from guardtui.advice.measuring import Measured, TopicScorer, metrics_of_counts
from guardtui.advice.worth import worth_of_matches
from guardtui.domain.metrics import Metrics
from guardtui.domain.significance import Significance
from guardtui.domain.topic import Topic


@dataclass(frozen=True, slots=True)
class Halves:
    """Metrics of one definition on the half that edits are chosen on, and on the other."""

    search: Metrics
    report: Metrics


@dataclass(frozen=True, eq=False)
class Proposal:
    """A definition that was measured, and what leads to it.

    `changes` are its edits in words, with their `kinds`. `before` and `after` are of the
    definition at hand and of this one. `gain` is that of the objective it was chosen by. `fixes`
    and `regressions` are rows of the prompt set (intp, in their order) that became right or wrong,
    of both halves; `worth` counts those of the report half, and says how sure its gain is.
    """

    topic: Topic
    kinds: tuple[Kind, ...]
    changes: tuple[str, ...]
    before: Halves
    after: Halves
    gain: float
    fixes: NDArray[np.intp]
    regressions: NDArray[np.intp]
    worth: Significance

    @property
    def search_gain(self) -> float:
        """Coverage gained on the half that it was chosen on: it flatters."""
        return _difference(self.before.search, self.after.search)

    @property
    def held_out_gain(self) -> float:
        """Coverage gained on prompts that had no part in the choice."""
        return _difference(self.before.report, self.after.report)

    @property
    def better_held_out(self) -> bool:
        """Whether held-out coverage is strictly greater than before: only then is it proposed."""
        return self.held_out_gain > 0

    @property
    def overfit_gap(self) -> float:
        """How much larger the gain looks where it was chosen than on the other prompts."""
        return self.search_gain - self.held_out_gain

    @property
    def report_fixes(self) -> int:
        """Prompts of the report half that became right."""
        return self.worth.fixes

    @property
    def report_regressions(self) -> int:
        """Prompts of the report half that became wrong."""
        return self.worth.regressions

    @property
    def p_value(self) -> float:
        """McNemar's exact p-value of regressions against fixes on the report half."""
        return self.worth.p_value

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the held-out gain in coverage, at 95 %."""
        found = self.worth.intervals["coverage"]
        # A split has both classes in both halves, so coverage is defined.
        return (float("nan"), float("nan")) if found is None else (found.low, found.high)

    @property
    def sentence(self) -> str:
        """What it does to the held-out prompts, in plain words."""
        return self.worth.describe(among=f"on {self.worth.compared} held-out prompts")


def halves_of(measured: Measured, row: int, topic: Topic) -> Halves:
    """Metrics of one of the measured topics."""
    belong, others, report_belong, report_others = measured.totals
    hits, false, report_hits, report_false = (int(count) for count in measured.matched[row])
    return Halves(
        metrics_of_counts(belong, others, hits, false, topic.intent),
        metrics_of_counts(report_belong, report_others, report_hits, report_false, topic.intent),
    )


def propose(
    scorer: TopicScorer,
    topic: Topic,
    before: tuple[NDArray[np.bool_], Halves],
    path: Sequence[Candidate],
    after: Halves,
    gain: float,
) -> Proposal:
    """The proposal of the last of a path of candidates; `before` are the matches and metrics."""
    final = path[-1].topic
    matches, metrics = before
    expected = scorer.prompts.expected
    now = scorer.matches(final)
    right_before, right_now = matches == expected, now == expected
    halves = scorer.split.search | scorer.split.report
    fixed = halves & right_now & ~right_before
    broken = halves & right_before & ~right_now
    report = scorer.split.report
    return Proposal(
        topic=final,
        kinds=tuple(step.kind for step in path),
        changes=tuple(step.change for step in path),
        before=metrics,
        after=after,
        gain=gain,
        fixes=np.flatnonzero(fixed),
        regressions=np.flatnonzero(broken),
        worth=worth_of_matches(expected[report], matches[report], now[report], topic.intent),
    )


def _difference(before: Metrics, after: Metrics) -> float:
    old, new = before.coverage, after.coverage
    # A split has both classes in both halves, so coverage is defined.
    return float("nan") if old is None or new is None else new - old
