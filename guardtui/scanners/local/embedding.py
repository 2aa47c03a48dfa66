"""Embedding of a prompt set: cached vectors first, then the rest in representative parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.prompts import PromptSet
from guardtui.scanners.base import Progress, Report
from guardtui.scanners.local.encoder import Encoder
from guardtui.scanners.local.matrix import PromptMatrix
from guardtui.scanners.local.scoring import ScoringModel
from guardtui.scanners.local.vectors import EncodeChunks, VectorCache, encode_chunks, text_key

Floats: TypeAlias = "NDArray[np.float32]"
Rows: TypeAlias = "NDArray[np.intp]"
Stopped = Callable[[], bool]

MANY = 2_000
"""Prompts above which a set is embedded in parts."""

PARTS = (200, 500, 2_000, 4_000, 8_000, 16_000)
"""Numbers of embedded prompts at which a part is published; further parts change figures little."""

_SLICE = 10_000  # prompts whose cached vectors are held at a time
_AHEAD = 50_000  # prompts whose texts are held while they are embedded
_TAKE_EVERY = 0.25
"""Seconds of work whose vectors are taken together: fewer and larger products are faster."""
_SAVE_EVERY = 2.0
"""Seconds between two writes to the cache, for the same reason."""


@dataclass(frozen=True, eq=False)
class PromptVectors:
    """Vectors and prompt terms [N] of a prompt set."""

    matrix: PromptMatrix
    terms: Floats


@dataclass(frozen=True, eq=False)
class EmbeddedPart:
    """Some prompts of a set that are embedded while others are not: their rows, intp [n]."""

    rows: Rows
    vectors: PromptVectors


Grown = Callable[[EmbeddedPart], None]
"""Takes the newest part; called from the thread that embeds."""


def has_parts(prompts: PromptSet) -> bool:
    """Return whether a set is large enough to be embedded in parts."""
    return len(prompts) > MANY


def embedding_order(prompts: PromptSet) -> Rows:
    """Return the order in which rows are embedded, intp [N]: every prefix is a fair sample.

    Both classes have their share in every prefix, whatever the order of the file. Keys are hashes
    of the texts, so their order is random but reproducible.
    """
    ranks = np.empty(len(prompts), np.float64)
    for members in (np.flatnonzero(prompts.expected), np.flatnonzero(~prompts.expected)):
        ordered = members[np.argsort(prompts.keys[members], kind="stable")]
        ranks[ordered] = (np.arange(len(members)) + 0.5) / max(len(members), 1)
    return np.argsort(ranks, kind="stable")


def embed_prompts(
    encoder: Encoder,
    scoring: ScoringModel,
    cache: VectorCache,
    prompts: PromptSet,
    report: Report,
    stopped: Stopped,
    grown: Grown | None = None,
    encode: EncodeChunks = encode_chunks,
) -> PromptVectors | None:
    """Return the vectors of a prompt set; None if stopped, with the finished work cached.

    `grown` gets the vectors so far at each of `PARTS`, while other prompts remain. `encode` embeds
    those that are not cached.
    """
    work = _Work(encoder, scoring, cache, prompts, report, encode, behind=grown is not None)
    if not work.read(stopped):
        return None
    start = 0
    order = np.arange(len(prompts)) if grown is None else embedding_order(prompts)
    parts = grown is not None and has_parts(prompts)
    stops = [stop for stop in PARTS if parts and stop < len(prompts)]
    for stop in (*stops, len(prompts)):
        if not work.encode(order[start:stop], stopped):
            return None
        # Of several cached parts only the last is published.
        following = next((later for later in stops if later > stop), len(prompts))
        if grown is not None and work.misses(order[stop:following]):
            grown(work.part(np.sort(order[:stop])))
        start = stop
    return work.vectors


class _Work:
    """The matrix of one prompt set while its vectors are read or embedded."""

    def __init__(
        self,
        encoder: Encoder,
        scoring: ScoringModel,
        cache: VectorCache,
        prompts: PromptSet,
        report: Report,
        encode: EncodeChunks,
        *,
        behind: bool,
    ) -> None:
        """With `behind`, embedding threads have a lower priority than the screen."""
        self._encode, self._behind = encode, behind
        self._encoder, self._scoring, self._cache = encoder, scoring, cache
        self._texts, self._report = prompts.prompts, report
        total = len(prompts)
        self.vectors = PromptVectors(
            PromptMatrix.empty(total, encoder.dimensions, scoring.english_columns),
            np.zeros(total, np.float32),
        )
        self._missing = np.ones(total, bool)
        self._done = self._known = 0

    def read(self, stopped: Stopped) -> bool:
        """Read the cached vectors; return False if stopped."""
        total = len(self._missing)
        for start in range(0, total, _SLICE):
            texts = self._texts[start : start + _SLICE].to_list()
            vectors = np.zeros((len(texts), self._encoder.dimensions), np.float32)
            cached = np.ones(len(texts), bool)
            cached[self._cache.read([text_key(text) for text in texts], vectors)] = False
            rows = np.flatnonzero(cached)
            self._put(rows + start, vectors if len(rows) == len(texts) else vectors[rows])
            self._known = self._done
            self._tell()
            if stopped():
                return False
        return True

    def encode(self, rows: Rows, stopped: Stopped) -> bool:
        """Embed and cache the missing vectors of these rows; return False if stopped."""
        missing = rows[self._missing[rows]]
        for start in range(0, len(missing), _AHEAD):
            part = missing[start : start + _AHEAD]
            texts = self._texts[part].to_list()
            unsaved = _Unsaved(self._cache)
            chunks = self._encode(self._encoder, texts, stopped=stopped, behind=self._behind)
            try:
                for positions, vectors in _joined(chunks):
                    self._put(part[positions], vectors)
                    unsaved.add([text_key(texts[position]) for position in positions], vectors)
                    self._tell()
            finally:
                unsaved.save()
            if self.misses(part):
                return False
        return True

    def misses(self, rows: Rows) -> bool:
        """Return whether any of these rows has no vector."""
        return bool(self._missing[rows].any())

    def part(self, rows: Rows) -> EmbeddedPart:
        """Return a copy of these rows."""
        known = self.vectors
        return EmbeddedPart(rows, PromptVectors(known.matrix.taken(rows), known.terms[rows]))

    def _put(self, rows: Rows, vectors: Floats) -> None:
        if not len(rows):
            return
        self.vectors.matrix.put(rows, vectors)
        self.vectors.terms[rows] = self._scoring.prompt_terms(vectors)
        self._missing[rows] = False
        self._done += len(rows)

    def _tell(self) -> None:
        total = len(self._missing)
        self._report(Progress("embedding prompts", self._done, total, known=self._known))


def _joined(chunks: Iterable[tuple[list[int], Floats]]) -> Iterator[tuple[list[int], Floats]]:
    """Yield chunks of positions with their vectors [n, d], those of a short time as one."""
    positions: list[int] = []
    parts: list[Floats] = []
    since = time.monotonic()
    for more, vectors in chunks:
        positions += more
        parts.append(vectors)
        if time.monotonic() - since >= _TAKE_EVERY:
            yield positions, np.concatenate(parts)
            positions, parts, since = [], [], time.monotonic()
    if parts:
        yield positions, np.concatenate(parts)


class _Unsaved:
    """Vectors that are not in the cache yet."""

    def __init__(self, cache: VectorCache) -> None:
        self._cache = cache
        self._keys: list[bytes] = []
        self._parts: list[Floats] = []
        self._since = time.monotonic()

    def add(self, keys: list[bytes], vectors: Floats) -> None:
        """Add vectors [n, d] with their keys, and save all if the last time is long ago."""
        self._keys += keys
        self._parts.append(vectors)
        if time.monotonic() - self._since >= _SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Write them to the cache."""
        if self._keys:
            keys, vectors = self._keys, np.concatenate(self._parts)
            self._keys, self._parts = [], []
            self._cache.write(keys, vectors)
        self._since = time.monotonic()
