"""Words that prompts share with the texts of a definition, weighted by how rare they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float32]"

STEM = 5
"""Number of leading letters by which words are compared: "refunds" and "refunded" are equal."""

_WORD = r"\w+"
_FEW = 3.0  # added to the weight of a prompt's words, so that one word is not all of a short prompt


class SharedWords:
    """An index from words to the prompts that contain them.

    A word weighs log((1 + N) / (1 + n)) if n of N prompts contain it (inverse document frequency).
    """

    def __init__(self, prompts: pl.Series) -> None:
        """Index the texts of a prompt set; takes about 2 µs a word."""
        count = len(prompts)
        words = prompts.str.to_lowercase().str.extract_all(_WORD).alias("word")
        frame = (
            pl.DataFrame([pl.Series("row", np.arange(count, dtype=np.int32)), words])
            .explode("word")
            .drop_nulls()
            .with_columns(pl.col("word").str.slice(0, STEM))
            .unique()
            .sort("word", "row")
        )
        counted = frame.group_by("word", maintain_order=True).len()
        counts = counted["len"].to_numpy().astype(np.intp)
        self._rows = frame["row"].to_numpy()
        self._index = {word: index for index, word in enumerate(counted["word"])}
        self._ends = np.cumsum(counts)
        self._weights = np.log((1 + count) / (1 + counts)).astype(np.float32)
        totals = np.bincount(self._rows, weights=np.repeat(self._weights, counts), minlength=count)
        self._scale = (1 / (_FEW + totals)).astype(np.float32)

    def shares(self, text: str) -> Floats:
        """Return the share of each prompt's words, by weight, that a text contains: [N], 0 to 1."""
        shares = np.zeros(len(self._scale), np.float32)
        # Sorted, so that equal texts give equal sums.
        for word in sorted({found[:STEM] for found in re.findall(_WORD, text.lower())}):
            index = self._index.get(word)
            if index is not None:
                start = self._ends[index - 1] if index else 0
                shares[self._rows[start : self._ends[index]]] += self._weights[index]
        shares *= self._scale
        return shares


class SharedWordsReader:
    """Shares of words of a topic's texts, for the prompts of the last call."""

    def __init__(self) -> None:
        self._last: tuple[NDArray[np.uint64], SharedWords, dict[str, Floats]] | None = None

    def read(
        self, head: str, examples: Sequence[str], prompts: pl.Series, keys: NDArray[np.uint64]
    ) -> list[Floats]:
        """Return shares of the description, the nearest example and the mean of all, each [N].

        As in the engine's features, description and examples stand in for each other if missing.
        `keys` identify the prompts.
        """
        last = self._last
        if last is not None and np.array_equal(last[0], keys):
            index, known = last[1], last[2]
        else:
            index, known = SharedWords(prompts), {}
        texts = [text for text in (head, *examples) if text.strip()]
        shares = {text: known[text] if text in known else index.shares(text) for text in texts}
        self._last = keys, index, shares  # in one step: several threads may read
        if not texts:
            return [np.zeros(len(keys), np.float32)] * 3
        rows = [shares[text] for text in texts]
        described = bool(head.strip())
        nearest = np.maximum.reduce(rows[1:] if described and len(rows) > 1 else rows)
        return [rows[0] if described else nearest, nearest, np.mean(rows, axis=0)]
