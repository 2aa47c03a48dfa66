"""Half of the encoder `pair`: Universal Sentence Encoder multilingual v3."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from guardtui.scanners.local.encoder import (
    checked_bytes,
    checked_file,
    clean_text,
    equal_lengths,
    load_session,
)
from guardtui.scanners.local.unigram import Unigram

WINDOW = 256
"""Tokens that are read, as many as `minilm` reads."""
CHARACTERS = 4096
"""Characters that are tokenised: 16 for each token of the window, and a bound for 10 MB of text."""
BATCH_TOKENS = 512
"""Tokens in one run: larger batches leave the processor's cache and are slower for each prompt."""


class Use:
    """Sentence vectors of an averaging network that knows 16 languages, [n, 512].

    The mean vector of everyday requests is subtracted, as in `minilm`.
    """

    dimensions = 512
    files = (
        "use.onnx",
        "use-tokens.npy",
        "use-pieces.txt",
        "use-centre.npy",
        "use-token-scales.npy",
        "use-piece-scores.npy",
        "use-normaliser.bin",
    )

    def __init__(self, folder: Path) -> None:
        """Load from a folder of weights. Raises `EncoderError` if a file is damaged."""
        model, codes, *others = self.files
        self._session = load_session(checked_file(folder, model))
        pieces, centre, scales, scores, charsmap = (checked_bytes(folder, name) for name in others)
        self._scales = _floats(scales)
        self._centre = _floats(centre)
        names = pieces.decode("utf-8").split("\n")
        self._tokenizer = Unigram(names, _floats(scores).tolist(), charsmap)
        # The file ends with its numbers, uint8 [tokens, 512], of which few are read.
        content = np.asarray(np.memmap(checked_file(folder, codes), np.uint8, "r"))
        numbers = content[-len(names) * self.dimensions :]
        self._codes = numbers.reshape(len(names), self.dimensions)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit rows [n, dimensions] as float32; text beyond the window is ignored."""
        result = self.directions(texts)
        result -= self._centre
        result /= np.linalg.norm(result, axis=1, keepdims=True)
        return result

    def tokens(self, text: str) -> list[int]:
        """Return the ids of a text's tokens within the window."""
        return self._tokenizer.encode(clean_text(text, CHARACTERS))[:WINDOW]

    def directions(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit rows [n, dimensions] of the model itself, before the centre is subtracted."""
        tokens = [self.tokens(text) for text in texts]
        result = np.empty((len(tokens), self.dimensions), np.float32)
        for rows in equal_lengths(tokens, BATCH_TOKENS):
            ids = np.array([tokens[row] for row in rows])
            vectors = self._codes[ids].astype(np.float32)
            scales = self._scales[ids % len(self._scales)]
            vectors *= scales[:, :, :1]
            vectors += scales[:, :, 1:]
            result[rows] = self._session.run(None, {"tokens": vectors})[0]
        result /= np.linalg.norm(result, axis=1, keepdims=True)
        return result


def _floats(content: bytes) -> NDArray[np.float32]:
    numbers: NDArray[np.float32] = np.load(io.BytesIO(content), allow_pickle=False).astype(
        np.float32
    )
    return numbers
