"""Judgement of texts against a profile's guardrails, by the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.sandbox.policy import buckets, detectors, guardrails, pinned
from guardtui.sandbox.tenant import ProfileRevision, TopicRevision
from guardtui.scanners.local.encoder import load_encoder
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
        """Return whether the text is stopped."""
        return bool(self.violation)


class TopicMatcher:
    """Matches texts with topics by the scores of the local scanner.

    `threshold` is a score from 0 to 1, by default the built-in one. Raises `EncoderError` if the
    encoder cannot be loaded.
    """

    def __init__(self, encoder: str = "static", threshold: float | None = None) -> None:
        self._encoder = load_encoder(encoder)
        self._scoring = load_scoring(encoder)
        default = probability(np.float32(self._scoring.threshold))
        self.threshold = np.float32(default if threshold is None else threshold)
        self.fast = encoder == "static"
        """True if a text takes well under a millisecond."""
        self.text = lru_cache(_CACHED_TEXTS)(self._text)
        """Returns vector [1, d] and prompt term [1] of a text; from any thread."""
        self.topic = lru_cache(_CACHED_TOPICS)(self._topic)
        """Returns the vectors and terms of a topic: of name, description and examples."""

    def _topic(self, name: str, description: str, examples: tuple[str, ...]) -> TopicVectors:
        texts = topic_texts(name, description, examples)
        vectors = rounded(self._encoder.encode(texts))
        return TopicVectors(name, vectors, self._scoring.topic_terms(texts, vectors))

    def _text(self, text: str) -> tuple[Floats, Floats]:
        vector = rounded(self._encoder.encode([text]))
        return vector, self._scoring.prompt_terms(vector)

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

    def judge(self, profile: ProfileRevision, direction: str, text: str | None) -> TextJudgement:
        """Return the verdict on a text; `direction` is `prompt` or `response`.

        Without a text nothing matches. An allow topic has precedence over a block topic; if neither
        matches, the default applies.
        """
        violation: bool | None = None
        allowed: list[str] = []
        blocked: list[str] = []
        for guardrail_direction, item in guardrails(profile.policy):
            if text is None or guardrail_direction not in ("", direction):
                continue
            matched: dict[bool, list[str]] = {True: [], False: []}
            for action, members in buckets(item):
                matched[action == "allow"] += self._matching(members, text)
            allowed += matched[True]
            blocked += matched[False]
            stops = bool(matched[False]) or item["action"] == "block"
            violation = bool(violation) or (not matched[True] and stops)
        others = detectors(profile.policy, direction)
        return TextJudgement(violation, tuple(allowed), tuple(blocked), others)

    def _matching(self, members: list[dict[str, Any]], text: str) -> Iterator[str]:
        """Yield the names of the topics that a text matches."""
        for member in members:
            revision = self._topic_at(*pinned(member))
            if revision.active:
                topic = self.engine.topic(
                    revision.topic_name, revision.description, tuple(revision.examples)
                )
                if self.engine.matches(topic, text):
                    yield topic.name
