"""Judgement of texts against a profile's guardrails, by the embedded engine."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.sandbox.policy import buckets, detectors, guardrails, pinned
from guardtui.sandbox.tenant import ProfileRevision, TopicRevision
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.encoder import EncoderError, load_encoder
from guardtui.scanners.local.scoring import (
    TopicTerms,
    load_scoring,
    probability,
    similarity_rows,
    topic_texts,
)
from guardtui.scanners.local.vectors import rounded

Floats: TypeAlias = "NDArray[np.float32]"
TopicAt = Callable[[str, int], TopicRevision]
"""Returns the text of a topic, by id and revision."""

_CACHED_TEXTS = 20_000
"""Maximum number of cached text vectors, 1 KB each."""
_CACHED_TOPICS = 1000


@dataclass(frozen=True, slots=True)
class TopicVectors:
    """A prepared topic: vectors [k, d] of description and examples, and its terms."""

    name: str
    vectors: Floats
    terms: TopicTerms


@dataclass(frozen=True, slots=True)
class TextJudgement:
    """The verdict on one text. `violation` is None if the profile has no topic guardrail.

    `allowed` and `blocked` are the names of the topics that matched. `detectors` are the keys of
    other enabled detectors, which never fire in the sandbox.
    """

    violation: bool | None = None
    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    detectors: tuple[str, ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether the text is stopped."""
        return bool(self.violation)


@dataclass(frozen=True, slots=True)
class _Guardrail:
    default_blocks: bool
    allowed: list[TopicVectors] = field(default_factory=list)
    blocked: list[TopicVectors] = field(default_factory=list)


class TopicMatcher:
    """Matches texts with topics by the scores of the local scanner.

    `threshold` is a score from 0 to 1, by default the shipped one. Raises `ScannerError` if the
    encoder cannot be loaded.
    """

    def __init__(self, encoder: str = "static", threshold: float | None = None) -> None:
        try:
            self._encoder = load_encoder(encoder)
            self._scoring = load_scoring(encoder)
        except EncoderError as error:
            raise ScannerError(str(error)) from error
        default = probability(np.float32(self._scoring.threshold))
        self.threshold = np.float32(default if threshold is None else threshold)
        self.fast = encoder == "static"
        """Whether a text takes well under a millisecond."""
        self._known: OrderedDict[bytes, tuple[Floats, Floats]] = OrderedDict()

    def topic(self, name: str, description: str, examples: Sequence[str]) -> TopicVectors:
        """Return the vectors and terms of a topic."""
        texts = topic_texts(name, description, examples)
        vectors = rounded(self._encoder.encode(texts))
        return TopicVectors(name, vectors, self._scoring.topic_terms(texts, vectors))

    def text(self, text: str) -> tuple[Floats, Floats]:
        """Return vector [1, d] and prompt term [1] of a text. Safe to call from another thread."""
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        cached = self._known.get(key)
        if cached is None:
            vector = rounded(self._encoder.encode([text]))
            cached = vector, self._scoring.prompt_terms(vector)
            self._known[key] = cached
            if len(self._known) > _CACHED_TEXTS:
                self._known.popitem(last=False)
        return cached

    def score(self, topic: TopicVectors, text: str) -> np.float32:
        """Return the score of a text, from 0 to 1."""
        vector, terms = self.text(text)
        rows = similarity_rows(vector, topic.vectors, self._scoring.english_columns)
        score: np.float32 = probability(self._scoring.combine(rows, topic.terms, terms))[0]
        return score

    def matches(self, topic: TopicVectors, text: str) -> bool:
        """Return whether the score reaches the threshold."""
        return bool(self.score(topic, text) >= self.threshold)


class PolicyJudge:
    """Judges texts by a profile revision, with the topic revisions that it pins."""

    def __init__(self, engine: TopicMatcher, topic_at: TopicAt) -> None:
        self.engine = engine
        self._topic_at = topic_at
        self._version = -1
        self._guardrails: dict[tuple[str, str], tuple[list[_Guardrail], tuple[str, ...]]] = {}
        self._topics: dict[tuple[str, ...], TopicVectors] = {}

    def judge(
        self, profile: ProfileRevision, version: int, direction: str, text: str | None
    ) -> TextJudgement:
        """Return the verdict on a text; `direction` is `prompt` or `response`.

        `version` is that of the tenant; a new version discards cached topics. Without a text
        nothing matches. An allow topic has precedence over a block topic; if neither matches, the
        default applies.
        """
        rails, others = self._prepared(profile, version, direction)
        if text is None or not rails:
            return TextJudgement(detectors=others)
        violation = False
        allowed: list[str] = []
        blocked: list[str] = []
        for rail in rails:
            allows = [topic.name for topic in rail.allowed if self.engine.matches(topic, text)]
            blocks = [topic.name for topic in rail.blocked if self.engine.matches(topic, text)]
            allowed += allows
            blocked += blocks
            violation |= not allows and (bool(blocks) or rail.default_blocks)
        return TextJudgement(violation, tuple(allowed), tuple(blocked), others)

    def _prepared(
        self, profile: ProfileRevision, version: int, direction: str
    ) -> tuple[list[_Guardrail], tuple[str, ...]]:
        if version != self._version:
            self._guardrails.clear()
            self._version = version
        key = profile.profile_id, direction
        if key not in self._guardrails:
            rails = []
            for guardrail_direction, item in guardrails(profile.policy):
                if guardrail_direction not in ("", direction):
                    continue
                rail = _Guardrail(item["action"] == "block")
                for action, members in buckets(item):
                    bucket = rail.allowed if action == "allow" else rail.blocked
                    for member in members:
                        revision = self._topic_at(*pinned(member))
                        if revision.active:
                            bucket.append(self._vectors(revision))
                rails.append(rail)
            self._guardrails[key] = rails, detectors(profile.policy, direction)
        return self._guardrails[key]

    def _vectors(self, revision: TopicRevision) -> TopicVectors:
        key = revision.topic_name, revision.description, *revision.examples
        vectors = self._topics.get(key)
        if vectors is None:
            if len(self._topics) >= _CACHED_TOPICS:
                self._topics.clear()
            vectors = self._topics[key] = self.engine.topic(
                revision.topic_name, revision.description, revision.examples
            )
        return vectors
