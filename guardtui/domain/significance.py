"""Significance of a difference: its interval, p-value, bootstrap share, and prompts needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from guardtui.distributions import binomial_cdf_along, binomial_pmf, normal_quantile
from guardtui.domain.figures import change_interval_text, count_text
from guardtui.domain.statistics import CONFIDENCE, mcnemar_p_value

SIGNIFICANT = 0.05
"""p-values of McNemar's test below this are significant."""

POWER = 0.8
"""Power with which the required prompts would detect a difference as large as observed."""

MOST_PROMPTS = 10_000
"""Limit for the number of further prompts; beyond it nobody would label that many."""

RESAMPLES = 2_000
DRAWS = 4_000
_SEED = 20_240_607
_PRIOR = 0.75
_RATE_PRIOR = 0.5
# Of what an interval of coverage may miss, beyond an end: the tails to choose from, and the aim.
_LOWER_TAILS, _LOWER_AIM = (0.15, 0.2, 0.25, 0.3), 0.25
_UPPER_TAILS, _UPPER_AIM = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8), 0.6
_EQUAL = 1.5  # two rates closer than this many standard errors may be equal
_CALIBRATION_DRAWS = 1_000

CHANGES = ("coverage", "true_positive_rate", "true_negative_rate")
"""Rates whose change has an interval, by their names in `Metrics`."""

# Cells of one class; rows of `Pairs.table`.
_BOTH_RIGHT, _BROKEN, _FIXED = 0, 1, 2


NOTHING_COMPARED = "nothing to compare: no prompt has the same label and a verdict in both"
"""Sentence for two evaluations that share no such prompt."""


class Difference(StrEnum):
    """Result of a comparison.

    BETTER and WORSE require that the 95 % interval of the change of coverage excludes 0.
    """

    BETTER = "better"
    WORSE = "worse"
    NOT_SHOWN = "no demonstrable change"
    NONE = "no verdicts changed"
    NOT_COMPARABLE = "coverage cannot be compared"


_LINKS = {
    Difference.BETTER: "than",
    Difference.WORSE: "than",
    Difference.NOT_COMPARABLE: "with",
}


@dataclass(frozen=True, slots=True)
class ChangeInterval:
    """An interval of a difference of two rates: −1 ≤ low ≤ high ≤ 1."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Pairs:
    """Counts of prompts with a verdict in both evaluations, by class.

    Each class has four counts: right in both, broken, fixed, wrong in both. `positive` counts
    prompts that should trigger, `negative` those that should not.
    """

    positive: tuple[int, int, int, int]
    negative: tuple[int, int, int, int]

    @property
    def total(self) -> int:
        """Number of prompts counted."""
        return sum(self.positive) + sum(self.negative)

    @property
    def discordant(self) -> int:
        """Number of prompts that were fixed or broken."""
        return sum(cells[_FIXED] + cells[_BROKEN] for cells in (self.positive, self.negative))

    @property
    def defined(self) -> bool:
        """Return whether both classes have prompts, so that coverage is defined."""
        return sum(self.positive) > 0 and sum(self.negative) > 0

    @property
    def table(self) -> NDArray[np.int64]:
        """The counts, int64 [2, 4]."""
        return np.array([self.positive, self.negative], np.int64)


@dataclass(frozen=True)
class Significance:
    """Significance of a comparison; expensive values are computed lazily.

    `fixes` and `regressions` are of `compared` prompts with the same label and a verdict in both.
    `pairs` counts by class, with current labels.
    """

    fixes: int
    regressions: int
    compared: int
    pairs: Pairs

    @cached_property
    def p_value(self) -> float:
        """McNemar's exact p-value."""
        return mcnemar_p_value(self.regressions, self.fixes)

    @cached_property
    def intervals(self) -> Mapping[str, ChangeInterval | None]:
        """Intervals of the changes of coverage, TPR and TNR; None where one is undefined."""
        return change_intervals(self.pairs)

    @cached_property
    def kept_share(self) -> float | None:
        """Share of resamples of the prompts in which coverage is strictly greater than before."""
        return kept_share(self.pairs)

    @cached_property
    def more_prompts(self) -> int | None:
        """Number of further prompts after which McNemar's test would be significant.

        0 if it already is; None if no number of prompts up to `MOST_PROMPTS` would suffice.
        """
        if self.p_value < SIGNIFICANT:
            return 0
        needed = prompts_needed(self.fixes, self.regressions, self.compared)
        return None if needed is None else max(1, needed - self.compared)

    @cached_property
    def difference(self) -> Difference:
        """Result of the comparison, decided by the interval of the change of coverage alone."""
        if not self.compared:
            return Difference.NOT_COMPARABLE
        if not self.fixes + self.regressions + self.pairs.discordant:
            # If the intents differ, the prompts change their class and are in neither table.
            return Difference.NONE if self.pairs.total else Difference.NOT_COMPARABLE
        interval = self.intervals["coverage"]
        if interval is None:
            return Difference.NOT_COMPARABLE
        if interval.low > 0:
            return Difference.BETTER
        return Difference.WORSE if interval.high < 0 else Difference.NOT_SHOWN

    @property
    def could_be_chance(self) -> bool:
        """Return whether there is no demonstrable change: the interval of the change contains 0."""
        return self.difference not in (Difference.BETTER, Difference.WORSE)

    @property
    def sentence(self) -> str:
        """Result of the comparison, without a name of the other evaluation."""
        return self.describe()

    def describe(self, than: str = "", among: str = "") -> str:
        """Return the result of the comparison as one sentence without a full stop.

        `than` names the other evaluation, `among` the prompts: `better than iteration 2 on 98
        held-out prompts: coverage +0.140 (+0.062 to +0.218), 9 fixes, 0 regressions`.
        """
        if not self.compared:
            return NOTHING_COMPARED
        difference = self.difference
        link = _LINKS.get(difference, "against")
        start = f"{difference}{than and f' {link} {than}'}{among and f' {among}'}"
        return f"{start}: {self.changes}" if self.changes else start

    @property
    def changes(self) -> str:
        """The change of coverage, fixes and regressions, or "" if no verdict changed."""
        if not self.compared or self.difference is Difference.NONE:
            return ""
        counts = (
            f"{count_text(self.fixes, 'fix', 'fixes')}, "
            f"{count_text(self.regressions, 'regression')}"
        )
        interval, change = self.intervals["coverage"], observed_changes(self.pairs)["coverage"]
        if interval is None or change is None:
            return counts
        return f"coverage {change_interval_text(change, interval.low, interval.high)}, {counts}"


def change_intervals(
    pairs: Pairs, confidence: float = CONFIDENCE, draws: int = DRAWS
) -> dict[str, ChangeInterval | None]:
    """Return intervals of the changes of coverage, TPR and TNR, by the rate's name in `Metrics`.

    The counts of a class (right in both, broken, fixed, wrong in both) are a multinomial sample
    whose probabilities have a Dirichlet posterior. Each draw of both classes gives the rates before
    and after, correlated as in the data. Every interval is widened to include the observed change.

    The change of coverage is the smallest, over the rates after, of the largest difference to a
    rate before; its interval has the same combination of the ends of the four intervals of such
    differences: the paired ones of a class, and those between classes, of independent rates with
    Jeffreys' prior. The posterior of the change itself is too high where an edit trades one of two
    equal rates for the other: the smaller of two estimates is biased, before the edit only.

    How often such a combination misses depends on which rates are equal, so its tails are
    calibrated (`_calibrated_end`). The lower end is the more careful one, because "better" is said
    of it: the aim is 1.25 % below and 3 % above, with tails of at most 1.5 % and 4 %.

    Sources: Altham (1971) for one matched pair of rates; Berger (1982) for the combination; Beran
    (1987) for the calibration. The prior of pairs is Dirichlet(¾, ¾, ¾, ¾), between Jeffreys' ½ and
    the uniform 1. `benchmarks/intervals.py` measures how often they hold. The random seed is fixed.
    """
    intervals: dict[str, ChangeInterval | None] = dict.fromkeys(CHANGES)
    generator = np.random.default_rng(_SEED)
    table = pairs.table
    shares = generator.standard_gamma(table + _PRIOR, size=(draws, 2, 4))
    shares /= shares.sum(axis=2, keepdims=True)
    # [draws, class, before or after]
    rates = shares[:, :, [_BOTH_RIGHT]] + shares[:, :, [_BROKEN, _FIXED]]
    right = table[:, [_BOTH_RIGHT]] + table[:, [_BROKEN, _FIXED]]
    wrong = table.sum(axis=1, keepdims=True) - right
    alone = generator.beta(right + _RATE_PRIOR, wrong + _RATE_PRIOR, size=(draws, 2, 2))
    differences = np.where(np.eye(2, dtype=bool), _differences(rates), _differences(alone))
    miss = 1 - confidence
    found = {
        "coverage": (
            _calibrated_end(differences, rates, miss, upper=False),
            _calibrated_end(differences, rates, miss, upper=True),
        )
    }
    for index, name in enumerate(CHANGES[1:]):
        found[name] = tuple(np.quantile(differences[:, index, index], (miss / 2, 1 - miss / 2)))
    for name, observed in observed_changes(pairs).items():
        if observed is not None:
            low, high = found[name]
            intervals[name] = ChangeInterval(min(float(low), observed), max(float(high), observed))
    return intervals


def _differences(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each rate after minus each rate before, [..., class after, class before].

    `rates` [..., class, before or after].
    """
    differences: NDArray[np.float64] = rates[..., :, np.newaxis, 1] - rates[..., np.newaxis, :, 0]
    return differences


def _combined(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the change of coverage that has these differences, as in `_differences`."""
    combined: NDArray[np.float64] = differences.max(axis=-1).min(axis=-1)
    return combined


def _calibrated_end(
    differences: NDArray[np.float64], rates: NDArray[np.float64], miss: float, *, upper: bool
) -> float:
    """Return an end of the interval of the change of coverage.

    Its tail is the largest with which the end would miss no more than its aim if the estimated
    rates were true (Beran 1987, prepivoting). Where it matters, rates that may be equal are: those
    before the edit for the lower end, those after it for the upper one. `differences` and `rates`
    are draws, as in `_differences`; `miss` is the share that both ends may miss.
    """
    shares, aim = (_UPPER_TAILS, _UPPER_AIM) if upper else (_LOWER_TAILS, _LOWER_AIM)
    tails = miss * np.array(shares)
    ends = np.quantile(differences, 1 - tails if upper else tails, axis=0)
    means = rates.mean(axis=0)
    drawn = rates[:_CALIBRATION_DRAWS] - means
    offsets = ends - _differences(means)
    true, when = means.copy(), int(upper)
    gap = float(np.ptp(means[:, when]))
    if gap:
        error = float(np.diff(rates[:, :, when], axis=1).std())
        middle = means[:, when].mean()
        kept = max(0.0, 1 - _EQUAL * error / gap)
        true[:, when] = middle + kept * (means[:, when] - middle)
    change = true[:, 1].min() - true[:, 0].min()
    redrawn = _combined(_differences(true + drawn) + offsets[:, np.newaxis])
    missed = np.mean(redrawn < change if upper else redrawn > change, axis=1)
    chosen = max(0, int(np.count_nonzero(missed <= aim * miss)) - 1)
    return float(_combined(ends[chosen]))


def observed_changes(pairs: Pairs) -> dict[str, float | None]:
    """Return changes of coverage, TPR and TNR on the counted prompts, None if undefined."""
    rates: list[tuple[float, float] | None] = []
    for right, broken, fixed, wrong in (pairs.positive, pairs.negative):
        total = right + broken + fixed + wrong
        rates.append(((right + broken) / total, (right + fixed) / total) if total else None)
    positive, negative = rates
    coverage = None
    if positive is not None and negative is not None:
        coverage = min(positive[1], negative[1]) - min(positive[0], negative[0])
    single = [None if rate is None else rate[1] - rate[0] for rate in rates]
    return dict(zip(CHANGES, (coverage, *single), strict=True))


def kept_share(pairs: Pairs, resamples: int = RESAMPLES) -> float | None:
    """Return the share of bootstrap resamples in which coverage is greater than before.

    The prompts of each class are drawn with replacement, as many as there are (Efron 1979,
    stratified by class). Only counts matter, so one multinomial draw makes a resample for any
    number of prompts. None if a class is empty. The random seed is fixed.
    """
    if not pairs.defined:
        return None
    generator = np.random.default_rng(_SEED)
    totals, sums = [], []
    for cells in (pairs.positive, pairs.negative):
        total = sum(cells)
        drawn = generator.multinomial(total, np.array(cells) / total, size=resamples)
        totals.append(total)
        right = drawn[:, _BOTH_RIGHT]
        sums.append((right + drawn[:, _BROKEN], right + drawn[:, _FIXED]))
    # Integers over a common denominator, so that equal rates do not differ by rounding.
    before, now = (
        np.minimum(sums[0][when] * totals[1], sums[1][when] * totals[0]) for when in (0, 1)
    )
    return float(np.count_nonzero(now > before) / resamples)


@lru_cache(maxsize=256)
def prompts_needed(
    fixes: int, regressions: int, compared: int, power: float = POWER, most: int = MOST_PROMPTS
) -> int | None:
    """Return the number of prompts for which McNemar's exact test has this power.

    Assumes that `fixes` and `regressions` of `compared` prompts are the true shares. The power is
    exact and unconditional: the power of the test given the number of discordant prompts, weighted
    by the binomial distribution of that number (Duffy 1984). None if more than `compared` + `most`
    prompts are needed, or if both counts are equal. Raises ValueError for invalid counts.
    """
    if min(fixes, regressions) < 0 or fixes + regressions > compared:
        raise ValueError(f"{fixes} fixes and {regressions} regressions of {compared} prompts")
    if fixes == regressions:
        return None
    discordant = fixes + regressions
    share, leaning = discordant / compared, max(fixes, regressions) / discordant
    # Connor's (1987) normal approximation bounds the search.
    near = _approximately_needed(share, abs(fixes - regressions) / compared, power)
    if near > 1.2 * (compared + most):
        return None
    low, high = 1, min(compared + most, int(1.4 * near) + 60)
    conditional = _conditional_power(_most_discordant(high, share), leaning)
    if _power(high, share, conditional) < power:
        return None
    while low < high:
        middle = (low + high) // 2
        if _power(middle, share, conditional) >= power:
            high = middle
        else:
            low = middle + 1
    return low


def _approximately_needed(share: float, difference: float, power: float) -> float:
    test, detection = normal_quantile([1 - SIGNIFICANT / 2, power]).tolist()
    spread = float(max(share - difference**2, 0.0) ** 0.5)
    return float((test * share**0.5 + detection * spread) ** 2 / difference**2)


def _most_discordant(prompts: int, share: float) -> int:
    """Return a number of discordant prompts that is practically never exceeded."""
    spread = (prompts * share * (1 - share)) ** 0.5
    return min(prompts, int(prompts * share + 8 * spread) + 9)


def _conditional_power(most: int, leaning: float) -> NDArray[np.float64]:
    """Return the power of the exact test by number of discordant prompts, float64 [most + 1].

    `leaning` is the probability that a discordant prompt is of the more frequent kind.
    """
    count = np.maximum(np.arange(most + 1), 1)
    # Largest smaller count that the test rejects: search near the normal approximation.
    near = np.floor(count / 2 - 0.98 * np.sqrt(count)) - 1
    critical = np.full(most + 1, -1.0)
    for step in range(3):
        tried = near + step
        rejected = (tried >= 0) & (2 * binomial_cdf_along(tried, 0.5) < SIGNIFICANT)
        critical = np.where(rejected, tried, critical)
    if leaning == 1:  # every discordant prompt is of one kind
        return (critical >= 0).astype(np.float64)
    return binomial_cdf_along(critical, 1 - leaning) + binomial_cdf_along(critical, leaning)


def _power(prompts: int, share: float, conditional: NDArray[np.float64]) -> float:
    """Return the unconditional power with so many prompts, a `share` of which is discordant."""
    if share == 1:
        return float(conditional[prompts])
    count = np.arange(min(prompts + 1, len(conditional)))
    return float(np.dot(binomial_pmf(count, prompts, share), conditional[: len(count)]))
