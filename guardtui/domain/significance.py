"""Significance of a difference: its interval, p-value, bootstrap share, and prompts needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

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
_TAIL_SHARE = 0.35  # of what an interval of coverage may miss, beyond each of its ends

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
        """Whether both classes have prompts, so that coverage is defined."""
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
        """Whether there is no demonstrable change: the interval of the change contains 0."""
        return self.difference not in (Difference.BETTER, Difference.WORSE)

    @property
    def sentence(self) -> str:
        """Result of the comparison, without a name of the other evaluation."""
        return self.describe()

    def describe(self, than: str = "", among: str = "") -> str:
        """Return the result of the comparison as one sentence without a full stop.

        `than` names the other evaluation, `among` the prompts: `better than iteration 2 on 98
        held-out prompts: coverage +0.140 [+0.062, +0.218], 9 fixes, 0 regressions`.
        """
        if not self.compared:
            return NOTHING_COMPARED
        difference = self.difference
        link = _LINKS.get(difference, "against")
        start = f"{difference}{than and f' {link} {than}'}{among and f' {among}'}"
        if difference is Difference.NONE:
            return start
        counts = (
            f"{count_text(self.fixes, 'fix', 'fixes')}, "
            f"{count_text(self.regressions, 'regression')}"
        )
        interval, change = self.intervals["coverage"], observed_changes(self.pairs)["coverage"]
        if interval is None or change is None:
            return f"{start}: {counts}"
        figures = change_interval_text(change, interval.low, interval.high)
        return f"{start}: coverage {figures}, {counts}"


def change_intervals(
    pairs: Pairs, confidence: float = CONFIDENCE, draws: int = DRAWS
) -> dict[str, ChangeInterval | None]:
    """Return intervals of the changes of coverage, TPR and TNR, by the rate's name in `Metrics`.

    The counts of a class (right in both, broken, fixed, wrong in both) are a multinomial sample
    whose probabilities have a Dirichlet posterior. Each draw of both classes gives the rates before
    and after, correlated as in the data. Every interval is widened to include the observed change.

    The change of coverage is the smallest, over the rates after, of the largest difference to a
    rate before; its interval has the same combination of the ends of the four intervals of such
    differences, the two of a class and the two between classes. The posterior of the change itself
    is too high where an edit trades one of two equal rates for the other: the smaller of two
    estimates is biased, before the edit only.

    Source: Altham (1971) for one matched pair of rates; Berger (1982) for the combination. The
    prior is Dirichlet(¾, ¾, ¾, ¾), between Jeffreys' ½ and the uniform 1. With it, and with tails
    of 1.75 % for coverage, 95 % intervals contain the true change of coverage in at least 93 % of
    simulated samples (`benchmarks/intervals.py`). The random seed is fixed.
    """
    intervals: dict[str, ChangeInterval | None] = dict.fromkeys(CHANGES)
    generator = np.random.default_rng(_SEED)
    table = pairs.table
    shares = generator.standard_gamma(table + _PRIOR, size=(draws, 2, 4))
    shares /= shares.sum(axis=2, keepdims=True)
    before = shares[:, :, _BOTH_RIGHT] + shares[:, :, _BROKEN]
    after = shares[:, :, _BOTH_RIGHT] + shares[:, :, _FIXED]
    differences = after[:, :, np.newaxis] - before[:, np.newaxis, :]
    tails = np.array((_TAIL_SHARE, 0.5)) * (1 - confidence)  # of coverage, of a single rate
    ends = np.quantile(differences, (tails, 1 - tails), axis=0)
    found = {
        "coverage": ends[:, 0].max(axis=2).min(axis=1),  # over classes before, over those after
        "true_positive_rate": ends[:, 1, 0, 0],
        "true_negative_rate": ends[:, 1, 1, 1],
    }
    for name, observed in observed_changes(pairs).items():
        if observed is not None:
            low, high = found[name].tolist()
            intervals[name] = ChangeInterval(min(low, observed), max(high, observed))
    return intervals


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
    from scipy import special

    test, detection = float(special.ndtri(1 - SIGNIFICANT / 2)), float(special.ndtri(power))
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
    from scipy import special

    count = np.arange(most + 1)
    # Largest smaller count that the test rejects: search near the normal approximation.
    near = np.floor(count / 2 - 0.98 * np.sqrt(count)) - 1
    critical = np.full(most + 1, -1.0)
    for step in range(3):
        tried = near + step
        rejected = (tried >= 0) & (2 * special.bdtr(np.maximum(tried, 0), count, 0.5) < SIGNIFICANT)
        critical = np.where(rejected, tried, critical)
    rejects = critical >= 0
    least = np.where(rejects, critical, 0.0)
    rejected_share = special.bdtr(least, count, 1 - leaning) + special.bdtr(least, count, leaning)
    power: NDArray[np.float64] = np.where(rejects, rejected_share, 0.0)
    return power


def _power(prompts: int, share: float, conditional: NDArray[np.float64]) -> float:
    """Return the unconditional power with so many prompts, a `share` of which is discordant."""
    from scipy import special

    count = np.arange(min(prompts + 1, len(conditional)), dtype=np.float64)
    weight = np.exp(
        special.gammaln(prompts + 1)
        - special.gammaln(count + 1)
        - special.gammaln(prompts - count + 1)
        + special.xlogy(count, share)
        + special.xlogy(prompts - count, 1 - share)
    )
    return float(np.dot(weight, conditional[: len(count)]))
