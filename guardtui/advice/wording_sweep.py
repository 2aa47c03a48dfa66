"""Many wordings, measured by the guardrail itself and chosen on two thirds of the prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.edit_worth import metrics_of_matches, significance_of_matches
from guardtui.advice.objective import Gain, OwnPrompts
from guardtui.advice.smoothed_coverage import (
    Array,
    cautious_coverage,
    fitted_cuts,
    smoothing,
    soft_matches,
)
from guardtui.advice.splits import Split
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.significance import change_intervals, observed_changes
from guardtui.domain.topic import Intent, Topic

CHOSEN_ON = 2 / 3
"""Share of the prompts that wordings are chosen on; the rest only reports."""

FINALISTS = 3
"""Maximum number of reported wordings: more of them widen all bounds."""

ERROR = 0.1
"""Chance that any of the finalists has a lower bound above its true gain."""

_DECIMALS = range(2, 10)

_SMALLEST = 0.0005
"""Smallest distance of a probability to 0 and 1, since rounded ones may equal them."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A definition to try, with its change in words and its origin.

    `sources` are the prompts with words of the wording; they are not counted for it.
    """

    topic: Topic
    change: str
    origin: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class MeasuredWording:
    """A wording, measured on the prompts that wordings are chosen on.

    `value` is its cautious coverage on these, at a `threshold` fitted on them. `report` is the
    comparison of a finalist on the other prompts.
    """

    wording: Wording
    value: float
    threshold: float
    metrics: Metrics
    report: HeldOutResult | None = None

    @property
    def is_advised(self) -> bool:
        """Whether it is significantly better on held-out prompts."""
        return self.report is not None and self.report.gain.is_certain


@dataclass(frozen=True, eq=False)
class HeldOutResult:
    """A wording compared with the current one on held-out prompts.

    Both use the thresholds fitted on the other prompts. `fixes` and `regressions` are rows.
    """

    before: Metrics
    after: Metrics
    gain: Gain
    fixes: NDArray[np.intp]
    regressions: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class WordingSweep:
    """Result of a sweep: the `current` wording, and the others, best first.

    `settings` are those of the guardrail. Prompts with one of the `missing` answers are not counted
    for a wording.
    """

    settings: ScannerSettings
    split: Split
    current: MeasuredWording
    wordings: tuple[MeasuredWording, ...]
    missing: int

    @property
    def advised(self) -> tuple[MeasuredWording, ...]:
        """Wordings that are significantly better, the greatest lower bound first."""
        advised = [wording for wording in self.wordings if wording.is_advised]
        return tuple(sorted(advised, key=lambda wording: -_low(wording)))

    @property
    def best(self) -> MeasuredWording | None:
        """The best of these, or None."""
        return next(iter(self.advised), None)


def _low(measured: MeasuredWording) -> float:
    return -np.inf if measured.report is None else measured.report.gain.low


def sweep_wordings(
    wordings: Sequence[Wording],
    probabilities: NDArray[np.float32],
    prompts: PromptSet,
    split: Split,
    settings: ScannerSettings,
) -> WordingSweep:
    """Choose among wordings, the first of which is the current one.

    `probabilities` are float32 [wordings, prompts], NaN without an answer. The threshold of each
    wording is fitted to the prompts that wordings are chosen on, and by them finalists are chosen:
    the best, and at most two more within a standard error of it (the rule of L. Breiman et al.,
    Classification and Regression Trees, 1984, section 3.4.3). These are compared with the current
    wording on the held-out prompts, so that the number of tried wordings does not matter (data
    splitting: D. R. Cox, A note on data-splitting for the evaluation of significance levels,
    Biometrika 62, 1975). Where there are several finalists, the lower bound of each is at the level
    `ERROR` divided by their number (Bonferroni: O. J. Dunn, Multiple comparisons among means, JASA
    56, 1961): the chance that any bound is above its true gain is at most `ERROR`.
    """
    expected = prompts.expected
    own = OwnPrompts(prompts, np.arange(len(prompts)))
    counted = own.counted([_candidate(wording) for wording in wordings])
    counted &= ~np.isnan(probabilities)
    z = _logits(probabilities)
    values, cuts = _chosen(z, counted, expected, split.search)
    finalists = _finalists(values, expected[split.search])
    intent = wordings[0].topic.intent
    thresholds = [
        _threshold(float(cut), row[split.search])
        for cut, row in zip(cuts, probabilities, strict=True)
    ]
    matches = probabilities >= np.array(thresholds, np.float32)[:, None]

    def metrics(row: int) -> Metrics:
        rows = counted[row] & split.search
        return metrics_of_matches(expected[rows], matches[row][rows], intent)

    def report(row: int) -> HeldOutResult:
        rows = np.flatnonzero(counted[0] & counted[row] & split.report)
        belongs, was, now = expected[rows], matches[0][rows], matches[row][rows]
        right, wrong = (now == belongs) & (was != belongs), (now != belongs) & (was == belongs)
        return HeldOutResult(
            metrics_of_matches(belongs, was, intent),
            metrics_of_matches(belongs, now, intent),
            _gain(belongs, was, now, intent, len(finalists)),
            rows[right],
            rows[wrong],
        )

    measured = [
        MeasuredWording(
            wording,
            float(values[row]),
            thresholds[row],
            metrics(row),
            report(row) if row in finalists else None,
        )
        for row, wording in enumerate(wordings)
    ]
    order = sorted(measured[1:], key=lambda wording: (wording.report is None, -wording.value))
    missing = int(np.count_nonzero(np.isnan(probabilities)))
    return WordingSweep(settings, split, measured[0], tuple(order), missing)


def _candidate(wording: Wording) -> Candidate:
    return Candidate(wording.topic, CandidateKind.COMPLETE, wording.change, wording.sources)


def _logits(probabilities: NDArray[np.float32]) -> Array:
    """Return logits of probabilities, on which steps are smoothed; 0 without a probability."""
    bounded = np.clip(np.nan_to_num(probabilities.astype(np.float64), nan=0.5), 0.0, 1.0)
    bounded = np.clip(bounded, _SMALLEST, 1 - _SMALLEST)
    logits: Array = np.log(bounded / (1 - bounded))
    return logits


def _chosen(
    z: Array, counted: NDArray[np.bool_], expected: NDArray[np.bool_], search: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return cautious coverage and cut of each wording on the prompts to choose on, [w] each."""
    rows = np.flatnonzero(search)
    belongs, weights = expected[rows], counted[:, rows].astype(np.float64)
    ours, theirs = weights * belongs, weights * ~belongs
    chosen_on = z[:, rows]
    # Prompts without an answer have weight 0.
    cuts = fitted_cuts(chosen_on, ours, theirs)
    width = smoothing(min(int(belongs.sum()), int((~belongs).sum())))
    return cautious_coverage(soft_matches(chosen_on, cuts, width), ours, theirs), cuts


def _finalists(values: Array, belongs: NDArray[np.bool_]) -> list[int]:
    """Return the rows of the best wording and of those within a standard error of it.

    Only wordings better than the current one count; the list may be empty.
    """
    order = np.argsort(-values, kind="stable").tolist()
    best = min(max(float(values[order[0]]), 0.0), 1.0)
    smaller = max(1, min(int(belongs.sum()), int((~belongs).sum())))
    least = best - float(np.sqrt(best * (1 - best) / smaller))
    better = [row for row in order if row and values[row] > values[0] and values[row] >= least]
    return better[:FINALISTS]


def _gain(
    belongs: NDArray[np.bool_],
    was: NDArray[np.bool_],
    now: NDArray[np.bool_],
    intent: Intent,
    finalists: int,
) -> Gain:
    """Return the change of coverage, with an interval that holds for all finalists at once."""
    pairs = significance_of_matches(belongs, was, now, intent).pairs
    confidence = 1 - 2 * ERROR / finalists
    interval = change_intervals(pairs, confidence)["coverage"]
    change = observed_changes(pairs)["coverage"]
    if interval is None or change is None:
        return Gain(0.0, -1.0, 1.0)
    return Gain(change, interval.low, interval.high)


def _threshold(cut: float, probabilities: NDArray[np.float32]) -> float:
    """Return the probability of a cut, with the fewest decimals for the same verdicts."""
    exact = float(1 / (1 + np.exp(-cut)))
    matches = probabilities >= np.float32(exact)
    for decimals in _DECIMALS:
        written = round(exact, decimals)
        if 0 < written < 1 and np.array_equal(probabilities >= np.float32(written), matches):
            return written
    return exact
