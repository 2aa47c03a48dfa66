"""Prompt vectors in memory, as integers, and their product with a topic's text.

A prompt's vector is rounded to int8 with a scale, and a text's vector to integers. Every product is
then a sum of integers that float32 holds exactly. So a cosine depends neither on the other prompts
of the computation, nor on the machine. Cosines of texts differ from float32 by less than 0.01 (at
most 0.0063 for a single token of `static`); a vector with one component far above all others can
differ by more.

The first columns of some encoders are for English only, and 0 for a text in another language
(`english_columns`). Such a text shares only the other columns with an English one. To make texts of
two languages as similar as two English ones, the scales of prompts in another language are
stretched, and products with a topic's text in such a language are shrunk.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float32]"

WHOLE = 4096
"""Steps to which a text's vector is rounded: cosines change by about 0.0001."""

_ROUNDING = 0.05
"""Share of another language that may be due to rounding to int8."""

_AT_ONCE = 2**19  # values converted to float32 at a time: they fit into the processor's cache


class PromptMatrix:
    """Vectors of all prompts. Similarities to a text are cosines, also across languages.

    Values are int8 [N, d] with a scale for each row [N]; `put` computes both. From some thousand
    prompts on, products are faster than with float32, of which the memory is four times as much.
    """

    def __init__(self, values: NDArray[np.int8], scales: Floats, english_columns: int = 0) -> None:
        self._values, self._scales = values, scales
        self._english_columns = english_columns

    @classmethod
    def empty(cls, count: int, dimensions: int, english_columns: int = 0) -> PromptMatrix:
        """Return a matrix of zeros."""
        values = np.zeros((count, dimensions), np.int8)
        return cls(values, np.zeros(count, np.float32), english_columns)

    def __len__(self) -> int:
        return len(self._scales)

    def put(self, rows: NDArray[np.intp] | slice, vectors: Floats) -> None:
        """Store unit rows [n, d] in these rows (intp [n], or a slice)."""
        values, scales = compact(vectors)
        self._values[rows] = values
        self._scales[rows] = scales * _stretch(values, self._english_columns)

    def taken(self, rows: NDArray[np.intp]) -> PromptMatrix:
        """Return a new matrix with these rows (intp [n]), in this order."""
        return PromptMatrix(self._values[rows], self._scales[rows], self._english_columns)

    def product(self, vector: Floats, out: Floats) -> None:
        """Write similarities to one text ([d]) to `out` [N]."""
        self.fill_rows(vector[None], out[None])

    def fill_rows(self, vectors: Floats, out: Floats) -> None:
        """Write similarities to several texts ([t, d]) to `out` [t, N]."""
        texts = np.ascontiguousarray(whole(vectors).T)
        size = max(1, _AT_ONCE // self._values.shape[1])
        buffer = np.empty((min(size, len(self)), self._values.shape[1]), np.float32)
        for start in range(0, len(self), size):
            stop = min(start + size, len(self))
            part = buffer[: stop - start]
            np.copyto(part, self._values[start:stop])
            out[:, start:stop] = np.dot(part, texts).T
            out[:, start:stop] *= self._scales[start:stop]
        out *= _text_scales(vectors, self._english_columns)[:, None]

    def products(self, vectors: Floats, rows: NDArray[np.intp]) -> Floats:
        """Return similarities [t, n] of texts [t, d] to the prompts of some rows (intp [n])."""
        products: Floats = whole(vectors) @ self._values[rows].astype(np.float32).T
        products *= self._scales[rows]
        products *= _text_scales(vectors, self._english_columns)[:, None]
        return products

    def vectors(self, rows: NDArray[np.intp]) -> Floats:
        """Return a copy of the vectors [n, d] of the prompts of rows (intp [n]).

        Rounding has left lengths that differ from 1 by less than 0.01.
        """
        values = self._values[rows]
        vectors: Floats = values.astype(np.float32)
        vectors *= (self._scales[rows] / _stretch(values, self._english_columns))[:, None]
        return vectors


def compact(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return vectors [n, d] as int8 [n, d], and the scale of each row, [n]."""
    scales = np.asarray(np.abs(vectors).max(axis=1) / np.float32(127), np.float32)
    scales[scales == 0] = 1
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


def _stretch(values: NDArray[np.generic], english_columns: int) -> Floats:
    """Return a factor for each text, [n]: 1 in English, √2 in others; from int8 values [n, d].

    Half of an English vector's square lies in the English columns. Sums of the squares are exact
    in float32 up to d = 1000.
    """
    if not english_columns:
        return np.ones(len(values), np.float32)
    squares = np.square(values, dtype=np.float32)
    total = np.maximum(squares.sum(axis=1), 1)
    foreign = 1 - 2 * squares[:, :english_columns].sum(axis=1) / total
    foreign[foreign < _ROUNDING] = 0
    foreign[foreign > 1 - _ROUNDING] = 1
    factors: Floats = np.sqrt(1 + foreign)
    return factors


def _text_scales(vectors: Floats, english_columns: int) -> Floats:
    """Return the factors, [t], of products with the integers of texts [t, d]."""
    return np.float32(1 / WHOLE) / _stretch(compact(vectors)[0], english_columns)


def whole(vectors: Floats) -> Floats:
    """Return unit vectors [n, d] times `WHOLE`, rounded.

    No partial sum of a product with int8 [d] passes the product of the two lengths, which is below
    127 · √d · (WHOLE + √d): under 2²⁴ up to d = 1000, so that float32 holds each exactly.
    """
    rounded: Floats = np.rint(vectors * np.float32(WHOLE))
    return rounded
