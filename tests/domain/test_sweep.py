"""The threshold sweep, held against scikit-learn and against scans at each threshold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics as oracle

from guardtui.domain.curves import LEAST_POINTS, curve_points, thinned
from guardtui.domain.metrics import RATES, Metrics
from guardtui.domain.sweep import Sweep, best_threshold, quick_best, stratified_folds, sweep
from guardtui.domain.topic import Intent

NAMES = {
    "true_positive_rate": "tpr",
    "true_negative_rate": "tnr",
    "accuracy": "accuracy",
    "precision": "precision",
    "f1": "f1",
}

grid = st.integers(0, 20).map(lambda step: step / 20)
fine = st.floats(0, 1, width=32)
intents = st.sampled_from(Intent)
floors = st.sampled_from([0.0, 0.3, 0.5, 0.75, 0.9, 1.0])


@st.composite
def samples(
    draw: st.DrawFn, least: int = 1
) -> tuple[NDArray[np.float32], NDArray[np.bool_], Intent]:
    """Scores with ties or without, both classes with at least so many rows, and an intent."""
    numbers = draw(st.sampled_from([grid, fine]))
    duties = [
        *[True] * draw(st.integers(least, 15)),
        *[False] * draw(st.integers(least, 15)),
    ]
    duties = draw(st.permutations(duties))
    scores = draw(st.lists(numbers, min_size=len(duties), max_size=len(duties)))
    return np.array(scores, np.float32), np.array(duties, bool), draw(intents)


def triggered(scores: NDArray[np.float32], threshold: float, intent: Intent) -> NDArray[np.bool_]:
    """As the embedded scanner has it."""
    matches: NDArray[np.bool_] = scores >= np.float32(threshold)
    return matches if intent is Intent.BLOCK else ~matches


def judged(
    scores: NDArray[np.float32], duty: NDArray[np.bool_], threshold: float, intent: Intent
) -> Metrics:
    fires = triggered(scores, threshold, intent)
    tn, fp, fn, tp = oracle.confusion_matrix(duty, fires, labels=[False, True]).ravel()
    return Metrics(int(tp), int(tn), int(fp), int(fn))


def outward(scores: NDArray[np.float32], intent: Intent) -> NDArray[np.float32]:
    """Scores that are the larger the sooner a prompt triggers."""
    return scores if intent is Intent.BLOCK else -scores


@given(samples(), st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_the_quick_best_threshold_is_the_best_of_all(
    sample: tuple[NDArray[np.float32], NDArray[np.bool_], Intent], slack: float
) -> None:
    scores, duty, intent = sample
    belongs = duty if intent is Intent.BLOCK else ~duty
    assert quick_best(scores, belongs, slack) == sweep(*sample).best(slack=slack)


@pytest.mark.exhaustive
@given(samples())
def test_every_distinct_score_gives_what_a_scan_with_it_gives(
    sample: tuple[NDArray[np.float32], NDArray[np.bool_], Intent],
) -> None:
    scores, duty, intent = sample
    result = sweep(*sample)
    assert result.cuts[:-1].tolist() == sorted(set((scores + np.float32(0)).tolist()))
    assert result.cuts[-1] > scores.max()
    for index, cut in enumerate(result.cuts):
        expected = judged(scores, duty, float(cut), intent)
        assert result.metrics(index) == expected
        for name in RATES:
            rate, value = getattr(expected, name), getattr(result, name)[index]
            assert math.isnan(value) if rate is None else value == rate
        fires = triggered(scores, float(cut), intent)
        if fires.any():
            assert result.precision[index] == pytest.approx(oracle.precision_score(duty, fires))
            assert result.f1[index] == pytest.approx(oracle.f1_score(duty, fires))


@given(samples(), fine)
def test_any_threshold_has_a_cut_with_its_verdicts(
    sample: tuple[NDArray[np.float32], NDArray[np.bool_], Intent], threshold: float
) -> None:
    scores, duty, intent = sample
    result = sweep(*sample)
    assert result.metrics(result.index(threshold)) == judged(scores, duty, threshold, intent)


@given(samples())
def test_setting_of_a_cut_gives_its_verdicts(
    sample: tuple[NDArray[np.float32], NDArray[np.bool_], Intent],
) -> None:
    scores, duty, intent = sample
    result = sweep(*sample)
    for index in range(len(result)):
        threshold = result.setting(index)
        assert judged(scores, duty, threshold, intent) == result.metrics(index)
        if scores.min() > 0 and scores.max() < 1:
            assert 0 < threshold < 1


def test_setting_of_a_cut_has_few_decimals() -> None:
    result = sweep(np.array([0.31, 0.34, 0.6012, 0.6013], np.float32), np.array([0, 1, 0, 1], bool))
    assert [result.setting(index) for index in range(5)] == [0.16, 0.33, 0.47, 0.60125, 0.8]


@given(samples())
def test_the_curves_and_their_areas_are_those_of_scikit_learn(
    sample: tuple[NDArray[np.float32], NDArray[np.bool_], Intent],
) -> None:
    scores, duty, intent = sample
    found, out = sweep(*sample), outward(scores, intent)
    assert found.roc_area == pytest.approx(oracle.roc_auc_score(duty, out), abs=1e-12)
    expected = oracle.average_precision_score(duty, out)
    assert found.average_precision == pytest.approx(expected, abs=1e-12)
    fpr, tpr, _ = oracle.roc_curve(duty, out, drop_intermediate=False)
    points = curve_points(found, 10_000)
    ours = [(point.false_positive_rate, point.metrics.true_positive_rate) for point in points]
    if intent is Intent.BLOCK:
        ours.reverse()
    np.testing.assert_allclose(np.array(ours, float), np.column_stack([fpr, tpr]), atol=1e-12)
    precision, recall, _ = oracle.precision_recall_curve(duty, out)
    here = [
        (point.metrics.precision, point.metrics.true_positive_rate)
        for point in points
        if point.metrics.precision is not None
    ]
    if intent is Intent.ALLOW:
        here.reverse()
    np.testing.assert_allclose(
        np.array(here, float), np.column_stack([precision, recall])[:-1], atol=1e-12
    )


@given(samples(), floors, floors)
def test_the_best_is_the_best_of_all_that_meet_the_floors(
    sample: tuple[NDArray[np.float32], NDArray[np.bool_], Intent], min_tpr: float, min_tnr: float
) -> None:
    scores, duty, intent = sample
    result = sweep(*sample)
    best = result.best(min_tpr=min_tpr, min_tnr=min_tnr)
    fit = []
    for cut in result.cuts:
        one = judged(scores, duty, float(cut), intent)
        tpr, tnr = one.true_positive_rate, one.true_negative_rate
        assert tpr is not None
        assert tnr is not None
        if tpr >= min_tpr and tnr >= min_tnr:
            fit.append(min(tpr, tnr))
    assert (best is None) == (not fit)
    if best is not None:
        here = judged(scores, duty, best, intent)
        assert here.coverage == max(fit)
        assert here.true_positive_rate is not None
        assert here.true_negative_rate is not None
        assert here.true_positive_rate >= min_tpr
        assert here.true_negative_rate >= min_tnr
    else:
        near = judged(scores, duty, result.nearest(min_tpr=min_tpr, min_tnr=min_tnr), intent)
        assert near.true_positive_rate is not None
        assert near.true_negative_rate is not None
        missed = max(min_tpr - near.true_positive_rate, min_tnr - near.true_negative_rate)
        assert missed > 0
        assert missed == pytest.approx(
            min(
                max(min_tpr - result.true_positive_rate[k], min_tnr - result.true_negative_rate[k])
                for k in range(len(result))
            )
        )


def test_of_equally_good_thresholds_the_middle_is_the_best() -> None:
    result = sweep(np.array([0.1, 0.2, 0.8, 0.9], np.float32), np.array([0, 0, 1, 1], bool))
    assert result.best() == 0.5
    # The prompt at 0.5 that triggers makes no difference while the other class is the worse one.
    scores = np.array([0.1, 0.7, 0.3, 0.5, 0.8, 0.9], np.float32)
    result = sweep(scores, np.array([0, 0, 1, 1, 1, 1], bool))
    assert result.best() == 0.45


def test_floors_that_cannot_be_met_have_no_best() -> None:
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], np.float32)
    duty = np.array([1, 0, 1, 0, 1, 0], bool)
    result = sweep(scores, duty)
    assert result.best(min_tpr=0.9, min_tnr=0.9) is None
    assert best_threshold(result, min_tpr=0.9, min_tnr=0.9) is None


@given(samples(2), st.integers(2, 12), st.integers(0, 5))
def test_folds_are_stratified(
    sample: tuple[NDArray[np.float32], NDArray[np.bool_], Intent], count: int, seed: int
) -> None:
    duty = sample[1]
    keys = np.arange(len(duty), dtype=np.uint64) + np.uint64(seed)
    fold = stratified_folds(duty, count, seed, keys)
    order = np.random.default_rng(seed).permutation(len(duty))
    moved = stratified_folds(duty[order], count, seed, keys[order])
    np.testing.assert_array_equal(fold[order], moved)
    for label in (True, False):
        sizes = np.bincount(fold[duty == label], minlength=count)
        assert len(sizes) == count
        assert sizes.max() - sizes.min() <= 1


def test_in_sample_flatters_noise_and_the_interval_is_for_new_prompts() -> None:
    random = np.random.default_rng(5)
    seen, true, held = [], [], 0
    for _ in range(100):
        scores = random.random(40).astype(np.float32)
        result = best_threshold(sweep(scores, np.arange(40) % 2 == 0))
        assert result is not None
        assert result.interval is not None
        seen.append(result.metrics.coverage)
        true.append(min(result.threshold, 1 - result.threshold))  # of evenly spread scores
        held += result.interval.low <= true[-1] <= result.interval.high
    assert np.mean(seen) - np.mean(true) > 0.03
    assert held >= 90


@given(st.booleans(), intents, st.lists(grid, min_size=1))
def test_one_class_alone_has_no_best(duty: bool, intent: Intent, scores: list[float]) -> None:
    result = sweep(np.array(scores, np.float32), np.full(len(scores), duty), intent)
    assert result.best() is None
    assert result.roc_area is None
    assert (result.average_precision is None) == (not duty)
    assert np.isnan(result.coverage).all()
    assert len(thinned(result, LEAST_POINTS)) <= LEAST_POINTS


def test_prompts_without_a_score_count_nowhere() -> None:
    scores = np.array([0.9, np.nan, 0.1, np.nan], np.float32)
    result = sweep(scores, np.array([1, 1, 0, 0], bool))
    assert result.metrics(1) == Metrics(1, 1, 0, 0, 2)
    assert result.unscored == 2


@pytest.mark.parametrize(
    ("scores", "labels", "said"),
    [
        ([0.5], [True, False], "1 scores but 2 labels"),
        ([], [], "no prompt has a score"),
        ([np.nan], [True], "no prompt has a score"),
        ([0.5, 1.5], [True, False], "from 0 to 1"),
        ([0.5, -0.1], [True, False], "from 0 to 1"),
        ([0.5, np.inf], [True, False], "from 0 to 1"),
    ],
)
def test_unusable_scores_are_reported(scores: list[float], labels: list[bool], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sweep(np.array(scores, np.float32), np.array(labels, bool))


def large(intent: Intent, count: int = 5000) -> Sweep:
    random = np.random.default_rng(1)
    duty = random.random(count) < 0.2
    away = random.normal(size=count) + np.where(duty == (intent is Intent.BLOCK), 1.5, 0)
    return sweep((1 / (1 + np.exp(-away))).astype(np.float32), duty, intent)


@pytest.mark.parametrize("intent", Intent)
@pytest.mark.parametrize("most", [LEAST_POINTS + 1, 50, 200])
def test_thinned_curves_keep_extremes_and_stay_close(intent: Intent, most: int) -> None:
    result = large(intent)
    keep = 1234
    positions = thinned(result, most, (keep,))
    assert len(positions) <= most
    assert (np.diff(positions) > 0).all()
    assert positions[0] == 0
    assert positions[-1] == len(result) - 1
    assert keep in positions
    best = result.best()
    assert best is not None
    assert result.index(best) in positions
    for name in RATES:
        values = getattr(result, name)
        assert np.nanmax(values[positions]) == np.nanmax(values)
        assert np.nanmin(values[positions]) == np.nanmin(values)
    step = 2 / (most - LEAST_POINTS) + 0.01
    assert np.abs(np.diff(result.true_positive_rate[positions])).max() <= step
    assert np.abs(np.diff(result.true_negative_rate[positions])).max() <= step


def test_too_few_points_for_the_extremes_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot keep"):
        thinned(large(Intent.BLOCK), 3)


@given(samples(), st.integers(LEAST_POINTS, 30))
def test_a_curve_is_never_longer_than_asked(
    sample: tuple[NDArray[np.float32], NDArray[np.bool_], Intent], most: int
) -> None:
    result = sweep(*sample)
    assume(len(result) > 1)
    points = curve_points(result, most)
    assert len(points) <= max(most, 0)
    assert [point.threshold for point in points] == sorted(point.threshold for point in points)
    for point in points:
        assert point.metrics == result.metrics(result.index(point.threshold))
