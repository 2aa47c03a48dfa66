"""Threshold sweep: counts and rates at every distinct threshold, and the best one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.metrics import Metrics
from guardtui.domain.statistics import Interval, coverage_interval
from guardtui.domain.topic import Intent

LABELS_AT_LEAST = 3
"""Minimum number of labels of each class for a fit that somebody asks for."""

_DECIMALS = range(2, 10)

_ROUNDING = 1e-9  # tolerance for rates that are equal as fractions


@dataclass(frozen=True, eq=False)
class Sweep:
    """Counts at every threshold; made by `sweep`.

    `cuts` are float32 [K + 1], ascending: every distinct score, then the next number above the
    largest, which no prompt reaches. At cut k the prompts with score ≥ cuts[k] match. All
    thresholds above cuts[k − 1] and up to cuts[k] give the same verdicts. `belonging` and `others`
    are int64 [K + 1]: the matching prompts that belong to the topic, and those that do not.
    `scores` float32 [N], `should_trigger` bool [N] and `keys` uint64 [N] are the input; `unscored`
    counts the prompts without a score, which are ignored.
    """

    cuts: NDArray[np.float32]
    belonging: NDArray[np.int64]
    others: NDArray[np.int64]
    intent: Intent
    scores: NDArray[np.float32]
    should_trigger: NDArray[np.bool_]
    keys: NDArray[np.uint64]
    unscored: int

    def __len__(self) -> int:
        return len(self.cuts)

    # --- counts and rates at every cut ----------------------------------------------------

    @property
    def positives(self) -> int:
        """Number of prompts that should trigger."""
        return int(self.belonging[0] if self.intent is Intent.BLOCK else self.others[0])

    @property
    def negatives(self) -> int:
        """Number of prompts that should not trigger."""
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
        """min(TPR, TNR), float64 [K + 1]; NaN if either is."""
        return np.minimum(self.true_positive_rate, self.true_negative_rate)

    @cached_property
    def accuracy(self) -> NDArray[np.float64]:
        """(TP + TN) / total, float64 [K + 1]."""
        return _ratio(self.tp + self.negatives - self.fp, len(self.scores))

    @cached_property
    def precision(self) -> NDArray[np.float64]:
        """TP / (TP + FP), float64 [K + 1]; NaN if nothing triggers."""
        return _ratio(self.tp, self.tp + self.fp)

    @cached_property
    def f1(self) -> NDArray[np.float64]:
        """2·TP / (2·TP + FP + FN), float64 [K + 1]; NaN if precision or TPR is."""
        both = _ratio(2 * self.tp, self.tp + self.fp + self.positives)
        if not self.positives:
            return np.full(len(self), np.nan)
        both[self.tp + self.fp == 0] = np.nan
        return both

    def metrics(self, cut: int) -> Metrics:
        """Return counts and rates at one cut; prompts without a score are its errors."""
        tp, fp = int(self.tp[cut]), int(self.fp[cut])
        return Metrics(tp, self.negatives - fp, fp, self.positives - tp, self.unscored)

    # --- thresholds -----------------------------------------------------------------------

    def index(self, threshold: float) -> int:
        """Return the cut whose verdicts a threshold gives, compared as float32 like in a scan."""
        index = int(np.searchsorted(self.cuts, np.float32(threshold)))
        return min(index, len(self.cuts) - 1)

    def setting(self, cut: int) -> float:
        """Return a threshold for a cut: the middle of those with the same verdicts.

        It has as few decimals as possible, at least two, so that it can be typed as displayed. It
        lies between 0 and 1, unless scores are 0 or 1 themselves.
        """
        return _between(self._below(cut), self._top(cut))

    def _below(self, cut: int) -> np.float32:
        return self.cuts[cut - 1] if cut else np.float32(0)

    def _top(self, cut: int) -> np.float32:
        """Return the largest threshold with the verdicts of a cut; at least 1 for the last cut."""
        last = cut == len(self.cuts) - 1
        return max(self.cuts[cut], np.float32(1)) if last else self.cuts[cut]

    # --- areas ----------------------------------------------------------------------------

    @cached_property
    def roc_area(self) -> float | None:
        """Area under the ROC curve (TPR over 1 − TNR, trapezoids); None if a class is missing.

        This is the probability that a prompt that should trigger scores beyond one that should not;
        ties count half (Hanley and McNeil 1982).
        """
        if not self.positives or not self.negatives:
            return None
        tp, fp = self._outward
        twice = int(np.dot(np.diff(fp), tp[1:] + tp[:-1]))
        return twice / (2 * self.positives * self.negatives)

    @cached_property
    def average_precision(self) -> float | None:
        """Area under the precision-recall curve as Σ (Rₙ − Rₙ₋₁)·Pₙ; None without positives.

        Steps, not trapezoids, which would be optimistic (Davis and Goadrich 2006).
        """
        if not self.positives:
            return None
        tp, fp = self._outward
        gained, tp, fp = np.diff(tp), tp[1:], fp[1:]
        return float(np.dot(gained, tp / (tp + fp)) / self.positives)

    @property
    def _outward(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """TP and FP, from the cut where nothing triggers to the cut where everything does."""
        step = -1 if self.intent is Intent.BLOCK else 1
        return self.tp[::step], self.fp[::step]

    # --- the best threshold ---------------------------------------------------------------

    def best(
        self, *, min_tpr: float = 0.0, min_tnr: float = 0.0, slack: float = 0.0
    ) -> float | None:
        """Return the threshold with the largest coverage whose rates both reach their minimum.

        It is the middle of equally good thresholds. These are neighbours, because TPR and TNR are
        monotone along the thresholds, in opposite directions. `slack` is a share of a prompt of the
        smaller class: thresholds that miss the largest coverage by no more are equally good. None
        if no threshold reaches the minimums, or if a class is missing.
        """
        cuts = self._best_range(self.tp, self.fp, min_tpr, min_tnr, slack)
        return self._middle(cuts) if cuts.meets_floors else None

    def nearest(self, *, min_tpr: float, min_tnr: float) -> float:
        """As `best`; if no threshold reaches the minimums, the one that misses them least."""
        return self._middle(self._best_range(self.tp, self.fp, min_tpr, min_tnr))

    def _best_range(
        self,
        tp: NDArray[np.int64],
        fp: NDArray[np.int64],
        min_tpr: float,
        min_tnr: float,
        slack: float = 0.0,
    ) -> _CutRange:
        """Return the best range of cuts by counts [K + 1] of some of the prompts."""
        positives, negatives = int(tp.max()), int(fp.max())
        if not positives or not negatives:
            return _CutRange(0, 0, meets_floors=False)
        tpr, tnr = tp / positives, (negatives - fp) / negatives
        meets = (tpr >= min_tpr) & (tnr >= min_tnr)
        met = bool(meets.any())
        if met:
            worth = np.where(meets, np.minimum(tpr, tnr), -1.0)
        else:
            worth = np.minimum(tpr - min_tpr, tnr - min_tnr)
        least = worth.max()
        if slack:
            least -= slack / min(positives, negatives) + _ROUNDING
        equal = np.flatnonzero(worth >= least)
        return _CutRange(int(equal[0]), int(equal[-1]), meets_floors=met)

    def _middle(self, cuts: _CutRange) -> float:
        """Return a threshold in the middle of a range, short as in `setting`."""
        return _between(self._below(cuts.first), self._top(cuts.last))


@dataclass(frozen=True, slots=True)
class _CutRange:
    """Neighbouring, equally good cuts from `first` to `last`."""

    first: int
    last: int
    meets_floors: bool


@dataclass(frozen=True, slots=True)
class Best:
    """The best threshold with its metrics on the labels that chose it, which are optimistic.

    `index` is its cut and `threshold` the value to set.
    """

    index: int
    threshold: float
    metrics: Metrics

    @property
    def interval(self) -> Interval | None:
        """95 % interval of its coverage on new prompts, as `coverage_interval`."""
        return coverage_interval(self.metrics, fitted=True)


def sweep(
    scores: NDArray[np.float32],
    should_trigger: NDArray[np.bool_],
    intent: Intent = Intent.BLOCK,
    keys: NDArray[np.uint64] | None = None,
) -> Sweep:
    """Compute counts at every distinct score, from scores float32 [N] and duties bool [N].

    With intent block, a prompt triggers if its score reaches the threshold; with allow, if it does
    not. Rows whose score is NaN are skipped and counted. `keys` (uint64 [N]) identify the prompts
    and decide their folds, independent of row order; by default row numbers do. Raises ValueError
    if lengths differ, if no row has a score, or if a score is outside of 0 to 1.
    """
    if len(scores) != len(should_trigger):
        raise ValueError(f"{len(scores)} scores but {len(should_trigger)} labels")
    scores = np.asarray(scores, np.float32) + np.float32(0)  # no negative zeros
    should_trigger = np.asarray(should_trigger, bool)
    if keys is None:
        keys = np.arange(len(scores), dtype=np.uint64)
    scored = ~np.isnan(scores)
    unscored = len(scores) - int(np.count_nonzero(scored))
    if unscored:
        scores, should_trigger, keys = scores[scored], should_trigger[scored], keys[scored]
    if not len(scores):
        raise ValueError("no prompt has a score")
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError("a score is not a number from 0 to 1")
    belongs = should_trigger if intent is Intent.BLOCK else ~should_trigger
    # Non-negative floats order like their bits. Sorting integers that carry the label in their
    # lowest bit is several times faster than sorting indices.
    packed = np.left_shift(scores.view(np.uint32), np.uint32(1))  # the sign bit is 0
    packed |= belongs
    packed.sort()
    labels = (packed & np.uint32(1)).astype(bool)
    packed >>= np.uint32(1)
    ordered = packed.view(np.float32)
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    reached = np.concatenate(
        ([0], np.cumsum(labels, dtype=np.int64))
    )  # belonging prompts below each row
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
        keys=keys,
        unscored=unscored,
    )


def quick_best(
    scores: NDArray[np.float32], belongs: NDArray[np.bool_], slack: float = 0.0
) -> float | None:
    """Return `Sweep.best` without floors, some ten times faster; it runs at every pause.

    `scores` are float32 [N] without NaN, `belongs` bool [N]. As the share of belonging prompts at
    or above a threshold falls with it and the share of others below it rises, the best one is found
    by bisection, and the equally good ones lie between one score of each class.
    """
    ours, others = np.sort(scores[belongs])[::-1], np.sort(scores[~belongs])
    if not len(ours) or not len(others):
        return None

    def rates(count: int) -> tuple[float, float]:
        """Return both rates at the `count`-th largest score of the belonging prompts."""
        below = int(np.searchsorted(others, ours[count - 1]))
        return count / len(ours), below / len(others)

    low, high = 1, len(ours)
    while low < high:
        middle = (low + high) // 2
        matching, spared = rates(middle)
        low, high = (low, middle) if matching >= spared else (middle + 1, high)
    least = max(min(rates(count)) for count in range(max(low - 1, 1), low + 1))
    if slack:
        least -= slack / min(len(ours), len(others)) + _ROUNDING
    wanted, spared_at_least = (_count_for(least, len(group)) for group in (ours, others))
    below = others[spared_at_least - 1] if spared_at_least else np.float32(0)
    beyond = np.nextafter(max(ours[0], others[-1], np.float32(1)), np.float32(np.inf))
    return _between(below, ours[wanted - 1] if wanted else beyond)


def _count_for(rate: float, size: int) -> int:
    """Return the smallest count whose share of `size` is at least a rate."""
    count = max(0, min(size, int(rate * size)))
    while count > 0 and (count - 1) / size >= rate:
        count -= 1
    while count / size < rate:
        count += 1
    return count


def best_threshold(
    curve: Sweep, *, min_tpr: float = 0.0, min_tnr: float = 0.0, slack: float = 0.0
) -> Best | None:
    """Return the best threshold with its metrics; None as in `Sweep.best`."""
    threshold = curve.best(min_tpr=min_tpr, min_tnr=min_tnr, slack=slack)
    if threshold is None:
        return None
    index = curve.index(threshold)
    return Best(index, threshold, curve.metrics(index))


def stratified_folds(
    label: NDArray[np.bool_], count: int, seed: int, keys: NDArray[np.uint64]
) -> NDArray[np.intp]:
    """Return a fold from 0 to count − 1 for each prompt, intp [N]; each class is spread evenly.

    The order of dealing depends on keys (uint64 [N]) and `seed`, by the mixing function of
    splitmix64 (Steele, Lea and Flood 2014), and not on the order of the rows.
    """
    mixed = keys + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    fold = np.empty(len(label), np.intp)
    for members in (np.flatnonzero(label), np.flatnonzero(~label)):
        shuffled = members[np.argsort(mixed[members], kind="stable")]
        fold[shuffled] = np.arange(len(members)) % count
    return fold


def _counted(triggered: NDArray[np.bool_], should_trigger: NDArray[np.bool_]) -> Metrics:
    tp = int(np.count_nonzero(triggered & should_trigger))
    fp = int(np.count_nonzero(triggered)) - tp
    positives = int(np.count_nonzero(should_trigger))
    return Metrics(tp, len(triggered) - positives - fp, fp, positives - tp)


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64] | int) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        rate: NDArray[np.float64] = np.true_divide(part, whole)
    return rate


def _between(low: np.float32, high: np.float32) -> float:
    """Return a short number near the middle, above `low` and up to `high` as float32."""
    middle = (float(low) + min(float(high), 1.0)) / 2  # the last cut may lie beyond 1
    for decimals in _DECIMALS:
        short = round(middle, decimals)
        if low < np.float32(short) <= high and short < 1:
            return short
    return float(str(high))  # no number between them, or 1 itself
