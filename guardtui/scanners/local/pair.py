"""The encoder `pair`: `minilm`, which reads English best, and `use`, which knows 16 languages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from guardtui.scanners.local.minilm import MiniLM
from guardtui.scanners.local.use import Use

VERSION = 1
"""Part of the id: raise it when the same weights give other vectors."""
SHARE = 0.5
"""Of the cosine of two vectors, the share that is the cosine of `minilm`."""


class Pair:
    """Vectors of both encoders side by side, [n, 896]: a cosine is the mean of their cosines."""

    name = "pair"
    dimensions = MiniLM.dimensions + Use.dimensions
    chunk = 96

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        """Load both from a folder of weights; raises `EncoderError` when a file is damaged."""
        self._minilm = MiniLM(folder, threads=threads)
        self._use = Use(folder, threads=threads)
        hashes = "".join(part.id.split("-")[1][:12] for part in (self._minilm, self._use))
        self.id = f"pair-{hashes}-{VERSION}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows [n, dimensions] as float32; text beyond the window is not read."""
        result = np.empty((len(texts), self.dimensions), np.float32)
        cut = MiniLM.dimensions
        result[:, :cut] = self._minilm.encode(texts)
        result[:, cut:] = self._use.encode(texts)
        result[:, :cut] *= np.float32(math.sqrt(SHARE))
        result[:, cut:] *= np.float32(math.sqrt(1 - SHARE))
        return result
