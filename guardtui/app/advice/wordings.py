"""Wordings of a definition: typed, written by a language model, or searched."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from guardtui.advice.candidates import Candidate, CandidateKind, candidates, same
from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.engine_scores import open_scores
from guardtui.advice.measured_rows import MeasuredRows
from guardtui.advice.model_wordings import Shown, SuggestionError, read_proposals, request
from guardtui.advice.objective import Stopped, material_of, unchanged
from guardtui.advice.search import advise
from guardtui.advice.splits import Split
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, byte_length
from guardtui.files.problems import FileError
from guardtui.http.errors import ServiceError
from guardtui.scanners.base import Report, verdict_key
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import cache_folder
from guardtui.scanners.models.decision import ScoredQuestion
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.models.many import ManyQuestions
from guardtui.scanners.models.scanner import ModelScanner
from guardtui.session.caches import open_answers

WORDINGS = 60
"""Default number of tried wordings, including the definition."""

CURRENT = "the definition"
"""Origin of the current definition."""

SEARCHED = "search"
"""Origin of edits that are best by the embedded engine."""

_MOST = 2000
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
            change = f"Change the description to “{display_start(description, _SHOWN)}”"
            origin = f"line {number} {source}"
            wordings.append(Candidate(edited, CandidateKind.TYPED, change, origin=origin))
    return wordings


def shortlist(
    engine: LocalScanner,
    topic: Topic,
    prompts: PromptSet,
    split: Split,
    count: int,
    report: Report = lambda progress: None,
    stopped: Stopped = lambda: False,
) -> list[Candidate]:
    """Return the `count` edits of a definition that are best by the embedded engine.

    Combinations of edits come first, then the kinds of single edits in turn, since the guardrail
    may rank them differently. Words and examples come only from prompts that wordings are chosen
    on. Empty if stopped. Blocks. Raises ScannerError.
    """
    scores = open_scores(engine, prompts, report, stopped)
    if scores is None or count <= 0:
        return []
    rows = split.search_rows
    objective = EngineObjective(scores, rows, fitted=True)
    current = objective.appraise(unchanged(topic), stopped)
    if current is None:
        return []
    several = advise(
        objective, topic, MeasuredRows(rows, np.zeros(0, np.intp), split.source), stopped
    )
    wordings = [
        Candidate(proposal.topic, proposal.kinds[-1], "; ".join(proposal.changes), origin=SEARCHED)
        for proposal in (several.proposals if several is not None else ())
        if len(proposal.kinds) > 1
    ]
    single = candidates(topic, material_of(objective, current.matches), _MOST)
    values = objective.values(single, stopped)
    if values is None:
        return wordings[:count]
    kinds: dict[CandidateKind, list[Candidate]] = {}
    for index in np.argsort(-values, kind="stable").tolist():
        edit = single[index]
        kinds.setdefault(edit.kind, []).append(replace(edit, origin=SEARCHED))
    in_turn = (
        wording for turn in zip_longest(*kinds.values()) for wording in turn if wording is not None
    )
    return distinct([*wordings, *in_turn], ())[:count]


def distinct(wordings: Iterable[Candidate], known: Sequence[Candidate]) -> list[Candidate]:
    """Return the distinct wordings that are not in `known`, in order."""
    seen = {same(wording.topic) for wording in known}
    new = []
    for wording in wordings:
        key = same(wording.topic)
        if key not in seen:
            seen.add(key)
            new.append(wording)
    return new


def gather_wordings(
    topic: Topic,
    typed: Sequence[Candidate],
    written: Sequence[Candidate],
    searched: Sequence[Candidate],
    count: int,
) -> list[Candidate]:
    """Return the current definition and at most `count` − 1 others, the author's first.

    All typed wordings are included.
    """
    current = Candidate(topic, CandidateKind.COMPLETE, "", origin=CURRENT)
    own = distinct(typed, [current])
    others = distinct([*own, *written, *searched], [current])
    return [current, *others[: max(count - 1, len(own))]]


def questions_about(
    scanner: ModelScanner[ScoredQuestion],
    wordings: Sequence[Candidate],
    prompts: PromptSet,
    at_once: int,
) -> ManyQuestions:
    """Return the questions for all prompts and wordings, at most `at_once` in a request."""
    questions = [scanner.asked.template.filled(wording.topic) for wording in wordings]
    return ManyQuestions(scanner, questions, prompts.prompts.to_list(), at_once)


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
