"""What a judge's answer says: belongs, does not, or cannot be read; told by `guardtui.scorer`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guardtui.domain.errors import GuardtuiError
from guardtui.scorer import CORRECT, Scorer, Target, answer, pattern
from guardtui.scorer.state import TaskState

if TYPE_CHECKING:
    from guardtui.http.openai import Completion

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
"""`response_format` of servers that have structured output: the reason comes before the answer."""

_LONGEST = 2_000
"""Characters of a reason that are kept."""


class FormError(GuardtuiError, ValueError):
    """There is no such form of answer; the message says which there are."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says. `belongs` is None where it cannot be read, and `problem` then why.

    `reason` is what the model gave as its reason, or all it said where that cannot be told apart.
    """

    belongs: bool | None
    reason: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Form:
    """How answers are read.

    `answer`: the word after ANSWER: on the last line; `pattern:` and an expression that captures
    it; `graded`: the model grades the prompt by the topic as its criterion (`model_graded_qa`).
    `spec` is how it is written, part of what a verdict depends on.
    """

    spec: str
    scorer: Scorer | None

    @classmethod
    def parse(cls, spec: str) -> Form:
        """A form as it is written. Raises FormError."""
        kind, sign, rest = spec.partition(":")
        if kind == "answer" and not sign:
            return cls(spec, answer("word"))
        if kind == GRADED and not sign:
            return cls(spec, None)
        if kind == "pattern" and rest:
            try:
                groups = re.compile(rest).groups
            except re.error as error:
                raise FormError(f"{rest!r} is no expression: {error}") from None
            if groups > 1:
                raise FormError(f"{rest!r} has {groups} groups: one captures the answer")
            return cls(spec, pattern(rest))
        raise FormError(
            f"{spec!r} is no form of answer: write answer, graded, or pattern:EXPRESSION"
        )

    @property
    def structured(self) -> bool:
        """Whether structured output of a server can be read by it."""
        return self.spec == "answer"

    async def read(self, said: Completion) -> Reading:
        """What a completion says, unless it is a grade. Raises TypeError for `graded`."""
        if self.scorer is None:
            raise TypeError("grades are read while they are given")
        if nothing := silent(said):
            return nothing
        thought, text = _without_thoughts(said.completion)
        if not text.strip():
            return _unread(said, thought, "the answer holds thoughts only")
        if self.structured:
            text = _as_text(text)
            if _BARE.fullmatch(text):
                text = f"ANSWER: {text.strip()}"
            if not _ANSWER_LINE.search(text):
                # A marker further up may be a quotation, also one that the prompt brought about.
                return _unread(said, text, "the answer does not end with a verdict")
        score = await self.scorer(TaskState(text), Target(list(YES)))
        found = None if score is None else score.answer
        word = (found or "").strip().strip("\"'").lower()
        if score is not None and (score.value == CORRECT or word in YES):
            return Reading(True, _reason(text) or thought)
        if word in NO:
            return Reading(False, _reason(text) or thought)
        problem = "the answer is not yes or no" if found else "the answer holds no verdict"
        return _unread(said, text, problem)


GRADED = "graded"


def silent(said: Completion) -> Reading | None:
    """The reading of an answer without words; None where there are some."""
    if said.completion.strip():
        return None
    if said.refusal:
        return Reading(None, said.refusal[:_LONGEST], "the model refused to judge")
    why = "it was cut off at its limit of tokens" if said.cut_off else "the model said nothing"
    if said.finish == "content_filter":
        why = "a filter of the service stopped it"
    return Reading(None, "", f"no answer: {why}")


def _unread(said: Completion, text: str, problem: str) -> Reading:
    if said.cut_off:
        problem = "the answer was cut off at its limit of tokens"
    return Reading(None, text.strip()[:_LONGEST], problem)


def _without_thoughts(text: str) -> tuple[str, str]:
    """What a model thought before it answered, where it stands in the answer; and the rest."""
    found = _THOUGHTS.match(text)
    if found is None:
        return "", text
    return found[1].strip()[:_LONGEST], text[found.end() :]


_THOUGHTS = re.compile(r"\s*<think>(.*?)(?:</think>|\Z)", re.DOTALL)
_BARE = re.compile(r"\s*(?:yes|no)[.!]?\s*", re.IGNORECASE)
"""All of an answer: nothing else is there that it could be a quotation in."""


def _as_text(text: str) -> str:
    """Structured or decorated output in the words that the scorers read; other text as it is."""
    stripped = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if stripped.startswith("{"):
        try:
            data = json.loads(stripped)
        except (ValueError, RecursionError):
            return text
        if not isinstance(data, dict) or "answer" not in data:
            return text
        told = data["answer"]
        word = {True: "yes", False: "no"}[told] if isinstance(told, bool) else str(told)
        return f"{data.get('reason') or ''}\nANSWER: {word}"
    lines = text.rstrip().split("\n")
    lines[-1] = re.sub(r"[*_#`>]+", "", lines[-1])
    return "\n".join(lines)


_ANSWER_LINE = re.compile(r"(?:\A|\n)[^\S\n]*answer\s*:[^\n]*\s*\Z", re.IGNORECASE)


def _reason(text: str) -> str:
    """What was said before the last line with the answer."""
    return _ANSWER_LINE.sub("", text).strip()[:_LONGEST]
