"""One call to a language model that writes: its cost beforehand, and its answer, cached."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from guardtui.advice.model_answers import SuggestionError
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.topic import byte_length
from guardtui.http.errors import ServiceError
from guardtui.scanners.base import verdict_key
from guardtui.scanners.local.vectors import cache_folder
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.session.caches import open_answers

ANSWER_TOKENS = 3_000
"""Maximum tokens of an answer."""

_BYTES_PER_TOKEN = 4

Written = TypeVar("Written")


class WriterError(GuardtuiError):
    """A model wrote nothing valid; the message names the model and the reason."""


class WriterCall(Generic[Written]):
    """One call to a writer; without a request if its answer is cached.

    `sent_text` describes what the request contains. `read` returns what is valid in an answer, and
    raises SuggestionError if nothing is. Answers are cached by model, options and messages, unless
    they are invalid, since another request may succeed.
    """

    def __init__(
        self,
        writer: JudgeOptions,
        messages: Sequence[Mapping[str, str]],
        sent_text: str,
        read: Callable[[str], Written],
        *,
        fresh: bool = False,
    ) -> None:
        """Search the cache, unless `fresh`; blocks."""
        self.writer, self.sent_text = writer, sent_text
        self.budget = writer.calls.budget(ANSWER_TOKENS)
        self._messages, self._read = messages, read
        self._key = verdict_key(writer.identity, json.dumps([messages, ANSWER_TOKENS]))
        self.cached = None if fresh else self._find()

    @property
    def is_cached(self) -> bool:
        """Return whether the answer is in the cache, so that nothing is requested."""
        return self.cached is not None

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
    def _input_tokens(self) -> int:
        size = sum(byte_length(message["content"]) for message in self._messages)
        return size // _BYTES_PER_TOKEN

    async def written(self) -> Written:
        """Return what the cached answer, or a new one, has. Raises WriterError."""
        if self.cached is not None:
            return self.cached
        try:
            answer = await self.writer.complete(self._messages, self.budget)
            written = self._read(answer)
        except (ServiceError, SuggestionError) as error:
            raise WriterError(f"{self.writer.title}: {error}") from error
        await asyncio.to_thread(self._keep, answer)
        return written

    def _find(self) -> Written | None:
        with contextlib.closing(open_answers(cache_folder())) as cache:
            answer = cache.find(self._key)
        if answer is None:
            return None
        try:
            return self._read(answer)
        except SuggestionError:  # cached under other rules
            return None

    def _keep(self, answer: str) -> None:
        with contextlib.closing(open_answers(cache_folder())) as cache:
            cache.keep(self._key, answer)
