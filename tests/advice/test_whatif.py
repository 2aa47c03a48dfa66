"""The shortlist: ranked by the search half, told for both, stopped at any time."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from guardtui.advice.candidates import Kind
from guardtui.advice.measuring import TopicScorer
from guardtui.advice.splits import Split, split_prompts
from guardtui.advice.whatif import Shortlist, shortlist
from guardtui.advice.worth import worth_of, worth_of_matches
from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.local.scanner import LocalScanner

from .conftest import TOPIC, Bench, bench_of


def found(scorer: TopicScorer, topic: Topic = TOPIC) -> Shortlist:
    result = shortlist(scorer, topic)
    assert result is not None
    return result


def evaluation(bench: Bench, topic: Topic, rows: np.ndarray) -> Evaluation:
    prompts = PromptSet(bench.prompts.frame[rows], bench.prompts.intent, "")
    verdicts = LocalScanner("static").scan_now(topic, prompts, lambda _: None)
    assert verdicts is not None
    settings = bench.scanner.settings
    return Evaluation(topic, settings, "", prompts.keys, prompts.expected, verdicts)


@pytest.mark.parametrize("intent", Intent)
def test_each_proposal_says_what_an_evaluation_of_it_says(bench: Bench, intent: Intent) -> None:
    topic = TOPIC.model_copy(update={"intent": intent})
    result = found(bench.scorer, topic)
    assert result.complete
    assert result.proposals
    gains = [one.gain for one in result.proposals]
    assert gains == sorted(gains, reverse=True)
    for one in result.proposals[:4]:
        for half, rows in (
            ("search", bench.split.search_rows),
            ("report", bench.split.report_rows),
        ):
            before, after = (evaluation(bench, each, rows) for each in (topic, one.topic))
            assert getattr(one.before, half) == before.metrics
            assert getattr(one.after, half) == after.metrics
        # The last half is the report half.
        comparison = compare(before, after)
        assert (one.report_fixes, one.report_regressions) == (
            comparison.fixes,
            comparison.regressions,
        )
        assert one.p_value == comparison.p_value
        assert one.held_out_gain == pytest.approx(comparison.deltas["coverage"])
        assert one.overfit_gap == pytest.approx(one.search_gain - one.held_out_gain)
        low, high = one.interval
        assert low <= one.held_out_gain <= high
        whole = [
            evaluation(bench, each, np.arange(len(bench.prompts))) for each in (topic, one.topic)
        ]
        changes = compare(*whole).changes
        assert one.regressions.tolist() == np.flatnonzero(changes == 1).tolist()
        assert one.fixes.tolist() == np.flatnonzero(changes == 2).tolist()


def test_examples_come_from_the_search_half_alone(bench: Bench) -> None:
    result = shortlist(bench.scorer, TOPIC, limit=500, each=500)
    assert result is not None
    fresh = {text for one in result.proposals for text in one.topic.examples} - {*TOPIC.examples}
    half = set(bench.prompts.prompts.gather(bench.split.search_rows).to_list())
    assert fresh
    assert fresh <= half


def test_no_more_of_a_kind_than_asked_for(bench: Bench) -> None:
    result = shortlist(bench.scorer, TOPIC, limit=9, each=2)
    assert result is not None
    kinds = [one.kinds[0] for one in result.proposals]
    assert len(kinds) <= 9
    assert max(map(kinds.count, kinds)) == 2


def test_edits_of_examples_are_told_before_descriptions_are_embedded(bench: Bench) -> None:
    early: list[Shortlist] = []
    result = shortlist(bench.scorer, TOPIC, partial=early.append)
    assert result is not None
    assert len(early) == 1
    assert not early[0].complete
    kinds = {one.kinds[0] for one in early[0].proposals}
    assert kinds <= {Kind.ADD_EXAMPLE, Kind.SWAP_EXAMPLE, Kind.DROP_EXAMPLE}
    assert kinds < {one.kinds[0] for one in result.proposals}


def test_it_is_stopped_wherever_it_is(bench: Bench) -> None:
    calls = 0

    def count() -> bool:
        nonlocal calls
        calls += 1
        return False

    found(bench.scorer)  # from here on no text is new
    shortlist(bench.scorer, TOPIC, stopped=count)
    assert calls > 10
    for at in range(1, calls, max(1, calls // 12)):
        left = iter([False] * at)
        assert shortlist(bench.scorer, TOPIC, stopped=lambda left=left: next(left, True)) is None


def relabelled(bench: Bench, seed: int) -> PromptSet:
    """The same prompts, labels of the report half dealt out anew."""
    labels = bench.prompts.expected.copy()
    rows = bench.split.report_rows
    labels[rows] = np.random.default_rng(seed).permutation(labels[rows])
    assert (labels != bench.prompts.expected).any()
    frame = bench.prompts.frame.with_columns(pl.Series("expected", labels))
    return PromptSet(frame, bench.prompts.intent, "")


@pytest.mark.parametrize("seed", [0, 1])
def test_labels_of_the_other_half_do_not_change_the_choice(bench: Bench, seed: int) -> None:
    other = bench_of(relabelled(bench, seed), bench.split, LocalScanner("static"))
    first, second = found(bench.scorer), found(other.scorer)
    assert [one.topic for one in first.proposals] == [one.topic for one in second.proposals]
    assert [one.gain for one in first.proposals] == [one.gain for one in second.proposals]
    assert first.before.report != second.before.report


def test_the_other_half_as_such_does_not_change_the_choice(bench: Bench) -> None:
    fewer = Split(bench.split.search, bench.split.report.copy(), "")
    fewer.report[bench.split.report_rows[::3]] = False
    other = bench_of(bench.prompts, fewer, LocalScanner("static"))
    first, second = found(bench.scorer), found(other.scorer)
    assert [one.topic for one in first.proposals] == [one.topic for one in second.proposals]


def test_the_source_of_the_halves_is_told(bench: Bench) -> None:
    split = split_prompts(bench.prompts)
    result = found(bench.scorer)
    assert (result.source, result.notes) == (split.source, split.notes)


def test_the_interval_of_a_gain_holds_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    # TPR goes from 0.7 to 0.8 and TNR stays at 0.8, near it: coverage is 0.1 better in truth.
    duty = np.arange(100) % 2 == 0
    inside = 0
    for _ in range(300):
        before = np.where(duty, random.random(100) < 0.7, random.random(100) < 0.8)
        better = random.random(100) < np.where(duty, 1 / 2, 1 / 4)
        worse = random.random(100) < np.where(duty, 1 / 14, 1 / 16)
        after = np.where(before, ~worse, better)
        found = worth_of(duty, before, after).intervals["coverage"]
        assert found is not None
        inside += found.low <= 0.1 <= found.high
    assert inside >= 277  # 92 %


def test_the_worth_of_matches_is_that_of_right_verdicts_for_both_intents(bench: Bench) -> None:
    other = TOPIC.model_copy(update={"examples": TOPIC.examples[:1]})
    matches = [bench.scorer.matches(one) for one in (TOPIC, other)]
    expected = bench.prompts.expected
    for intent in Intent:
        whole = [
            evaluation(
                bench, one.model_copy(update={"intent": intent}), np.arange(len(bench.prompts))
            )
            for one in (TOPIC, other)
        ]
        found = worth_of_matches(expected, matches[0], matches[1], intent)
        assert found == compare(*whole).significance
