"""The embedded engine's features of a definition and a prompt set, used by forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Progress, Report
from guardtui.scanners.local.scanner import LocalScanner, Stopped

Floats: TypeAlias = "NDArray[np.float32]"

WORDS_ENCODER = "static"
"""A second encoder: it compares words where others compare sentences, and costs little."""


@dataclass(frozen=True, eq=False)
class EngineFeatures:
    """Features of one definition, computed by the engine.

    `columns` [N, p] are features of each prompt: the engine's z and, for each encoder, the cosine
    to the description, to the nearest example, and the mean of all. `nearest` [N] is the cosine to
    the nearest example. `description` [d] and `examples` [k, d] are unit vectors.
    """

    columns: Floats
    nearest: Floats
    description: Floats
    examples: Floats


class EngineReader:
    """Computes readings with a session's engine and a second encoder."""

    def __init__(self, engine: LocalScanner) -> None:
        self._engine = engine
        self._words = LocalScanner(WORDS_ENCODER) if engine.encoder_name != WORDS_ENCODER else None

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
        parts = [seen.z, seen.description, seen.nearest, seen.mean]
        if self._words is not None:
            words = self._words.view(topic, prompts, _silent, stopped)
            if words is None:
                return None
            parts += [words.description, words.nearest, words.mean]
        vectors = seen.text_vectors
        written = [row for row, text in enumerate(topic.examples, start=1) if text.strip()]
        return EngineFeatures(np.stack(parts, axis=1), seen.nearest, vectors[0], vectors[written])


def _silent(_: Progress) -> None:
    """Ignore progress: the second encoder needs a hundredth of the first one's time."""
