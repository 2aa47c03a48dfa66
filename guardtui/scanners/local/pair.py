"""The encoder `pair`: `minilm`, the best for English, and `use`, for 16 languages.

`minilm` was trained on English only: for a text in another language its half of the vector is left
out.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from guardtui.scanners.local.encoder import checked_bytes, encoder_id
from guardtui.scanners.local.minilm import MiniLM
from guardtui.scanners.local.use import Use

SHARE = 0.5
"""Share of the cosine by `minilm` in the cosine of two English texts."""
UNSURE = 1.0
"""Log odds of another language than English within which a text counts as partly English."""


class Pair:
    """Vectors of both encoders side by side, [n, 896].

    The cosine of two English texts is the mean of their cosines by each encoder. The half of
    `minilm` is 0 in the vector of a text in another language.
    """

    name = "pair"
    dimensions = MiniLM.dimensions + Use.dimensions
    english_columns = MiniLM.dimensions
    """Columns at the start that are 0 for a text in another language than English."""
    chunk = 96
    files = (*MiniLM.files, *Use.files, "pair-languages.npy")
    version = 2
    """Part of the id: raise it when the same weights give other vectors."""

    def __init__(self, folder: Path) -> None:
        """Load both from a folder of weights. Raises `EncoderError` if a file is damaged."""
        self._minilm = MiniLM(folder)
        self._use = Use(folder)
        content = checked_bytes(folder, "pair-languages.npy")
        # Weights [896] and the constant of a logistic regression by scripts/fit_languages.py.
        self._languages = np.load(io.BytesIO(content), allow_pickle=False).astype(np.float32)
        self.id = encoder_id(folder, self.name, self.files, self.version)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit rows [n, dimensions] as float32; text beyond the window is ignored."""
        result = self.raw(texts)
        cut = self.english_columns
        # Row by row: the rounding of one product of all depends on their number.
        odds = (result * self._languages[:-1]).sum(axis=1) + self._languages[-1]
        foreign = np.clip(odds / np.float32(2 * UNSURE) + np.float32(0.5), 0, 1)[:, None]
        share = np.float32(SHARE)
        result[:, :cut] *= np.sqrt(1 - foreign)
        result[:, cut:] *= np.sqrt((1 - share + share * foreign) / (1 - share))
        return result

    def raw(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit rows [n, dimensions], regardless of the language of a text."""
        result = np.empty((len(texts), self.dimensions), np.float32)
        cut = self.english_columns
        result[:, :cut] = self._minilm.encode(texts)
        result[:, cut:] = self._use.encode(texts)
        result[:, :cut] *= np.float32(math.sqrt(SHARE))
        result[:, cut:] *= np.float32(math.sqrt(1 - SHARE))
        return result
