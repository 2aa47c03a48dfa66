"""The encoder `static`: a sum of token vectors distilled from MiniLM."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from guardtui.scanners.local.encoder import checked_bytes, clean_text, encoder_id, load_tokenizer

WINDOW = 512
"""Maximum number of tokens: a mean of more tokens matches nothing."""
CHARACTERS = 4096
"""Maximum number of tokenised characters, for texts of 10 MB."""
_AT_ONCE = 2048


class Static:
    """Normalised sums of token vectors, [n, 256]."""

    name = "static"
    dimensions = 256
    chunk = 512
    files = ("static.npy", "static-scale.npy", "tokenizer.json")
    version = 1
    """Part of the id: raise it when the same weights give other vectors."""

    def __init__(self, folder: Path) -> None:
        """Load from a folder of weights. Raises `EncoderError` if a file is damaged."""
        codes, scales, definition = (checked_bytes(folder, name) for name in self.files)
        self._codes: NDArray[np.int8] = np.load(io.BytesIO(codes), allow_pickle=False)
        self._scales: NDArray[np.float32] = np.load(io.BytesIO(scales), allow_pickle=False)
        self._tokenizer = load_tokenizer(definition)
        self._tokenizer.enable_truncation(WINDOW)
        self._unknown = int(self._tokenizer.token_to_id("[UNK]") or 0)
        self.id = encoder_id(folder, self.name, self.files, self.version)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit rows [n, dimensions] as float32; text beyond the window is ignored."""
        result = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _AT_ONCE):
            part = [clean_text(text, CHARACTERS) for text in texts[start : start + _AT_ONCE]]
            block = result[start : start + len(part)]
            encodings = self._tokenizer.encode_batch_fast(part, add_special_tokens=False)
            for row, encoding in enumerate(encodings):
                # Each row is summed separately, so that it does not depend on its batch.
                total = self.token_vectors(encoding.ids).sum(axis=0)
                if not total.any():  # no tokens, or only those without a vector, such as "[CLS]"
                    total = self.token_vectors([self._unknown])[0]
                block[row] = total / np.float32(math.sqrt(float(total @ total)))
        return result

    def words(self, text: str) -> list[tuple[int, int, list[int]]]:
        """Return the words: start and end in the text, and their rows of the table."""
        encoding = self._tokenizer.encode(clean_text(text, CHARACTERS), add_special_tokens=False)
        words: dict[int, tuple[int, int, list[int]]] = {}
        for number, row, (start, end) in zip(
            encoding.word_ids, encoding.ids, encoding.offsets, strict=True
        ):
            first, last, rows = words.get(number, (start, end, []))
            words[number] = (min(first, start), max(last, end), [*rows, row])
        return list(words.values())

    def token_vectors(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Return vectors of tokens, float32 [len(rows), 256]; their sum has a text's direction."""
        picked = self._codes[rows].astype(np.float32)
        picked *= self._scales[rows][:, None]
        return picked
