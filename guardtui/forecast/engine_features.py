"""The engine's features of a definition and a prompt set, used by forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report
from guardtui.scanners.local.scanner import LocalScanner, Stopped
from guardtui.scanners.local.scoring import topic_texts

Floats: TypeAlias = "NDArray[np.float32]"

WORDS_ENCODER = "static"
"""A second encoder: it compares words where others compare sentences, and costs little."""


@dataclass(frozen=True, eq=False)
class EngineFeatures:
    """Features of one definition, computed by the engine.

    `z` [N] is the engine's score before the logistic function. `columns` [N, p] are features of
    each prompt: by each encoder, the cosine to the description, to the nearest example, and the
    mean of all; and the same three of the share of the prompt's words that a text contains. The
    engine's encoder comes first. `nearest` [N] is its cosine to the nearest example. `label` [N] is
    1 for prompts that belong to the topic, -1 for the others. `description` [d] and `examples`
    [k, d] are unit vectors. `words` is the number of words in all texts.
    """

    z: Floats
    columns: Floats
    nearest: Floats
    label: Floats
    description: Floats
    examples: Floats
    words: int


class EngineReader:
    """Computes features with a session's engine, a second encoder, and an index of words."""

    def __init__(self, engine: LocalScanner) -> None:
        self._engine = engine
        self._words = LocalScanner(WORDS_ENCODER) if engine.encoder_name != WORDS_ENCODER else None
        self._shared = SharedWordsReader()

    def read(
        self,
        topic: Topic,
        prompts: PromptSet,
        report: Report = lambda _: None,
        stopped: Stopped = lambda: False,
    ) -> EngineFeatures | None:
        """Read a definition; None if stopped. The prompts of the last scan are cached.

        Raises `ScannerError` if the engine is damaged.
        """
        seen = self._engine.view(topic, prompts, report, stopped)
        if seen is None:
            return None
        parts = [seen.description, seen.nearest, seen.mean]
        if self._words is not None:
            # Without progress: it needs a hundredth of the time of the first one.
            words = self._words.view(topic, prompts, lambda _: None, stopped)
            if words is None:
                return None
            parts += [words.description, words.nearest, words.mean]
        head, *examples = topic_texts(topic.name, topic.description, topic.examples)
        parts += self._shared.read(head, examples, prompts.prompts, prompts.keys)
        vectors = seen.text_vectors
        written = [row for row, text in enumerate(topic.examples, start=1) if text.strip()]
        # Transposed, since a forecast computes with one feature of all prompts at a time.
        columns = np.stack(parts).T
        label = np.where(prompts.expected, 1.0, -1.0).astype(np.float32)
        amount = sum(len(text.split()) for text in (head, *examples))
        return EngineFeatures(
            seen.z, columns, seen.nearest, label, vectors[0], vectors[written], amount
        )


# --- words that prompts share with a definition, weighted by how rare they are ----------------

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
