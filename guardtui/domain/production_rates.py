"""Rates of a guardrail in production, from a sample of a log whose chances are known.

The log is divided into strata: within one, every prompt has the same verdicts and every prompt not
yet asked has the same chance to be the next. Which stratum the next prompt comes from may depend on
all labels so far. A stratum's labelled prompts are then a simple random sample of it whatever the
engine says, so the engine decides how many labels are needed, not whether the result is right.

Sources: Neyman (1934) for the allocation to strata; Hájek (1971) for weights N/n; Sawade, Landwehr
and Scheffer (2010) for sampling where a measure of a classifier is most uncertain; Marchant and
Rubinstein (2017, OASIS) for strata by score whose chances follow the labels; Angelopoulos et al.
(2023) and Zrnic and Candès (2024) for predictions that are known for the whole log and corrected by
labels; Ericson (1969) for the posterior of a finite population; McKay, Beckman and Conover (1979)
for Latin hypercubes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
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
_DRAWS = 1_000
_SEED = 23
_JEFFREYS = 0.5
_UNSEEN = 0.3  # pseudo-count of belonging prompts in a stratum where nothing matches
_TAILS = (0.02, 0.015)
_DOUBTED_TAIL = 0.005
_SURE = 0.95
_TAIL_CHANGE = 0.0075


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
    `matches` [D, H] are definitions: whether a stratum's prompts match.
    """

    sizes: Integers
    asked: Integers
    belonging: Integers
    matches: Bools

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

        Each label counts by the prompts that it stands for, N/n (Hájek); a stratum without labels
        by the strata together. A rate of no prompts is 1.
        """
        pooled = self.belonging.sum() / max(self.labels, 1)
        shares = np.where(self.asked > 0, self.belonging / np.maximum(self.asked, 1), pooled)
        weighted = np.asarray(shares * self.sizes, np.float64)
        belong, other = _rates(weighted[np.newaxis], self.sizes, self.matches)
        return [(float(a), float(b)) for a, b in zip(belong[:, 0], other[:, 0], strict=True)]

    @cached_property
    def shapes(self) -> tuple[Floats, Floats]:
        """The two shapes of each stratum's beta posterior of the share that belongs.

        The prior counts half a prompt of either label (Jeffreys), but 0.3 that belong where nothing
        matches: few do.
        """
        prior = np.where(self.matches.any(axis=0), _JEFFREYS, _UNSEEN)
        rejected = (self.asked - self.belonging).astype(np.float64)
        return prior + self.belonging, _JEFFREYS + rejected

    @cached_property
    def draws(self) -> Integers:
        """Numbers of belonging prompts by stratum from the posterior (beta-binomial) [draws, H].

        They are quantiles in random orders (a Latin hypercube), so they are the same for the same
        counts, and tails have less noise than those of independent draws.
        """
        drawn = [
            count + _beta_binomial(left, a, b)[_places(stratum)]
            for stratum, (count, left, a, b) in enumerate(
                zip(self.belonging, self.remaining, *self.shapes, strict=True)
            )
        ]
        return np.stack(drawn, axis=1)

    @cached_property
    def drawn_rates(self) -> tuple[Floats, Floats]:
        """Rates of right verdicts on prompts that belong and on the others, [D, draws]."""
        return _rates(self.draws.astype(np.float64), self.sizes, self.matches)


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


@dataclass(frozen=True, slots=True)
class ProductionRates:
    """Coverage of a guardrail over a log with its two rates, and intervals of 95 %.

    `belonging` is the rate of right verdicts on prompts that belong, `others` on the rest: TPR and
    TNR of a topic that blocks, TNR and TPR of one that allows.
    """

    coverage: RateEstimate
    belonging: RateEstimate
    others: RateEstimate


def production_rates(counts: SampleCounts) -> ProductionRates:
    """Return the rates of the first definition over the log.

    The interval errs with 2 % below and 1.5 % above: a little is left over, because stopping as
    soon as it is short favours samples that missed some prompts that belong. It is 0.5 % below
    where the labels do not confirm the engine, whose strata do not find those prompts then.
    `benchmarks/labels.py` measures how often it holds. With every prompt labelled, low = value =
    high.
    """
    value = counts.rates()[0]
    belong, other = counts.drawn_rates[0][0], counts.drawn_rates[1][0]
    lower = _DOUBTED_TAIL if _is_doubted(counts) else _TAILS[0]
    belonging, others, coverage = (
        _estimate(rate, draws, lower, _TAILS[1])
        for rate, draws in zip(
            (*value, min(value)), (belong, other, np.minimum(belong, other)), strict=True
        )
    )
    return ProductionRates(coverage, belonging, others)


def coverage_change(counts: SampleCounts) -> RateEstimate:
    """Return coverage of the second definition minus that of the first over the log.

    Only prompts that the two judge differently are in its numerators; labels of the others tell
    how many prompts belong, and which of the rates is the smaller one. The interval errs with
    0.75 % at each end, not 2.5 %, because every look at it is a chance to decide.
    """
    first, second = (min(rates) for rates in counts.rates())
    return _estimate(second - first, _drawn_change(counts), _TAIL_CHANGE, _TAIL_CHANGE)


def next_chances(counts: SampleCounts) -> Floats:
    """Return the chance of each stratum to give the next prompt [H]; they sum to 1.

    A tenth goes to all remaining prompts alike, so every one has a chance. The rest goes by how
    much one more label of the stratum is expected to tell of coverage or, of two definitions, of
    the decision that is the likeliest now: is it true? That is the squared slope of its regression
    on the number of belonging prompts, times the variance of the expected number over the next
    label. Before the first label it goes by the root of the number of prompts: a decision that
    rests on the prior alone is often wrong. Where no prompt is left, the chance is 0; all zeros if
    none is.
    """
    remaining = counts.remaining.astype(np.float64)
    if not remaining.sum():
        return remaining
    even = remaining / remaining.sum()
    if not counts.labels:
        gain = np.sqrt(remaining)
    else:
        belong, other = counts.shapes
        expected = belong / (belong + other)
        step = 1 + np.maximum(remaining - 1, 0) / (belong + other + 1)
        spread = expected * (1 - expected) * step**2 * (remaining > 0)
        gain = _slopes(_aim(counts), counts.draws) ** 2 * spread
    if not gain.sum():
        return np.asarray(even)
    return np.asarray(_FLOOR * even + (1 - _FLOOR) * gain / gain.sum())


def labels_until(counts: SampleCounts, half_width: float) -> int:
    """Estimate how many more labels make the interval of coverage as narrow as ±`half_width`.

    The variance of coverage is that of the strata's totals, to which further labels go by today's
    chances; the interval narrows by its root. 0 if it is reached.
    """
    coverage = production_rates(counts).coverage.half_width
    if coverage <= half_width:
        return 0
    remaining = counts.remaining.astype(np.float64)
    belong, other = counts.shapes
    expected = belong / (belong + other)
    slopes = _slopes(np.minimum(*(rates[0] for rates in counts.drawn_rates)), counts.draws)
    weights = slopes**2 * expected * (1 - expected)
    chances = next_chances(counts)

    def variance(more: float) -> float:
        added = _spread(more, chances, remaining)
        left = remaining - added
        return float((weights * left * (1 + left / (belong + other + added + 1))).sum())

    now = variance(0)
    low, high = 0, int(remaining.sum())
    while now and high - low > 1:
        middle = (low + high) // 2
        if coverage * (variance(middle) / now) ** 0.5 <= half_width:
            high = middle
        else:
            low = middle
    return high


def _spread(more: float, chances: Floats, remaining: Floats) -> Floats:
    """Return how many of `more` labels go to each stratum, at most those that remain."""
    added = np.zeros_like(remaining)
    for _ in remaining:
        weights = chances * (added < remaining)
        if more < 1e-9 or not weights.sum():
            break
        step = np.minimum(more * weights / weights.sum(), remaining - added)
        added += step
        more -= float(step.sum())
    return added


def _estimate(value: float, draws: Floats, below: float, above: float) -> RateEstimate:
    low, high = np.quantile(draws, (below, 1 - above)).tolist()
    return RateEstimate(value, min(low, value), max(high, value))


def _drawn_change(counts: SampleCounts) -> Floats:
    first, second = np.minimum(*counts.drawn_rates)
    return np.asarray(second - first)


def _aim(counts: SampleCounts) -> Floats:
    """Return what the next label should tell of, by draw: coverage, or if a decision is true."""
    if len(counts.matches) == 1:
        return np.asarray(np.minimum(*counts.drawn_rates)[0])
    change = _drawn_change(counts)
    decisions = np.stack([change > 0, change < 0, np.abs(change) <= WITHIN])
    likeliest = decisions[decisions.sum(axis=1).argmax()]
    return change if likeliest.all() else likeliest.astype(np.float64)


def _slopes(aim: Floats, draws: Integers) -> Floats:
    """Return the slope of what is aimed at on the total of each stratum, [H]; 0 if it is known."""
    deviations = draws - draws.mean(axis=0)
    variances = (deviations**2).mean(axis=0)
    covariances = (aim - aim.mean()) @ deviations / len(aim)
    return np.asarray(np.where(variances > 0, covariances / np.maximum(variances, 1e-12), 0.0))


def _is_doubted(counts: SampleCounts) -> bool:
    """Return whether the labels do not show that the engine orders prompts within a verdict.

    Of a verdict's strata, the nearest to the operating point should have more wrong verdicts than
    the rest. Where no verdict was wrong, there is nothing to be ordered.
    """
    matches = counts.matches[0]
    wrong = np.where(matches, counts.asked - counts.belonging, counts.belonging)
    likely = []
    for value in (True, False):
        rows = np.flatnonzero(matches == value)
        if len(rows) > 1 and wrong[rows].any():
            near = counts.draws[:, rows[0]] / max(counts.sizes[rows[0]], 1)
            far = counts.draws[:, rows[1:]].sum(axis=1) / max(int(counts.sizes[rows[1:]].sum()), 1)
            likely.append(float(np.mean(far > near if value else near > far)))
    return bool(likely) and (max(likely) < _SURE or min(likely) < 1 - _SURE)


def _beta_binomial(size: int, a: float, b: float) -> Integers:
    """Return `_DRAWS` quantiles of a beta-binomial distribution, in order."""
    count = np.arange(size)
    ratios = (size - count) * (a + count) / ((count + 1) * (b + size - count - 1))
    logarithms = np.concatenate(([0.0], np.cumsum(np.log(ratios))))
    shares = np.cumsum(np.exp(logarithms - logarithms.max()))
    places = (np.arange(_DRAWS) + 0.5) / _DRAWS
    return np.asarray(np.searchsorted(shares, places * shares[-1]), np.int64)


@cache
def _places(stratum: int) -> Integers:
    return np.random.default_rng([_SEED, stratum]).permutation(_DRAWS)


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
