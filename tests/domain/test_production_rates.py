"""Rates over a log: exact when all is labelled, chances of every prompt, intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.domain.production_rates import (
    SampleCounts,
    count_labels,
    coverage_change,
    labels_until,
    next_chances,
    production_rates,
    refine,
    score_strata,
)

Log = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Scores, verdicts of two definitions, and labels; both classes are there."""
    size = draw(st.integers(4, 60))
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    belongs = random.random(size) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    belongs[:2] = True, False
    scores = np.round(random.normal(size=size) + belongs, draw(st.sampled_from([0, 3])))
    return scores, scores > 0.5, scores + random.normal(size=size) > 0.5, belongs


def plain(matches: np.ndarray, belongs: np.ndarray) -> tuple[float, float]:
    """Rates of right verdicts on prompts that belong and on the others."""
    return float(matches[belongs].mean()), float((~matches)[~belongs].mean())


@given(logs())
def test_strata_of_a_log_have_one_verdict_of_each_definition(log: Log) -> None:
    scores, first, second, _ = log
    strata = score_strata(scores, [first, second])
    assert sorted(set(strata.tolist())) == list(range(strata.max() + 1))
    for code in range(strata.max() + 1):
        rows = strata == code
        assert len(set(first[rows].tolist())) == len(set(second[rows].tolist())) == 1


@pytest.mark.parametrize("matching", [10, 90])
def test_the_more_frequent_verdict_is_cut_near_the_operating_point(matching: int) -> None:
    scores = np.arange(100, 0, -1.0)
    strata = score_strata(scores, [scores > 100 - matching])
    sizes = [np.count_nonzero(strata == code) for code in range(strata.max() + 1)]
    assert sorted(sizes) == [5, 5, 9, 27, 54]
    nearest = scores == 100 - matching + (matching > 50)
    assert np.count_nonzero(strata == strata[nearest][0]) == 9


@given(logs())
def test_refined_strata_divide_the_old_ones(log: Log) -> None:
    scores, first, second, _ = log
    strata = score_strata(scores, [first])
    finer = refine(strata, [first, second])
    for code in range(finer.max() + 1):
        assert len(set(strata[finer == code].tolist())) == 1


@given(logs(), st.integers(0, 60))
def test_chances_of_strata_sum_to_one_and_reach_every_remaining_prompt(
    log: Log, labelled: int
) -> None:
    scores, first, second, belongs = log
    rows = np.random.default_rng(1).permutation(len(scores))[:labelled]
    for matches in ([first], [first, second]):
        strata = score_strata(scores, matches)
        counts = count_labels(strata, rows.tolist(), belongs[rows].tolist(), matches)
        chances = next_chances(counts)
        assert np.all((chances > 0) == (counts.remaining > 0))
        assert chances.sum() == pytest.approx(1.0 if labelled < len(scores) else 0.0)
        assert np.all(chances <= 1 + 1e-12)


@settings(max_examples=30)
@given(logs())
def test_a_whole_labelled_log_has_its_plain_rates_without_an_interval(log: Log) -> None:
    scores, first, second, belongs = log
    rows = list(range(len(scores)))
    both = [first, second]
    counts = count_labels(score_strata(scores, both), rows, belongs.tolist(), both)
    rates = production_rates(counts)
    before, after = plain(first, belongs), plain(second, belongs)
    assert (rates.belonging.value, rates.others.value) == pytest.approx(before)
    assert rates.coverage.value == pytest.approx(min(before))
    assert rates.coverage.half_width == pytest.approx(0)
    change = coverage_change(counts)
    assert [change.low, change.value, change.high] == pytest.approx([min(after) - min(before)] * 3)


@settings(max_examples=30)
@given(logs(), st.integers(1, 60))
def test_estimates_lie_in_their_intervals(log: Log, labelled: int) -> None:
    scores, first, second, belongs = log
    both = [first, second]
    rows = np.random.default_rng(2).permutation(len(scores))[:labelled]
    counts = count_labels(score_strata(scores, both), rows.tolist(), belongs[rows].tolist(), both)
    rates = production_rates(counts)
    for rate in (rates.coverage, rates.belonging, rates.others):
        assert 0 <= rate.low <= rate.value <= rate.high <= 1
    change = coverage_change(counts)
    assert -1 <= change.low <= change.value <= change.high <= 1


def test_a_label_counts_by_the_prompts_that_it_stands_for() -> None:
    # 10 of 100 matched prompts labelled, 9 belong; 20 of 900 others, 1 belongs.
    counts = SampleCounts(
        np.array([100, 900]), np.array([10, 20]), np.array([9, 1]), np.array([[True, False]])
    )
    (belonging, others), *_ = counts.rates()
    assert belonging == pytest.approx(90 / (90 + 45))
    assert others == pytest.approx(855 / (855 + 10))


def test_a_stratum_with_two_verdicts_is_an_error() -> None:
    with pytest.raises(ValueError, match="different verdicts"):
        count_labels(np.zeros(2, np.int64), [0], [True], [np.array([True, False])])


def test_a_prompt_that_is_left_out_is_in_no_stratum() -> None:
    matches = np.array([True, True, False])
    counts = count_labels(np.array([0, -1, 1]), [0], [True], [matches])
    assert counts.sizes.tolist() == [1, 1]


def test_definitions_that_never_differ_need_no_label_of_their_difference() -> None:
    matches = np.arange(50) < 10
    strata = score_strata(np.arange(50, 0, -1.0), [matches, matches])
    change = coverage_change(count_labels(strata, [0, 30], [True, False], [matches, matches]))
    assert change.low == change.value == change.high == 0


def test_labels_that_differ_lie_where_the_definitions_differ() -> None:
    first = np.arange(400) < 40
    second = np.arange(400) < 50
    strata = score_strata(np.arange(400, 0, -1.0), [first, second])
    rows = list(range(0, 400, 20))
    counts = count_labels(strata, rows, [row < 40 for row in rows], [first, second])
    chances = next_chances(counts)
    differing = counts.matches[0] != counts.matches[1]
    assert chances[differing].sum() > 0.2


def counts_of_sample(asked: int) -> SampleCounts:
    """A log of 1,000 prompts, 100 of which match, sampled at one rate."""
    share = asked / 1_000
    return SampleCounts(
        np.array([100, 900]),
        np.array([round(100 * share), round(900 * share)]),
        np.array([round(80 * share), round(18 * share)]),
        np.array([[True, False]]),
    )


def test_labels_until_a_narrow_interval_are_fewer_the_wider_it_may_be() -> None:
    counts = counts_of_sample(100)
    until = [labels_until(counts, width) for width in (0.05, 0.08, 0.3)]
    assert until[0] > until[1] > 0
    assert until[2] == 0


def test_labels_until_are_predicted_well() -> None:
    predicted = labels_until(counts_of_sample(100), 0.08)
    after = production_rates(counts_of_sample(100 + predicted)).coverage.half_width
    assert after == pytest.approx(0.08, abs=0.02)


def test_labels_until_an_interval_without_width_are_all_that_remain() -> None:
    assert labels_until(counts_of_sample(100), 0) == 900


def test_an_interval_is_more_cautious_where_labels_contradict_the_engine() -> None:
    sizes, asked = np.array([100, 100, 400]), np.array([50, 50, 100])
    matches = np.array([[True, False, False]])
    ordered = SampleCounts(sizes, asked, np.array([45, 5, 0]), matches)
    reverse = SampleCounts(sizes[[0, 2, 1]], asked[[0, 2, 1]], np.array([45, 0, 5]), matches)
    assert production_rates(ordered).coverage.value == production_rates(reverse).coverage.value
    assert production_rates(ordered).coverage.low > production_rates(reverse).coverage.low


def holds(scores: np.ndarray, matches: np.ndarray, belongs: np.ndarray, draws: int) -> float:
    """Share of audits whose interval, when it is first within ±.08, holds the truth."""
    strata = score_strata(scores, [matches])
    truth = min(plain(matches, belongs))
    held = 0
    for seed in range(draws):
        random = np.random.default_rng(seed)
        orders = [
            random.permutation(np.flatnonzero(strata == h)).tolist()
            for h in range(strata.max() + 1)
        ]
        rows: list[int] = []
        while True:
            counts = count_labels(strata, rows, belongs[rows].tolist(), [matches])
            if rows:
                coverage = production_rates(counts).coverage
                if coverage.half_width <= 0.08:
                    break
            chances = next_chances(counts)
            for _ in range(10):
                weights = chances * [bool(order) for order in orders]
                if weights.sum():
                    stratum = random.choice(len(orders), p=weights / weights.sum())
                    rows.append(orders[stratum].pop())
        held += coverage.low <= truth <= coverage.high
    return held / draws


def simulated(share: float, engine: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of an engine, verdicts of the guardrail, and labels of a log of 600 prompts."""
    random = np.random.default_rng(7)
    belongs = random.permutation(np.arange(600) < 600 * share)
    guardrail = random.normal(size=600) + 2.5 * belongs
    scores = {
        "good": guardrail + random.normal(size=600),
        "random": random.normal(size=600),
        "inverted": -guardrail,
        "constant": np.zeros(600),
    }
    return scores[engine], guardrail > 1.5, belongs


ENGINES = ["good", "random", "inverted", "constant"]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_interval_holds_when_the_audit_stops(engine: str) -> None:
    assert holds(*simulated(0.1, engine), draws=10) >= 0.8


@pytest.mark.exhaustive
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_intervals_hold_when_the_audit_stops_with_any_engine(share: float, engine: str) -> None:
    assert holds(*simulated(share, engine), draws=200) >= 0.93
