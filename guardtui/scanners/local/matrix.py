"""Prompt vectors in memory, as integers, and their product with a topic's text.

A prompt's vector is rounded to int8 with a scale, and a text's vector to integers. Every product is
then a sum of integers that float32 holds exactly. So a cosine depends neither on how the vectors
are stored, nor on the other prompts of the computation, nor on the machine. Cosines of texts differ
from float32 by less than 0.01 (at most 0.0063 for a single token of `static`); a vector with one
component far above all others can differ by more.

The first columns of some encoders are for English only, and 0 for a text in another language
(`english_columns`). Such a text shares only the other columns with an English one. To make texts of
two languages as similar as two English ones, the scales of prompts in another language are
stretched, and products with a topic's text in such a language are shrunk.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float32]"

COMPACT_FROM = 96_000_000
"""Number of values from which vectors are stored as int8: a quarter of the memory."""

WHOLE = 4096
"""Steps to which a text's vector is rounded: cosines change by about 0.0001."""

_ROUNDING = 0.05
"""Share of another language that may be due to rounding to int8."""

_ROWS = 4096  # rows converted from int8 to float32 at a time: they fit into the processor's cache


class PromptMatrix(Protocol):
    """Vectors of all prompts. Similarities to a text are cosines, also across languages."""

    def __len__(self) -> int: ...

    def fill(self, start: int, vectors: Floats) -> None:
        """Store unit rows [n, d] from row `start` on."""

    def put(self, rows: NDArray[np.intp], vectors: Floats) -> None:
        """Store unit rows [n, d] in these rows (intp [n])."""

    def taken(self, rows: NDArray[np.intp]) -> PromptMatrix:
        """Return a new matrix with these rows (intp [n]), in this order."""

    def product(self, vector: Floats, out: Floats) -> None:
        """Write similarities to one text ([d]) to `out` [N]."""

    def fill_rows(self, vectors: Floats, out: Floats) -> None:
        """Write similarities to several texts ([t, d]) to `out` [t, N]."""

    def products(self, vectors: Floats, rows: NDArray[np.intp]) -> Floats:
        """Return similarities [t, n] of texts [t, d] to the prompts of some rows (intp [n])."""

    def vectors(self, rows: NDArray[np.intp]) -> Floats:
        """Return a copy of the vectors [n, d] of the prompts of rows (intp [n]).

        Rounding has left lengths that differ from 1 by less than 0.01.
        """


class FloatMatrix:
    """Integers as float32 [N, d] with a scale for each row: fastest, if memory suffices."""

    def __init__(self, count: int, dimensions: int, english_columns: int = 0) -> None:
        self._values = np.zeros((count, dimensions), np.float32)
        self._scales = np.zeros(count, np.float32)
        self._english_columns = english_columns

    def __len__(self) -> int:
        return len(self._scales)

    def fill(self, start: int, vectors: Floats) -> None:
        stop = start + len(vectors)
        self._values[start:stop], self._scales[start:stop] = stretched(
            *compact(vectors), self._english_columns
        )

    def put(self, rows: NDArray[np.intp], vectors: Floats) -> None:
        self._values[rows], self._scales[rows] = stretched(*compact(vectors), self._english_columns)

    def taken(self, rows: NDArray[np.intp]) -> FloatMatrix:
        matrix = FloatMatrix(0, self._values.shape[1], self._english_columns)
        matrix._values, matrix._scales = self._values[rows], self._scales[rows]
        return matrix

    def product(self, vector: Floats, out: Floats) -> None:
        np.dot(self._values, whole(vector), out=out)
        out *= self._scales
        out *= _text_scales(vector[None], self._english_columns)[0]

    def fill_rows(self, vectors: Floats, out: Floats) -> None:
        for vector, row in zip(vectors, out, strict=True):
            self.product(vector, row)

    def products(self, vectors: Floats, rows: NDArray[np.intp]) -> Floats:
        products: Floats = whole(vectors) @ self._values[rows].T
        products *= self._scales[rows]
        products *= _text_scales(vectors, self._english_columns)[:, None]
        return products

    def vectors(self, rows: NDArray[np.intp]) -> Floats:
        return _unit(self._values[rows], self._scales[rows], self._english_columns)


class CompactMatrix:
    """int8 [N, d] with a scale for each row: a quarter of the memory."""

    def __init__(self, count: int, dimensions: int, english_columns: int = 0) -> None:
        self._values = np.zeros((count, dimensions), np.int8)
        self._scales = np.zeros(count, np.float32)
        self._english_columns = english_columns

    @classmethod
    def of(
        cls, values: NDArray[np.int8], scales: Floats, english_columns: int = 0
    ) -> CompactMatrix:
        """Return a matrix of existing arrays: values [N, d], which may be mapped, scales [N].

        The scales are those of `stretched`.
        """
        matrix = cls(0, values.shape[1], english_columns)
        matrix._values, matrix._scales = values, scales
        return matrix

    def __len__(self) -> int:
        return len(self._scales)

    def fill(self, start: int, vectors: Floats) -> None:
        stop = start + len(vectors)
        self._values[start:stop], self._scales[start:stop] = stretched(
            *compact(vectors), self._english_columns
        )

    def put(self, rows: NDArray[np.intp], vectors: Floats) -> None:
        self._values[rows], self._scales[rows] = stretched(*compact(vectors), self._english_columns)

    def taken(self, rows: NDArray[np.intp]) -> CompactMatrix:
        matrix = CompactMatrix(0, self._values.shape[1], self._english_columns)
        matrix._values, matrix._scales = self._values[rows], self._scales[rows]
        return matrix

    def product(self, vector: Floats, out: Floats) -> None:
        self.fill_rows(vector[None], out[None])

    def fill_rows(self, vectors: Floats, out: Floats) -> None:
        texts = np.ascontiguousarray(whole(vectors).T)
        buffer = np.empty((min(_ROWS, len(self)), self._values.shape[1]), np.float32)
        for start in range(0, len(self), _ROWS):
            stop = min(start + _ROWS, len(self))
            part = buffer[: stop - start]
            np.copyto(part, self._values[start:stop])
            out[:, start:stop] = np.dot(part, texts).T
            out[:, start:stop] *= self._scales[start:stop]
        out *= _text_scales(vectors, self._english_columns)[:, None]

    def products(self, vectors: Floats, rows: NDArray[np.intp]) -> Floats:
        products: Floats = whole(vectors) @ self._values[rows].astype(np.float32).T
        products *= self._scales[rows]
        products *= _text_scales(vectors, self._english_columns)[:, None]
        return products

    def vectors(self, rows: NDArray[np.intp]) -> Floats:
        return _unit(self._values[rows], self._scales[rows], self._english_columns)


def compact(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return vectors [n, d] as int8 [n, d], and the scale of each row, [n]."""
    scales = np.abs(vectors).max(axis=1) / np.float32(127)
    scales[scales == 0] = 1
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


def stretched(
    values: NDArray[np.int8], scales: Floats, english_columns: int
) -> tuple[NDArray[np.int8], Floats]:
    """Return the values [n, d] unchanged, and scales [n] that stretch texts in another language."""
    return values, scales * _stretch(values, english_columns)


def unstretched(values: NDArray[np.int8], scales: Floats, english_columns: int) -> Floats:
    """Return the scales [n] of unit vectors, from those of `stretched`."""
    unit: Floats = scales / _stretch(values, english_columns)
    return unit


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


def _unit(values: NDArray[np.generic], scales: Floats, english_columns: int) -> Floats:
    """Return vectors [n, d] of about unit length from values and scales."""
    vectors: Floats = values.astype(np.float32)
    vectors *= (scales / _stretch(values, english_columns))[:, None]
    return vectors


def whole(vectors: Floats) -> Floats:
    """Return unit vectors [n, d] times `WHOLE`, rounded.

    No partial sum of a product with int8 [d] passes the product of the two lengths, which is below
    127 · √d · (WHOLE + √d): under 2²⁴ up to d = 1000, so that float32 holds each exactly.
    """
    rounded: Floats = np.rint(vectors * np.float32(WHOLE))
    return rounded


def new_matrix(count: int, dimensions: int, english_columns: int = 0) -> PromptMatrix:
    """Return an empty matrix of the type that suits its size."""
    kind = FloatMatrix if count * dimensions < COMPACT_FROM else CompactMatrix
    return kind(count, dimensions, english_columns)
