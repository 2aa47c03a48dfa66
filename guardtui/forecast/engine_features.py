"""The embedded engine's features of a definition and a prompt set, used by forecasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.forecast.shared_words import SharedWordsReader
from guardtui.scanners.base import Progress, Report
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
    [k, d] are unit vectors.
    """

    z: Floats
    columns: Floats
    nearest: Floats
    label: Floats
    description: Floats
    examples: Floats


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
            words = self._words.view(topic, prompts, _silent, stopped)
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
        return EngineFeatures(seen.z, columns, seen.nearest, label, vectors[0], vectors[written])


def _silent(_: Progress) -> None:
    """Ignore progress: the second encoder needs a hundredth of the first one's time."""
