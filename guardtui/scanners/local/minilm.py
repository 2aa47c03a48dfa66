"""The encoder `minilm`: all-MiniLM-L6-v2 by onnxruntime."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guardtui.scanners.local.encoder import (
    EncoderError,
    checked_bytes,
    clean_text,
    load_tokenizer,
)

VERSION = 1
"""Part of the id: raise it when the same weights give other vectors."""
WINDOW = 256
"""Tokens that the model reads; it was published with this window."""
CHARACTERS = 4096
"""Characters that are tokenised: 16 for each token of the window, and a bound for 10 MB of text."""
BATCH_TOKENS = 1024
"""Tokens in one run: larger batches leave the processor's cache and are slower for each prompt."""


class MiniLM:
    """Sentence vectors of a six-layer transformer, [n, 384].

    The mean vector of everyday requests is taken off before rows get unit length: what all requests
    share says nothing about a topic, and broad and narrow topics become more alike without it.
    """

    name = "minilm"
    dimensions = 384

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        """Load from a folder of weights; raises `EncoderError` when a file is damaged."""
        model, model_hash = checked_bytes(folder, "minilm.onnx")
        centre, centre_hash = checked_bytes(folder, "minilm-centre.npy")
        definition, tokenizer_hash = checked_bytes(folder, "tokenizer.json")
        try:
            import onnxruntime
        except ImportError as error:
            raise EncoderError(
                "the encoder minilm needs onnxruntime: reinstall guardtui"
            ) from error

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Threads that spin between runs would take the processor from the screen.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self._session: Any = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._centre: NDArray[np.float32] = np.load(io.BytesIO(centre), allow_pickle=False).astype(
            np.float32
        )
        self._tokenizer = load_tokenizer(definition)
        self._tokenizer.enable_truncation(WINDOW)
        self.id = f"minilm-{model_hash[:8]}{centre_hash[:4]}{tokenizer_hash[:4]}-{VERSION}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows [n, dimensions] as float32; text beyond the window is not read."""
        cleaned = [clean_text(text, CHARACTERS) for text in texts]
        result = np.empty((len(cleaned), self.dimensions), np.float32)
        if not cleaned:
            return result
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(cleaned)]
        order = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        start = 0
        while start < len(order):
            stop = start + 1
            # Sorted by length, so the next text is the longest of the batch it joins.
            while (
                stop < len(order) and (stop + 1 - start) * len(tokens[order[stop]]) <= BATCH_TOKENS
            ):
                stop += 1
            rows = order[start:stop]
            result[rows] = self._run([tokens[row] for row in rows])
            start = stop
        result -= self._centre
        result /= np.linalg.norm(result, axis=1, keepdims=True)
        return result

    def _run(self, batch: list[list[int]]) -> NDArray[np.float32]:
        longest = max(map(len, batch))
        tokens = np.zeros((len(batch), longest), np.int64)
        mask = np.zeros_like(tokens)
        for row, found in enumerate(batch):
            tokens[row, : len(found)] = found
            mask[row, : len(found)] = 1
        vectors: NDArray[np.float32] = self._session.run(None, {"tokens": tokens, "mask": mask})[0]
        return vectors
