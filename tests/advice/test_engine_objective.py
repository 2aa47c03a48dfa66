"""Definitions measured by the engine: at a fitted operating point, without their own prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from guardtui.advice.candidates import Candidate, CandidateKind, candidates
from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.objective import Appraisal, Objective, material_of, unchanged
from guardtui.advice.smoothed_coverage import cautious_coverage, smoothing, soft_matches
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic

from .conftest import TOPIC, Bench, bench_of


def values_of(objective: Objective, some: Sequence[Candidate]) -> np.ndarray:
    values = objective.values(some)
    assert values is not None
    return values


def appraised(objective: Objective, topic: Topic = TOPIC) -> Appraisal:
    appraisal = objective.appraise(unchanged(topic))
    assert appraisal is not None
    return appraisal


def edits_of(objective: Objective) -> list[Candidate]:
    material = material_of(objective, appraised(objective).matches)
    edits = candidates(TOPIC, material)
    assert len({candidate.kind for candidate in edits}) > 1
    return edits[::4]


@pytest.mark.parametrize("fitted", [True, False])
def test_values_depend_neither_on_order_nor_on_other_candidates(bench: Bench, fitted: bool) -> None:
    objective = bench.objective(fitted=fitted)
    edits = edits_of(objective)
    whole = values_of(objective, edits)
    np.testing.assert_allclose(values_of(objective, edits[::-1])[::-1], whole, atol=1e-6)
    for index in (0, len(edits) // 2, len(edits) - 1):
        alone = values_of(objective, [edits[index]])
        assert alone[0] == pytest.approx(whole[index], abs=1e-6)
    fresh = EngineObjective(bench_of(bench.prompts).scores, objective.rows, fitted=fitted)
    np.testing.assert_allclose(values_of(fresh, edits), whole, atol=1e-6)


def test_the_order_of_the_rows_does_not_matter(bench: Bench) -> None:
    rows = bench.rows.chosen_on
    mixed = EngineObjective(bench.scores, np.random.default_rng(1).permutation(rows), fitted=True)
    edits = edits_of(bench.objective())[:20]
    expected = values_of(bench.objective(), edits)
    np.testing.assert_allclose(values_of(mixed, edits), expected, atol=1e-6)


def test_a_fitted_threshold_gains_nothing_from_moving_all_scores(bench: Bench) -> None:
    before = appraised(bench.objective())
    assert before.z is not None
    moved = replace(before, z=before.z + 2)
    gain = bench.objective().gain(before, moved)
    assert gain.value <= 1e-6
    assert not gain.is_certain
    # At a threshold that stays the same edit counts, for better or worse.
    kept = bench.objective(fitted=False)
    assert abs(kept.gain(before, moved).value) > 0.02


def test_the_cut_of_a_threshold_that_is_not_fitted_is_that_of_the_scanner(
    prompts: PromptSet,
) -> None:
    bench = bench_of(prompts)
    bench.scanner.use_threshold(0.9)
    appraisal = appraised(bench.objective(fitted=False))
    evaluation = bench.scanner.evaluate_now(TOPIC, prompts)
    assert evaluation is not None
    np.testing.assert_array_equal(
        appraisal.matches, evaluation.verdicts.triggered[bench.rows.chosen_on] == 1
    )


def test_own_examples_and_sources_never_count(bench: Bench) -> None:
    objective = bench.objective()
    text = bench.prompts.prompts[int(np.flatnonzero(bench.prompts.expected)[0])]
    other = bench.prompts.prompts[int(np.flatnonzero(~bench.prompts.expected)[0])]
    topic = TOPIC.model_copy(update={"examples": (*TOPIC.examples, text)})
    candidate = Candidate(topic, CandidateKind.REWORD, "", (other,))
    appraisal = objective.appraise(candidate)
    assert appraisal is not None
    texts = bench.prompts.prompts.gather(objective.rows)
    own = texts.is_in([*topic.examples, other]).to_numpy()
    assert own.sum() >= 2
    np.testing.assert_array_equal(appraisal.counted, ~own)
    # As if they were not in the set at all.
    fewer = EngineObjective(bench.scores, objective.rows[~own], fitted=True)
    fewer._width = objective._width
    assert values_of(fewer, [candidate])[0] == pytest.approx(values_of(objective, [candidate])[0])
    # Their labels do not matter either.
    labels = bench.prompts.expected ^ bench.prompts.prompts.is_in([text]).to_numpy()
    frame = bench.prompts.frame.with_columns(pl.Series("expected", labels))
    turned = bench_of(PromptSet(frame, bench.prompts.intent, "")).objective()
    turned._width = objective._width
    assert values_of(turned, [candidate])[0] == pytest.approx(values_of(objective, [candidate])[0])


def test_a_value_is_the_cautious_coverage_of_what_is_appraised(bench: Bench) -> None:
    objective = bench.objective()
    appraisal = appraised(objective)
    assert appraisal.z is not None
    assert appraisal.cut is not None
    belongs = bench.prompts.expected[objective.rows]
    np.testing.assert_array_equal(appraisal.matches, appraisal.z >= appraisal.cut)
    width = smoothing(min(belongs.sum(), (~belongs).sum()))
    soft = soft_matches(appraisal.z[None], np.array([appraisal.cut]), width)
    np.testing.assert_allclose(appraisal.soft, soft[0])
    ours = (belongs & appraisal.counted)[None].astype(float)
    theirs = (~belongs & appraisal.counted)[None].astype(float)
    by_hand = cautious_coverage(soft, ours, theirs)[0]
    assert values_of(objective, [unchanged(TOPIC)])[0] == pytest.approx(by_hand)


def some_of(prompts: PromptSet, share: int) -> PromptSet:
    return PromptSet(prompts.frame[::share], prompts.intent, "")


def test_an_interval_holds_its_gain_and_is_wider_with_fewer_prompts(bench: Bench) -> None:
    other = TOPIC.model_copy(update={"description": "Personal advice on taxes"})
    widths = []
    for share in (1, 3, 8):
        objective = bench_of(some_of(bench.prompts, share)).objective()
        gain = objective.gain(appraised(objective), appraised(objective, other))
        assert gain.low < gain.value < gain.high
        assert gain.high - gain.value == pytest.approx(gain.value - gain.low)
        again = objective.gain(appraised(objective), appraised(objective, other))
        assert gain == again
        widths.append(gain.high - gain.low)
    assert widths == sorted(widths)


def test_an_unchanged_definition_has_a_negative_gain(bench: Bench) -> None:
    appraisal = appraised(bench.objective())
    gain = bench.objective().gain(appraisal, appraisal)
    assert gain.value < 0  # by what a choice would make of it
    assert gain.low == gain.value == gain.high
    assert not gain.is_certain


def test_other_prompts_are_judged_at_the_operating_point_found_here(bench: Bench) -> None:
    rows = bench.rows.chosen_on
    objective = EngineObjective(bench.scores, rows[::2], fitted=True)
    appraisal = appraised(objective)
    assert appraisal.cut is not None
    z = bench.scores.z([TOPIC], rows[1::2])
    assert z is not None
    judged = objective.judge(TOPIC, appraisal, rows[1::2])
    np.testing.assert_array_equal(judged, z[0] >= appraisal.cut)


def test_it_stops_at_once(bench: Bench) -> None:
    objective = bench.objective()
    assert objective.values([unchanged(TOPIC)], lambda: True) is None
    assert objective.appraise(unchanged(TOPIC), lambda: True) is None


def test_material_is_of_the_objectives_rows_and_drawn_by_hash(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = bench.rows.chosen_on[::2]
    objective = EngineObjective(bench.scores, rows, fitted=True)
    hits = appraised(objective).matches
    whole = material_of(objective, hits)
    triples = zip(
        bench.prompts.prompts.gather(rows).to_list(),
        bench.prompts.expected[rows].tolist(),
        hits.tolist(),
        strict=True,
    )
    assert whole.missed == tuple(text for text, belongs, hit in triples if belongs and not hit)
    assert len(whole.missed) + len(whole.caught) == bench.prompts.expected[rows].sum()
    monkeypatch.setattr("guardtui.advice.objective._MATERIAL", 7)
    some = material_of(objective, hits)
    assert len(some.caught) == 7
    assert some.caught == tuple(text for text in whole.caught if text in some.caught)
    assert some.caught != whole.caught[:7]  # not those that happen to come first
    assert material_of(objective, hits) == some
