"""The prompts of a set as lint needs them: verdicts of many definitions, and cosines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.measuring import TopicScorer
from guardtui.advice.splits import Split
from guardtui.domain.example_prompts import EqualTexts
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report
from guardtui.scanners.local.embedding import PromptVectors
from guardtui.scanners.local.scanner import LocalScanner

Floats: TypeAlias = "NDArray[np.float32]"
Stopped = Callable[[], bool]

_ROWS = 1024  # prompts in one block


class LintEngine(TopicScorer):
    """Measures definitions on all prompts of a set, beside the live preview.

    It shares the prompts' vectors with the scanner and changes nothing that the scanner keeps of
    its last topic. Objects are made by `open_lint_engine`; not for several threads at once.
    """

    def __init__(self, scanner: LocalScanner, prompts: PromptSet, vectors: PromptVectors) -> None:
        # Of a search half the scorer would keep the texts too.
        whole = Split(np.zeros(len(prompts), bool), np.ones(len(prompts), bool), "all prompts")
        super().__init__(scanner, prompts, whole, vectors)

    @cached_property
    def equal_texts(self) -> EqualTexts:
        """The prompts by their text; made when first asked for."""
        return EqualTexts(self.prompts.prompts)

    def verdicts(
        self, topics: Sequence[Topic], stopped: Stopped = lambda: False
    ) -> NDArray[np.bool_] | None:
        """Whether each prompt matches each topic, bool [c, N]; None when stopped.

        One product for the texts of all topics. `stopped` is asked between blocks of prompts.
        """
        if self.learn(topics, stopped) is None:
            return None
        table, vectors = self._table(topics)
        widths = self._model.widths(table, vectors)
        found = np.empty((len(topics), len(self.prompts)), bool)
        for start in range(0, found.shape[1], _ROWS):
            if stopped():
                return None
            rows = np.arange(start, min(start + _ROWS, found.shape[1]))
            similarities = self._vectors.matrix.products(vectors, rows)
            terms = self._vectors.terms[rows]
            z = self._model.combine_many(similarities, table, widths, terms)
            found[:, rows] = z >= self.cut
        return found

    def vectors_of(self, texts: Sequence[str], stopped: Stopped = lambda: False) -> Floats | None:
        """Vectors [t, d] of texts that are not blank; None when stopped."""
        if self.learn([Topic(examples=tuple(texts))], stopped) is None:
            return None
        return self._texts[[self._places[text] for text in texts]]

    def cosines(self, vectors: Floats, stopped: Stopped = lambda: False) -> Floats | None:
        """Cosines [t, N] of texts [t, d] to all prompts; None when stopped."""
        found = np.empty((len(vectors), len(self.prompts)), np.float32)
        for start in range(0, found.shape[1], _ROWS):
            if stopped():
                return None
            rows = np.arange(start, min(start + _ROWS, found.shape[1]))
            found[:, rows] = self._vectors.matrix.products(vectors, rows)
        return found


def open_lint_engine(
    scanner: LocalScanner, prompts: PromptSet, report: Report, stopped: Stopped = lambda: False
) -> LintEngine | None:
    """An engine for these prompts, which are embedded first where they are not; None when stopped.

    Raises `ScannerError` when the encoder cannot be loaded.
    """
    vectors = scanner.prompt_vectors(prompts, report, stopped)
    return None if vectors is None else LintEngine(scanner, prompts, vectors)
