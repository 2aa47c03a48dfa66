"""A decision model as the objective: wordings chosen on two thirds of the prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, same
from guardtui.advice.edit_worth import significance_of_matches
from guardtui.advice.objective import Appraisal, Gain, OwnPrompts, Rows, Stopped
from guardtui.advice.proposals import Proposal, current_metrics, propose
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
from guardtui.domain.topic import Topic

CHOSEN_ON = 2 / 3
"""Share of the prompts that wordings are chosen on; the rest only reports."""

FINALISTS = 3
"""Maximum number of reported wordings: more of them widen all bounds."""

ERROR = 0.1
"""Chance that any of the finalists has a lower bound above its true gain."""

_DECIMALS = range(2, 10)

_SMALLEST = 0.0005
"""Smallest distance of a probability to 0 and 1, since rounded ones may equal them."""


class ModelObjective:
    """Measures wordings by the answers of a decision model, which are known beforehand.

    The first wording is the current one. `probabilities` are float32 [wordings, prompts], NaN
    without an answer. The threshold of each wording is fitted to the prompts that wordings are
    chosen on, and by them finalists are chosen: the best, and at most two more within a standard
    error of it (the rule of L. Breiman et al., Classification and Regression Trees, 1984, section
    3.4.3). Their gain is that on the held-out prompts, so that the number of tried wordings does
    not matter (data splitting: D. R. Cox, A note on data-splitting for the evaluation of
    significance levels, Biometrika 62, 1975). Where there are several finalists, the lower bound of
    each is at the level `ERROR` divided by their number (Bonferroni: O. J. Dunn, Multiple
    comparisons among means, JASA 56, 1961): the chance that any bound is above its true gain is at
    most `ERROR`.
    """

    def __init__(
        self,
        wordings: Sequence[Candidate],
        probabilities: NDArray[np.float32],
        prompts: PromptSet,
        split: Split,
        settings: ScannerSettings,
    ) -> None:
        self.prompts, self.rows, self._settings = prompts, split.search_rows, settings
        self._split, self._intent = split, wordings[0].topic.intent
        self._indexes = {same(wording.topic): row for row, wording in enumerate(wordings)}
        self._counted = OwnPrompts(prompts, np.arange(len(prompts))).counted(wordings)
        self._counted &= ~np.isnan(probabilities)
        self._belongs = prompts.expected[self.rows]
        weights = self._counted[:, self.rows].astype(np.float64)
        ours, theirs = weights * self._belongs, weights * ~self._belongs
        self._z = _logits(probabilities[:, self.rows])
        # Prompts without an answer have weight 0.
        self._cuts = fitted_cuts(self._z, ours, theirs)
        smaller = min(int(self._belongs.sum()), int((~self._belongs).sum()))
        self._soft = soft_matches(self._z, self._cuts, smoothing(smaller))
        self._values = cautious_coverage(self._soft, ours, theirs)
        self._thresholds = [
            _threshold(float(cut), row[self.rows])
            for cut, row in zip(self._cuts, probabilities, strict=True)
        ]
        self._matches = probabilities >= np.array(self._thresholds, np.float32)[:, None]
        self.finalists = _finalists(self._values, max(1, smaller))
        """Rows of the wordings that are compared on the held-out prompts, best first."""

    @property
    def settings(self) -> ScannerSettings:
        """Settings of the decision model."""
        return self._settings

    def values(self, candidates: Sequence[Candidate], stopped: Stopped = lambda: False) -> Array:
        """Return a cautious coverage of each wording on the prompts to choose on, [c]."""
        values: Array = self._values[[self._row(candidate.topic) for candidate in candidates]]
        return values

    def appraise(self, candidate: Candidate, stopped: Stopped = lambda: False) -> Appraisal:
        """Return the appraisal of one wording."""
        row = self._row(candidate.topic)
        counted, matches = self._counted[row], self._matches[row]
        return Appraisal(
            self._soft[row],
            matches[self.rows],
            counted[self.rows],
            self._z[row],
            float(self._cuts[row]),
            threshold=self._thresholds[row],
            verdicts=np.where(counted, matches, -1).astype(np.int8),
        )

    def gain(self, before: Appraisal, after: Appraisal) -> Gain:
        """Return the change of coverage on the held-out prompts.

        Its interval holds for all finalists at once.
        """
        rows = self.held_out(before, after)
        belongs = self.prompts.expected[rows]
        was, now = _matching(before, rows), _matching(after, rows)
        pairs = significance_of_matches(belongs, was, now, self._intent).pairs
        confidence = 1 - 2 * ERROR / len(self.finalists)
        interval = change_intervals(pairs, confidence)["coverage"]
        change = observed_changes(pairs)["coverage"]
        if interval is None or change is None:
            return Gain(0.0, -1.0, 1.0, likely=False)
        return Gain(change, interval.low, interval.high, likely=interval.low > 0)

    def judge(self, topic: Topic, appraisal: Appraisal, rows: Rows) -> NDArray[np.bool_]:
        """Return whether prompts of the set match the appraised wording, bool [n]."""
        return _matching(appraisal, rows)

    def held_out(self, before: Appraisal, after: Appraisal) -> Rows:
        """Return the held-out rows that count for two wordings."""
        counted = (_verdicts(before) >= 0) & (_verdicts(after) >= 0)
        return np.flatnonzero(counted & self._split.report)

    def _row(self, topic: Topic) -> int:
        return self._indexes[same(topic)]


@dataclass(frozen=True, eq=False)
class MeasuredWording:
    """A wording, measured on the prompts that wordings are chosen on.

    `value` is its cautious coverage on these, at a `threshold` fitted on them. `proposal` compares
    a finalist with the current wording on the other prompts.
    """

    wording: Candidate
    value: float
    threshold: float
    metrics: Metrics
    proposal: Proposal | None = None


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
    def finalists(self) -> tuple[Proposal, ...]:
        """The wordings compared on the held-out prompts, the greatest lower bound first."""
        known = [wording.proposal for wording in self.wordings if wording.proposal is not None]
        return tuple(sorted(known, key=lambda proposal: -proposal.gain.low))

    @property
    def advised(self) -> tuple[Proposal, ...]:
        """Those that are significantly better."""
        return tuple(proposal for proposal in self.finalists if proposal.is_advised)

    @property
    def best(self) -> Proposal | None:
        """The best of these, or None."""
        return next(iter(self.advised), None)


def sweep_wordings(
    wordings: Sequence[Candidate],
    probabilities: NDArray[np.float32],
    prompts: PromptSet,
    split: Split,
    settings: ScannerSettings,
) -> WordingSweep:
    """Choose among different wordings, the first of which is the current one.

    `probabilities` are float32 [wordings, prompts], NaN without an answer. The method is that of
    `ModelObjective`.
    """
    objective = ModelObjective(wordings, probabilities, prompts, split, settings)
    before = objective.appraise(wordings[0])
    measured = []
    for row, (wording, value) in enumerate(zip(wordings, objective.values(wordings), strict=True)):
        after, proposal = objective.appraise(wording), None
        if row in objective.finalists:
            current = wordings[0].topic, before
            gain, held_out = objective.gain(before, after), objective.held_out(before, after)
            proposal = propose(objective, current, [wording], held_out, gain)
        threshold = after.threshold
        assert threshold is not None  # noqa: S101 - it is fitted
        metrics = current_metrics(objective, wording.topic, after)
        measured.append(MeasuredWording(wording, float(value), threshold, metrics, proposal))
    others = sorted(measured[1:], key=lambda known: (known.proposal is None, -known.value))
    missing = int(np.count_nonzero(np.isnan(probabilities)))
    return WordingSweep(settings, split, measured[0], tuple(others), missing)


def _verdicts(appraisal: Appraisal) -> NDArray[np.int8]:
    assert appraisal.verdicts is not None  # noqa: S101 - it is one of a model
    return appraisal.verdicts


def _matching(appraisal: Appraisal, rows: Rows) -> NDArray[np.bool_]:
    matching: NDArray[np.bool_] = _verdicts(appraisal)[rows] == 1
    return matching


def _logits(probabilities: NDArray[np.float32]) -> Array:
    """Return logits of probabilities, on which steps are smoothed; 0 without a probability."""
    bounded = np.clip(np.nan_to_num(probabilities.astype(np.float64), nan=0.5), 0.0, 1.0)
    bounded = np.clip(bounded, _SMALLEST, 1 - _SMALLEST)
    logits: Array = np.log(bounded / (1 - bounded))
    return logits


def _finalists(values: Array, smaller: int) -> list[int]:
    """Return the rows of the best wording and of those within a standard error of it.

    `smaller` is the number of prompts of the smaller class. Only wordings better than the current
    one count; the list may be empty.
    """
    order = np.argsort(-values, kind="stable").tolist()
    best = min(max(float(values[order[0]]), 0.0), 1.0)
    least = best - float(np.sqrt(best * (1 - best) / smaller))
    better = [row for row in order if row and values[row] > values[0] and values[row] >= least]
    return better[:FINALISTS]


def _threshold(cut: float, probabilities: NDArray[np.float32]) -> float:
    """Return the probability of a cut, with the fewest decimals for the same verdicts."""
    exact = float(1 / (1 + np.exp(-cut)))
    matches = probabilities >= np.float32(exact)
    for decimals in _DECIMALS:
        written = round(exact, decimals)
        if 0 < written < 1 and np.array_equal(probabilities >= np.float32(written), matches):
            return written
    return exact
