"""Significance against scipy, brute force and simulated samples from known rates."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from guardtui.domain.comparison import compare
from guardtui.domain.metrics import Metrics
from guardtui.domain.significance import (
    MOST_PROMPTS,
    Pairs,
    Significance,
    _conditional_power,
    _power,
    change_intervals,
    kept_share,
    observed_changes,
    prompts_needed,
)
from tests.domain.test_comparison import evaluation, rows
from tests.examples import up_to

cells = st.tuples(*[st.integers(0, 60)] * 4)
SCENARIOS = {
    "equal rates, nothing gained": ((50, 50), [[0.8, 0.05, 0.05, 0.1], [0.8, 0.05, 0.05, 0.1]]),
    "another rate is the smaller": ((100, 100), [[0.7, 0.02, 0.2, 0.08], [0.75, 0.15, 0.02, 0.08]]),
    "few of one class": ((20, 180), [[0.7, 0.05, 0.15, 0.1], [0.8, 0.05, 0.05, 0.1]]),
    "rarely different": ((100, 100), [[0.9, 0.01, 0.02, 0.07], [0.93, 0.005, 0.005, 0.06]]),
    "a large gain": ((100, 100), [[0.5, 0.02, 0.4, 0.08], [0.95, 0.02, 0.02, 0.01]]),
    "both gain": ((60, 60), [[0.7, 0.03, 0.17, 0.1], [0.7, 0.03, 0.17, 0.1]]),
    "one rate traded for the other": (
        (100, 100),
        [[0.9, 0.0, 0.07, 0.03], [0.8, 0.1, 0.0, 0.1]],
    ),
    "rates change places": ((100, 100), [[0.8, 0.0, 0.08, 0.12], [0.8, 0.08, 0.0, 0.12]]),
    "few prompts": ((25, 25), [[0.6, 0.04, 0.2, 0.16], [0.8, 0.08, 0.04, 0.08]]),
}


def one(fixes: int, regressions: int, compared: int = 100) -> Significance:
    same = compared - fixes - regressions
    return Significance(
        fixes, regressions, compared, Pairs((same, regressions, fixes, 0), (10, 0, 0, 0))
    )


@settings(deadline=None)
@given(cells, cells)
def test_the_interval_holds_the_observed_change(
    positive: tuple[int, int, int, int], negative: tuple[int, int, int, int]
) -> None:
    pairs = Pairs(positive, negative)
    then = Metrics(
        positive[0] + positive[1],
        negative[0] + negative[1],
        negative[2] + negative[3],
        positive[2] + positive[3],
    )
    now = Metrics(
        positive[0] + positive[2],
        negative[0] + negative[2],
        negative[1] + negative[3],
        positive[1] + positive[3],
    )
    observed, found = observed_changes(pairs), change_intervals(pairs, draws=200)
    for name, change in observed.items():
        before, after = getattr(then, name), getattr(now, name)
        interval = found[name]
        if before is None or after is None or change is None:
            assert before is after is change is None
            assert interval is None
        else:
            assert change == pytest.approx(after - before)
            assert interval is not None
            assert -1 <= interval.low <= change <= interval.high <= 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SCENARIOS)
def test_95_percent_intervals_hold_the_true_change_of_coverage(name: str) -> None:
    """Of 800 samples at least 93 %."""
    sizes, probabilities = SCENARIOS[name]
    shares = np.array(probabilities)
    true = (shares[:, 0] + shares[:, 2]).min() - (shares[:, 0] + shares[:, 1]).min()
    generator = np.random.default_rng(5)
    held = 0
    for _ in range(800):
        drawn = [
            generator.multinomial(size, row).tolist()
            for size, row in zip(sizes, shares, strict=True)
        ]
        result = change_intervals(Pairs(*map(tuple, drawn)), draws=1000)["coverage"]
        assert result is not None
        held += result.low <= true <= result.high
    assert held / 800 >= 0.93


def test_the_interval_of_one_rate_is_near_that_of_a_paired_difference() -> None:
    """Against Wald's paired interval, which is right for many prompts."""
    right, broken, fixed, wrong = 1400, 120, 200, 280
    result = change_intervals(Pairs((right, broken, fixed, wrong), (100, 0, 0, 0)), draws=40_000)
    interval = result["true_positive_rate"]
    assert interval is not None
    change = (fixed - broken) / 2000
    error = ((broken + fixed) / 2000 - change**2) ** 0.5 / 2000**0.5
    assert interval.low == pytest.approx(change - 1.96 * error, abs=0.001)
    assert interval.high == pytest.approx(change + 1.96 * error, abs=0.001)


@settings(max_examples=up_to(20), deadline=None)
@given(cells, cells)
def test_the_share_of_resamples_is_that_of_prompts_drawn_one_by_one(
    positive: tuple[int, int, int, int], negative: tuple[int, int, int, int]
) -> None:
    pairs = Pairs(positive, negative)
    result = kept_share(pairs)
    if not sum(positive) or not sum(negative):
        assert result is None
        return
    generator = np.random.default_rng(3)
    then, now = [], []
    for row in (positive, negative):
        prompts = np.repeat(np.arange(4), row)
        drawn = generator.choice(prompts, (1000, len(prompts)))
        then.append([Fraction(int(count), len(prompts)) for count in (drawn < 2).sum(axis=1)])
        now.append([Fraction(int(count), len(prompts)) for count in (drawn % 2 == 0).sum(axis=1)])
    kept = sum(min(a) > min(b) for a, b in zip(zip(*now), zip(*then), strict=True))  # noqa: B905
    assert result == pytest.approx(kept / 1000, abs=0.08)


def test_resampling_is_fast_and_always_the_same() -> None:
    pairs = Pairs((4000, 100, 150, 750), (4500, 50, 40, 410))
    first = kept_share(pairs)
    least = 1.0
    for _ in range(5):  # other work on the machine must not count
        started = time.thread_time()
        assert kept_share(pairs) == first
        least = min(least, time.thread_time() - started)
    assert least < 0.05


def test_equal_coverage_is_never_kept() -> None:
    assert kept_share(Pairs((30, 0, 0, 10), (30, 0, 0, 10))) == 0.0
    assert kept_share(Pairs((0, 0, 40, 0), (0, 0, 40, 0))) == 1.0


@pytest.mark.exhaustive
@pytest.mark.parametrize("leaning", [0.55, 0.7, 0.9, 1.0])
def test_the_power_given_the_discordant_is_that_of_the_exact_test(leaning: float) -> None:
    result = _conditional_power(260, leaning)
    for count in (*range(40), 97, 100, 233, 260):
        fixes = np.arange(count + 1)
        rejected = [
            stats.binomtest(int(k), count, 0.5).pvalue < 0.05 if count else False for k in fixes
        ]
        expected = stats.binom.pmf(fixes, count, leaning)[rejected].sum()
        assert result[count] == pytest.approx(expected, abs=1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("fixes", "regressions", "of"), [(5, 2, 100), (9, 2, 60), (30, 20, 100)])
def test_so_many_prompts_tell_in_four_of_five_samples(
    fixes: int, regressions: int, of: int
) -> None:
    needed = prompts_needed(fixes, regressions, of)
    assert needed is not None
    generator = np.random.default_rng(13)
    shares = [fixes / of, regressions / of, 1 - (fixes + regressions) / of]
    drawn = generator.multinomial(needed, shares, size=3000)
    significant = [
        stats.binomtest(int(a), int(a + b), 0.5).pvalue < 0.05 for a, b, _ in drawn if a + b
    ]
    assert sum(significant) / 3000 == pytest.approx(0.8, abs=0.025)


@settings(deadline=None)
@given(st.integers(0, 80), st.integers(0, 80), st.integers(0, 400))
def test_the_number_is_the_least_that_has_the_power(
    fixes: int, regressions: int, rest: int
) -> None:
    of = fixes + regressions + rest
    if fixes == regressions:
        assert not of or prompts_needed(fixes, regressions, of) is None
        return
    needed = prompts_needed(fixes, regressions, of)
    assert needed == prompts_needed(regressions, fixes, of)
    share, leaning = (fixes + regressions) / of, max(fixes, regressions) / (fixes + regressions)
    limit = min(of + MOST_PROMPTS, 25_000)
    tried = limit if needed is None else needed
    conditional = _conditional_power(min(tried, int(tried * share + 8 * tried**0.5) + 9), leaning)
    if needed is None:
        assert _power(limit, share, conditional) < 0.8
    else:
        assert _power(needed, share, conditional) >= 0.8
        assert _power(needed - 1, share, conditional) < 0.8


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="fixes"):
        prompts_needed(5, 5, 9)


# Of 200 prompts: (right twice, broken, fixed, wrong twice) in each class.
GAIN = Significance(30, 0, 200, Pairs((60, 0, 30, 10), (95, 0, 0, 5)))
LOSS = Significance(0, 30, 200, Pairs((60, 30, 0, 10), (95, 0, 0, 5)))
SLIGHT = Significance(1, 2, 200, Pairs((70, 0, 1, 29), (90, 2, 0, 8)))


@pytest.mark.parametrize(
    ("found", "difference", "sentence"),
    [
        (GAIN, "better", "better: coverage +0.300 (+0.192 to +0.389), 30 fixes, 0 regressions"),
        (LOSS, "worse", "worse: coverage −0.300 (−0.402 to −0.202), 0 fixes, 30 regressions"),
        (
            SLIGHT,
            "no demonstrable change",
            "no demonstrable change: coverage +0.010 (−0.029 to +0.039), 1 fix, 2 regressions",
        ),
        (
            Significance(0, 0, 100, Pairs((40, 0, 0, 10), (40, 0, 0, 10))),
            "no verdicts changed",
            "no verdicts changed",
        ),
        (
            Significance(9, 2, 50, Pairs((40, 1, 8, 1), (0, 0, 0, 0))),
            "coverage cannot be compared",
            "coverage cannot be compared: 9 fixes, 2 regressions",
        ),
        (
            Significance(0, 0, 0, Pairs((0, 0, 0, 0), (0, 0, 0, 0))),
            "coverage cannot be compared",
            "nothing to compare: no prompt has the same label and a verdict in both",
        ),
    ],
)
def test_one_sentence_about_coverage_says_what_a_comparison_shows(
    found: Significance, difference: str, sentence: str
) -> None:
    assert found.difference == difference
    assert found.sentence == sentence


def test_the_sentence_names_the_other_evaluation_and_the_prompts() -> None:
    assert GAIN.describe("iteration 2", "on 200 held-out prompts").startswith(
        "better than iteration 2 on 200 held-out prompts: coverage +0.300 ("
    )
    assert SLIGHT.describe("iteration 2").startswith(
        "no demonstrable change against iteration 2: coverage +0.010 ("
    )


@given(cells, cells)
@settings(deadline=None, max_examples=up_to(50))
def test_better_and_worse_are_said_only_where_the_interval_of_coverage_excludes_0(
    positive: tuple[int, int, int, int], negative: tuple[int, int, int, int]
) -> None:
    pairs = Pairs(positive, negative)
    fixes, regressions = (positive[cell] + negative[cell] for cell in (2, 1))
    result = Significance(fixes, regressions, pairs.total, pairs)
    interval = result.intervals["coverage"]
    shown = interval is not None and (interval.low > 0 or interval.high < 0)
    if fixes + regressions == 0:
        shown = False
    assert result.could_be_chance is not shown
    assert result.sentence.startswith(("better: ", "worse: ")) is shown
    if shown and interval is not None:
        assert result.sentence.startswith("better: " if interval.low > 0 else "worse: ")


def test_bounds_beside_0_have_the_decimals_to_show_it() -> None:
    of_many = Significance(
        400, 0, 2_000_000, Pairs((500_000, 0, 400, 499_600), (900_000, 0, 0, 100_000))
    )
    assert of_many.sentence.startswith("better: coverage +0.00040 (+0.00036 to +0.00044), ")


def test_significant_change_needs_no_more_prompts() -> None:
    assert one(20, 5).more_prompts == 0
    assert one(5, 2).more_prompts == 545


@given(rows, rows)
def test_a_comparison_counts_the_pairs_by_the_labels_of_now(
    old: dict[int, tuple[bool, int]], new: dict[int, tuple[bool, int]]
) -> None:
    result = compare(evaluation(old), evaluation(new)).significance
    counts = {True: [0, 0, 0, 0], False: [0, 0, 0, 0]}
    for key, (label, answer) in new.items():
        before = old.get(key, (label, -1))[1]
        if before >= 0 and answer >= 0:
            was, now = before == label, answer == label
            counts[label][2 * (not was) + (not now)] += 1
    assert list(result.pairs.positive) == counts[True]
    assert list(result.pairs.negative) == counts[False]
    assert result.pairs.total == sum(map(sum, counts.values()))
    assert result.compared <= result.pairs.total
