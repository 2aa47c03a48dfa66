"""The embedded scanner: prompts are embedded once, an edit costs one matrix–vector product."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE, Guardrail, ScannerSettings
from guardtui.domain.operating_point import (
    BUILT_IN,
    BY_HAND,
    FITTED,
    Threshold,
    has_enough_labels,
    settled,
)
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.scanners.base import Report, ScannerError
from guardtui.scanners.local.embedding import Grown, PromptVectors, embed_prompts
from guardtui.scanners.local.encoder import ENCODERS, Encoder, LazyEncoder, load_encoder
from guardtui.scanners.local.explanation import Explanation, explain
from guardtui.scanners.local.languages import language_not_learnt
from guardtui.scanners.local.matrix import PromptMatrix
from guardtui.scanners.local.scoring import (
    ScoringModel,
    TopicTerms,
    load_scoring,
    nearest_example,
    probability,
    topic_texts,
)
from guardtui.scanners.local.vectors import (
    EncodeChunks,
    VectorCache,
    cache_folder,
    encode_chunks,
    rounded,
    text_key,
)

Floats: TypeAlias = "NDArray[np.float32]"
Stopped = Callable[[], bool]

_POLL = 0.1  # seconds between two checks whether a waiting thread was stopped


@dataclass(frozen=True, eq=False)
class _Examples:
    """Results for the examples, which an edit of the description does not change.

    `nearest` is the largest cosine to an example, [N], and `part` the index of that, int16 [N].
    """

    texts: list[str]
    features: dict[str, float]
    nearest: Floats
    part: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class TopicView:
    """Features of a topic on each prompt, float32 [N], and the topic's vectors [k, d].

    `description`, `nearest` and `mean` are cosines: to the description, to the nearest example,
    and the mean of all. Where the description or all examples are missing, the other stands in.
    """

    z: Floats
    description: Floats
    nearest: Floats
    mean: Floats
    text_vectors: Floats


@dataclass(eq=False)
class _Prepared:
    """Prepared prompts, independent of their labels, and the rows of the last topic.

    `keys` name the prompts: uint64 [N].
    """

    keys: NDArray[np.uint64]
    matrix: PromptMatrix
    prompt_terms: Floats
    texts: list[str]
    similarities: Floats
    examples: _Examples | None = None


class LocalScanner:
    """Scores prompts by semantic similarity, offline: an approximation of a guardrail.

    `threshold` is a score from 0 to 1, by default the built-in one; a fitted one is another for
    each definition. `encode` embeds prompts that are not cached. The guardrail of its settings
    changes with the weights and the constants, so scores of equal ones compare.
    """

    live = True

    def __init__(
        self,
        encoder: str = ENCODERS[0],
        threshold: Threshold = None,
        threshold_source: str = BY_HAND,
        cache: Path | None = None,
        encode: EncodeChunks = encode_chunks,
    ) -> None:
        if encoder not in ENCODERS:
            raise ScannerError(f"unknown encoder {encoder!r}: choose one of {', '.join(ENCODERS)}")
        self.encoder_name = encoder
        self._threshold = threshold
        self._threshold_source = threshold_source
        self._cache_folder = cache
        self._encode = encode
        self._lock = threading.Lock()  # held while prompts are embedded, which takes minutes
        self._load_lock = threading.Lock()
        self._loaded: tuple[Encoder, ScoringModel, VectorCache] | None = None
        self._prepared: _Prepared | None = None
        self._text_vectors: dict[str, Floats] = {}

    @property
    def settings(self) -> ScannerSettings:
        """Settings for any prompts; a fitted threshold is None until prompts are evaluated."""
        _, scoring, _ = self.load()
        guardrail = Guardrail(ENGINE, encoder=scoring.encoder, version=scoring.version)
        if self._threshold is None:
            return ScannerSettings(guardrail, self.built_in_threshold, BUILT_IN)
        if self._threshold == FITTED:
            return ScannerSettings(guardrail, None, FITTED)
        return ScannerSettings(guardrail, self._threshold, self._threshold_source)

    def settings_for(self, prompts: PromptSet) -> ScannerSettings:
        """Return the settings for these prompts: too few labels are judged at the built-in one."""
        settings = self.settings
        if settings.threshold is None and not has_enough_labels(prompts.expected):
            return replace(settings, threshold=self.built_in_threshold, threshold_source=BUILT_IN)
        return settings

    @property
    def built_in_threshold(self) -> float:
        """The built-in threshold, a score from 0 to 1."""
        _, scoring, _ = self.load()
        return float(probability(np.float32(scoring.threshold)))

    def load(self) -> tuple[Encoder, ScoringModel, VectorCache]:
        """Load the constants once. Raises `EncoderError` if they are damaged."""
        loaded = self._loaded
        if loaded is not None:
            return loaded
        with self._load_lock:  # of its own: nobody who loads waits for prompts to be embedded
            if self._loaded is None:
                encoder = LazyEncoder(self.encoder_name)
                scoring = load_scoring(self.encoder_name)
                folder = self._cache_folder or cache_folder()
                cache = VectorCache(folder, encoder.id, encoder.dimensions)
                self._loaded = encoder, scoring, cache
            return self._loaded

    @property
    def threshold(self) -> tuple[Threshold, str]:
        """The arguments of the last `use_threshold`."""
        return self._threshold, self._threshold_source

    def use_threshold(self, threshold: Threshold, source: str = BY_HAND) -> None:
        """Set the score from which a prompt matches.

        None for the built-in one, or `fitted` for one fitted to the labels at each definition.
        """
        self._threshold = threshold
        self._threshold_source = source

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        return (await self.evaluate(topic, prompts, report)).verdicts

    async def evaluate(self, topic: Topic, prompts: PromptSet, report: Report) -> Evaluation:
        stop = threading.Event()
        job = asyncio.ensure_future(
            asyncio.to_thread(self.evaluate_now, topic, prompts, report, stop.is_set)
        )
        try:
            evaluation = await asyncio.shield(job)
        except asyncio.CancelledError:
            stop.set()
            raise
        if evaluation is None:  # only after the stop event, which cancels
            raise asyncio.CancelledError
        return evaluation

    def evaluate_now(
        self,
        topic: Topic,
        prompts: PromptSet,
        report: Report = lambda progress: None,
        stopped: Stopped = lambda: False,
    ) -> Evaluation | None:
        """Evaluate in this thread; None if stopped. Raises ScannerError.

        A fitted threshold is fitted to the labels of these prompts at this definition, if there are
        enough of them.
        """
        z = self.z(topic, prompts, report, stopped)
        if z is None:
            return None
        scores, matched = probability(z[0]), z[1]
        settings = settled(self.settings_for(prompts), scores, prompts.expected)
        # By the displayed score, so that a prompt shown at or above the threshold has triggered.
        matches = scores >= np.float32(settings.threshold)
        if topic.intent is Intent.ALLOW:
            np.logical_not(matches, out=matches)
        return Evaluation(
            topic,
            settings,
            prompts.fingerprint,
            prompts.keys,
            prompts.expected,
            Verdicts(triggered=matches.view(np.int8), score=scores, matched=matched),
        )

    def z(
        self, topic: Topic, prompts: PromptSet, report: Report, stopped: Stopped = lambda: False
    ) -> tuple[Floats, NDArray[np.int16]] | None:
        """Return raw scores z [N] and the nearest part, int16 [N]; None if stopped.

        A part is 0 for the description, k for example k, -1 for a topic without any text.
        """
        self.load()
        with self._turn(stopped) as mine:
            prepared = self._prepare(prompts, report, stopped) if mine else None
            if prepared is None or stopped():
                return None
            _, terms, examples, z = self._scored(prepared, topic)
            if terms.present[0]:  # part 0 if the description is at least as near
                return z, examples.part * (prepared.similarities[0] < examples.nearest)
            return z, examples.part

    def view(
        self, topic: Topic, prompts: PromptSet, report: Report, stopped: Stopped = lambda: False
    ) -> TopicView | None:
        """Return the features of the score, for other weights; None if stopped.

        After a scan of the same topic this costs a few passes over N.
        """
        self.load()
        with self._turn(stopped) as mine:
            prepared = self._prepare(prompts, report, stopped) if mine else None
            if prepared is None or stopped():
                return None
            vectors, terms, examples, z = self._scored(prepared, topic)
            rows = prepared.similarities
            there = [row for row, present in enumerate(terms.present) if present]
            mean = rows[there].mean(axis=0) if there else np.zeros_like(z)
            headed, exampled = terms.present[0], any(terms.present[1:])
            nearest = examples.nearest if exampled else rows[0]
            # The next scan overwrites the rows.
            description = rows[0].copy() if headed else nearest.copy()
            return TopicView(z, description, nearest.copy(), mean, vectors)

    def _scored(
        self, prepared: _Prepared, topic: Topic
    ) -> tuple[Floats, TopicTerms, _Examples, Floats]:
        """Return vectors of the topic's texts, its terms, results of its examples, and z [N]."""
        if self._loaded is None:
            raise RuntimeError("the scanner is not loaded")
        _, scoring, _ = self._loaded
        texts = topic_texts(topic.name, topic.description, topic.examples)
        vectors = self._vectors_of(texts)
        self._update_rows(prepared, texts, vectors)
        rows = prepared.similarities
        examples = prepared.examples
        if examples is None or examples.texts != texts[1:]:
            # Most edits are of the description, so the results of the examples are still valid.
            features = scoring.example_features(texts, vectors)
            examples = _Examples(texts[1:], features, *nearest_example(rows, texts))
            prepared.examples = examples
        terms = scoring.topic_terms(texts, vectors, examples.features)
        z = scoring.combine(rows, terms, prepared.prompt_terms, examples.nearest)
        return vectors, terms, examples, z

    def prompt_vectors(
        self,
        prompts: PromptSet,
        report: Report,
        stopped: Stopped = lambda: False,
        grown: Grown | None = None,
    ) -> PromptVectors | None:
        """Return the data computed once per prompt set, for scoring many topics; None if stopped.

        The prompts of the last scan are not embedded again. With `grown` they are embedded in an
        order whose every start is a fair sample, and it is given the first of them meanwhile.
        """
        self.load()
        with self._turn(stopped) as mine:
            prepared = self._prepare(prompts, report, stopped, grown) if mine else None
            if prepared is None:
                return None
            return PromptVectors(prepared.matrix, prepared.prompt_terms)

    def has(self, prompts: PromptSet) -> bool:
        """Return whether all these prompts are embedded already."""
        prepared = self._prepared
        return prepared is not None and np.array_equal(prepared.keys, prompts.keys)

    def beside(self) -> LocalScanner:
        """Return a scanner with the same encoder and threshold, for other prompts."""
        other = LocalScanner(
            self.encoder_name, self._threshold, self._threshold_source, self._cache_folder
        )
        other._loaded = self.load()
        return other

    def follow(self, other: LocalScanner) -> None:
        """Use the threshold of another scanner."""
        self.use_threshold(*other.threshold)

    def adopt(self, keys: NDArray[np.uint64], vectors: PromptVectors) -> None:
        """Use existing vectors of prompts, so that a scan of these keys embeds none of them."""
        with self._lock:
            empty = np.empty((0, len(keys)), np.float32)
            self._prepared = _Prepared(keys, vectors.matrix, vectors.terms, [], empty)

    def embed(self, texts: Sequence[str], stopped: Stopped = lambda: False) -> Floats | None:
        """Return vectors [n, d] of texts as in a scan, from the cache if possible.

        Fresh ones are not written to it: of candidates there are too many. None when stopped.
        """
        encoder, _, cache = self.load()
        vectors = np.zeros((len(texts), encoder.dimensions), np.float32)
        missing = cache.read([text_key(text) for text in texts], vectors)
        fresh = [texts[row] for row in missing]
        done = 0
        for chunk, encoded in encode_chunks(encoder, fresh, stopped=stopped):
            vectors[[missing[row] for row in chunk]] = encoded
            done += len(chunk)
        return vectors if done == len(missing) else None

    def explain(self, topic: Topic, prompt: str) -> Explanation:
        """Explain the score of a prompt by its nearest part and the contributions of its words."""
        _, scoring, _ = self.load()
        texts = topic_texts(topic.name, topic.description, topic.examples)
        explanation = explain(load_encoder(self.encoder_name), scoring, texts, prompt)
        language = language_not_learnt(self.encoder_name, prompt)
        return replace(explanation, unknown_language=language)

    def _prepare(
        self, prompts: PromptSet, report: Report, stopped: Stopped, grown: Grown | None = None
    ) -> _Prepared | None:
        if self._prepared and np.array_equal(self._prepared.keys, prompts.keys):
            return self._prepared
        if self._loaded is None:
            raise RuntimeError("the scanner is not loaded")
        encoder, scoring, cache = self._loaded
        vectors = embed_prompts(
            encoder, scoring, cache, prompts, report, stopped, grown, self._encode
        )
        if vectors is None:
            return None
        empty = np.empty((0, len(prompts)), np.float32)
        self._prepared = _Prepared(prompts.keys, vectors.matrix, vectors.terms, [], empty)
        return self._prepared

    @contextlib.contextmanager
    def _turn(self, stopped: Stopped) -> Iterator[bool]:
        """Wait until no other thread scans; returns False if stopped meanwhile."""
        while not (mine := self._lock.acquire(timeout=_POLL)) and not stopped():
            pass
        try:
            yield mine
        finally:
            if mine:
                self._lock.release()

    def _vectors_of(self, texts: Sequence[str]) -> Floats:
        """Return vectors [k, d] of the topic's texts; only new texts are embedded."""
        if self._loaded is None:
            raise RuntimeError("the scanner is not loaded")
        encoder, _, cache = self._loaded
        fresh = [text for text in dict.fromkeys(texts) if text not in self._text_vectors]
        if fresh and not self._text_vectors:
            # The first definition is that of a file, whose vectors are cached like its prompts';
            # those of what is typed later are not.
            self._text_vectors = dict(zip(fresh, _cached(encoder, cache, fresh), strict=True))
        elif fresh:
            encoded = rounded(encoder.encode(fresh))
            if len(self._text_vectors) > 500:
                self._text_vectors = {
                    text: self._text_vectors[text] for text in texts if text in self._text_vectors
                }
            self._text_vectors.update(zip(fresh, encoded, strict=True))
        return np.stack([self._text_vectors[text] for text in texts])

    def _update_rows(self, prepared: _Prepared, texts: list[str], vectors: Floats) -> None:
        old_texts, old = prepared.texts, prepared.similarities
        if len(texts) == len(old_texts):
            rows = old
        else:
            rows = np.empty((len(texts), *old.shape[1:]), np.float32)
        fresh = []
        for index, text in enumerate(texts):
            if index < len(old_texts) and old_texts[index] == text:
                if rows is not old:
                    rows[index] = old[index]
            elif rows is not old and text in old_texts:
                rows[index] = old[old_texts.index(text)]
            else:
                fresh.append(index)
        if len(fresh) == 1:
            prepared.matrix.product(vectors[fresh[0]], rows[fresh[0]])
        elif fresh:
            similarities = np.empty((len(fresh), rows.shape[1]), np.float32)
            prepared.matrix.fill_rows(vectors[fresh], similarities)
            rows[fresh] = similarities
        prepared.texts, prepared.similarities = texts, rows


def _cached(encoder: Encoder, cache: VectorCache, texts: Sequence[str]) -> Floats:
    """Return vectors [n, d] of texts from the cache; those that are new are written to it."""
    keys = [text_key(text) for text in texts]
    vectors = np.zeros((len(texts), encoder.dimensions), np.float32)
    if missing := cache.read(keys, vectors):
        vectors[missing] = rounded(encoder.encode([texts[row] for row in missing]))
        cache.write([keys[row] for row in missing], vectors[missing])
    return vectors
