"""Conversion of a judge's answers: belongs, does not belong, or unreadable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guardtui.domain.errors import GuardtuiError
from guardtui.http.answers import DuplicateKeyError, read_json
from guardtui.http.openai import ChatCompletion
from guardtui.scorer import CORRECT, Scorer, Target, answer, pattern
from guardtui.scorer.state import TaskState
from guardtui.scorer.time_limit import TimeLimit, TimeLimitError

YES = ("yes", "true")
NO = ("no", "false")

SCHEMA: Mapping[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "reason": {"type": "string"},
                "answer": {"type": "string", "enum": ["yes", "no"]},
            },
            "required": ["reason", "answer"],
            "additionalProperties": False,
        },
    },
}
"""`response_format` for servers with structured output: the reason precedes the answer."""

_LONGEST = 2_000
"""Maximum characters of a stored reason."""

_READING_SECONDS = 1.0
"""Time for an author's regular expression to read one answer."""


class FormError(GuardtuiError, ValueError):
    """An unknown form of answer; the message lists the existing forms."""


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """Content of an answer. `belongs` is None if it cannot be read; `problem` tells why.

    `reason` is the reason that the model gave, or its whole text if they cannot be separated.
    """

    belongs: bool | None
    reason: str = ""
    problem: str = ""


@dataclass(frozen=True)
class AnswerForm:
    """The way in which answers are read.

    `answer`: the word after ANSWER: on the last line; `pattern:` with an expression that captures
    it; `graded`: the model grades the prompt by the topic as its criterion (`model_graded_qa`).
    `spec` is its text, which is part of the key of a verdict.
    """

    spec: str
    scorer: Scorer | None

    @classmethod
    def parse(cls, spec: str) -> AnswerForm:
        """Parse the text of a form. Raises FormError."""
        kind, sign, rest = spec.partition(":")
        if kind == "answer" and not sign:
            return cls(spec, answer("word"))
        if kind == GRADED and not sign:
            return cls(spec, None)
        if kind == "pattern" and rest:
            try:
                groups = re.compile(rest).groups
            except re.error as error:
                raise FormError(f"{rest!r} is not an expression: {error}") from None
            if groups > 1:
                raise FormError(f"{rest!r} has {groups} groups: use one, for the answer")
            return cls(spec, pattern(rest))
        raise FormError(
            f"unknown form of answer {spec!r}: write answer, graded, or pattern:EXPRESSION"
        )

    @property
    def structured(self) -> bool:
        """Return whether it reads structured output of a server."""
        return self.spec == "answer"

    async def read(self, completion: ChatCompletion) -> ReadAnswer:
        """Read a completion that is not a grade. Raises TypeError for `graded`."""
        if self.scorer is None:
            raise TypeError("grades are read when they are given")
        if empty := read_empty(completion):
            return empty
        thought, text = _without_thoughts(completion.completion)
        if not text.strip():
            return _unreadable(completion, thought, "the answer has only thoughts")
        if self.structured:
            try:
                text = _as_text(text)
            except DuplicateKeyError as error:
                return _unreadable(completion, text, f"the answer is ambiguous: {error}")
            if _BARE.fullmatch(text):
                text = f"ANSWER: {text.strip()}"
            if not _ANSWER_LINE.search(text):
                # A marker further up may be a quotation, even one that the prompt caused.
                return _unreadable(completion, text, "the answer does not end with a verdict")
        try:
            with TimeLimit(_READING_SECONDS):
                score = await self.scorer(TaskState(text), Target(list(YES)))
        except TimeLimitError as error:
            return _unreadable(completion, text, f"the answer cannot be read: {error}")
        captured = None if score is None else score.answer
        word = (captured or "").strip().strip("\"'").lower()
        if score is not None and (score.value == CORRECT or word in YES):
            return ReadAnswer(True, _reason(text) or thought)
        if word in NO:
            return ReadAnswer(False, _reason(text) or thought)
        problem = "the answer is not yes or no" if captured else "the answer has no verdict"
        return _unreadable(completion, text, problem)


GRADED = "graded"


def read_empty(completion: ChatCompletion) -> ReadAnswer | None:
    """Read a completion without text; returns None if it has text."""
    if completion.completion.strip():
        return None
    if completion.refusal:
        return ReadAnswer(None, completion.refusal[:_LONGEST], "the model refused to judge")
    reason = "truncated at its token limit" if completion.cut_off else "the model returned no text"
    if completion.finish == "content_filter":
        reason = "a filter of the service stopped it"
    return ReadAnswer(None, "", f"no answer: {reason}")


def _unreadable(completion: ChatCompletion, text: str, problem: str) -> ReadAnswer:
    if completion.cut_off:
        problem = "the answer was truncated at its token limit"
    return ReadAnswer(None, text.strip()[:_LONGEST], problem)


def _without_thoughts(text: str) -> tuple[str, str]:
    """Split an answer into the model's thoughts ("" if missing) and the rest."""
    match = _THOUGHTS.match(text)
    if match is None:
        return "", text
    return match[1].strip()[:_LONGEST], text[match.end() :]


_THOUGHTS = re.compile(r"\s*<think>(.*?)(?:</think>|\Z)", re.DOTALL)
_BARE = re.compile(r"\s*(?:yes|no)[.!]?\s*", re.IGNORECASE)
"""A whole answer; without other text it cannot be a quotation."""


def _as_text(text: str) -> str:
    """Convert structured or decorated output to the form that scorers read; keep other text.

    Raises DuplicateKeyError.
    """
    stripped = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if stripped.startswith("{"):
        try:
            data = read_json(stripped)
        except DuplicateKeyError:
            raise
        except ValueError:
            return text
        if not isinstance(data, dict) or "answer" not in data:
            return text
        value = data["answer"]
        word = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        return f"{data.get('reason') or ''}\nANSWER: {word}"
    lines = text.rstrip().split("\n")
    lines[-1] = re.sub(r"[*_#`>]+", "", lines[-1])
    return "\n".join(lines)


_ANSWER_LINE = re.compile(r"(?:\A|\n)[^\S\n]*answer\s*:[^\n]*\s*\Z", re.IGNORECASE)


def _reason(text: str) -> str:
    """Return the text before the last line with the answer."""
    return _ANSWER_LINE.sub("", text).strip()[:_LONGEST]
