"""Choice among wordings on two thirds of the prompts, reported on the other third."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.model_objective import (
    CHOSEN_ON,
    FINALISTS,
    WordingSweep,
    sweep_wordings,
)
from guardtui.advice.splits import split_prompts
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
from tests.guardrails import decision_settings

SETTINGS = decision_settings(template="0")
COUNT = 200


def prompts_of(intent: Intent = Intent.BLOCK, count: int = COUNT) -> PromptSet:
    frame = pl.DataFrame(
        {
            "prompt": [f"prompt {n}" for n in range(count)],
            "expected": ["true" if n % 2 else "false" for n in range(count)],
        }
    )
    lines = np.arange(2, count + 2, dtype=np.uint32)
    return build_prompt_set(frame, lines, "test", intent)


def wording(number: int, intent: Intent = Intent.BLOCK, *examples: str) -> Candidate:
    topic = Topic(name="T", description=f"wording {number}", examples=examples, intent=intent)
    return Candidate(topic, CandidateKind.TYPED, f"change {number}")


def scores(prompts: PromptSet, separation: float, seed: int) -> NDArray[np.float32]:
    """Return probabilities that separate the classes by this many standard deviations."""
    random = np.random.default_rng(seed)
    z = random.normal(size=len(prompts)) + separation * (prompts.expected - 0.5)
    return (1 / (1 + np.exp(-z))).astype(np.float32)


def swept(
    prompts: PromptSet, rows: list[NDArray[np.float32]], intent: Intent = Intent.BLOCK
) -> WordingSweep:
    wordings = [wording(number, intent) for number in range(len(rows))]
    split = split_prompts(prompts, CHOSEN_ON)
    return sweep_wordings(wordings, np.stack(rows), prompts, split, SETTINGS)


def test_two_thirds_choose_and_a_third_reports() -> None:
    split = split_prompts(prompts_of(count=3000), CHOSEN_ON)
    assert not (split.search & split.report).any()
    assert (split.search | split.report).all()
    assert split.search.mean() == pytest.approx(2 / 3, abs=0.03)
    few = prompts_of(count=12)
    split = split_prompts(few, CHOSEN_ON)
    for part in (split.search, split.report):
        assert 0 < few.expected[part].mean() < 1


@pytest.mark.parametrize("intent", Intent)
def test_a_wording_that_is_better_is_proposed(intent: Intent) -> None:
    prompts = prompts_of(intent)
    rows = [scores(prompts, 0.5, seed) for seed in range(20)]
    rows[7] = scores(prompts, 4.0, 99)
    result = swept(prompts, rows, intent)
    best = result.best
    assert best is not None
    assert best.changes == ("change 7",)
    assert result.wordings[0].proposal is best
    held = best.held_out
    assert held is not None
    assert held.before.total == held.after.total == len(result.split.report_rows)
    assert best.gain.low > 0
    assert best.gain.value == pytest.approx(held.gain)
    assert set(held.fixes) <= set(result.split.report_rows)
    assert best.threshold is not None
    assert 0 < best.threshold < 1


@pytest.mark.exhaustive
def test_without_a_better_wording_nothing_is_proposed() -> None:
    proposed = 0
    for seed in range(20):
        prompts = prompts_of()
        rows = [scores(prompts, 1.5, 1000 * seed + number) for number in range(30)]
        proposed += swept(prompts, rows).best is not None
    assert proposed <= 5


def test_few_wordings_are_reported_on_and_more_make_the_bounds_wider() -> None:
    prompts = prompts_of()
    good = scores(prompts, 2.5, 1)
    alone = swept(prompts, [scores(prompts, 0.5, 0), good, scores(prompts, 0.2, 3)])
    similar = [np.clip(good + np.float32(0.001 * n), 0, 1) for n in range(6)]
    several = swept(prompts, [scores(prompts, 0.5, 0), *similar])
    reported = [known.proposal for known in several.wordings if known.proposal is not None]
    assert len(reported) == FINALISTS
    first = alone.wordings[0].proposal
    assert first is not None
    assert reported[0].gain.value == pytest.approx(first.gain.value)
    assert reported[0].gain.low < first.gain.low


def test_no_threshold_separates_tied_probabilities() -> None:
    prompts = prompts_of()
    rows = [np.round(scores(prompts, 0.5, 0), 1), np.round(scores(prompts, 4.0, 1), 1)]
    result = swept(prompts, rows)
    best = result.best
    assert best is not None
    assert best.threshold is not None
    assert best.threshold == round(best.threshold, 2)
    # The threshold gives on the probabilities themselves what is reported.
    report = best.held_out
    assert report is not None
    held_out = result.split.report
    right = (rows[1] >= np.float32(best.threshold)) == prompts.expected
    assert report.after.tp + report.after.tn == np.count_nonzero(right & held_out)


def test_missing_answers_and_own_examples_are_not_counted() -> None:
    prompts = prompts_of()
    rows = [scores(prompts, 0.5, 0), scores(prompts, 4.0, 1)]
    rows[1][:40] = np.nan
    split = split_prompts(prompts, CHOSEN_ON)
    own = tuple(prompts.prompts.to_list()[60:70])
    wordings = [wording(0), wording(1, Intent.BLOCK, *own)]
    result = sweep_wordings(wordings, np.stack(rows), prompts, split, SETTINGS)
    assert result.missing == 40
    (proposal,) = result.finalists
    report = proposal.held_out
    assert report is not None
    left = split.report.copy()
    left[:40] = left[60:70] = False
    assert report.after.total == left.sum()
