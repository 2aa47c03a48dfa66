"""The fitted threshold: never worse, indifferent to order and scale, and each definition's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics as oracle

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import (
    LABELS_AT_LEAST,
    SLACK,
    ThresholdFit,
    as_rule,
    at_threshold,
    fit_threshold,
    judged_alike,
    own_fit,
)
from guardtui.domain.statistics import coverage_interval
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from tests.guardrails import airs_settings, engine_settings

BUILT_IN = 0.5


def evaluation(
    scores: NDArray[np.float32],
    expected: NDArray[np.bool_],
    threshold: float = BUILT_IN,
    source: str = "built-in",
    intent: Intent = Intent.BLOCK,
    keys: NDArray[np.uint64] | None = None,
) -> Evaluation:
    """As the embedded engine evaluates at this threshold."""
    matches = scores >= np.float32(threshold)
    triggered = matches if intent is Intent.BLOCK else ~matches
    return Evaluation(
        Topic(name="a topic", intent=intent),
        engine_settings("engine-1", threshold, source),
        "prompts-1",
        np.arange(len(scores), dtype=np.uint64) * np.uint64(7) + np.uint64(3)
        if keys is None
        else keys,
        expected,
        Verdicts(triggered.view(np.int8), scores, np.zeros(len(scores), np.int16)),
    )


def fitted(evaluated: Evaluation, fit: ThresholdFit) -> Evaluation:
    """The same scores at the fitted threshold."""
    return evaluation(
        evaluated.verdicts.score,
        evaluated.expected,
        fit.threshold,
        fit.source,
        evaluated.topic.intent,
        evaluated.keys,
    )


def coverage(evaluated: Evaluation) -> float:
    value = evaluated.metrics.coverage
    assert value is not None
    return value


@st.composite
def labelled(draw: st.DrawFn) -> Evaluation:
    """Enough labels of each class, scores on a grid or fine, either intent."""
    steps = st.integers(0, 20).map(lambda step: step / 20)
    numbers = draw(st.sampled_from([steps, st.floats(0, 1, width=32)]))
    labels = [
        *[True] * draw(st.integers(LABELS_AT_LEAST, 16)),
        *[False] * draw(st.integers(LABELS_AT_LEAST, 16)),
    ]
    scores = draw(st.lists(numbers, min_size=len(labels), max_size=len(labels)))
    return evaluation(
        np.array(scores, np.float32),
        np.array(draw(st.permutations(labels)), bool),
        intent=draw(st.sampled_from(Intent)),
    )


def half_a_prompt(shipped: Evaluation) -> float:
    """Coverage that a fit may lack on its own labels: half a prompt of the smaller class."""
    belonging = int(shipped.expected.sum())
    return SLACK / min(belonging, len(shipped.expected) - belonging) + 1e-6


@given(labelled(), st.floats(0, 1))
def test_a_fit_is_within_half_a_prompt_of_any_threshold_on_the_labels_it_was_fitted_to(
    shipped: Evaluation, other: float
) -> None:
    fit = fit_threshold(shipped, BUILT_IN)
    best = coverage(fitted(shipped, fit))
    assert best == fit.coverage
    best += half_a_prompt(shipped)
    assert best >= coverage(shipped)
    tried = evaluation(shipped.verdicts.score, shipped.expected, other, intent=shipped.topic.intent)
    assert best >= coverage(tried)


@given(labelled(), st.integers(0, 100))
def test_the_order_of_the_rows_does_not_matter(shipped: Evaluation, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(shipped.keys))
    moved = evaluation(
        shipped.verdicts.score[order],
        shipped.expected[order],
        intent=shipped.topic.intent,
        keys=shipped.keys[order],
    )
    assert fit_threshold(moved, BUILT_IN) == fit_threshold(shipped, BUILT_IN)


@given(labelled())
def test_a_monotone_transformation_of_the_scores_moves_coverage_by_half_a_prompt_at_most(
    shipped: Evaluation,
) -> None:
    # Ranks as scores: every other transformation that keeps the order has the same ones.
    _, rank = np.unique(shipped.verdicts.score, return_inverse=True)
    scores = ((rank + 1) / (len(rank) + 2)).astype(np.float32)
    moved = evaluation(scores, shipped.expected, intent=shipped.topic.intent)
    one, other = fit_threshold(shipped, BUILT_IN), fit_threshold(moved, BUILT_IN)
    assert other.coverage == pytest.approx(one.coverage, abs=half_a_prompt(shipped))


def test_a_single_label_between_the_classes_does_not_draw_the_fit_to_its_side() -> None:
    expected = np.arange(30) < 10
    scores = np.where(expected, 0.6, 0.2).astype(np.float32)
    scores[10] = 0.55
    fit = fit_threshold(evaluation(scores, expected), BUILT_IN)
    # One of twenty is half of one of ten: the middle from 0.2 to 0.6, not that above 0.55.
    assert (fit.threshold, fit.coverage) == (0.4, 0.95)
    scores[11] = 0.54
    fit = fit_threshold(evaluation(scores, expected), BUILT_IN)
    assert (fit.threshold, fit.coverage) == (0.57, 1.0)


@given(labelled())
def test_the_interval_of_a_fit_is_for_new_prompts(shipped: Evaluation) -> None:
    fit = fit_threshold(shipped, BUILT_IN)
    evaluated = fitted(shipped, fit)
    new = fit.interval
    assert new is not None
    assert evaluated.intervals["coverage"] == new
    assert shipped.intervals["coverage"] == coverage_interval(shipped.metrics)
    assert new.low <= fit.coverage <= new.high


def separated(count: int = 60, at: float = 0.9, seed: int = 2) -> Evaluation:
    """Classes that a threshold of about `at` tells apart, evaluated at the built-in one."""
    random = np.random.default_rng(seed)
    expected = np.arange(count) % 2 == 0
    scores = np.where(expected, at + 0.05, at - 0.05) + random.normal(size=count) * 0.03
    return evaluation(np.clip(scores, 0, 1).astype(np.float32), expected)


def test_fewer_than_ten_labels_of_a_class_are_not_fitted() -> None:
    few = evaluation(np.linspace(0, 1, 40).astype(np.float32), np.arange(40) >= 31)
    with pytest.raises(ValueError, match=r"9 labelled prompts that should trigger.*at least 10"):
        fit_threshold(few, BUILT_IN)
    allow = replace(few, topic=few.topic.model_copy(update={"intent": Intent.ALLOW}))
    with pytest.raises(ValueError, match="that should not trigger"):
        fit_threshold(allow, BUILT_IN)
    assert fit_threshold(few, BUILT_IN, least=3).labels == 40
    assert own_fit(at_threshold(few, 0.8, "fitted to 40 labels"), BUILT_IN) is None


def test_prompts_without_a_score_have_no_part_in_a_fit() -> None:
    shipped = separated()
    scores = shipped.verdicts.score.copy()
    scores[:4] = np.nan
    fit = fit_threshold(evaluation(scores, shipped.expected), BUILT_IN)
    assert fit == replace(
        fit_threshold(evaluation(scores[4:], shipped.expected[4:], keys=shipped.keys[4:]), BUILT_IN)
    )


# --- one rule for every definition that is compared -------------------------------------------


@given(labelled(), labelled(), st.floats(0.01, 0.99))
def test_a_baseline_is_judged_at_its_own_best_threshold_whatever_it_was_recorded_at(
    shipped: Evaluation, other: Evaluation, recorded: float
) -> None:
    fit = fit_threshold(shipped, BUILT_IN)
    current = fitted(other, fit_threshold(other, BUILT_IN))
    for source in ("built-in", "fitted to 99 labels"):
        judged = judged_alike(at_threshold(shipped, recorded, source), current.settings)
        assert coverage(judged) == fit.coverage
        assert as_rule(judged.settings) == as_rule(current.settings) or coverage(judged) == (
            coverage(at_threshold(shipped, recorded, source))
        )


def test_a_baseline_stays_where_the_current_threshold_is_not_fitted_or_its_own_is_by_hand() -> None:
    shipped = separated()
    current = fitted(shipped, fit_threshold(shipped, BUILT_IN))
    by_hand = at_threshold(shipped, 0.9, "by hand")
    assert judged_alike(by_hand, current.settings) is by_hand
    assert judged_alike(shipped, by_hand.settings) is shipped
    assert judged_alike(shipped, shipped.settings) is shipped
    assert judged_alike(current, current.settings) is current


def test_verdicts_of_others_and_of_other_engines_are_not_judged_again() -> None:
    shipped = separated()
    current = fitted(shipped, fit_threshold(shipped, BUILT_IN)).settings
    verdicts = replace(shipped.verdicts, triggered=1 - shipped.verdicts.triggered)
    joint = replace(shipped, verdicts=verdicts)  # other topics of a profile stop prompts too
    remote = replace(shipped, settings=airs_settings("prod"))
    older = replace(shipped, settings=engine_settings("engine-0", 0.5, "built-in"))
    for recorded in (joint, remote, older):
        assert judged_alike(recorded, current) is recorded


def test_a_baseline_is_fitted_to_the_labels_of_now_on_the_shared_prompts() -> None:
    shipped = separated()
    current = fitted(shipped, fit_threshold(shipped, BUILT_IN)).settings
    shared = np.ones(len(shipped.keys), np.bool_)
    shared[:4] = False
    labels = shipped.expected.copy()
    labels[5] = ~labels[5]
    judged = judged_alike(shipped, current, labels, shared)
    part = evaluation(shipped.verdicts.score[4:], labels[4:], keys=shipped.keys[4:])
    assert judged.settings.threshold == fit_threshold(part, BUILT_IN).threshold
    none = np.zeros(len(shipped.keys), np.bool_)
    assert judged_alike(shipped, current, labels, none) is shipped  # too few to fit to


def test_the_fit_behind_a_threshold_is_known_only_for_an_own_one() -> None:
    shipped = separated()
    fit = fit_threshold(shipped, BUILT_IN)
    assert own_fit(fitted(shipped, fit), BUILT_IN) == fit
    assert own_fit(shipped, BUILT_IN) is None
    assert own_fit(at_threshold(shipped, 0.123, fit.source), BUILT_IN) is None


def test_separation_is_the_area_whatever_threshold_and_intent() -> None:
    shipped = separated()
    area = oracle.roc_auc_score(shipped.expected, shipped.verdicts.score)
    for threshold in (0.1, 0.9):
        for intent in Intent:
            one = evaluation(shipped.verdicts.score, shipped.expected, threshold, intent=intent)
            assert one.separation is not None
            assert one.separation.area == pytest.approx(area)
    remote = replace(shipped, settings=airs_settings("prod"))
    assert remote.separation is None
