"""Clusters compared with scikit-learn, and properties for any vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_samples

from guardtui.advice.clustering import StoppedError, assign, group_vectors, silhouettes
from tests.examples import up_to


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def blobs(groups: int, each: int, spread: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(groups, 24))
    truth = np.repeat(np.arange(groups), each)
    noise = spread * random.normal(size=(len(truth), 24))
    return unit(centres[truth] + noise), truth


@pytest.mark.parametrize("groups", [3, 6, 9])
def test_separate_groups_are_found(groups: int) -> None:
    vectors, truth = blobs(groups, 40, 0.3, seed=groups)
    grouping = group_vectors(vectors)
    assert len(grouping) >= groups
    # More groups than there are may be within one standard error; none mixes two of them.
    for number in range(len(grouping)):
        assert len(np.unique(truth[grouping.labels == number])) == 1
    exact = group_vectors(vectors, most=groups)
    assert adjusted_rand_score(truth, exact.labels) == 1.0


def test_the_sum_of_cosines_is_as_good_as_that_of_scikit_learn() -> None:
    vectors, _ = blobs(8, 60, 1.2, seed=4)
    ours = group_vectors(vectors)
    theirs = KMeans(len(ours), n_init=10, random_state=0).fit(vectors)
    centres = unit(theirs.cluster_centers_)
    best = assign(vectors, centres)[1].sum()
    assert assign(vectors, ours.centres)[1].sum() >= 0.98 * best


def test_groups_of_a_large_set_are_found_from_a_sample() -> None:
    vectors, truth = blobs(20, 200, 0.3, seed=9)
    grouping = group_vectors(vectors)
    for number in range(len(grouping)):
        assert len(np.unique(truth[grouping.labels == number])) <= 2
    assert adjusted_rand_score(truth, grouping.labels) > 0.9


@given(st.integers(2, 6), st.integers(4, 40), st.integers(0, 2**16))
@settings(max_examples=up_to(40), deadline=None)
def test_silhouettes_are_those_of_scikit_learn(groups: int, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = unit(random.normal(size=(count, 5)))
    labels = random.integers(groups, size=count)
    labels[:2] = 0, 1
    if len(np.unique(labels)) == count:  # scikit-learn takes no n groups of n
        labels[:] = np.arange(count) % 2
    cosines = vectors @ vectors.T
    theirs = silhouette_samples(vectors.astype(np.float64), labels, metric="cosine")
    np.testing.assert_allclose(silhouettes(cosines, labels), theirs, atol=1e-4)


@given(st.integers(1, 60), st.integers(2, 6), st.integers(1, 5), st.integers(0, 2**16))
@settings(max_examples=up_to(60), deadline=None)
def test_all_vectors_are_grouped(count: int, dimensions: int, different: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    few = unit(random.normal(size=(different, dimensions)))
    vectors = few[random.integers(different, size=count)]
    grouping = group_vectors(vectors)
    sizes = np.bincount(grouping.labels, minlength=len(grouping))
    assert sizes.sum() == count
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()  # by size
    assert len(grouping) <= max(1, int(count**0.5))
    np.testing.assert_allclose(np.linalg.norm(grouping.centres, axis=1), 1, atol=1e-4)
    own = (vectors * grouping.centres[grouping.labels]).sum(axis=1)
    assert (own >= (vectors @ grouping.centres.T).max(axis=1) - 1e-5).all()
    again = group_vectors(vectors)
    np.testing.assert_array_equal(grouping.labels, again.labels)


def test_equal_texts_are_one_group() -> None:
    grouping = group_vectors(unit(np.ones((50, 8))))
    assert (len(grouping), grouping.silhouette) == (1, None)


def test_no_vectors_and_a_single_group_are_errors() -> None:
    with pytest.raises(ValueError, match="no vectors"):
        group_vectors(np.empty((0, 4), np.float32))
    with pytest.raises(ValueError, match="two groups"):
        silhouettes(np.ones((3, 3), np.float32), np.zeros(3, np.intp))


def test_a_stop_is_heard() -> None:
    with pytest.raises(StoppedError):
        group_vectors(blobs(4, 20, 0.5, seed=1)[0], stopped=lambda: True)
