"""Figures of a proposal equal those of an evaluation on the counted prompts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.objective import Gain
from guardtui.advice.proposals import (
    ForecastChange,
    HeldOut,
    Proposal,
    appraise_current,
    propose,
)
from guardtui.domain.comparison import compare
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.separation import SeparationChange
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.local.scanner import LocalScanner

from .conftest import TOPIC, Bench, bench_of

GAIN = Gain(0.1, 0.0, 0.2, likely=True)


@pytest.fixture(scope="module")
def shipped(prompts: PromptSet) -> Bench:
    """Return a bench at the built-in threshold, so that a scan gives the same verdicts."""
    return bench_of(prompts, LocalScanner("static"))


def evaluation(bench: Bench, topic: Topic, rows: np.ndarray) -> Evaluation:
    prompts = PromptSet(bench.prompts.frame[rows], bench.prompts.intent, "")
    result = LocalScanner("static").evaluate_now(topic, prompts)
    assert result is not None
    return result


def proposal_of(
    bench: Bench, objective: EngineObjective, topic: Topic, path: list[Candidate], held: np.ndarray
) -> Proposal:
    current = appraise_current(objective, topic)
    assert current is not None
    proposal = propose(objective, (topic, current), path, held, GAIN)
    assert proposal is not None
    return proposal


@pytest.mark.parametrize("intent", Intent)
def test_figures_of_a_proposal_are_those_of_an_evaluation(shipped: Bench, intent: Intent) -> None:
    bench = shipped
    topic = TOPIC.model_copy(update={"intent": intent})
    texts = bench.prompts.prompts.to_list()
    row = int(np.flatnonzero(bench.prompts.expected)[1])
    after = topic.model_copy(
        update={"description": "Taxes", "examples": (*topic.examples, texts[row])}
    )
    every = np.arange(len(texts))
    chosen, held = every[::2], every[1::2]
    objective = EngineObjective(bench.scores, chosen, fitted=False)
    path = [Candidate(after, CandidateKind.ADD_EXAMPLE, "Add it", (texts[4],))]
    proposal = proposal_of(bench, objective, topic, path, held)
    own = {row, 4} & {*chosen.tolist()}
    own |= {n for n in chosen.tolist() if texts[n] in after.examples}
    assert {*proposal.left_out.tolist()} == own
    kept = np.array([n for n in chosen.tolist() if n not in own])
    before_and_after = [evaluation(bench, definition, kept) for definition in (topic, after)]
    assert [proposal.before, proposal.after] == [
        evaluation.metrics for evaluation in before_and_after
    ]
    changes = compare(*before_and_after).changes
    assert proposal.regressions.tolist() == kept[changes == 1].tolist()
    assert proposal.fixes.tolist() == kept[changes == 2].tolist()
    assert len(proposal.fixes) + len(proposal.regressions) > 0
    last = [evaluation(bench, definition, held).metrics for definition in (topic, after)]
    assert proposal.held_out is not None
    assert [proposal.held_out.before, proposal.held_out.after] == last
    assert proposal.changes == ("Add it",)
    assert proposal.gain is GAIN
    # At an unmoved threshold the level is the share of all prompts that match more or less.
    matches = [metrics.tp + metrics.fp for metrics in (proposal.before, proposal.after)]
    if intent is Intent.BLOCK:
        assert proposal.level == pytest.approx((matches[1] - matches[0]) / len(kept))
    assert proposal.separation is not None
    assert proposal.separation.low < proposal.separation.value < proposal.separation.high


def test_a_path_of_edits_is_described_and_the_sources_of_its_words_are_excluded(
    shipped: Bench,
) -> None:
    texts = shipped.prompts.prompts.to_list()
    first = TOPIC.model_copy(update={"description": "Taxes"})
    second = first.model_copy(update={"examples": (TOPIC.examples[0], texts[0])})
    path = [
        Candidate(first, CandidateKind.TYPED, "one"),
        Candidate(second, CandidateKind.SWAP_EXAMPLE, "two", (texts[9], texts[8])),
    ]
    nothing = np.zeros(0, np.intp)
    proposal = proposal_of(shipped, shipped.objective(), TOPIC, path, nothing)
    assert {0, 8, 9} <= {*proposal.left_out.tolist()}
    assert proposal.kinds == (CandidateKind.TYPED, CandidateKind.SWAP_EXAMPLE)
    assert proposal.changes[0] == "Change the description to “Taxes”"
    assert len(proposal.changes) == 2
    assert proposal.held_out is None


def worth(gain: Gain) -> Proposal:
    none, rows = Metrics(5, 5, 5, 5), np.zeros(0, np.intp)
    return Proposal(TOPIC, (), (), gain, none, none, rows, rows, rows)


def advised(likely: bool, held: HeldOut | None) -> bool:
    return replace(worth(Gain(0.1, -0.01, 0.2, likely)), held_out=held).is_advised


def test_only_a_likely_gain_that_holds_on_held_out_prompts_is_advised() -> None:
    worse, same, better = (Metrics(tp, 10, 0, 10 - tp) for tp in (4, 5, 6))
    assert advised(True, None)
    assert not advised(False, None)
    assert not advised(False, HeldOut(same, better))
    assert advised(True, HeldOut(same, better))
    assert not advised(True, HeldOut(same, same))
    assert not advised(True, HeldOut(same, worse))
    assert not advised(True, HeldOut(Metrics(0, 10, 0, 0), better))  # no coverage at all


def test_it_stops_at_once(shipped: Bench) -> None:
    objective = shipped.objective()
    current = appraise_current(objective, TOPIC)
    assert current is not None
    path = [Candidate(Topic(name="new"), CandidateKind.REWORD, "")]
    nothing = np.zeros(0, np.intp)
    assert propose(objective, (TOPIC, current), path, nothing, GAIN, lambda: True) is None
    assert appraise_current(objective, Topic(name="newer"), lambda: True) is None


@pytest.mark.parametrize(
    ("separation", "coverage", "matches", "text"),
    [
        (0.012, -0.03, 0.1, "better scores: separation +0.012 (−0.010 to +0.026), but catches too "
         "much on prod: test it with two or three of its examples"),
        (0.012, -0.03, -0.1, "better scores: separation +0.012 (−0.010 to +0.026), but catches too "
         "little on prod: test it with more examples"),
        (0.012, 0.03, 0.1, "better scores: separation +0.012 (−0.010 to +0.026), and 10 % more of "
         "all prompts match on prod"),
        (-0.002, 0.03, 0.0, "no better scores: separation −0.002 (−0.010 to +0.026), but as many "
         "prompts match on prod"),
        (-0.002, -0.03, 0.1, "no better scores: separation −0.002 (−0.010 to +0.026), and catches "
         "too much on prod: test it with two or three of its examples"),
    ],
)  # fmt: skip
def test_separation_and_the_level_of_the_guardrail_are_two_figures(
    separation: float, coverage: float, matches: float, text: str
) -> None:
    change = ForecastChange(
        "prod", RateEstimate(coverage, coverage - 0.05, coverage + 0.04), matches
    )
    known = replace(
        worth(GAIN),
        separation=SeparationChange(separation, -0.01, 0.026),
        level=0.2,
        forecast=change,
    )
    assert known.transfer_text == text


def test_without_a_forecast_the_level_is_the_engines() -> None:
    known = replace(worth(GAIN), separation=SeparationChange(0.012, -0.01, 0.026), level=-0.1)
    assert known.transfer_text == (
        "better scores: separation +0.012 (−0.010 to +0.026); by the engine 10 % fewer of all "
        "prompts match, by your guardrail perhaps not"
    )
    scores = "better scores: separation +0.012 (−0.010 to +0.026)"
    assert replace(known, level=None).transfer_text == scores


def test_each_figure_names_its_guardrail() -> None:
    change = ForecastChange("prod", RateEstimate(0.02, -0.03, 0.06), 0.1)
    known = replace(worth(Gain(0.03, -0.01, 0.07, likely=True)), forecast=change)
    assert known.figures == (
        "for the engine: likely +0.030 (−0.010 to +0.070) · "
        "forecast of prod: +0.020 (−0.030 to +0.060)"
    )
    assert known.short_figures == "engine +0.030 · prod ≈ +0.020"


@pytest.mark.parametrize(
    ("gain", "text"),
    [
        (Gain(0.0512, 0.0121, 0.0903, likely=True), "+0.051 (+0.012 to +0.090)"),
        (Gain(0.0312, -0.0121, 0.0903, likely=True), "likely +0.031 (−0.012 to +0.090)"),
        (Gain(0.0312, 0.0121, 0.0903, likely=False), "best guess +0.031"),
    ],
)
def test_a_gain_says_how_sure_it_is(gain: Gain, text: str) -> None:
    assert gain.text == text


def test_a_guess_is_less_than_what_the_folds_gained() -> None:
    unlikely = Gain(0.04, -0.02, 0.10, likely=False)
    assert unlikely.guess().value == pytest.approx(0.02)
    assert unlikely.guess(0.03).value == pytest.approx(-0.01)
    beside = Gain(0.04, -0.02, 0.10, likely=True).guess(0.01)
    assert (beside.value, beside.likely) == (pytest.approx(0.03), False)
    assert beside.high - beside.low == pytest.approx(0.12)
