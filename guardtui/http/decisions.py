"""Typed questions about a text, answered by probabilities: the Decisions and System One formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from guardtui.http.answers import told_by
from guardtui.http.errors import Kind, ServiceError, inert
from guardtui.http.usage import Usage


class Api(StrEnum):
    """A wire format, by the name that authors know it by; also the last part of its path."""

    DECISIONS = "decisions"
    """The Decisions API of OpenAI."""
    SYSTEM_ONE = "systemone"

    @property
    def path(self) -> str:
        """Path below the base URL."""
        return f"/{self.value}"

    @property
    def most_questions(self) -> int:
        """Questions that every service of this format takes in a request."""
        return 200 if self is Api.DECISIONS else 64


@dataclass(frozen=True, slots=True)
class Question:
    """A yes/no question about a text; `yes` and `no` say when it is to be answered so.

    Only System One has a place of its own for the two; in Decisions they follow the instructions.
    """

    instructions: str
    yes: str = ""
    no: str = ""

    @property
    def whole(self) -> str:
        """All of it as one text."""
        criteria = (("true", self.yes), ("false", self.no))
        return "\n".join(
            [self.instructions, *(f"Answer {word}: {text}" for word, text in criteria if text)]
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question: a probability of yes, from 0 to 1, or `problem` says why none did.

    `refused` says that the service answered as it should, and would not decide.
    """

    probability: float | None
    problem: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """One answer for each question, in their order, and the model that gave them ("" if untold)."""

    model: str
    answers: tuple[Answer, ...]
    usage: Usage = field(default_factory=Usage)


def request_body(api: Api, model: str, text: str, questions: Sequence[Question]) -> dict[str, Any]:
    """The JSON of a request in one of the formats; questions are named by their numbers."""
    if api is Api.DECISIONS:
        return {
            "model": model,
            "input": text,
            "questions": [
                {"type": "predicate", "name": _name(number), "instructions": question.whole}
                for number, question in enumerate(questions)
            ],
        }
    return {
        "model": model,
        "state": text,
        "questions": {
            _name(number): {
                "type": "noul",
                "instructions": question.instructions,
                "criteria": {"true": question.yes, "false": question.no},
            }
            for number, question in enumerate(questions)
        },
    }


def read_answers(api: Api, data: object, count: int) -> Answers:
    """The answers to `count` questions in the JSON of a service. Raises ServiceError.

    A question whose answer is missing, there twice, or no probability has a problem; others do not
    suffer from it.
    """
    if not isinstance(data, Mapping):
        raise _unusable("it is no JSON object")
    found = data.get("answers")
    if (error := data.get("error")) and not found:
        told = told_by(error) or "an error without a message"
        raise ServiceError(Kind.SERVER, told, status=200)
    named: Iterable[tuple[object, object]]
    if api is Api.DECISIONS and isinstance(found, list):
        named = [(one.get("name"), one) for one in found if isinstance(one, Mapping)]
    elif api is Api.SYSTEM_ONE and isinstance(found, Mapping):
        named = found.items()
    else:
        raise _unusable("it holds no answers")
    by_name: dict[object, list[object]] = {}
    for name, answer in named:
        if isinstance(name, str):
            by_name.setdefault(name, []).append(answer)
    model = data.get("model")
    return Answers(
        model if isinstance(model, str) else "",
        tuple(_answer(api, by_name.get(_name(number), [])) for number in range(count)),
        _usage(data.get("usage")),
    )


def _name(number: int) -> str:
    return f"q{number + 1}"


def _answer(api: Api, given: Sequence[object]) -> Answer:
    if len(given) != 1:
        return Answer(
            None, "the answer is missing" if not given else "the question has two answers"
        )
    answer = given[0]
    if not isinstance(answer, Mapping):
        return Answer(None, "the answer is no JSON object")
    kind = answer.get("type")
    if kind == "refusal":
        return Answer(None, "the model refused to answer", refused=True)
    wanted, field = ("predicate", "probability") if api is Api.DECISIONS else ("noul", "noul")
    if kind != wanted:
        shown = inert(kind)[:40] if isinstance(kind, str) else "unknown"
        return Answer(None, f"the answer is of type {shown}, not {wanted}")
    value = answer.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Answer(None, f"the answer holds no {field}")
    if not 0 <= value <= 1:  # nor is nan
        return Answer(None, f"the probability {str(value)[:20]} is not from 0 to 1")
    return Answer(float(value))


def _unusable(problem: str) -> ServiceError:
    message = f"the answer holds no decisions: {problem}"
    return ServiceError(Kind.CONTENT, message, status=200, final=True)


def _usage(data: object) -> Usage:
    """Tokens by the names of either format; an answer without words has none of its own."""
    if not isinstance(data, Mapping):
        return Usage()

    def count(*names: str) -> int | None:
        values = (data.get(name) for name in names)
        return next((one for one in values if type(one) is int and one >= 0), None)

    sent, answered = count("input_tokens", "prompt_tokens"), None
    if sent is not None:
        answered = count("output_tokens", "completion_tokens") or 0
    return Usage(sent, answered, count("total_tokens"))
