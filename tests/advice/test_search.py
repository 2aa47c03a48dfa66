"""The search: deterministic, within its budget, and independent of held-out prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
import polars as pl
import pytest

from guardtui.advice.candidates import Candidate, CandidateKind, is_usable_example
from guardtui.advice.objective import Array, Objective, Rows, Stopped
from guardtui.advice.phrases import excludes
from guardtui.advice.search import Search, SearchProgress, SearchResult, advise
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic, violations
from guardtui.scanners.local.scanner import LocalScanner

from .conftest import TOPIC, Bench, bench_of


def split_set(prompts: PromptSet, other_labels: int | None = None) -> PromptSet:
    """Return the sample with every second prompt held out, with its labels shuffled if wanted."""
    frame = prompts.frame
    split = ["train" if row % 2 == 0 else "test" for row in range(len(frame))]
    labels = prompts.expected.copy()
    if other_labels is not None:
        labels[1::2] = np.random.default_rng(other_labels).permutation(labels[1::2])
        assert (labels != prompts.expected).any()
    columns = [pl.Series("split", split), pl.Series("expected", labels)]
    return PromptSet(frame.with_columns(columns), prompts.intent, "")


@pytest.fixture(scope="module")
def scanner() -> LocalScanner:
    return LocalScanner("static")


@pytest.fixture(scope="module")
def small(prompts: PromptSet, scanner: LocalScanner) -> Bench:
    """Return a third of the sample, which is searched fast."""
    return bench_of(PromptSet(prompts.frame[::3], prompts.intent, ""), scanner)


def result_of(
    bench: Bench,
    topic: Topic = TOPIC,
    *,
    clock: Callable[[], float] = lambda: 0.0,
    stopped: Stopped = lambda: False,
    reported: list[SearchProgress] | None = None,
    widths: tuple[int, ...] = (1, 2),
    objective: Objective | None = None,
) -> SearchResult:
    reported = [] if reported is None else reported
    result = Search(
        bench.objective() if objective is None else objective,
        topic,
        bench.rows,
        budget=10,
        stopped=stopped,
        progress=reported.append,
        widths=widths,
        clock=clock,
        most_edits=3,
    ).run()
    assert result is not None
    return result


@pytest.fixture(scope="module")
def whole(small: Bench) -> SearchResult:
    return result_of(small)


def choice(result: SearchResult) -> list[tuple[object, ...]]:
    """Return the proposals with the figures that they were chosen by."""
    return [
        (
            proposal.topic,
            proposal.changes,
            proposal.gain,
            proposal.before,
            proposal.after,
            proposal.fixes.tolist(),
        )
        for proposal in result.proposals
    ]


def test_it_proposes_better_definitions_the_best_first(small: Bench, whole: SearchResult) -> None:
    assert whole.ended == "exhausted"
    gains = [proposal.gain.value for proposal in whole.proposals]
    assert gains == sorted(gains, reverse=True)
    assert len(whole.proposals) > 3
    assert len([proposal for proposal in whole.proposals if len(proposal.kinds) > 1]) <= 1
    # Only the gain of the whole choice is measured on folds; the others are guesses below it.
    assert [proposal.gain.likely for proposal in whole.proposals].count(True) <= 1
    assert whole.advised == whole.proposals[: len(whole.advised)]
    assert whole.best is next(iter(whole.advised), None)
    assert 0 < whole.single_edits < whole.measured
    assert whole.before.total == len(small.prompts) - sum(
        text in TOPIC.examples for text in small.prompts.prompts
    )


@pytest.mark.parametrize("intent", Intent)
def test_no_proposal_breaks_a_limit_or_has_examples_from_elsewhere(
    prompts: PromptSet, scanner: LocalScanner, intent: Intent
) -> None:
    frame = split_set(prompts).frame
    bench = bench_of(PromptSet(frame[::3], intent, ""), scanner)
    topic = TOPIC.model_copy(update={"intent": intent})
    result = result_of(bench, topic)
    rows = bench.rows.chosen_on
    belong = rows[bench.prompts.expected[rows]]
    allowed = {*bench.prompts.prompts.gather(belong), *topic.examples}
    assert result.proposals
    for proposal in result.proposals:
        assert not violations(proposal.topic)
        assert (proposal.topic.name, proposal.topic.intent) == (topic.name, intent)
        assert {*proposal.topic.examples} <= allowed
        assert all(map(is_usable_example, proposal.topic.examples))
        assert excludes(proposal.topic.description) <= excludes(topic.description)
        assert proposal.topic.description.startswith("Questions, requests and pleas for")


def test_the_search_is_deterministic(small: Bench, whole: SearchResult) -> None:
    again = result_of(bench_of(small.prompts))
    assert [fields[:2] for fields in choice(again)] == [fields[:2] for fields in choice(whole)]
    assert again.measured == whole.measured


def test_held_out_prompts_do_not_change_the_choice(
    prompts: PromptSet, scanner: LocalScanner
) -> None:
    first, second, fewer = (
        result_of(bench_of(prompt_set, scanner), widths=(1,))
        for prompt_set in (
            split_set(prompts),
            split_set(prompts, 1),
            PromptSet(split_set(prompts).frame[[*range(0, 200, 2), *range(1, 40, 2)]], None, ""),
        )
    )
    chosen = [(proposal.topic, proposal.gain) for proposal in first.proposals]
    assert chosen == [(proposal.topic, proposal.gain) for proposal in second.proposals]
    assert [pair[0] for pair in chosen] == [proposal.topic for proposal in fewer.proposals]
    assert first.before == second.before
    held = [[proposal.held_out for proposal in result.proposals] for result in (first, second)]
    assert held[0] != held[1]
    assert None not in held[0]


def test_edits_worse_on_held_out_prompts_are_not_advised(
    prompts: PromptSet, scanner: LocalScanner
) -> None:
    turned = split_set(prompts).frame.with_columns(
        pl.Series("expected", prompts.expected ^ (np.arange(200) % 2 == 1))
    )
    result = result_of(bench_of(PromptSet(turned, prompts.intent, ""), scanner), widths=(1,))
    proven = [proposal for proposal in result.proposals if proposal.gain.likely]
    assert any(proposal.held_out and proposal.held_out.gain <= 0 for proposal in proven)
    assert all(proposal.held_out and proposal.held_out.gain > 0 for proposal in result.advised)


def test_the_budget_ends_the_search_with_the_best_so_far(small: Bench, whole: SearchResult) -> None:
    ticks = count(0.0, 0.5)
    reported: list[SearchProgress] = []
    result = result_of(small, clock=lambda: next(ticks), reported=reported)
    assert result.ended == "budget"
    assert 0 < result.measured < whole.measured
    assert [progress.measured for progress in reported] == sorted(
        progress.measured for progress in reported
    )
    assert [progress.gain for progress in reported] == sorted(
        progress.gain for progress in reported
    )


def test_without_any_time_nothing_is_proposed(small: Bench) -> None:
    ticks = count(0.0, 100.0)
    result = result_of(small, clock=lambda: next(ticks))
    assert (result.ended, result.proposals, result.best) == ("budget", (), None)
    assert result.measured == 1


def test_a_stopped_search_returns_the_best_so_far(small: Bench, whole: SearchResult) -> None:
    asked: list[bool] = []

    def stopped() -> bool:
        asked.append(False)
        return False

    Search(
        small.objective(), TOPIC, small.rows, stopped=stopped, most_edits=3, widths=(1,)
    ).choose()
    for share in (0.5, 0.7, 0.9):
        left = iter([False] * int(len(asked) * share))
        result = result_of(small, stopped=lambda left=left: next(left, True))  # type: ignore[misc]
        assert result.ended == "stopped"
        assert 0 < result.measured < whole.measured
    assert result.proposals
    assert Search(small.objective(), TOPIC, small.rows, stopped=lambda: True).run() is None


def test_stopped_advice_is_none(small: Bench) -> None:
    calls = 0

    def counted() -> bool:
        nonlocal calls
        calls += 1
        return False

    advise(small.objective(), TOPIC, small.rows)  # no text is new after this
    result = advise(small.objective(), TOPIC, small.rows, counted)
    assert result is not None
    assert result.ended == "exhausted"
    assert all(len(proposal.kinds) == 1 for proposal in result.proposals)
    for at in range(1, calls, calls // 3):
        left = iter([False] * at)
        stopped = advise(
            small.objective(),
            TOPIC,
            small.rows,
            lambda left=left: next(left, True),  # type: ignore[misc]
        )
        assert stopped is None


class Equal:
    """An objective with equal values for all definitions."""

    def __init__(self, usual: Objective) -> None:
        self._usual = usual
        self.prompts, self.rows, self.settings = usual.prompts, usual.rows, usual.settings
        self.sources = usual.sources
        self.appraise, self.judge = usual.appraise, usual.judge

    def on(self, rows: Rows) -> Objective:
        return Equal(self._usual.on(rows))

    def values(
        self, candidates: Sequence[Candidate], stopped: Stopped = lambda: False
    ) -> Array | None:
        return np.full(len(candidates), 0.5)


def test_edits_without_enough_gain_are_dropped(small: Bench) -> None:
    reported: list[SearchProgress] = []
    result = result_of(small, objective=Equal(small.objective()), reported=reported, widths=(1,))
    assert result.ended == "exhausted"
    assert {len(proposal.kinds) for proposal in result.proposals} <= {1, 2}
    assert max(progress.gain for progress in reported) == 0
    # Two edits in a row without a gain end it.
    assert max(progress.edits for progress in reported) == 2


def test_without_candidates_there_are_no_proposals(small: Bench) -> None:
    result = result_of(small, TOPIC.model_copy(update={"name": "x" * 300}))
    assert (result.single_edits, result.measured, result.proposals) == (0, 1, ())


def test_a_draft_is_completed(small: Bench) -> None:
    result = result_of(
        small, Topic(name="Tax advice", description="Personal tax advice"), widths=(1,)
    )
    assert result.proposals
    assert {CandidateKind.COMPLETE} <= {
        kind for proposal in result.proposals for kind in proposal.kinds
    }
    for proposal in result.proposals:
        assert proposal.topic.description
        assert len(proposal.topic.examples) >= 2
