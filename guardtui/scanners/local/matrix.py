"""Prompt vectors in memory, as whole numbers, and their product with a topic's text.

A vector is rounded to int8 with a scale, a text's to whole numbers too, so that every product is a
sum of whole numbers that float32 holds exactly: a cosine does not depend on how the vectors are
held, on which other prompts are computed with it, nor on the machine. Cosines of texts differ from
float32 by less than 0.01 (0.0063 at most for a single token of `static`); a vector with one
component far above all others can differ by more.

An encoder whose first columns know English only leaves them at 0 for a text in another language
(`english_columns`). Such a text has only the other columns in common with an English one. So that
texts of two languages can be as similar as two English ones, the scales of prompts in another
language are stretched, and products with a topic's text in such a language are shrunk.
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
"""Share of another language that rounding to int8 may hide or feign."""

_ROWS = 4096  # rows of int8 made float32 at a time: they stay in the processor's cache


class PromptMatrix(Protocol):
    """Vectors of all prompts; their similarities to a text are cosines, across languages too."""

    def __len__(self) -> int: ...

    def fill(self, start: int, vectors: Floats) -> None:
        """Store unit rows [n, d] from row `start` on."""

    def put(self, rows: NDArray[np.intp], vectors: Floats) -> None:
        """Store unit rows [n, d] in these rows (intp [n])."""

    def taken(self, rows: NDArray[np.intp]) -> PromptMatrix:
        """Return a new matrix with these rows (intp [n]), in this order."""

    def product(self, vector: Floats, out: Floats) -> None:
        """Similarities to one text ([d]), written to `out` [N]."""

    def fill_rows(self, vectors: Floats, out: Floats) -> None:
        """Similarities to several texts ([t, d]), written to `out` [t, N]."""

    def products(self, vectors: Floats, rows: NDArray[np.intp]) -> Floats:
        """Similarities [t, n] of texts [t, d] to the prompts of some rows (intp [n])."""

    def vectors(self, rows: NDArray[np.intp]) -> Floats:
        """Return a copy of the vectors [n, d] of the prompts of rows (intp [n]).

        Rounding has left lengths that differ from 1 by less than 0.01.
        """


class FloatMatrix:
    """Whole numbers as float32 [N, d] with a scale for each row: the fastest if it fits."""

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
        """Around arrays that are there already: values [N, d], which may be mapped, scales [N].

        The scales are those that `stretched` gives.
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
    """Values [n, d] as they are, and scales [n] that stretch texts in another language."""
    return values, scales * _stretch(values, english_columns)


def unstretched(values: NDArray[np.int8], scales: Floats, english_columns: int) -> Floats:
    """The scales [n] of unit vectors, from those that `stretched` gave."""
    unit: Floats = scales / _stretch(values, english_columns)
    return unit


def _stretch(values: NDArray[np.generic], english_columns: int) -> Floats:
    """1 for each text [n] in English and √2 for others, from whole numbers in int8's range [n, d].

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
    """What products of the whole numbers of texts [t, d] are multiplied by, [t]."""
    return np.float32(1 / WHOLE) / _stretch(compact(vectors)[0], english_columns)


def _unit(values: NDArray[np.generic], scales: Floats, english_columns: int) -> Floats:
    """Rows [n, d] of values and scales as vectors of about unit length."""
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
    """An empty matrix of the kind that suits its size."""
    kind = FloatMatrix if count * dimensions < COMPACT_FROM else CompactMatrix
    return kind(count, dimensions, english_columns)
