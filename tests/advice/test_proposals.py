"""Figures of a proposal equal those of an evaluation on the counted prompts."""

from __future__ import annotations

import numpy as np
import pytest

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.objective import Gain
from guardtui.advice.proposals import HeldOut, Proposal, appraise_current, propose
from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.local.scanner import LocalScanner

from .conftest import TOPIC, Bench, bench_of


@pytest.fixture(scope="module")
def shipped(prompts: PromptSet) -> Bench:
    """Return a bench at the shipped threshold, so that a scan gives the same verdicts."""
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
    proposal = propose(objective, (topic, current), path, held)
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


def advised(low: float, held: HeldOut | None) -> bool:
    none, rows = Metrics(5, 5, 5, 5), np.zeros(0, np.intp)
    gain = Gain(0.1, low, 0.2)
    return Proposal(TOPIC, (), (), gain, none, none, rows, rows, rows, held).is_advised


def test_only_a_sure_gain_that_holds_on_held_out_prompts_is_advised() -> None:
    worse, same, better = (Metrics(tp, 10, 0, 10 - tp) for tp in (4, 5, 6))
    assert advised(0.01, None)
    assert not advised(0.0, None)
    assert not advised(-0.01, HeldOut(same, better))
    assert advised(0.01, HeldOut(same, better))
    assert not advised(0.01, HeldOut(same, same))
    assert not advised(0.01, HeldOut(same, worse))
    assert not advised(0.01, HeldOut(Metrics(0, 10, 0, 0), better))  # no coverage at all


def test_it_stops_at_once(shipped: Bench) -> None:
    objective = shipped.objective()
    current = appraise_current(objective, TOPIC)
    assert current is not None
    path = [Candidate(Topic(name="new"), CandidateKind.REWORD, "")]
    assert propose(objective, (TOPIC, current), path, np.zeros(0, np.intp), lambda: True) is None
    assert appraise_current(objective, Topic(name="newer"), lambda: True) is None
