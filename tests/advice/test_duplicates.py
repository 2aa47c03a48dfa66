"""Near-duplicates compared with all cosines, and their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.advice.duplicates import NEAR, StoppedError, near_duplicates
from guardtui.scanners.local.scanner import LocalScanner
from tests.examples import up_to


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def twins(count: int, seed: int, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors, each third nearly equal to the previous one, and random labels."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, 32))
    vectors[1::3] = vectors[0::3][: len(vectors[1::3])]
    return unit(vectors + noise * random.normal(size=vectors.shape)), random.random(count) < 0.5


@given(st.integers(0, 80), st.integers(0, 2**16), st.integers(0, 12))
@settings(max_examples=up_to(60), deadline=None)
def test_pairs_are_those_of_all_cosines(count: int, seed: int, most: int) -> None:
    vectors, labels = twins(count, seed)
    duplicates = near_duplicates(vectors, labels, most=most)
    cosines = (vectors @ vectors.T).tolist()
    wanted = sorted(
        (labels[first] == labels[other], -cosines[first][other], first, other)
        for first in range(count)
        for other in range(first + 1, count)
        if cosines[first][other] >= NEAR
    )
    assert duplicates.exact
    assert duplicates.total == len(wanted)
    assert duplicates.contradicting == sum(not same for same, *_ in wanted)
    shown = [(not pair.contradicts, pair.first, pair.second) for pair in duplicates.pairs]
    assert len(shown) == min(most, len(wanted))
    assert [same for same, *_ in shown] == [same for same, *_ in wanted][:most]
    if most >= len(wanted):
        assert sorted(shown) == sorted((same, first, other) for same, _, first, other in wanted)
    values = [(pair.contradicts, pair.cosine) for pair in duplicates.pairs]
    assert values == sorted(values, reverse=True)


def test_blocks_and_cells_find_each_pair_once() -> None:
    vectors, labels = twins(5_000, seed=3, noise=0.01)
    exact = near_duplicates(vectors, labels, most=10_000)
    assert exact.total == len({(pair.first, pair.second) for pair in exact.pairs}) >= 1_600
    duplicates = near_duplicates(vectors, labels, most=10_000, all_pairs_at_most=100)
    assert not duplicates.exact
    pairs = {(pair.first, pair.second) for pair in duplicates.pairs}
    assert duplicates.total == len(duplicates.pairs) == len(pairs)
    assert pairs <= {(pair.first, pair.second) for pair in exact.pairs}
    assert len(pairs) >= 0.95 * exact.total


def test_pairs_of_many_copies_are_counted_and_listed_in_part() -> None:
    vectors = unit(np.ones((3_000, 8)))
    duplicates = near_duplicates(vectors, np.arange(3_000) == 0)
    assert duplicates.total == 3_000 * 2_999 // 2
    assert duplicates.contradicting == 2_999
    assert len(duplicates.pairs) == 500
    assert all(pair.contradicts and pair.first == 0 for pair in duplicates.pairs)


@pytest.mark.parametrize("encoder", ["pair", "minilm", "static"])
def test_rewordings_reach_the_threshold_and_neighbours_of_a_subject_do_not(encoder: str) -> None:
    texts = [
        "how do i report that i lost my card",
        "How do I report that I lost my card?",
        "how do i report i lost my card",
        "how do i order a new card",
        "what is the weather in Paris",
    ]
    vectors = LocalScanner(encoder).embed(texts)
    assert vectors is not None
    duplicates = near_duplicates(vectors, np.array([True, True, False, True, False]))
    assert {(pair.first, pair.second) for pair in duplicates.pairs} == {(0, 1), (0, 2), (1, 2)}
    assert [pair.contradicts for pair in duplicates.pairs] == [True, True, False]


def test_a_stop_and_different_lengths_are_errors() -> None:
    vectors, labels = twins(30, seed=1)
    with pytest.raises(StoppedError):
        near_duplicates(vectors, labels, stopped=lambda: True)
    with pytest.raises(ValueError, match="30 vectors but 29"):
        near_duplicates(vectors, labels[:-1])
