"""Verdicts of the embedded engine on many definitions, and cosines, for lint."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.engine_scores import EngineScores, Floats, Stopped, open_scores
from guardtui.domain.example_prompts import EqualTexts
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report
from guardtui.scanners.local.scanner import LocalScanner


class LintEngine:
    """Measures definitions on all prompts of a set, beside the live preview.

    Objects are made by `open_lint_engine`; not thread-safe.
    """

    def __init__(self, scores: EngineScores) -> None:
        self._scores = scores

    @property
    def prompts(self) -> PromptSet:
        """The prompts that definitions are measured on."""
        return self._scores.prompts

    @cached_property
    def equal_texts(self) -> EqualTexts:
        """Index of the prompts by text, made at its first use."""
        return EqualTexts(self.prompts.prompts)

    def verdicts(
        self, topics: Sequence[Topic], stopped: Stopped = lambda: False
    ) -> NDArray[np.bool_] | None:
        """Return whether each prompt matches each topic, bool [c, N]; None if stopped."""
        return self._scores.matches(topics, stopped)

    def vectors_of(self, texts: Sequence[str], stopped: Stopped = lambda: False) -> Floats | None:
        """Return vectors [t, d] of texts that are not blank; None if stopped."""
        return self._scores.vectors_of(texts, stopped)

    def cosines(self, vectors: Floats, stopped: Stopped = lambda: False) -> Floats | None:
        """Return cosines [t, N] of texts [t, d] to all prompts; None if stopped."""
        return self._scores.cosines(vectors, stopped)


def open_lint_engine(
    scanner: LocalScanner, prompts: PromptSet, report: Report, stopped: Stopped = lambda: False
) -> LintEngine | None:
    """Embed the prompts that are not embedded yet and return an engine; None if stopped.

    Raises `ScannerError` if the encoder cannot be loaded.
    """
    scores = open_scores(scanner, prompts, report, stopped)
    return None if scores is None else LintEngine(scores)
