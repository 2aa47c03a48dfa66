"""Rates of a guardrail in production, from a sample of a log whose chances are known.

The log is divided into strata: within one, every prompt has the same verdicts and every prompt not
yet asked has the same chance to be the next. Which stratum the next prompt comes from may depend on
all labels so far. A stratum's labelled prompts are then a simple random sample of it whatever the
engine says, so the engine decides how many labels are needed, not whether the result is right.

Sources: Neyman (1934) for the allocation to strata; Hájek (1971) for weights N/n; Sawade, Landwehr
and Scheffer (2010) for sampling where a measure of a classifier is most uncertain; Marchant and
Rubinstein (2017, OASIS) for strata by score whose chances follow the labels; Angelopoulos et al.
(2023) and Zrnic and Candès (2024) for predictions that are known for the whole log and corrected by
labels; Ericson (1969) for the posterior of a finite population.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.estimates import RateEstimate

Bools: TypeAlias = "NDArray[np.bool_]"
Floats: TypeAlias = "NDArray[np.float64]"
Integers: TypeAlias = "NDArray[np.int64]"

LARGER_CUTS = (0.1, 0.4)
"""Cuts of the more frequent verdict, as shares of its prompts from the operating point away."""

SMALLER_CUTS = (0.5,)
"""Cuts of the other verdict."""

WITHIN = 0.02
"""Change of coverage that is called none."""

_FLOOR = 0.1
_DRAWS = 800
_SEED = 23
_JEFFREYS = 0.5
_UNSEEN = 0.3  # pseudo-count of belonging prompts in a stratum where nothing matches
_TAILS = (0.02, 0.015)
_TAILS_CHANGE = (0.01, 0.01)


def score_strata(scores: Floats, matches: Sequence[Bools] = ()) -> Integers:
    """Return strata of a log by verdicts and score, codes from 0 [N].

    `scores` are of the engine, higher where it expects a prompt to belong [N]. `matches` are the
    known verdicts of one or more definitions: does the prompt belong to the topic, bool [N] each.
    By the first definition, prompts of either verdict are cut where they get farther from the
    operating point. Those that definitions judge differently are not cut: they are few, and every
    stratum has to be sampled. Only the order of the scores matters.
    """
    first = matches[0] if matches else np.zeros(len(scores), bool)
    larger = 2 * np.count_nonzero(first) > len(first)
    ranks = np.zeros(len(scores), np.int64)
    for value in (True, False):
        rows = np.flatnonzero(first == value)
        ordered = rows[np.argsort(scores[rows] if value else -scores[rows], kind="stable")]
        shares = LARGER_CUTS if value == larger else SMALLER_CUTS
        cuts = np.round(np.array(shares) * len(rows)).astype(np.int64)
        ranks[ordered] = np.searchsorted(cuts, np.arange(len(rows)), side="right")
    for other in matches[1:]:
        ranks[other != first] = 0
    return refine(ranks, matches)


def refine(strata: Integers, matches: Sequence[Bools]) -> Integers:
    """Return strata divided by verdicts, codes from 0 [N].

    A sample that was random within the strata is so within the finer ones.
    """
    keys = np.column_stack([*[~matched for matched in matches], strata])
    codes = np.unique(keys, axis=0, return_inverse=True)[1]
    return np.asarray(codes, np.int64).reshape(-1)


@dataclass(frozen=True, eq=False)
class SampleCounts:
    """Labels of a stratified sample of a log, by stratum [H].

    `sizes` counts prompts, `asked` labelled ones, `belonging` those of them that belong. Rows of
    `matches` [D, H] are definitions: whether a stratum's prompts match. Where a verdict is only
    known for labelled prompts, `matches` has no rows, and `matching` [H, 2] counts labelled prompts
    that match, of those that belong and of the others.
    """

    sizes: Integers
    asked: Integers
    belonging: Integers
    matches: Bools
    matching: Integers | None = None

    @property
    def labels(self) -> int:
        """Number of labelled prompts."""
        return int(self.asked.sum())

    @property
    def remaining(self) -> Integers:
        """Prompts without a label by stratum."""
        return self.sizes - self.asked

    def rates(self) -> list[tuple[float, float]]:
        """Return rates of right verdicts, on prompts that belong and on the others, by definition.

        Each label counts by the prompts that it stands for, N/n (Hájek). A rate of no prompts is 1.
        """
        belonging = self._weighted(self.belonging)
        if self.matching is not None:
            matched = self._weighted(self.matching[:, 0]), self._weighted(self.matching[:, 1])
            others = self.sizes - belonging
            right = float(matched[0].sum()), float((others - matched[1]).sum())
            return [(_share(right[0], belonging.sum()), _share(right[1], others.sum()))]
        belong, other = _rates(belonging[np.newaxis], self.sizes, self.matches)
        return [(float(a), float(b)) for a, b in zip(belong[:, 0], other[:, 0], strict=True)]

    def _weighted(self, counts: Integers) -> Floats:
        # A stratum without labels counts by the strata together.
        pooled = counts.sum() / max(self.labels, 1)
        shares = np.where(self.asked > 0, counts / np.maximum(self.asked, 1), pooled)
        return np.asarray(shares * self.sizes, np.float64)


def count_labels(
    strata: Integers, rows: Sequence[int], labels: Sequence[bool], matches: Sequence[Bools]
) -> SampleCounts:
    """Return the counts of labelled rows of a log.

    `strata` are codes [N] that no verdict divides; a negative code leaves a prompt out of the log.
    `matches` as in `score_strata`. Raises ValueError if a stratum has two verdicts.
    """
    count = int(strata.max(initial=-1)) + 1
    kept = strata >= 0
    sizes = np.bincount(strata[kept], minlength=count)
    at, belong = np.asarray(rows, np.intp), np.asarray(labels, bool)
    table = np.zeros((len(matches), count), bool)
    for index, matched in enumerate(matches):
        share = np.bincount(strata[kept & matched], minlength=count)
        if np.any((share > 0) & (share < sizes)):
            raise ValueError("prompts of one stratum have different verdicts")
        table[index] = share > 0
    return SampleCounts(
        sizes,
        np.bincount(strata[at], minlength=count),
        np.bincount(strata[at[belong]], minlength=count),
        table,
    )


def count_with_verdicts(
    strata: Integers, rows: Sequence[int], labels: Sequence[bool], matched: Sequence[bool]
) -> SampleCounts:
    """Return the counts of labelled rows whose verdicts are known for these rows only.

    `matched` tells of each of the rows whether the guardrail says that it belongs.
    """
    counts = count_labels(strata, rows, labels, ())
    at, belong, match = (
        np.asarray(rows, np.intp),
        np.asarray(labels, bool),
        np.asarray(matched, bool),
    )
    columns = [
        np.bincount(strata[at[match & (belong == label)]], minlength=len(counts.sizes))
        for label in (True, False)
    ]
    return SampleCounts(
        counts.sizes, counts.asked, counts.belonging, counts.matches, np.stack(columns, axis=1)
    )


@dataclass(frozen=True, slots=True)
class ProductionRates:
    """Coverage of a guardrail over a log with its two rates, and intervals of 95 %.

    `belonging` is the rate of right verdicts on prompts that belong, `others` on the rest: TPR and
    TNR of a topic that blocks, TNR and TPR of one that allows.
    """

    coverage: RateEstimate
    belonging: RateEstimate
    others: RateEstimate


def production_rates(counts: SampleCounts, seed: int = _SEED) -> ProductionRates:
    """Return the rates of the first definition over the log.

    The prompts without a label are drawn from the posterior of their stratum (beta-binomial). Its
    prior counts half a prompt of either label (Jeffreys), but 0.3 that belong where nothing
    matches: few do. The interval errs with 2 % below and 1.5 % above: a little is left over,
    because stopping as soon as it is short favours samples that missed some of those prompts.
    `benchmarks/labels.py` measures how often it holds then. With every prompt labelled, low = value
    = high.
    """
    value = counts.rates()[0]
    belong, other = _draws(counts, np.random.default_rng(seed))
    ends = [
        np.quantile(draws, (_TAILS[0], 1 - _TAILS[1])).tolist()
        for draws in (belong, other, np.minimum(belong, other))
    ]
    belonging, others, coverage = (
        _estimate(rate, low, high)
        for rate, (low, high) in zip((*value, min(value)), ends, strict=True)
    )
    return ProductionRates(coverage, belonging, others)


def coverage_change(counts: SampleCounts, seed: int = _SEED) -> RateEstimate:
    """Return coverage of the second definition minus that of the first over the log.

    Only prompts that the two judge differently are in its numerators; labels of the others tell
    how many prompts belong, and which of the rates is the smaller one. The posterior is that of
    `production_rates`. The interval errs with 1 % at each end, not 2.5 %, because every look at it
    is a chance to decide.
    """
    first, second = (min(rates) for rates in counts.rates())
    draws = _sample(counts, np.random.default_rng(seed))
    coverage = np.minimum(*_rates(draws, counts.sizes, counts.matches))
    change = coverage[1] - coverage[0]
    low, high = np.quantile(change, (_TAILS_CHANGE[0], 1 - _TAILS_CHANGE[1]))
    return _estimate(second - first, float(low), float(high))


def next_chances(counts: SampleCounts, seed: int = _SEED) -> Floats:
    """Return the chance of each stratum to give the next prompt [H]; they sum to 1.

    A tenth goes to all remaining prompts alike, so every one has a chance. The rest goes by how
    much one more label of the stratum is expected to narrow coverage or, of two definitions, its
    change: the squared effect of a prompt that belongs, times the variance of the expected total
    over the next label. Where no prompt is left, the chance is 0; all zeros if none is.
    """
    remaining = counts.remaining.astype(np.float64)
    if not remaining.sum():
        return remaining
    even = remaining / remaining.sum()
    if not counts.labels:
        spread = np.sqrt(remaining)
        return np.asarray(_FLOOR * even + (1 - _FLOOR) * spread / spread.sum())
    draws = _sample(counts, np.random.default_rng(seed))
    effects = _effects(draws, counts) if counts.matching is None else np.ones(len(remaining))
    belong, other = _shapes(counts)
    total = belong + other
    expected = belong / total
    step = 1 + np.maximum(remaining - 1, 0) / (total + 1)
    gain = effects * expected * (1 - expected) * step**2 * (remaining > 0)
    if not gain.sum():
        return np.asarray(even)
    return np.asarray(_FLOOR * even + (1 - _FLOOR) * gain / gain.sum())


def labels_until(counts: SampleCounts, half_width: float, most: int = 2_000) -> int | None:
    """Estimate how many more labels make the interval of coverage as narrow as ±`half_width`.

    Assumes that the next prompts belong as often as those before them. 0 if it is reached; None if
    more than `most` labels, or all of the log, would not do.
    """

    def reached(more: int) -> bool:
        return production_rates(_imagined(counts, more)).coverage.half_width <= half_width

    if reached(0):
        return 0
    low, high = 0, min(most, int(counts.remaining.sum()))
    if not reached(high):
        return None
    while high - low > max(1, high // 20):
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _imagined(counts: SampleCounts, more: int) -> SampleCounts:
    """Return the counts after `more` labels that go by today's chances and shares."""
    asked = counts.asked.astype(np.float64)
    chances = next_chances(counts)
    left = float(more)
    while left > 1e-9:
        open_strata = asked < counts.sizes
        weights = chances * open_strata
        if not weights.sum():
            break
        added = np.minimum(left * weights / weights.sum(), counts.sizes - asked)
        asked += added
        left -= float(added.sum())
        if added.sum() < 1e-9:
            break
    whole = np.minimum(np.round(asked).astype(np.int64), counts.sizes)
    scale = whole / np.maximum(counts.asked, 1)
    pooled = counts.belonging.sum() / max(counts.labels, 1)
    belonging = np.where(counts.asked > 0, counts.belonging * scale, whole * pooled)
    matching = None
    if counts.matching is not None:
        matching = np.round(counts.matching * scale[:, np.newaxis]).astype(np.int64)
    rounded = np.minimum(np.round(belonging).astype(np.int64), whole)
    return SampleCounts(counts.sizes, whole, rounded, counts.matches, matching)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 1.0


def _estimate(value: float, low: float, high: float) -> RateEstimate:
    return RateEstimate(value, min(low, value), max(high, value))


def _shapes(counts: SampleCounts) -> tuple[Floats, Floats]:
    """Return the two shapes of each stratum's beta posterior of the share that belongs."""
    matched = counts.matches.any(axis=0) if len(counts.matches) else np.zeros(len(counts.sizes))
    prior = np.where(matched, _JEFFREYS, _UNSEEN)
    rejected = (counts.asked - counts.belonging).astype(np.float64)
    return prior + counts.belonging, _JEFFREYS + rejected


def _sample(counts: SampleCounts, random: np.random.Generator) -> Floats:
    """Draw how many prompts of each stratum belong, [draws, H]."""
    shares = random.beta(*_shapes(counts), size=(_DRAWS, len(counts.sizes)))
    drawn = counts.belonging + random.binomial(counts.remaining, shares)
    return np.asarray(drawn, np.float64)


def _draws(counts: SampleCounts, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw the rates of the first definition: of prompts that belong and of the others, [draws]."""
    belonging = _sample(counts, random)
    if counts.matching is None:
        belong, other = _rates(belonging, counts.sizes, counts.matches[:1])
        return belong[0], other[0]
    rates = []
    labelled = np.stack([counts.belonging, counts.asked - counts.belonging])
    totals = np.stack([belonging, counts.sizes - belonging])
    for index, right in enumerate((counts.matching[:, 0], labelled[1] - counts.matching[:, 1])):
        shares = random.beta(
            right + _JEFFREYS, labelled[index] - right + _JEFFREYS, size=totals[0].shape
        )
        left = np.maximum(totals[index] - labelled[index], 0).astype(np.int64)
        sums = (right + random.binomial(left, shares)).sum(axis=1)
        whole = totals[index].sum(axis=1)
        rates.append(np.asarray(np.where(whole > 0, sums / np.maximum(whole, 1), 1.0)))
    return rates[0], rates[1]


def _rates(belonging: Floats, sizes: Integers, matches: Bools) -> tuple[Floats, Floats]:
    """Return rates of right verdicts on prompts that belong and on the others, [D, draws].

    `belonging` counts prompts [draws, H]; `matches` [D, H].
    """
    others = sizes - belonging
    total, rest = belonging.sum(axis=1), others.sum(axis=1)
    matched = matches.astype(np.float64)
    right, rejected = matched @ belonging.T, (1 - matched) @ others.T
    of_belonging = np.where(total > 0, right / np.maximum(total, 1e-9), 1.0)
    of_others = np.where(rest > 0, rejected / np.maximum(rest, 1e-9), 1.0)
    return of_belonging, of_others


def _effects(draws: Floats, counts: SampleCounts) -> Floats:
    """Return the mean squared effect of one more belonging prompt by stratum, [H].

    The effect is that on coverage or, of two definitions, on its change.
    """
    belong, other = _rates(draws, counts.sizes, counts.matches)
    total = np.maximum(draws.sum(axis=1), 1)[:, np.newaxis]
    rest = np.maximum(counts.sizes.sum() - draws.sum(axis=1), 1)[:, np.newaxis]
    effect = np.zeros_like(draws)
    for index, matched in enumerate(counts.matches):
        of_belonging = (matched - belong[index][:, np.newaxis]) / total
        of_others = (other[index][:, np.newaxis] - ~matched) / rest
        smaller = (belong[index] <= other[index])[:, np.newaxis]
        effect = np.where(smaller, of_belonging, of_others) - effect
    return np.asarray((effect**2).mean(axis=0))
