"""Prompt vectors in memory: products are exact, or as near as the compact form promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.local.encoder import load_encoder
from guardtui.scanners.local.matrix import PromptMatrix
from guardtui.session.topic_places import sample_folder
from tests.examples import up_to


def unit(count: int, size: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, size)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def filled(vectors: np.ndarray) -> PromptMatrix:
    matrix = PromptMatrix.empty(*vectors.shape)
    cut = len(vectors) // 3
    matrix.put(slice(cut, None), vectors[cut:])
    matrix.put(slice(cut), vectors[:cut])
    return matrix


@settings(max_examples=up_to(30), deadline=None)
@given(st.integers(1, 5000), st.sampled_from([8, 256, 896]), st.integers(0, 99))
def test_cosines_equal_those_of_float_vectors(count: int, size: int, seed: int) -> None:
    vectors, text = unit(count, size, seed), unit(1, size, seed + 1)[0]
    exact = vectors.astype(np.float64) @ text
    out = np.full(count, np.nan, np.float32)
    filled(vectors).product(text, out)
    np.testing.assert_allclose(out, exact, atol=0.01)


def test_cosines_do_not_depend_on_row_order() -> None:
    vectors, texts = unit(300, 64, 1), unit(3, 64, 2)
    whole = filled(vectors)
    rows = np.random.default_rng(3).permutation(300)
    scattered = PromptMatrix.empty(300, 64)
    for part in np.array_split(rows, 7):
        scattered.put(part, vectors[part])
    some = rows[:50]
    taken = scattered.taken(some)
    assert len(taken) == 50
    expected, found, of_some = (np.empty((3, n), np.float32) for n in (300, 300, 50))
    whole.fill_rows(texts, expected)
    scattered.fill_rows(texts, found)
    taken.fill_rows(texts, of_some)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(of_some, expected[:, some])
    scattered.put(some, vectors[rows[50:100]])  # a copy does not change with it
    taken.fill_rows(texts, of_some)
    np.testing.assert_array_equal(of_some, expected[:, some])


def test_zero_row_stays_zero() -> None:
    matrix = filled(np.zeros((3, 4), np.float32))
    out = np.ones(3, np.float32)
    matrix.product(np.ones(4, np.float32), out)
    assert out.tolist() == [0, 0, 0]


def test_empty_set_has_no_cosines() -> None:
    matrix = filled(np.zeros((0, 4), np.float32))
    out = np.empty(0, np.float32)
    matrix.product(np.ones(4, np.float32), out)
    assert (len(matrix), out.shape) == (0, (0,))


def test_rows_filled_again_hold_the_newer_vectors() -> None:
    older, newer = unit(9, 256, 1), unit(3, 256, 2)
    matrix = filled(older)
    matrix.put(slice(4, 7), newer * np.float32(0.5))
    text, out = unit(1, 256, 3)[0], np.empty(9, np.float32)
    matrix.product(text, out)
    wanted = np.concatenate([older[:4], newer * 0.5, older[7:]]) @ text
    np.testing.assert_allclose(out, wanted, atol=0.01)


def test_cosines_are_accurate_for_real_prompts() -> None:
    prompts = load_prompts(sample_folder() / "tax-advice.csv").prompts.to_list()
    vectors = load_encoder("static").encode(prompts)
    matrix, out = filled(vectors), np.empty(len(vectors), np.float32)
    for text in vectors:
        matrix.product(text, out)
        assert np.abs(out - vectors @ text).max() < 0.01


@pytest.mark.parametrize("dimensions", [256, 896])
def test_cosine_does_not_depend_on_the_prompts_beside_it(dimensions: int) -> None:
    vectors, texts = unit(5000, dimensions, 4), unit(6, dimensions, 5)
    whole_set = np.empty((6, 5000), np.float32)
    filled(vectors).fill_rows(texts, whole_set)
    for start, stop in ((0, 1), (1, 8), (7, 4999), (4097, 5000)):
        part = filled(vectors[start:stop])
        some = np.empty((6, stop - start), np.float32)
        part.fill_rows(texts, some)
        np.testing.assert_array_equal(some, whole_set[:, start:stop])
        one = np.empty(stop - start, np.float32)
        part.product(texts[2], one)
        np.testing.assert_array_equal(one, whole_set[2, start:stop])
        rows = np.arange(stop - start)
        np.testing.assert_array_equal(part.products(texts, rows), some)


def test_similarities_across_languages_are_cosines_of_the_columns_in_common() -> None:
    halves = np.concatenate([unit(4, 32, 8), unit(4, 32, 9)], axis=1) * np.float32(np.sqrt(0.5))
    english, foreign = halves[:2], halves[2:].copy()
    foreign[:, :32] = 0
    foreign[:, 32:] *= np.float32(np.sqrt(2))
    vectors = np.concatenate([english, foreign])
    matrix = PromptMatrix.empty(4, 64, 32)
    matrix.put(slice(None), vectors)
    out = np.empty((4, 4), np.float32)
    matrix.fill_rows(vectors, out)
    cosines = vectors @ vectors.T
    in_common = unit_rows(vectors[:, 32:]) @ unit_rows(vectors[:, 32:]).T
    np.testing.assert_allclose(out[:2, :2], cosines[:2, :2], atol=0.02)
    np.testing.assert_allclose(out[2:, 2:], cosines[2:, 2:], atol=0.02)
    np.testing.assert_allclose(out[:2, 2:], in_common[:2, 2:], atol=0.02)
    # An English prompt and a foreign text of the topic have half of the prompt in common.
    np.testing.assert_allclose(out[2:, :2], in_common[2:, :2] / 2, atol=0.02)
    for row, text in enumerate(vectors):
        one = np.empty(4, np.float32)
        matrix.product(text, one)
        np.testing.assert_array_equal(one, out[row])
    np.testing.assert_array_equal(matrix.products(vectors, np.arange(4)), out)
    np.testing.assert_allclose(matrix.vectors(np.arange(4)), vectors, atol=0.01)
    np.testing.assert_array_equal(
        matrix.taken(np.array([2, 0])).products(vectors, [0]), out[:, 2:3]
    )


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
