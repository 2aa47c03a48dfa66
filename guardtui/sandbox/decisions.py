"""Decision endpoints: typed questions about a text, answered by the engine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guardtui.sandbox.faults import DrawnFault, FaultPlan
from guardtui.sandbox.judging import TopicMatcher, TopicVectors
from guardtui.sandbox.replies import RefusedError, SandboxReply, SandboxRequest
from guardtui.sandbox.settings import SandboxSettings
from guardtui.sandbox.stats import Stats, prompt_key
from guardtui.sandbox.tokens import API_KEY

DECISIONS, SYSTEM_ONE = "decisions", "systemone"
MOST_QUESTIONS = {DECISIONS: 200, SYSTEM_ONE: 128}
"""Maximum number of questions per request, as in the services."""
_REFUSED_WITH = {DECISIONS: 422, SYSTEM_ONE: 413}
_NEWER = "-2026-11-01"
_LINE = re.compile(r"^(topic|definition|examples)\s*:\s*(.*)$", re.IGNORECASE)
_FIELDS = {DECISIONS: ("predicate", "probability"), SYSTEM_ONE: ("noul", "noul")}


@dataclass(frozen=True, slots=True)
class _Question:
    """A question with its name in the request; its answer depends only on `wording`."""

    name: str
    instructions: str
    wording: str


class DecisionAnswers:
    """Answers in both formats: a monotone map of the engine's score on the question's topic.

    The engine's own threshold becomes a probability of one half.
    """

    def __init__(
        self,
        engine: TopicMatcher,
        stats: Stats,
        settings: Callable[[], SandboxSettings],
        plan: Callable[[], FaultPlan],
    ) -> None:
        self._engine, self._stats = engine, stats
        self._settings, self._plan = settings, plan
        self._power = math.log(0.5) / math.log(float(engine.threshold))

    def require_key(self, request: SandboxRequest) -> None:
        """Raise `RefusedError` (401) without the sandbox's key."""
        if request.headers.get("Authorization", "") != f"Bearer {API_KEY}":
            raise RefusedError(401)

    def texts(self, content: Any) -> Iterator[str]:
        """Yield the text of a body, if it can be read."""
        if isinstance(content, dict):
            for name in ("input", "state"):
                if isinstance(text := content.get(name), str):
                    yield text

    def answer(self, request: SandboxRequest) -> SandboxReply:
        """Answer one request. Raises `RefusedError` (400, 413, 422)."""
        content, api = request.content, request.endpoint
        if not isinstance(content, dict):
            raise RefusedError(400, detail="the request is not an object")
        model, text = content.get("model"), content.get("input" if api == DECISIONS else "state")
        if not isinstance(model, str) or not model:
            raise RefusedError(400, detail="model is missing")
        if not isinstance(text, str):
            raise RefusedError(400, detail="the text is missing")
        questions = _questions(api, content.get("questions"))
        most = self._settings().max_questions or MOST_QUESTIONS[api]
        if len(questions) > most:
            raise RefusedError(
                _REFUSED_WITH[api], f"{len(questions)} questions: the maximum is {most}"
            )
        keys = tuple(prompt_key(question.wording, text) for question in questions)
        for key in keys:
            self._stats.count_asked(key)
        drawn = self._plan().draw("answer", api, prompt_key("", text))
        answers = [
            (question.name, self._answer(api, question, text, drawn)) for question in questions
        ]
        kind = "" if drawn is None else drawn.fault.kind
        if kind == "missing":
            answers = answers[:-1]
        elif kind == "doubled":
            answers.append(answers[0])
        if kind == "other-model":
            model = f"{model}-mini"
        elif kind == "newer-model":
            model += _NEWER
        characters = len(text) + sum(len(question.wording) for question in questions)
        usage = {"input_tokens": math.ceil(characters / 4), "output_tokens": len(questions)}
        spoilt = kind not in ("", "rounded", "newer-model")
        return SandboxReply(
            {"model": model, "answers": _named(api, answers), "usage": usage},
            prompts=() if spoilt else keys,
        )

    def _answer(
        self, api: str, question: _Question, text: str, drawn: DrawnFault | None
    ) -> dict[str, Any]:
        kind = "" if drawn is None else drawn.fault.kind
        if kind == "refused":
            return {"type": "refusal"}
        probability = float(self._engine.score(self._topic(question), text)) ** self._power
        if kind == "rounded":
            probability = round(probability, 2)
        elif kind == "out-of-range":
            probability += 1.5
        name, field = _FIELDS[api]
        return {"type": name, field: probability}

    def _topic(self, question: _Question) -> TopicVectors:
        """Return the topic of a question: from its topic lines, or else its whole text."""
        lines = filter(None, map(_LINE.match, question.instructions.splitlines()))
        parts = {line[1].lower(): line[2].strip() for line in lines}
        examples = (text.strip() for text in parts.get("examples", "").split("|"))
        description = parts.get("definition") or question.instructions
        return self._engine.topic(
            parts.get("topic", ""), description, tuple(filter(None, examples))
        )


def _questions(api: str, given: Any) -> list[_Question]:
    """Return the questions of a request, in order. Raises `RefusedError` (400)."""
    named: list[tuple[Any, Any]]
    if api == DECISIONS:
        rows = given if isinstance(given, list) else []
        named = [(row.get("name"), row) for row in rows if isinstance(row, dict)]
    else:
        named = list(given.items()) if isinstance(given, dict) else []
    kind = _FIELDS[api][0]
    questions = []
    for name, question in named:
        instructions = question.get("instructions") if isinstance(question, dict) else None
        if not isinstance(name, str) or not isinstance(instructions, str) or not instructions:
            raise RefusedError(400, detail="a question has no name or no instructions")
        if question.get("type") != kind:
            raise RefusedError(400, detail=f"a question does not have the type {kind}")
        criteria = question.get("criteria")
        more = "".join(map(str, criteria.values())) if isinstance(criteria, Mapping) else ""
        questions.append(_Question(name, instructions, instructions + more))
    if not questions or len({question.name for question in questions}) < len(questions):
        raise RefusedError(400, detail="questions are missing or duplicated")
    return questions


class _Pairs(dict[str, Any]):
    """A JSON object with duplicate keys, which a dict cannot have."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> Any:
        return self._pairs


def _named(api: str, answers: list[tuple[str, dict[str, Any]]]) -> Any:
    if api == DECISIONS:
        return [{"name": name, **answer} for name, answer in answers]
    return _Pairs(answers)
