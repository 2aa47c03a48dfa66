"""The scoring model: from similarities to a topic's texts to a score in 0…1.

z = Σ weight · feature + constant, score = 1 / (1 + e^−z). Features of a prompt and a topic are
cosines (to the description, to the nearest example, the mean of all); features of a topic measure
how wide it is; features of a prompt how ordinary it is. An edit changes only the row of the edited
text, so it costs one matrix–vector product and a few passes over N.
The constants come from `scripts/fit_scoring.py`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.scanners.local.encoder import WEIGHTS, EncoderError, checked_bytes
from guardtui.scanners.local.matrix import WHOLE, PromptMatrix, compact, whole

Floats: TypeAlias = "NDArray[np.float32]"

PROMPT_FEATURES = ("ordinary", "act")
"""Features of a prompt alone.

The mean of its five largest cosines to the background; and how much it requests an act rather than
information (see `Act`).
"""

SIMILARITY_FEATURES = ("description", "nearest", "mean")
"""Cosine to the description, largest cosine to an example, mean over description and examples."""

TOPIC_FEATURES = (
    "coherence",  # mean cosine between two examples
    "agreement",  # mean cosine of the description and an example
    "few",  # 1 / number of examples
    "examples ordinary",  # mean over the examples of their five largest cosines to the background
    "reach",  # mean over the background of the largest cosine to an example
    "description reach",  # mean over the background of the cosine to the description
    "examples act",  # mean over the examples of their cosine to the direction of `Act`
)
"""Features of a topic alone: its width, and its similarity to everyday requests."""

_NEAREST = 5
_CHUNK = 4096
_TOPICS = 128  # topics per batch, whose vectors fit into the processor's cache

_NOTHING = -12.0
"""z of every prompt against a topic without any text."""

# A prompt equal to an example always triggers. From `_SAME_FROM` on z is lifted; at cosine 0.995
# (int8 vectors come no nearer to 1) to `_SAME_LIFT` above the threshold.
_SAME_FROM = 0.97
_SAME = 0.995
_SAME_LIFT = 2.0
_SAME_SLOPE = 400.0


def topic_texts(name: str, description: str, examples: Sequence[str]) -> list[str]:
    """Return the texts to embed: "name: description" and each example; "" for a missing one.

    An edit does not change positions: part 0 is the description, part k example k.
    """
    head = ": ".join(part for part in (name.strip(), description.strip()) if part)
    return [head, *(example if example.strip() else "" for example in examples)]


def similarity_rows(
    vectors: Floats, text_vectors: Floats, english_columns: int, out: Floats | None = None
) -> Floats:
    """Return similarities [k, N] of texts [k, d] to prompts [N, d], as in a scan.

    After an edit, only the row of the edited text is computed: `out` is then a slice of the rows.
    """
    rows = np.empty((len(text_vectors), len(vectors)), np.float32) if out is None else out
    matrix = PromptMatrix.empty(len(vectors), vectors.shape[1], english_columns)
    matrix.put(slice(None), vectors)
    for row, text in zip(rows, text_vectors, strict=True):
        matrix.product(text, row)
    return rows


def _mean_of_nearest(vectors: NDArray[np.generic], background: Floats) -> Floats:
    """Return the mean of each vector's five largest products with the background, [n].

    Vectors are [n, d], the background [m, d].
    """
    result = np.empty(len(vectors), np.float32)
    known = np.ascontiguousarray(background.T)
    for start in range(0, len(vectors), _CHUNK):
        products = vectors[start : start + _CHUNK].astype(np.float32, copy=False) @ known
        products.partition(products.shape[1] - _NEAREST, axis=1)
        result[start : start + _CHUNK] = products[:, -_NEAREST:].mean(axis=1)
    return result


@dataclass(frozen=True, slots=True)
class TopicTerms:
    """The terms of the score that depend on the topic alone.

    `present` says which parts have text. `width` is the topic's share of z, equal for all prompts.
    `features` are the numbers by name.
    """

    present: tuple[bool, ...]
    width: float
    features: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class TopicTable:
    """Many topics that share one list of texts.

    `heads` (intp [c]) and `examples` (intp [c, k]) are indices of texts, -1 for a missing
    description or example.
    """

    heads: NDArray[np.intp]
    examples: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.heads)

    def part(self, rows: slice) -> TopicTable:
        """Return some of the topics."""
        return TopicTable(self.heads[rows], self.examples[rows])


@dataclass(frozen=True, eq=False)
class Act:
    """The direction from requests about a subject (facts, news, help) to requests for the act.

    `direction` is a unit vector [d]. Cosines within `width` of `middle` are usual, and count as 0.
    """

    direction: Floats
    middle: float
    width: float

    def leaning(self, cosines: Floats) -> Floats:
        """Return how far cosines [n] are outside the usual range, with their sign."""
        beyond: Floats = cosines - np.float32(self.middle)
        beyond -= np.clip(beyond, np.float32(-self.width), np.float32(self.width))
        return beyond


@dataclass(frozen=True)
class ScoringModel:
    """Fitted constants for one encoder.

    `threshold` is the built-in one, as z. `background` are vectors [m, d] of everyday requests.
    `act` is None if the constants do not use it. `typical` are values for topic features that
    cannot be computed yet. The first `english_columns` of a vector are 0 for a text in another
    language than English (see `matrix.py`).
    """

    encoder: str
    version: str
    weights: Mapping[str, float]
    typical: Mapping[str, float]
    constant: float
    threshold: float
    background: Floats = field(repr=False, compare=False)
    act: Act | None = field(repr=False, compare=False)
    english_columns: int = 0

    @property
    def id(self) -> str:
        """Encoder and version; scores with equal ids are comparable."""
        return f"{self.encoder}-{self.version}"

    @cached_property
    def _centre(self) -> Floats:
        """Mean of the background, [d]: its product is the mean cosine to everyday requests."""
        centre: Floats = self.background.mean(axis=0)
        return centre

    def ordinary(self, vectors: Floats) -> Floats:
        """Return how ordinary texts [n, d] are: the mean of their five largest cosines, [n].

        The cosines are those to the background.
        """
        return self._compact_ordinary(*compact(vectors))

    def prompt_terms(self, vectors: Floats) -> Floats:
        """Return the share of z of each prompt alone, [N]; computed once per prompt set."""
        values, scales = compact(vectors)
        terms = self._compact_ordinary(values, scales)
        terms *= np.float32(self.weights.get("ordinary", 0.0))
        if self.act:
            cosines = np.empty(len(values), np.float32)
            PromptMatrix(values, scales).product(self.act.direction, cosines)
            terms += self.act.leaning(cosines) * np.float32(self.weights["act"])
        return terms

    def _compact_ordinary(self, values: NDArray[np.int8], scales: Floats) -> Floats:
        nearest = _mean_of_nearest(values, whole(self.background))
        nearest *= scales * np.float32(1 / WHOLE)
        return nearest

    def prompt_direction(self, vector: Floats) -> Floats:
        """Return the vector [d] whose product with this prompt's vector [d] is its prompt term.

        Only for constants without `act`, whose term is not such a product.
        """
        nearest = np.argsort(self.background @ vector)[-_NEAREST:]
        weight = np.float32(self.weights.get("ordinary", 0.0))
        direction: Floats = weight * self.background[nearest].mean(axis=0)
        return direction

    def example_features(self, texts: Sequence[str], text_vectors: Floats) -> dict[str, float]:
        """Return features of the examples alone, from `topic_texts` and their vectors [k, d]."""
        examples = [row for row in range(1, len(texts)) if texts[row].strip()]
        if not examples:
            return {}
        vectors = text_vectors[examples]
        cosines = vectors @ self.background.T
        count = len(examples)
        features = {"few": 1 / count, "reach": float(cosines.max(axis=0).mean())}
        if self.act:
            features["examples act"] = float((vectors @ self.act.direction).mean())
        cosines.partition(cosines.shape[1] - _NEAREST, axis=1)
        features["examples ordinary"] = float(cosines[:, -_NEAREST:].mean())
        if count > 1:
            among = vectors @ vectors.T
            total = float(among.sum() - np.trace(among))
            features["coherence"] = total / (count * (count - 1))
        return features

    def topic_terms(
        self,
        texts: Sequence[str],
        text_vectors: Floats,
        example_features: Mapping[str, float] | None = None,
    ) -> TopicTerms:
        """Return the terms of the topic alone, from `topic_texts` and their vectors [k, d].

        `example_features` are computed if not given. Features that cannot be computed yet (one
        example, no description) have their typical values.
        """
        if example_features is None:
            example_features = self.example_features(texts, text_vectors)
        present = tuple(bool(text.strip()) for text in texts)
        examples = [row for row in range(1, len(texts)) if present[row]]
        features = {**self.typical, **example_features}
        if present and present[0]:
            features["description reach"] = float(text_vectors[0] @ self._centre)
        if examples and present[0]:
            cosines = (text_vectors @ text_vectors[0]).tolist()
            features["agreement"] = sum(cosines[row] for row in examples) / len(examples)
        width = sum(self.weights.get(name, 0.0) * features[name] for name in TOPIC_FEATURES)
        return TopicTerms(present, width, features)

    def combine(
        self,
        similarities: Floats,
        terms: TopicTerms,
        prompt_terms: Floats,
        nearest: Floats | None = None,
    ) -> Floats:
        """Return z of every prompt, [N], from similarities [k, N], topic and prompt terms [N].

        `nearest` is the largest cosine to an example, [N], computed if not given. Passes over N:
        one for each row, the maximum over the example rows, three sums, and one comparison for
        prompts equal to an example.
        """
        z, nearest = self.linear(similarities, terms, prompt_terms, nearest)
        if nearest is None:
            return z
        same = np.flatnonzero(nearest > _SAME_FROM)
        if len(same):
            z[same] = np.maximum(z[same], self._lifted(nearest[same]))
        return z

    def linear(
        self,
        similarities: Floats,
        terms: TopicTerms,
        prompt_terms: Floats,
        nearest: Floats | None = None,
    ) -> tuple[Floats, Floats | None]:
        """Return z before the lift of prompts equal to an example, and the largest cosine to one.

        The latter is None without examples.
        """
        z = np.empty(similarities.shape[1], np.float32)
        rows = [row for row, there in enumerate(terms.present) if there]
        examples = [row for row in rows if row > 0]
        if not rows:
            z.fill(_NOTHING)
            return z, None
        # Row by row: the rounding of one product of all depends on the position of a prompt.
        z[:] = prompt_terms
        share = np.empty_like(z)
        for row, weight in zip(rows, self.row_weights(terms.present)[rows], strict=True):
            z += np.multiply(similarities[row], weight, out=share)
        z += np.float32(terms.width + self.constant)
        if not examples:
            return z, None
        if nearest is None:
            nearest = similarities[examples].max(axis=0)
        z += nearest * np.float32(self.weights.get("nearest", 0.0))
        return z, nearest

    def row_weights(self, present: Sequence[bool]) -> Floats:
        """Return the weight of each similarity row in z, [k], without that of the nearest example.

        Examples replace a missing description, and a description missing examples.
        """
        rows = [row for row, there in enumerate(present) if there]
        examples = [row for row in rows if row > 0]
        weights = np.zeros(len(present), np.float32)
        if not rows:
            return weights
        weights[rows] += np.float32(self.weights.get("mean", 0.0) / len(rows))
        heads = [0] if rows[0] == 0 else examples
        weights[heads] += np.float32(self.weights.get("description", 0.0) / len(heads))
        if not examples:
            weights[0] += np.float32(self.weights.get("nearest", 0.0))
        return weights

    def widths(self, table: TopicTable, text_vectors: Floats) -> Floats:
        """Return the share of z of each topic of a table alone, float32 [c].

        It is `width` of `topic_terms`, for many topics at once; `text_vectors` are [t, d].
        """
        cosines = text_vectors @ self.background.T
        top = np.partition(cosines, cosines.shape[1] - _NEAREST, axis=1)[:, -_NEAREST:]
        ordinary = top.mean(axis=1)
        head_reach = text_vectors @ self._centre
        act = text_vectors @ self.act.direction if self.act else np.zeros(len(text_vectors))
        named = np.zeros((len(table), len(TOPIC_FEATURES)), np.float64)
        for start in range(0, len(table), _TOPICS):
            rows = slice(start, start + _TOPICS)
            part, out = table.part(rows), named[rows]
            present = part.examples >= 0
            count = present.sum(axis=1)
            some, several = count > 0, count > 1
            headed = part.heads >= 0
            at_least_one = np.maximum(count, 1)
            # A missing example is read as text 0, with weight 0.
            indices = np.where(present, part.examples, 0)
            vectors = text_vectors[indices] * present[:, :, None]
            total = vectors.sum(axis=1)
            pairs = np.maximum(count * (count - 1), 1)
            squares = np.einsum("cd,cd->c", total, total) - np.einsum(
                "ckd,ckd->c", vectors, vectors
            )
            heads = text_vectors[np.where(headed, part.heads, 0)]
            reach = np.full((len(part), cosines.shape[1]), -np.inf, np.float32)
            for column in range(indices.shape[1]):
                near = cosines[indices[:, column]]
                near[~present[:, column]] = -np.inf
                np.maximum(reach, near, out=reach)
            reach[~some] = 0
            values = {
                "coherence": (several, squares / pairs),
                "agreement": (headed & some, np.einsum("cd,cd->c", heads, total) / at_least_one),
                "few": (some, 1 / at_least_one),
                "examples ordinary": (
                    some,
                    (ordinary[indices] * present).sum(axis=1) / at_least_one,
                ),
                "reach": (some, reach.mean(axis=1)),
                "description reach": (headed, head_reach[np.where(headed, part.heads, 0)]),
                "examples act": (some, (act[indices] * present).sum(axis=1) / at_least_one),
            }
            for column, name in enumerate(TOPIC_FEATURES):
                known, value = values[name]
                out[:, column] = np.where(known, value, self.typical[name])
        weights = np.array([self.weights.get(name, 0.0) for name in TOPIC_FEATURES])
        widths: Floats = (named @ weights).astype(np.float32)
        return widths

    def combine_many(
        self,
        similarities: Floats,
        table: TopicTable,
        widths: Floats,
        prompt_terms: Floats,
    ) -> Floats:
        """Return z of every prompt against every topic of a table, [c, n], as in `combine`.

        Arguments are similarities [t, n] of the texts, `widths` [c] and prompt terms [n].
        """
        present = table.examples >= 0
        count = present.sum(axis=1)
        headed = table.heads >= 0
        parts = np.maximum(count + headed, 1)
        each = np.full(len(table), self.weights.get("mean", 0.0)) / parts
        description = self.weights.get("description", 0.0)
        near = self.weights.get("nearest", 0.0)
        # As in `row_weights`, description and examples replace each other.
        head = np.where(headed, each + description + np.where(count == 0, near, 0.0), 0.0)
        each = np.where(headed, each, each + description / np.maximum(count, 1))
        each = np.where(count > 0, each, 0.0).astype(np.float32)
        # A missing example is read as the first one. That does not change the maximum, and the
        # weight of the first one corrects the sum.
        ordered = -np.sort(-table.examples, axis=1) if not present.all() else table.examples
        first = np.maximum(ordered[:, 0], 0) if ordered.shape[1] else np.zeros(len(table), np.intp)
        indices = np.where(ordered >= 0, ordered, first[:, None])
        width = indices.shape[1]
        z = similarities[np.maximum(table.heads, 0)]
        z *= head.astype(np.float32)[:, None]
        z += (widths + np.float32(self.constant))[:, None]
        z += prompt_terms
        if width:
            cosines = similarities[first]
            nearest = cosines.copy()
            cosines *= (1 + count - width).astype(np.float32)[:, None]
            other = np.empty_like(cosines)
            for column in range(1, width):
                np.take(similarities, indices[:, column], axis=0, out=other, mode="clip")
                cosines += other
                np.maximum(nearest, other, out=nearest)
            cosines *= each[:, None]
            z += cosines
            nearest[count == 0] = 0
            same = np.flatnonzero(nearest > _SAME_FROM)
            if len(same):
                cosine = nearest.ravel()[same]
            nearest *= np.float32(near)
            z += nearest
            if len(same):
                flat = z.reshape(-1)
                flat[same] = np.maximum(flat[same], self._lifted(cosine))
        z[(count == 0) & ~headed] = _NOTHING
        return z

    def _lifted(self, nearest: Floats) -> Floats:
        """Return the least z, [n], of prompts equal to an example by their largest cosine."""
        missing = np.maximum(np.float32(_SAME) - nearest, np.float32(0))
        floor: Floats = np.float32(self.threshold + _SAME_LIFT) - np.float32(_SAME_SLOPE) * missing
        return floor

    def score(self, texts: Sequence[str], text_vectors: Floats, vectors: Floats) -> Floats:
        """Return z [N] of prompts [N, d] against a topic, in one step; for small sets."""
        terms = self.topic_terms(texts, text_vectors)
        rows = similarity_rows(vectors, text_vectors, self.english_columns)
        return self.combine(rows, terms, self.prompt_terms(vectors))


def nearest_example(similarities: Floats, texts: Sequence[str]) -> tuple[Floats, NDArray[np.int16]]:
    """Return the largest cosine to an example, float32 [N], and the example's part, int16 [N].

    Similarities [k, N] are those of `topic_texts`. -inf and -1 if the topic has no example; of
    equal cosines the first counts.
    """
    count = similarities.shape[1]
    best = np.full(count, -np.inf, np.float32)
    part = np.full(count, -1, np.int16)
    # Row by row: an argmax over the short axis is slower.
    for row, text in enumerate(texts):
        if row and text.strip():
            cosines = similarities[row]
            np.copyto(part, np.int16(row), where=cosines > best)
            np.maximum(best, cosines, out=best)
    return best, part


def matched_part(similarities: Floats, present: Sequence[bool]) -> NDArray[np.intp]:
    """Return the nearest part of each prompt, [n]: 0 = description, k = example k.

    Similarities [k, n] are those of all prompts or of some. Missing parts never match; if all are
    missing, it is 0.
    """
    rows = [row for row, there in enumerate(present) if there] or [0]
    parts: NDArray[np.intp] = np.asarray(rows, np.intp)[similarities[rows].argmax(axis=0)]
    return parts


def probability(z: Floats | np.float32) -> Floats:
    """Return the score in 0…1 of z, 1 / (1 + e^−z)."""
    # The same function by tanh, which cannot overflow.
    result: Floats = np.tanh(np.asarray(z, np.float32) * np.float32(0.5))
    result *= np.float32(0.5)
    result += np.float32(0.5)
    return result


def load_scoring(encoder: str, folder: Path = WEIGHTS) -> ScoringModel:
    """The built-in scoring model of an encoder, by the encoder's name.

    Raises `EncoderError` when a file is missing or damaged, or there is no model for this encoder.
    """
    try:
        content = json.loads((folder / "scoring.json").read_text("utf-8"))
        constants = content["encoders"][encoder]
        background = load_background(encoder, folder)
        act = None
        if "act" in constants:
            file = checked_bytes(folder, f"act-{encoder}.npy")
            direction = np.load(io.BytesIO(file), allow_pickle=False).astype(np.float32)
            act = Act(
                direction, float(constants["act"]["middle"]), float(constants["act"]["width"])
            )
        return ScoringModel(
            encoder=encoder,
            version=str(constants["version"]),
            weights={str(name): float(value) for name, value in constants["weights"].items()},
            typical={name: float(constants["typical"][name]) for name in TOPIC_FEATURES},
            constant=float(constants["constant"]),
            threshold=float(constants["threshold"]),
            background=background,
            act=act,
            english_columns=int(constants.get("english columns", 0)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EncoderError(
            f"guardtui's scoring constants for {encoder} are damaged: reinstall guardtui"
        ) from error


def load_background(encoder: str, folder: Path = WEIGHTS) -> Floats:
    """Return vectors [m, d] of the everyday requests in `background.txt`, by this encoder."""
    content = checked_bytes(folder, f"background-{encoder}.npy")
    vectors: Floats = np.load(io.BytesIO(content), allow_pickle=False).astype(np.float32)
    return vectors
