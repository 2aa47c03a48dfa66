"""The encoder `minilm`: all-MiniLM-L6-v2 on onnxruntime."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from guardtui.scanners.local.encoder import (
    checked_bytes,
    clean_text,
    equal_lengths,
    load_session,
    load_tokenizer,
)

VERSION = 1
"""Part of the id; to be raised when the same weights give other vectors."""
WINDOW = 256
"""Maximum number of tokens; the model was published with this window."""
CHARACTERS = 4096
"""Maximum number of tokenised characters: 16 per token of the window, for texts of 10 MB."""
BATCH_TOKENS = 1024
"""Tokens per run: larger batches exceed the processor's cache and are slower per prompt."""


class MiniLM:
    """Sentence vectors of a six-layer transformer, [n, 384].

    The mean vector of everyday requests is subtracted before rows get unit length: what requests
    share says nothing about a topic, and broad and narrow topics become more alike without it.
    """

    name = "minilm"
    dimensions = 384
    chunk = 32

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        """Load from a folder of weights. Raises `EncoderError` if a file is damaged."""
        model, model_hash = checked_bytes(folder, "minilm.onnx")
        centre, centre_hash = checked_bytes(folder, "minilm-centre.npy")
        definition, tokenizer_hash = checked_bytes(folder, "tokenizer.json")
        self._session = load_session(model, threads)
        self._centre: NDArray[np.float32] = np.load(io.BytesIO(centre), allow_pickle=False).astype(
            np.float32
        )
        self._tokenizer = load_tokenizer(definition)
        self._tokenizer.enable_truncation(WINDOW)
        self.id = f"minilm-{model_hash[:8]}{centre_hash[:4]}{tokenizer_hash[:4]}-{VERSION}"

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
