"""The encoder `minilm`: all-MiniLM-L6-v2 on onnxruntime."""

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
    encoder_id,
    equal_lengths,
    load_session,
    load_tokenizer,
)

WINDOW = 256
"""Maximum number of tokens; the model was published with this window."""
CHARACTERS = 4096
"""Maximum number of tokenised characters: 16 per token of the window, for texts of 10 MB."""
BATCH_TOKENS = 256
"""Tokens per run: larger batches need more memory and are not faster per prompt."""


class MiniLM:
    """Sentence vectors of a six-layer transformer, [n, 384].

    The mean vector of everyday requests is subtracted before rows get unit length: what requests
    share says nothing about a topic, and broad and narrow topics become more alike without it.
    """

    name = "minilm"
    dimensions = 384
    chunk = 32
    files = ("minilm.onnx", "minilm-centre.npy", "tokenizer.json")
    version = 1
    """Part of the id: raise it when the same weights give other vectors."""

    def __init__(self, folder: Path) -> None:
        """Load from a folder of weights. Raises `EncoderError` if a file is damaged."""
        model, *others = self.files
        self._session = load_session(checked_file(folder, model))
        centre, definition = (checked_bytes(folder, name) for name in others)
        self._centre: NDArray[np.float32] = np.load(io.BytesIO(centre), allow_pickle=False).astype(
            np.float32
        )
        self._tokenizer = load_tokenizer(definition)
        self._tokenizer.enable_truncation(WINDOW)
        self.id = encoder_id(folder, self.name, self.files, self.version)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit rows [n, dimensions] as float32; text beyond the window is ignored."""
        cleaned = [clean_text(text, CHARACTERS) for text in texts]
        result = np.empty((len(cleaned), self.dimensions), np.float32)
        if not cleaned:
            return result
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(cleaned)]
        for rows in equal_lengths(tokens, BATCH_TOKENS):
            batch = np.array([tokens[row] for row in rows], np.int64)
            result[rows] = self._session.run(None, {"tokens": batch})[0]
        result /= np.linalg.norm(result, axis=1, keepdims=True)
        result -= self._centre
        result /= np.linalg.norm(result, axis=1, keepdims=True)
        return result
