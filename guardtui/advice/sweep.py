"""Every threshold that differs in effect, what each gives, and the best one held against chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from guardtui.domain.late import late
from guardtui.domain.metrics import Metrics
from guardtui.domain.statistics import Interval, coverage_interval
from guardtui.domain.topic import Intent
from guardtui.scanners.local.calibration import FOLDS_AT_MOST, LABELS_AT_LEAST

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

_DECIMALS = range(3, 10)


@dataclass(frozen=True, eq=False)
class Sweep:
    """Counts at every threshold; made by `sweep`.

    `cuts` are float32 [K + 1], ascending: every distinct score, and at the end the next number
    above the largest, from which on no prompt matches. At cut k the prompts with score ≥ cuts[k]
    match; all thresholds above cuts[k − 1] and up to cuts[k] give the same verdicts. `belonging`
    and `others` are int64 [K + 1]: how many prompts that belong to the topic match, and how many
    that do not. `scores` float32 [N] and `should_trigger` bool [N] are what it was made from,
    `unscored` the prompts without a score, which count nowhere.
    """

    cuts: NDArray[np.float32]
    belonging: NDArray[np.int64]
    others: NDArray[np.int64]
    intent: Intent
    scores: NDArray[np.float32]
    should_trigger: NDArray[np.bool_]
    unscored: int

    def __len__(self) -> int:
        return len(self.cuts)

    # --- counts and rates at every cut ----------------------------------------------------

    @property
    def positives(self) -> int:
        """Prompts that should trigger."""
        return int(self.belonging[0] if self.intent is Intent.BLOCK else self.others[0])

    @property
    def negatives(self) -> int:
        """Prompts that should not trigger."""
        return len(self.scores) - self.positives

    @cached_property
    def tp(self) -> NDArray[np.int64]:
        """Prompts that trigger and should, int64 [K + 1]."""
        counts: NDArray[np.int64] = self.belonging
        if self.intent is Intent.ALLOW:
            counts = self.others[0] - self.others
        return counts

    @cached_property
    def fp(self) -> NDArray[np.int64]:
        """Prompts that trigger and should not, int64 [K + 1]."""
        counts: NDArray[np.int64] = self.others
        if self.intent is Intent.ALLOW:
            counts = self.belonging[0] - self.belonging
        return counts

    @cached_property
    def true_positive_rate(self) -> NDArray[np.float64]:
        """TP / (TP + FN), float64 [K + 1]; NaN without prompts that should trigger."""
        return _ratio(self.tp, self.positives)

    @cached_property
    def true_negative_rate(self) -> NDArray[np.float64]:
        """TN / (TN + FP), float64 [K + 1]; NaN without prompts that should not trigger."""
        return _ratio(self.negatives - self.fp, self.negatives)

    @cached_property
    def coverage(self) -> NDArray[np.float64]:
        """min(TPR, TNR), float64 [K + 1]; NaN where either is."""
        return np.minimum(self.true_positive_rate, self.true_negative_rate)

    @cached_property
    def accuracy(self) -> NDArray[np.float64]:
        """(TP + TN) / total, float64 [K + 1]."""
        return _ratio(self.tp + self.negatives - self.fp, len(self.scores))

    @cached_property
    def precision(self) -> NDArray[np.float64]:
        """TP / (TP + FP), float64 [K + 1]; NaN where nothing triggers."""
        return _ratio(self.tp, self.tp + self.fp)

    @cached_property
    def f1(self) -> NDArray[np.float64]:
        """2·TP / (2·TP + FP + FN), float64 [K + 1]; NaN where precision or TPR is."""
        both = _ratio(2 * self.tp, self.tp + self.fp + self.positives)
        if not self.positives:
            return np.full(len(self), np.nan)
        both[self.tp + self.fp == 0] = np.nan
        return both

    def metrics(self, place: int) -> Metrics:
        """Counts and rates at one cut; prompts without a score are its errors."""
        tp, fp = int(self.tp[place]), int(self.fp[place])
        return Metrics(tp, self.negatives - fp, fp, self.positives - tp, self.unscored)

    # --- thresholds -----------------------------------------------------------------------

    def place(self, threshold: float) -> int:
        """The cut whose verdicts a threshold gives, as a scan has them (compared as float32)."""
        found = int(np.searchsorted(self.cuts, np.float32(threshold)))
        return min(found, len(self.cuts) - 1)

    def setting(self, place: int) -> float:
        """A threshold to set for a cut: in the middle of those with the same verdicts.

        With as few decimals as that allows, at least three, so that what is shown of it can be
        typed. Between 0 and 1, unless scores are 0 or 1 themselves.
        """
        return _between(self._below(place), self._top(place))

    def _below(self, place: int) -> np.float32:
        return self.cuts[place - 1] if place else np.float32(0)

    def _top(self, place: int) -> np.float32:
        """The largest threshold with the verdicts of a cut: of the last one all up to 1."""
        last = place == len(self.cuts) - 1
        return max(self.cuts[place], np.float32(1)) if last else self.cuts[place]

    # --- areas ----------------------------------------------------------------------------

    @cached_property
    def roc_area(self) -> float | None:
        """Area under the ROC curve (TPR over 1 − TNR, trapezoids); None when a class is missing.

        The chance that a prompt that should trigger scores beyond one that should not, ties
        counting a half (Hanley and McNeil 1982).
        """
        if not self.positives or not self.negatives:
            return None
        tp, fp = self._outward
        twice = int(np.dot(np.diff(fp), tp[1:] + tp[:-1]))
        return twice / (2 * self.positives * self.negatives)

    @cached_property
    def average_precision(self) -> float | None:
        """Area under the precision-recall curve as Σ (Rₙ − Rₙ₋₁)·Pₙ; None without positives.

        Steps, not trapezoids, which would flatter (Davis and Goadrich 2006).
        """
        if not self.positives:
            return None
        tp, fp = self._outward
        gained, tp, fp = np.diff(tp), tp[1:], fp[1:]
        return float(np.dot(gained, tp / (tp + fp)) / self.positives)

    @property
    def _outward(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """TP and FP from where nothing triggers to where everything does."""
        step = -1 if self.intent is Intent.BLOCK else 1
        return self.tp[::step], self.fp[::step]

    # --- the best threshold ---------------------------------------------------------------

    def best(self, *, min_tpr: float = 0.0, min_tnr: float = 0.0) -> int | None:
        """The cut with the largest coverage among those with TPR and TNR at their floors or above.

        Of equal coverage the larger TPR + TNR wins, then the lowest threshold. None when no cut
        meets the floors, or a class is missing.
        """
        found, met = self._choose(self.tp, self.fp, min_tpr, min_tnr)
        return found if met else None

    def nearest(self, *, min_tpr: float, min_tnr: float) -> int:
        """The best cut, or where no cut meets the floors the one that misses them by the least."""
        return self._choose(self.tp, self.fp, min_tpr, min_tnr)[0]

    def _choose(
        self, tp: NDArray[np.int64], fp: NDArray[np.int64], min_tpr: float, min_tnr: float
    ) -> tuple[int, bool]:
        """A cut by counts [K + 1] of some of the prompts, and whether it meets the floors."""
        positives, negatives = int(tp.max()), int(fp.max())
        if not positives or not negatives:
            return 0, False
        tpr, tnr = tp / positives, (negatives - fp) / negatives
        meets = (tpr >= min_tpr) & (tnr >= min_tnr)
        met = bool(meets.any())
        if met:
            worth = np.where(meets, np.minimum(tpr, tnr), -1.0)
        else:
            worth = np.minimum(tpr - min_tpr, tnr - min_tnr)
        equal = np.flatnonzero(worth == worth.max())
        # The sum of both rates as a whole number: exact, so that ties are ties.
        total = tp[equal] * negatives - fp[equal] * positives
        return int(equal[int(total.argmax())]), met

    def cross_validated(
        self, *, min_tpr: float = 0.0, min_tnr: float = 0.0, seed: int = 0
    ) -> CrossValidated | None:
        """What `best` reaches on prompts that had no part in choosing it.

        Stratified folds drawn with `seed`, at most 10 and no more than the smaller class has
        prompts; each fold's prompts are judged by the threshold that is best for all others, and
        the verdicts are pooled. A fold in which the others cannot meet the floors takes the
        threshold that misses them by the least, and is counted. None when a class has fewer than
        three prompts.
        """
        if min(self.positives, self.negatives) < LABELS_AT_LEAST:
            return None
        count = min(FOLDS_AT_MOST, self.positives, self.negatives)
        fold = stratified_folds(self.should_trigger, count, seed)
        # Places in one class and fold, sorted: their histogram is what a fold takes away.
        places = np.searchsorted(self.cuts, self.scores)
        group = fold * 2 + self.should_trigger
        order = np.argsort(group, kind="stable")
        bounds = np.searchsorted(group[order], np.arange(2 * count + 1))
        tp = fp = unmet = 0
        thresholds = []
        for number in range(count):
            start, middle, stop = bounds[2 * number : 2 * number + 3]
            without_fp = self.fp - self._triggering(places[order[start:middle]])
            without_tp = self.tp - self._triggering(places[order[middle:stop]])
            place, met = self._choose(without_tp, without_fp, min_tpr, min_tnr)
            threshold = self._setting_of_others(place, without_tp, without_fp)
            unmet += not met
            thresholds.append(threshold)
            matches = self.scores[order[start:stop]] >= np.float32(threshold)
            triggered = matches if self.intent is Intent.BLOCK else ~matches
            fp += int(np.count_nonzero(triggered[: middle - start]))
            tp += int(np.count_nonzero(triggered[middle - start :]))
        pooled = Metrics(tp, self.negatives - fp, fp, self.positives - tp)
        return CrossValidated(pooled, tuple(thresholds), unmet)

    def _triggering(self, places: NDArray[np.intp]) -> NDArray[np.int64]:
        """How many prompts whose scores are at these cuts trigger at each cut, int64 [K + 1]."""
        counts = np.bincount(places, minlength=len(self.cuts))
        below = np.cumsum(counts) - counts
        return below if self.intent is Intent.ALLOW else len(places) - below

    def _setting_of_others(self, place: int, tp: NDArray[np.int64], fp: NDArray[np.int64]) -> float:
        """As `setting`, where only some of the prompts count: cuts of others are no limit."""
        triggering = tp + fp
        if self.intent is Intent.BLOCK:
            triggering = -triggering
        first = int(np.searchsorted(triggering, triggering[place]))
        last = int(np.searchsorted(triggering, triggering[place], side="right")) - 1
        return _between(self._below(first), self._top(last))


@dataclass(frozen=True, slots=True)
class CrossValidated:
    """Verdicts pooled over folds, the threshold of each fold, and folds that missed the floors."""

    metrics: Metrics
    thresholds: tuple[float, ...]
    unmet: int


@dataclass(frozen=True, slots=True)
class Best:
    """The best threshold: as it looks in sample, and on prompts that did not choose it.

    `place` is its cut and `threshold` what to set. In-sample figures flatter; `cross_validated` is
    None when a class has fewer than three prompts.
    """

    place: int
    threshold: float
    metrics: Metrics
    cross_validated: CrossValidated | None

    @property
    def interval(self) -> Interval | None:
        """95 % interval of the coverage in sample, as `coverage_interval`."""
        return coverage_interval(self.metrics)

    @property
    def cross_validated_interval(self) -> Interval | None:
        """95 % interval of the cross-validated coverage."""
        return coverage_interval(self.cross_validated.metrics) if self.cross_validated else None

    @property
    def optimism(self) -> float | None:
        """Coverage in sample minus cross-validated coverage."""
        if self.cross_validated is None:
            return None
        seen, unseen = self.metrics.coverage, self.cross_validated.metrics.coverage
        return None if seen is None or unseen is None else seen - unseen


def sweep(
    scores: NDArray[np.float32],
    should_trigger: NDArray[np.bool_],
    intent: Intent = Intent.BLOCK,
) -> Sweep:
    """Every distinct score as a threshold, from scores float32 [N] and duties bool [N].

    A prompt triggers when its score reaches the threshold (block), or does not (allow). Rows whose
    score is NaN are left out and counted. Raises ValueError when lengths differ, no row has a
    score, or a score is not from 0 to 1.
    """
    if len(scores) != len(should_trigger):
        raise ValueError(f"{len(scores)} scores but {len(should_trigger)} labels")
    scores = np.asarray(scores, np.float32) + np.float32(0)  # no negative zeros
    should_trigger = np.asarray(should_trigger, bool)
    known = ~np.isnan(scores)
    unscored = len(scores) - int(np.count_nonzero(known))
    if unscored:
        scores, should_trigger = scores[known], should_trigger[known]
    if not len(scores):
        raise ValueError("no prompt has a score")
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError("a score is not a number from 0 to 1")
    belongs = should_trigger if intent is Intent.BLOCK else ~should_trigger
    # The bits of numbers from 0 on order as the numbers do: one sort of whole numbers that carry
    # their label is several times faster than one of places.
    packed = np.left_shift(scores.view(np.uint32), np.uint32(1))  # the sign's bit is free
    packed |= belongs
    packed.sort()
    labels = (packed & np.uint32(1)).astype(bool)
    packed >>= np.uint32(1)
    ordered = packed.view(np.float32)
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    reached = np.concatenate(([0], np.cumsum(labels, dtype=np.int64)))  # belonging below each row
    first = np.append(first, len(ordered))
    belonging = reached[-1] - reached[first]
    beyond = np.nextafter(ordered[-1], np.float32(np.inf))
    return Sweep(
        cuts=np.append(ordered[first[:-1]], beyond).astype(np.float32),
        belonging=belonging,
        others=len(ordered) - first - belonging,
        intent=intent,
        scores=scores,
        should_trigger=should_trigger,
        unscored=unscored,
    )


def best_threshold(
    found: Sweep, *, min_tpr: float = 0.0, min_tnr: float = 0.0, seed: int = 0
) -> Best | None:
    """The best threshold with these floors, in sample and cross-validated; None as `Sweep.best`."""
    place = found.best(min_tpr=min_tpr, min_tnr=min_tnr)
    if place is None:
        return None
    validated = found.cross_validated(min_tpr=min_tpr, min_tnr=min_tnr, seed=seed)
    return Best(place, found.setting(place), found.metrics(place), validated)


def stratified_folds(label: NDArray[np.bool_], count: int, seed: int = 0) -> NDArray[np.intp]:
    """A fold from 0 to count − 1 for each row, intp [N]; each class spread evenly, by `seed`."""
    random = np.random.default_rng(seed)
    fold = np.empty(len(label), np.intp)
    for members in (np.flatnonzero(label), np.flatnonzero(~label)):
        fold[random.permutation(members)] = np.arange(len(members)) % count
    return fold


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64] | int) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        rate: NDArray[np.float64] = np.true_divide(part, whole)
    return rate


def _between(low: np.float32, high: np.float32) -> float:
    """A number above `low` and up to `high`, both as float32, near the middle and short."""
    middle = (float(low) + float(high)) / 2
    for decimals in _DECIMALS:
        short = round(middle, decimals)
        if low < np.float32(short) <= high and short < 1:
            return short
    return float(str(high))  # no number between them, or 1 itself
