"""A call to a language model for wordings of a definition, with its cost and cache."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from guardtui.advice.candidates import Candidate
from guardtui.advice.model_wordings import (
    Shown,
    SuggestionError,
    read_proposals,
    request,
)
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, byte_length
from guardtui.http.errors import ServiceError
from guardtui.scanners.budget import CallBudget
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.score_cache import AnswerCache, answer_key

ANSWER_TOKENS = 3_000
"""Maximum tokens of an answer with proposals."""

_BYTES_PER_TOKEN = 4
_SHOWN = 60


class WriterError(GuardtuiError):
    """A model wrote no valid wording; the message names the model and the reason."""


class Writer(Protocol):
    """A language model that completes chat messages."""

    @property
    def name(self) -> str:
        """Name of the model at its service; not inert."""

    @property
    def title(self) -> str:
        """The model in a few words; safe to show anywhere."""

    @property
    def identity(self) -> str:
        """Everything besides the messages that an answer depends on; may hold a secret."""

    def budget(self, answer_tokens: int) -> CallBudget:
        """Return a budget for a call, with prices and limits."""

    async def complete(self, messages: Sequence[Mapping[str, Any]], budget: CallBudget) -> str:
        """Return the answer to chat messages, "" for a refusal. Raises ServiceError."""


@dataclass(frozen=True, slots=True)
class WrittenWordings:
    """Valid wordings of an answer, and why others are invalid."""

    wordings: tuple[Candidate, ...] = ()
    invalid: tuple[str, ...] = ()


class WritingCall:
    """One call for wordings of a definition; without a request if its answer is cached.

    Answers are cached by model, options and messages, which hold the definition and the shown
    mistakes. Answers without a valid wording are not cached, since another request may succeed.
    """

    def __init__(self, writer: Writer, topic: Topic, shown: Shown, *, fresh: bool = False) -> None:
        """Search the cache, unless `fresh`; blocks."""
        self.writer, self.topic, self.shown = writer, topic, shown
        self.budget = writer.budget(ANSWER_TOKENS)
        self._messages = request(topic, shown)
        self._key = answer_key(writer.identity, json.dumps([self._messages, ANSWER_TOKENS]))
        self._cached = None if fresh else self._find()

    @property
    def is_cached(self) -> bool:
        """Whether the answer is in the cache, so that nothing is requested."""
        return self._cached is not None

    @property
    def tokens(self) -> int:
        """Estimate of the maximum tokens of a request and its answer."""
        return self._input_tokens + ANSWER_TOKENS

    @property
    def cost_text(self) -> str:
        """Maximum tokens of the call, and their cost if prices are known."""
        text = f"1 call, at most about {self.tokens:,} tokens"
        cost = self.budget.prices.of(self._input_tokens, ANSWER_TOKENS)
        return f"{text} for {cost:.4g}" if cost else text

    @property
    def sent_text(self) -> str:
        """Description of what the request contains."""
        return f"the definition and {count_text(self.shown.count, 'prompt')} it gets wrong"

    @property
    def _input_tokens(self) -> int:
        size = sum(byte_length(message["content"]) for message in self._messages)
        return size // _BYTES_PER_TOKEN

    async def wordings(self) -> WrittenWordings:
        """Return the wordings of the cached answer, or of a new one. Raises WriterError."""
        if self._cached is not None:
            return self._cached
        try:
            answer = await self.writer.complete(self._messages, self.budget)
            written = self._read(answer)
        except (ServiceError, SuggestionError) as error:
            raise WriterError(f"{self.writer.title}: {error}") from error
        if not written.wordings:
            raise WriterError(f"{self.writer.title}: {'; '.join(written.invalid)}")
        await asyncio.to_thread(self._keep, answer)
        return written

    def _read(self, answer: str) -> WrittenWordings:
        wordings, invalid = read_proposals(answer, self.topic)
        origin = f"the model {display_start(self.writer.name, _SHOWN)}"
        known = tuple(replace(wording, origin=origin) for wording in wordings)
        return WrittenWordings(known, tuple(invalid))

    def _find(self) -> WrittenWordings | None:
        with contextlib.closing(AnswerCache(cache_folder())) as cache:
            answer = cache.find(self._key)
        if answer is None:
            return None
        try:
            written = self._read(answer)
        except SuggestionError:  # cached under other rules
            return None
        return written if written.wordings else None

    def _keep(self, answer: str) -> None:
        with contextlib.closing(AnswerCache(cache_folder())) as cache:
            cache.keep(self._key, answer)
