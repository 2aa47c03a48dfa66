"""Calibration: thresholds against brute force, honest held-out coverage, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from guardtui.scanners.local.calibration import (
    best_coverage,
    calibrate,
    coverage,
    thresholds,
)

Labelled = tuple[NDArray[np.float64], NDArray[np.bool_]]

labelled = st.lists(
    st.tuples(st.integers(-5, 5).map(float), st.booleans()), min_size=2, max_size=30
).filter(lambda rows: len({label for _, label in rows}) == 2)


def split(rows: list[tuple[float, bool]]) -> Labelled:
    z, label = zip(*rows, strict=True)
    return np.array(z), np.array(label, bool)


def drawn(
    count: int, seed: int, shift: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    random = np.random.default_rng(seed)
    label = np.arange(count) % 2 == 0
    return random.normal(size=count) + np.where(label, 1.5, -1.5) + shift, label


@given(labelled)
def test_best_coverage_equals_brute_force(rows: list[tuple[float, bool]]) -> None:
    z, label = split(rows)
    tried = np.arange(-6, 7, 0.25)
    expected = max(
        min(
            np.mean([score >= at for score, belongs in rows if belongs]),
            np.mean([score < at for score, belongs in rows if not belongs]),
        )
        for at in tried
    )
    at, found = best_coverage(z, label)
    assert found == pytest.approx(expected)
    assert coverage(z, label, at) == pytest.approx(expected)


@given(labelled)
def test_thresholds_lie_between_all_neighbours(rows: list[tuple[float, bool]]) -> None:
    z, _ = split(rows)
    at = thresholds(z)
    assert len(at) == len(set(z.tolist())) + 1
    assert not set(at.tolist()) & set(z.tolist())


def test_with_many_labels_it_comes_near_the_best_threshold() -> None:
    z, label = drawn(5000, 1, shift=2.0)
    found = calibrate(z, label, default=0.0)
    assert found.in_sample_coverage >= best_coverage(z, label)[1] - 0.005
    assert found.held_out_coverage <= found.in_sample_coverage + 0.005


def test_few_labels_move_it_less_than_many() -> None:
    few = calibrate(*drawn(10, 3, shift=4.0), default=0.0).threshold
    many = calibrate(*drawn(400, 3, shift=4.0), default=0.0).threshold
    assert abs(many - 4) < 0.6
    assert 0 < few <= many + 0.6


def test_it_does_better_than_a_default_that_is_off() -> None:
    gains = []
    for seed in range(20):
        z, label = drawn(40, seed, shift=1.5)
        rest, truth = drawn(2000, 1000 + seed, shift=1.5)
        threshold = calibrate(z, label, default=0.0).threshold
        gains.append(coverage(rest, truth, threshold) - coverage(rest, truth, 0.0))
    assert np.mean(gains) > 0.1


def test_held_out_coverage_is_not_flattered_by_noise() -> None:
    random = np.random.default_rng(5)
    found = [
        calibrate(random.normal(size=30), np.arange(30) % 2 == 0, default=0.0).held_out_coverage
        for _ in range(60)
    ]
    assert np.mean(found) < 0.52


def test_it_is_deterministic_and_says_what_it_used() -> None:
    z, label = drawn(24, 7)
    found = calibrate(z, label, default=0.0, seed=3)
    assert found == calibrate(z, label, default=0.0, seed=3)
    assert (found.labels, found.folds) == (24, 10)
    assert calibrate(z[:8], label[:8], default=0.0).folds == 4


@pytest.mark.parametrize(
    ("z", "label", "message"),
    [
        ([1, 2, 3], [True, True, True], "0 labelled prompts that do not belong to the topic"),
        ([1, 2, 3], [False, False, False], "0 labelled prompts that belong to the topic"),
        ([1, 2, 3, 4, 5], [True, True, True, False, False], "at least 3 are needed"),
        ([1, 2], [True], "2 scores but 1 labels"),
        ([1, float("nan")], [True, False], "not a finite number"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(
    z: list[float], label: list[bool], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        calibrate(np.array(z, float), np.array(label), default=0.0)


def test_coverage_is_undefined_without_a_class() -> None:
    assert np.isnan(coverage(np.array([1.0]), np.array([True]), 0.0))
