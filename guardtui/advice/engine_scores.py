"""Scores of many definitions against one prompt set at once, by the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.example_prompts import example_rows
from guardtui.domain.example_prompts import EqualTexts
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import settled
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report
from guardtui.scanners.local.embedding import PromptVectors
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import TopicTable, probability, topic_texts

Floats: TypeAlias = "NDArray[np.float32]"
Rows: TypeAlias = "NDArray[np.intp]"
Stopped = Callable[[], bool]

_PROMPTS, _TOPICS = 1024, 128  # sizes of a block that stays in the processor's cache
_TEXTS = 20_000  # maximum number of kept vectors
_TEXTS_AT_ONCE = 64  # texts between two checks of `stopped`


class EngineScores:
    """Scores topics against the prompts of a set, many at a time.

    Shares the prompts' vectors with the scanner, but not its state of the last topic. Made by
    `open_scores`; not thread-safe.
    """

    def __init__(self, scanner: LocalScanner, prompts: PromptSet, vectors: PromptVectors) -> None:
        _, self._model, _ = scanner.load()
        self._scanner = scanner
        self._vectors = vectors
        self.prompts = prompts
        self._indexes: dict[str, int] = {}
        self._texts = np.zeros((0, int(self._model.background.shape[1])), np.float32)

    @property
    def settings(self) -> ScannerSettings:
        """The engine and its threshold."""
        return self._scanner.settings

    @cached_property
    def equal_texts(self) -> EqualTexts:
        """Index of the prompts by text, made at its first use."""
        return EqualTexts(self.prompts.prompts)

    @property
    def is_fitted(self) -> bool:
        """Return whether the threshold is fitted to the labels at each definition."""
        return self._scanner.settings_for(self.prompts).threshold is None

    @property
    def cut(self) -> np.float32:
        """Smallest z at which a prompt matches; RuntimeError if the threshold is fitted."""
        threshold = self._scanner.settings_for(self.prompts).threshold
        if threshold is None:
            raise RuntimeError("each definition has its own threshold")
        return z_cut(threshold)

    def learn(self, topics: Sequence[Topic], stopped: Stopped = lambda: False) -> int | None:
        """Embed the new texts of topics; return how many, or None if stopped."""
        wanted = dict.fromkeys(text for topic in topics for text in _texts(topic) if text.strip())
        fresh = [text for text in wanted if text not in self._indexes]
        if not fresh:
            return 0
        if len(self._indexes) + len(fresh) > _TEXTS:
            kept = [text for text in wanted if text in self._indexes]
            self._texts = self._texts[[self._indexes[text] for text in kept]]
            self._indexes = {text: index for index, text in enumerate(kept)}
        for start in range(0, len(fresh), _TEXTS_AT_ONCE):
            part = fresh[start : start + _TEXTS_AT_ONCE]
            vectors = self._scanner.embed(part, stopped)
            if vectors is None or stopped():
                return None
            known = len(self._indexes)
            if known + len(part) > len(self._texts):
                grown = np.zeros((2 * (known + len(part)), vectors.shape[1]), np.float32)
                grown[:known] = self._texts[:known]
                self._texts = grown
            self._texts[known : known + len(part)] = vectors
            self._indexes.update((text, known + index) for index, text in enumerate(part))
        return len(fresh)

    def blocks(
        self, topics: Sequence[Topic], rows: Rows | None = None
    ) -> Iterator[tuple[slice, slice, Floats]]:
        """Yield raw scores z block by block: a slice of the topics, one of the rows, and their z.

        `rows` are rows of the prompt set, all by default. The texts of the topics must be known.
        """
        rows = np.arange(len(self.prompts)) if rows is None else rows
        table, vectors = self._table(topics)
        widths = self._model.widths(table, vectors)
        for start in range(0, len(rows), _PROMPTS):
            some = slice(start, min(start + _PROMPTS, len(rows)))
            terms = self._vectors.terms[rows[some]]
            similarities = self._vectors.matrix.products(vectors, rows[some])
            for first in range(0, len(topics), _TOPICS):
                part = slice(first, min(first + _TOPICS, len(topics)))
                z = self._model.combine_many(similarities, table.part(part), widths[part], terms)
                yield part, some, z

    def z(
        self, topics: Sequence[Topic], rows: Rows, stopped: Stopped = lambda: False
    ) -> Floats | None:
        """Return raw scores [c, n] of topics and rows of the prompt set; None if stopped."""
        if self.learn(topics, stopped) is None:
            return None
        scores = np.empty((len(topics), len(rows)), np.float32)
        for part, some, z in self.blocks(topics, rows):
            if stopped():
                return None
            scores[part, some] = z
        return scores

    def verdicts(
        self, topics: Sequence[Topic], stopped: Stopped = lambda: False
    ) -> NDArray[np.bool_] | None:
        """Return whether each prompt matches each topic by the threshold, bool [c, N].

        A fitted threshold is another for each topic. Returns None if stopped.
        """
        if self.learn(topics, stopped) is None:
            return None
        if self.is_fitted:
            return self._fitted_matches(topics, stopped)
        cut = self.cut
        matching = np.empty((len(topics), len(self.prompts)), bool)
        for part, some, z in self.blocks(topics):
            if stopped():
                return None
            matching[part, some] = z >= cut
        return matching

    def _fitted_matches(
        self, topics: Sequence[Topic], stopped: Stopped
    ) -> NDArray[np.bool_] | None:
        scores = self.z(topics, np.arange(len(self.prompts)), stopped)
        if scores is None:
            return None
        matching = np.empty(scores.shape, bool)
        for index, row in enumerate(scores):
            if stopped():
                return None
            shown = probability(row)
            point = settled(self.settings, shown, self.prompts.expected)
            matching[index] = shown >= np.float32(point.threshold)
        return matching

    def vectors_of(self, texts: Sequence[str], stopped: Stopped = lambda: False) -> Floats | None:
        """Return vectors [t, d] of texts that are not blank; None if stopped."""
        if self.learn([Topic(examples=tuple(texts))], stopped) is None:
            return None
        return self._texts[[self._indexes[text] for text in texts]]

    def example_rows(self, rows: Rows) -> Rows:
        """Return rows of prompts that can become examples, those that represent most first."""
        return example_rows(self.prompts, rows, self._vectors.matrix)

    def cosines(self, vectors: Floats, stopped: Stopped = lambda: False) -> Floats | None:
        """Return cosines [t, N] of texts [t, d] to all prompts; None if stopped."""
        values = np.empty((len(vectors), len(self.prompts)), np.float32)
        for start in range(0, values.shape[1], _PROMPTS):
            if stopped():
                return None
            rows = np.arange(start, min(start + _PROMPTS, values.shape[1]))
            values[:, rows] = self._vectors.matrix.products(vectors, rows)
        return values

    def _table(self, topics: Sequence[Topic]) -> tuple[TopicTable, Floats]:
        """Return the topics as indexes of their texts, and the vectors of these texts [t, d]."""
        indexes: dict[str, int] = {}
        heads = np.full(len(topics), -1, np.intp)
        width = max((len(topic.examples) for topic in topics), default=0)
        examples = np.full((len(topics), width), -1, np.intp)
        for row, topic in enumerate(topics):
            for column, text in enumerate(_texts(topic)):
                if text.strip():
                    index = indexes.setdefault(text, len(indexes))
                    if column:
                        examples[row, column - 1] = index
                    else:
                        heads[row] = index
        table = TopicTable(heads, examples)
        if not indexes:
            return table, np.zeros((1, self._texts.shape[1]), np.float32)
        return table, self._texts[[self._indexes[text] for text in indexes]]


def open_scores(
    scanner: LocalScanner,
    prompts: PromptSet,
    report: Report = lambda progress: None,
    stopped: Stopped = lambda: False,
) -> EngineScores | None:
    """Embed the prompts that are not embedded yet and return their scores; None if stopped.

    Raises `ScannerError` if the encoder cannot be loaded.
    """
    vectors = scanner.prompt_vectors(prompts, report, stopped)
    return None if vectors is None else EngineScores(scanner, prompts, vectors)


def z_cut(threshold: float) -> np.float32:
    """Return the smallest z whose score, as it is shown, reaches the threshold."""
    wanted = np.float32(threshold)
    low, high = np.float32(-40), np.float32(40)
    while True:
        middle = np.float32((low + high) / 2)
        if middle in (low, high):
            return high
        if probability(middle) >= wanted:
            high = middle
        else:
            low = middle


def _texts(topic: Topic) -> list[str]:
    return topic_texts(topic.name, topic.description, topic.examples)
