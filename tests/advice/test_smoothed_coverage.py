"""The smoothed, cautious coverage and its operating points."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.advice.smoothed_coverage import (
    SMOOTH,
    cautious_coverage,
    fitted_cuts,
    smoothing,
    soft_matches,
)
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import Metrics
from guardtui.domain.operating_point import SLACK, fit_threshold
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from tests.guardrails import engine_settings

SCORES = st.lists(
    st.tuples(st.integers(1, 63), st.booleans(), st.integers(0, 3)), min_size=2, max_size=30
)
"""Scores in parts of 64, which often tie; labels; how often a resample has the prompt."""


def counts_at(cut: float, z: np.ndarray, belongs: np.ndarray) -> Metrics:
    hits = z >= cut
    return Metrics(
        int((hits & belongs).sum()),
        int((~hits & ~belongs).sum()),
        int((hits & ~belongs).sum()),
        int((~hits & belongs).sum()),
    )


def fitted_alone(z: np.ndarray, belongs: np.ndarray) -> float:
    """Return the cut of a single row."""
    ours = belongs[None].astype(float)
    return float(fitted_cuts(z[None].astype(float), ours, 1 - ours)[0])


@given(SCORES)
def test_a_fitted_cut_is_among_those_that_fit_threshold_counts_as_best(
    rows: list[tuple[int, bool, int]],
) -> None:
    rows = [*rows, (10, True, 1), (20, False, 1)] * 3  # three of each class, for its folds
    z = np.array([row[0] for row in rows]) / 64
    belongs = np.array([row[1] for row in rows])
    verdicts = Verdicts(
        np.full(len(z), Triggered.NO, np.int8), z.astype(np.float32), np.zeros(len(z), np.int16)
    )
    keys = np.arange(len(z), dtype=np.uint64)
    settings = engine_settings("x", 0.5)
    topic = Topic(name="x", intent=Intent.BLOCK)
    evaluation = Evaluation(topic, settings, "", keys, belongs, verdicts)
    fit = fit_threshold(evaluation, 0.5, least=1)
    best = max(counts_at(cut, z, belongs).coverage or 0.0 for cut in z)
    slack = SLACK / min(belongs.sum(), (~belongs).sum())
    # Which of the cuts that count as best is a matter of rounding; none of them is worse.
    for cut in (fitted_alone(z, belongs), np.float32(fit.threshold)):
        assert (counts_at(cut, z, belongs).coverage or 0.0) >= best - slack - 1e-6


@given(SCORES)
def test_a_weight_is_a_prompt_as_often(rows: list[tuple[int, bool, int]]) -> None:
    rows = [*rows, (10, True, 1), (20, False, 2)]
    z = np.array([row[0] for row in rows], float)
    belongs = np.array([row[1] for row in rows])
    weights = np.array([row[2] for row in rows], float)
    cut = fitted_cuts(z[None], (weights * belongs)[None], (weights * ~belongs)[None])[0]
    times = weights.astype(int)
    repeated, labels = np.repeat(z, times), np.repeat(belongs, times)
    alone = fitted_alone(repeated, labels)
    first, second = (counts_at(z_cut, repeated, labels) for z_cut in (cut, alone))
    assert min(first.coverage or 0, second.coverage or 0) >= (
        max(first.coverage or 0, second.coverage or 0)
        - 0.5 / min(labels.sum(), (~labels).sum())
        - 1e-9
    )
    soft = soft_matches(z[None], np.array([cut]), 1.0)
    whole = soft_matches(repeated[None], np.array([cut]), 1.0)
    weighed = cautious_coverage(soft, (weights * belongs)[None], (weights * ~belongs)[None])
    counted = cautious_coverage(whole, labels[None] * 1.0, ~labels[None] * 1.0)
    np.testing.assert_allclose(weighed, counted, atol=1e-9)


@given(SCORES, st.floats(-5, 5))
def test_a_cut_moves_with_the_scores(rows: list[tuple[int, bool, int]], by: float) -> None:
    rows = [*rows, (10, True, 1), (20, False, 1)]
    z = np.array([row[0] for row in rows], float)
    belongs = np.array([row[1] for row in rows])
    by = round(by * 64) / 64  # exact in floating point
    assert fitted_alone(z + by, belongs) == fitted_alone(z, belongs) + by


@given(SCORES, st.randoms(use_true_random=False))
def test_cuts_depend_neither_on_the_order_nor_on_other_rows(
    rows: list[tuple[int, bool, int]], random: Random
) -> None:
    rows = [*rows, (10, True, 1), (20, False, 1)]
    mixed = random.sample(rows, len(rows))
    z = np.array([[row[0] for row in some] for some in (rows, mixed)], float)
    ours = np.array([[row[1] for row in some] for some in (rows, mixed)], float)
    cuts = fitted_cuts(z, ours, 1 - ours)
    assert cuts[0] == cuts[1] == fitted_alone(z[0], ours[0].astype(bool))


def test_prompts_without_weight_count_nowhere() -> None:
    z = np.array([[0.0, 1.0, 2.0, 3.0, 100.0]])
    ours = np.array([[0, 0, 1, 1, 0.0]])
    theirs = np.array([[1, 1, 0, 0, 0.0]])
    cut = fitted_cuts(z, ours, theirs)
    assert 1 < cut[0] <= 2
    soft = soft_matches(z, cut, 0.1)
    assert cautious_coverage(soft, ours, theirs)[0] == pytest.approx(1, abs=0.05)
    assert cautious_coverage(soft, ours, theirs * 0)[0] == 0


def test_caution_takes_more_off_where_prompts_are_few() -> None:
    def worth(times: int) -> float:
        matched = np.tile([1.0, 0.0, 0.0], times)[None]  # half of what belongs, nothing else
        ours = np.tile([1.0, 1.0, 0.0], times)[None]
        return float(cautious_coverage(matched, ours, 1 - ours)[0])

    assert worth(2) < worth(20) < worth(200) < 0.5
    assert worth(2) == pytest.approx(0.5 - 0.5 / 2)  # a standard error of four prompts


def test_the_step_is_steeper_with_more_prompts() -> None:
    assert smoothing(0) == smoothing(15) == SMOOTH
    assert SMOOTH > smoothing(30) > smoothing(1000) > 0
