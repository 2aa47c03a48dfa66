"""Simulated guardrails: features of random definitions, and the verdicts on each."""

from __future__ import annotations

import numpy as np

from guardtui.forecast.engine_features import EngineFeatures
from guardtui.forecast.model import ScannedDefinition

WIDTH = 4


class MadeUp:
    """Prompts with features that move with each definition, and a guardrail that weighs them."""

    def __init__(self, prompts: int = 300, seed: int = 1) -> None:
        self.random = np.random.default_rng(seed)
        self.base = self.random.normal(size=(prompts, WIDTH))
        self.taste = self.random.normal(size=prompts)
        self.weights = np.array([1.0, 0.6, -0.3, 0.2])
        self.label = np.where(self.random.random(prompts) < 0.5, 1.0, -1.0).astype(np.float32)

    def reading(self, moved: float = 0.3) -> EngineFeatures:
        """Return another definition, whose features differ this much from the usual ones."""
        columns = self.base + moved * self.random.normal(size=(1, WIDTH))
        columns = columns + 0.2 * moved * self.random.normal(size=self.base.shape)
        texts = self.random.normal(size=(3, 16))
        texts /= np.linalg.norm(texts, axis=1, keepdims=True)
        return EngineFeatures(
            columns[:, 0].astype(np.float32),
            columns.astype(np.float32),
            np.full(len(columns), 0.3, np.float32),
            self.label,
            texts[0].astype(np.float32),
            texts[1:].astype(np.float32),
            30,
        )

    def answers(self, reading: EngineFeatures, noise: float = 0.0) -> np.ndarray:
        """Return the verdicts of the guardrail, int8 [N]; `noise` is that between scans."""
        value = reading.columns @ self.weights + 0.8 * self.taste
        value = value + noise * self.random.normal(size=len(value))
        return (value > 0).astype(np.int8)

    def scan(self, reading: EngineFeatures, noise: float = 0.0) -> ScannedDefinition:
        """Return a scan of all prompts."""
        return ScannedDefinition(reading, self.answers(reading, noise))
