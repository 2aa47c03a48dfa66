"""What an edit brought: chosen on one half of the prompts, told for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guardtui.advice.candidates import Candidate, Kind
from guardtui.advice.measuring import Measured, TopicScorer, metrics_of_counts
from guardtui.domain.comparison import SIGNIFICANT
from guardtui.domain.late import late
from guardtui.domain.metrics import Metrics
from guardtui.domain.statistics import CONFIDENCE, mcnemar_p_value
from guardtui.domain.topic import Topic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

_DRAWS = 4000


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
    of both halves; `report_fixes` and `report_regressions` count those of the report half.
    `interval` is one of the held-out gain in coverage, at 95 %.
    """

    topic: Topic
    kinds: tuple[Kind, ...]
    changes: tuple[str, ...]
    before: Halves
    after: Halves
    gain: float
    fixes: NDArray[np.intp]
    regressions: NDArray[np.intp]
    report_fixes: int
    report_regressions: int
    interval: tuple[float, float]

    @property
    def search_gain(self) -> float:
        """Coverage gained on the half that it was chosen on: it flatters."""
        return _difference(self.before.search, self.after.search)

    @property
    def held_out_gain(self) -> float:
        """Coverage gained on prompts that had no part in the choice."""
        return _difference(self.before.report, self.after.report)

    @property
    def overfit_gap(self) -> float:
        """How much larger the gain looks where it was chosen than on the other prompts."""
        return self.search_gain - self.held_out_gain

    @property
    def p_value(self) -> float:
        """McNemar's exact p-value of regressions against fixes on the report half."""
        return mcnemar_p_value(self.report_regressions, self.report_fixes)

    @property
    def sentence(self) -> str:
        """What it does to the held-out prompts, in plain words."""
        if not self.report_fixes and not self.report_regressions:
            return "changes no held-out verdict for the better or the worse"
        counts = f"{self.report_fixes} fixed, {self.report_regressions} broken of the held-out"
        if self.p_value >= SIGNIFICANT:
            return f"{counts}: could well be chance (p = {self.p_value:.2f})"
        return f"{counts}: unlikely to be chance (p = {self.p_value:.2g})"


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
        report_fixes=int(np.count_nonzero(fixed & report)),
        report_regressions=int(np.count_nonzero(broken & report)),
        interval=gain_interval(right_before[report], right_now[report], expected[report]),
    )


def gain_interval(
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    label: NDArray[np.bool_],
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """Interval of the change in coverage, the smaller of two rates; all columns are bool [n].

    Paired bootstrap, stratified by label (Efron and Tibshirani 1993, percentile interval): the
    four outcomes of a prompt before and after are drawn together, so that the rate which is the
    smaller one may change from draw to draw. The draws are always the same ones. Each outcome
    counts half a prompt more, so that a class that never changed does not look certain. Where both
    rates are near each other the smaller one is biased down, and the interval holds the truth in
    about 90 % of the samples only.
    """
    random = np.random.default_rng(0)
    rates = []
    for belongs in (True, False):
        rows = label == belongs
        code = 2 * before[rows] + after[rows]
        total = len(code)
        if not total:
            return (float("nan"), float("nan"))
        cells = np.bincount(code, minlength=4) + 0.5
        drawn = random.multinomial(total, cells / cells.sum(), size=_DRAWS) / total
        rates.append((drawn[:, 2] + drawn[:, 3], drawn[:, 1] + drawn[:, 3]))
    (positive_before, positive_after), (negative_before, negative_after) = rates
    change = np.minimum(positive_after, negative_after)
    change -= np.minimum(positive_before, negative_before)
    tail = (1 - confidence) / 2
    low, high = np.quantile(change, [tail, 1 - tail])
    return float(low), float(high)


def _difference(before: Metrics, after: Metrics) -> float:
    old, new = before.coverage, after.coverage
    # A split has both classes in both halves, so coverage is defined.
    return float("nan") if old is None or new is None else new - old
