"""Wordings of a definition: typed, or written by a language model."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.model_wordings import Shown, SuggestionError, read_proposals, request
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, byte_length
from guardtui.files.problems import FileError
from guardtui.http.errors import ServiceError
from guardtui.scanners.base import verdict_key
from guardtui.scanners.local.vectors import cache_folder
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.session.caches import open_answers

_LARGEST = 256 * 1024
_SHOWN = 60


def read_wordings(path: Path, topic: Topic) -> list[Candidate]:
    """Read descriptions from a file, one a line; blank lines and lines with # are skipped.

    Raises FileError naming the line.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise FileError(path, "too large for a list of wordings", "give at most 256 KiB")
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(path, "not UTF-8", "save it as UTF-8") from error
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise FileError(path, why, "name a text file with a description in each line") from error
    wordings = typed_wordings(text, topic, f"of {path.name}")
    if not wordings:
        raise FileError(path, "no wordings in it", "write a description in each line")
    return wordings


def typed_wordings(text: str, topic: Topic, source: str) -> list[Candidate]:
    """Return a wording for each description, one a line; blank lines and lines with # are skipped.

    Their origin is the number of the line and `source`.
    """
    wordings = []
    for number, line in enumerate(text.splitlines(), start=1):
        description = line.strip()
        if description and not description.startswith("#"):
            edited = topic.model_copy(update={"description": description})
            wordings.append(typed_wording(edited, f"line {number} {source}"))
    return wordings


def typed_wording(wording: Topic, origin: str) -> Candidate:
    """Return a definition as a candidate; `origin` says where its words are from."""
    change = f"Change the description to “{display_start(wording.description, _SHOWN)}”"
    return Candidate(wording, CandidateKind.TYPED, change, origin=origin)


# --- by a language model ------------------------------------------------------------------

ANSWER_TOKENS = 3_000
"""Maximum tokens of an answer with proposals."""

_BYTES_PER_TOKEN = 4


class WriterError(GuardtuiError):
    """A model wrote no valid wording; the message names the model and the reason."""


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

    def __init__(
        self, writer: JudgeOptions, topic: Topic, shown: Shown, *, fresh: bool = False
    ) -> None:
        """Search the cache, unless `fresh`; blocks."""
        self.writer, self.topic, self.shown = writer, topic, shown
        self.budget = writer.calls.budget(ANSWER_TOKENS)
        self._messages = request(topic, shown)
        self._key = verdict_key(writer.identity, json.dumps([self._messages, ANSWER_TOKENS]))
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
        with contextlib.closing(open_answers(cache_folder())) as cache:
            answer = cache.find(self._key)
        if answer is None:
            return None
        try:
            written = self._read(answer)
        except SuggestionError:  # cached under other rules
            return None
        return written if written.wordings else None

    def _keep(self, answer: str) -> None:
        with contextlib.closing(open_answers(cache_folder())) as cache:
            cache.keep(self._key, answer)
