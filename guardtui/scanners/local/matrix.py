"""Prompt vectors in memory, as whole numbers, and their product with a topic's text.

A vector is rounded to int8 with a scale, a text's to whole numbers too, so that every product is a
sum of whole numbers that float32 holds exactly: a cosine does not depend on how the vectors are
held, on which other prompts are computed with it, nor on the machine. Cosines of texts differ from
float32 by less than 0.01 (0.0063 at most for a single token of `static`); a vector with one
component far above all others can differ by more.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float32]"

COMPACT_FROM = 96_000_000
"""From this many numbers on vectors are held as int8: a quarter of the memory."""

WHOLE = 4096
"""Steps in which a text's vector is rounded for whole numbers: cosines move by about 0.0001."""

_ROWS = 4096  # rows of int8 made float32 at a time: they stay in the processor's cache


class PromptMatrix(Protocol):
    """Unit vectors of all prompts."""

    def __len__(self) -> int: ...

    def fill(self, start: int, vectors: Floats) -> None:
        """Store unit rows [n, d] from row `start` on."""

    def put(self, rows: NDArray[np.intp], vectors: Floats) -> None:
        """Store unit rows [n, d] in these rows (intp [n])."""

    def taken(self, rows: NDArray[np.intp]) -> PromptMatrix:
        """A matrix of its own with these rows (intp [n]), in this order."""

    def product(self, vector: Floats, out: Floats) -> None:
        """Cosines to one text ([d]), written to `out` [N]."""

    def fill_rows(self, vectors: Floats, out: Floats) -> None:
        """Cosines to several texts ([t, d]), written to `out` [t, N]."""

    def products(self, vectors: Floats, rows: NDArray[np.intp]) -> Floats:
        """Cosines [t, n] of texts [t, d] to the prompts of some rows (intp [n])."""

    def vectors(self, rows: NDArray[np.intp]) -> Floats:
        """The vectors [n, d] of the prompts of some rows (intp [n]), as a copy.

        Rounding has left lengths that differ from 1 by less than 0.01.
        """


class FloatMatrix:
    """Whole numbers as float32 [N, d] with a scale for each row: the fastest while it fits."""

    def __init__(self, count: int, dimensions: int) -> None:
        self._values = np.zeros((count, dimensions), np.float32)
        self._scales = np.zeros(count, np.float32)

    def __len__(self) -> int:
        return len(self._scales)

    def fill(self, start: int, vectors: Floats) -> None:
        stop = start + len(vectors)
        self._values[start:stop], self._scales[start:stop] = compact(vectors)

    def put(self, rows: NDArray[np.intp], vectors: Floats) -> None:
        self._values[rows], self._scales[rows] = compact(vectors)

    def taken(self, rows: NDArray[np.intp]) -> FloatMatrix:
        matrix = FloatMatrix(0, self._values.shape[1])
        matrix._values, matrix._scales = self._values[rows], self._scales[rows]
        return matrix

    def product(self, vector: Floats, out: Floats) -> None:
        np.dot(self._values, whole(vector), out=out)
        out *= self._scales
        out *= np.float32(1 / WHOLE)

    def fill_rows(self, vectors: Floats, out: Floats) -> None:
        for vector, row in zip(vectors, out, strict=True):
            self.product(vector, row)

    def products(self, vectors: Floats, rows: NDArray[np.intp]) -> Floats:
        found: Floats = whole(vectors) @ self._values[rows].T
        found *= self._scales[rows]
        found *= np.float32(1 / WHOLE)
        return found

    def vectors(self, rows: NDArray[np.intp]) -> Floats:
        found: Floats = self._values[rows]
        found *= self._scales[rows, None]
        return found


class CompactMatrix:
    """int8 [N, d] with a scale for each row: a quarter of the memory."""

    def __init__(self, count: int, dimensions: int) -> None:
        self._values = np.zeros((count, dimensions), np.int8)
        self._scales = np.zeros(count, np.float32)

    @classmethod
    def of(cls, values: NDArray[np.int8], scales: Floats) -> CompactMatrix:
        """Around arrays that are there already: values [N, d], which may be mapped, scales [N]."""
        matrix = cls(0, values.shape[1])
        matrix._values, matrix._scales = values, scales
        return matrix

    def __len__(self) -> int:
        return len(self._scales)

    def fill(self, start: int, vectors: Floats) -> None:
        stop = start + len(vectors)
        self._values[start:stop], self._scales[start:stop] = compact(vectors)

    def put(self, rows: NDArray[np.intp], vectors: Floats) -> None:
        self._values[rows], self._scales[rows] = compact(vectors)

    def taken(self, rows: NDArray[np.intp]) -> CompactMatrix:
        matrix = CompactMatrix(0, self._values.shape[1])
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
        out *= np.float32(1 / WHOLE)

    def products(self, vectors: Floats, rows: NDArray[np.intp]) -> Floats:
        found: Floats = whole(vectors) @ self._values[rows].astype(np.float32).T
        found *= self._scales[rows]
        found *= np.float32(1 / WHOLE)
        return found

    def vectors(self, rows: NDArray[np.intp]) -> Floats:
        found: Floats = self._values[rows].astype(np.float32)
        found *= self._scales[rows, None]
        return found


def compact(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Vectors [n, d] as int8 [n, d], and what each row is to be multiplied by, [n]."""
    scales = np.abs(vectors).max(axis=1) / np.float32(127)
    scales[scales == 0] = 1
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


def whole(vectors: Floats) -> Floats:
    """Unit vectors [n, d] times `WHOLE`, rounded.

    No partial sum of a product with int8 [d] passes the product of the two lengths, which is below
    127 · √d · (WHOLE + √d): under 2²⁴ up to d = 1000, so that float32 holds each exactly.
    """
    found: Floats = np.rint(vectors * np.float32(WHOLE))
    return found


def new_matrix(count: int, dimensions: int) -> PromptMatrix:
    """An empty matrix of the kind that suits its size."""
    kind = FloatMatrix if count * dimensions < COMPACT_FROM else CompactMatrix
    return kind(count, dimensions)
