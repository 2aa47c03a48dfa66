"""Explanation of a prompt's score: the matching part of the topic, and word contributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.words import WORDS
from guardtui.scanners.local.encoder import Encoder
from guardtui.scanners.local.scoring import (
    ScoringModel,
    TopicTerms,
    matched_part,
    probability,
    similarity_rows,
)
from guardtui.scanners.local.static import Static

VARIANTS_AT_MOST = 64
"""Maximum number of encoded texts per explanation; words of longer prompts are grouped."""

READ_AT_MOST = 1200
"""Characters whose words are examined: about the window of the model."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """Contribution to z of a word (or neighbouring words) at `start:end` of the prompt."""

    start: int
    end: int
    word: str
    z: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The contributions to a score.

    `z` = `base` (constant and width of the topic: equal for all prompts) + contributions of the
    prompt's words + `lift` (above 0 only if the prompt equals an example). `similarities` has a
    cosine for each part, 0 = description and k = example k, NaN for a missing part. `matched` is
    the nearest part. If `exact`, the words' contributions add up to their sum in z; otherwise each
    is the decrease of z without the word. `unknown_language` names the prompt's language if the
    encoder was not trained on it.
    """

    z: float
    score: float
    base: float
    lift: float
    similarities: tuple[float, ...]
    matched: int
    words: tuple[Contribution, ...]
    exact: bool
    unknown_language: str = ""


def explain(
    encoder: Encoder, scoring: ScoringModel, texts: Sequence[str], prompt: str
) -> Explanation:
    """Explain one prompt against a topic's texts, as returned by `topic_texts`.

    Exact for the encoder `static`; for others, words are omitted one by one (at most
    `VARIANTS_AT_MOST` texts in one call of the encoder).
    """
    text_vectors = encoder.encode(texts)
    terms = scoring.topic_terms(texts, text_vectors)
    groups: list[tuple[int, int]] = []
    if not isinstance(encoder, Static):
        groups = _groups(prompt)
    variants = [prompt, *(prompt[:start] + prompt[end:] for start, end in groups)]
    vectors = encoder.encode(variants)
    rows = similarity_rows(vectors, text_vectors, scoring.english_columns)
    prompt_terms = scoring.prompt_terms(vectors)
    linear = scoring.linear(rows, terms, prompt_terms)[0].copy()
    z = float(scoring.combine(rows[:, :1], terms, prompt_terms[:1])[0])
    if isinstance(encoder, Static):
        words = _exact(encoder, scoring, terms, text_vectors, rows[:, 0], vectors[0], prompt)
    else:
        words = tuple(
            Contribution(start, end, prompt[start:end], float(linear[0] - without))
            for (start, end), without in zip(groups, linear[1:], strict=True)
        )
    return Explanation(
        z=z,
        score=float(probability(np.float32(z))),
        base=terms.width + scoring.constant,
        lift=z - float(linear[0]),
        similarities=tuple(
            float(value) if there else float("nan")
            for value, there in zip(rows[:, 0], terms.present, strict=True)
        ),
        matched=int(matched_part(rows[:, :1], terms.present)[0]),
        words=words,
        exact=isinstance(encoder, Static),
    )


def _groups(prompt: str) -> list[tuple[int, int]]:
    """Return spans of words to omit; neighbours are grouped if there are too many."""
    spans = [match.span() for match in WORDS.finditer(prompt[:READ_AT_MOST])]
    size = -(-len(spans) // (VARIANTS_AT_MOST - 1)) if spans else 1
    groups = [spans[start : start + size] for start in range(0, len(spans), size)]
    return [(group[0][0], group[-1][1]) for group in groups]


def _exact(
    encoder: Static,
    scoring: ScoringModel,
    terms: TopicTerms,
    text_vectors: NDArray[np.float32],
    cosines: NDArray[np.float32],
    vector: NDArray[np.float32],
    prompt: str,
) -> tuple[Contribution, ...]:
    """Return contributions of the words, as the prompt's vector is a sum of token vectors."""
    if not any(terms.present):
        return ()
    words = encoder.words(prompt)
    weights = scoring.row_weights(terms.present)
    examples = [row for row, there in enumerate(terms.present) if there and row]
    if examples:
        # For this prompt the largest cosine is that of one example, so it is linear too.
        weights[max(examples, key=lambda row: cosines[row])] += scoring.weights.get("nearest", 0.0)
    direction = weights @ text_vectors + scoring.prompt_direction(vector)
    sums = [encoder.token_vectors(rows).sum(axis=0) for _, _, rows in words]
    length = float(np.linalg.norm(np.sum(sums, axis=0, dtype=np.float64))) if sums else 0.0
    if not length:
        return ()
    return tuple(
        Contribution(start, end, prompt[start:end], float(part @ direction) / length)
        for (start, end, _), part in zip(words, sums, strict=True)
    )
