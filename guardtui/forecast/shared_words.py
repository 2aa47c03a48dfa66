"""Words that prompts share with the texts of a definition, weighted by how rare they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float32]"

STEM = 5
"""Number of leading letters by which words are compared: "refunds" and "refunded" are equal."""

_WORD = r"\w+"  # with combining marks, which Python's `re` leaves out
_FEW = 3.0  # added to the weight of a prompt's words, so that one word is not all of a short prompt


def _words(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().str.extract_all(_WORD)


class SharedWords:
    """An index from words to the prompts that contain them.

    A word weighs log((1 + N) / (1 + n)) if n of N prompts contain it (inverse document frequency).
    """

    def __init__(self, prompts: pl.Series) -> None:
        """Index the texts of a prompt set; takes about 1 s for 100,000 prompts."""
        count = len(prompts)
        words = _words(prompts)
        rows = np.repeat(np.arange(count, dtype=np.int32), words.list.len().to_numpy())
        stems = words.explode().drop_nulls().str.slice(0, STEM)
        grouped = (
            pl.DataFrame({"word": stems, "row": rows})
            .group_by("word")
            .agg("row")
            .sort("word")  # so that equal sets give equal sums
        )
        repeats = grouped["row"].list.len().to_numpy()
        occurrences = grouped["row"].explode().to_numpy()
        word = np.repeat(np.arange(len(grouped)), repeats)
        # A prompt's rows are in order within a word, so that equal ones are neighbours.
        first = np.ones(len(occurrences), bool)
        first[1:] = (occurrences[1:] != occurrences[:-1]) | (word[1:] != word[:-1])
        self._rows, word = occurrences[first], word[first]
        counts = np.bincount(word, minlength=len(grouped))
        self._index = {stem: index for index, stem in enumerate(grouped["word"])}
        self._ends = np.cumsum(counts)
        self._weights = np.log((1 + count) / (1 + counts)).astype(np.float32)
        totals = np.bincount(self._rows, weights=self._weights[word], minlength=count)
        self._scale = (1 / (_FEW + totals)).astype(np.float32)

    def shares(self, text: str) -> Floats:
        """Return the share of each prompt's words, by weight, that a text contains: [N], 0 to 1."""
        shares = np.zeros(len(self._scale), np.float32)
        # Sorted, so that equal texts give equal sums.
        for stem in sorted({word[:STEM] for word in _words(pl.Series([text])).item()}):
            index = self._index.get(stem)
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
