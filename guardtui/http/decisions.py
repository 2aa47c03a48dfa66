"""Typed questions about a text with probabilities as answers: Decisions and System One formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from guardtui.http.answers import TokenUsage, told_by
from guardtui.http.errors import ErrorKind, ServiceError, inert

if TYPE_CHECKING:
    from guardtui.http.client import RemoteClient

_CONFLICT = 409


class Api(StrEnum):
    """A wire format, by its common name, which is also the last part of its path."""

    DECISIONS = "decisions"
    """The Decisions API of OpenAI."""
    SYSTEM_ONE = "systemone"

    @property
    def path(self) -> str:
        """Path below the base URL."""
        return f"/{self.value}"

    @property
    def most_questions(self) -> int:
        """Number of questions per request that every service of this format accepts."""
        return 200 if self is Api.DECISIONS else 64


@dataclass(frozen=True, slots=True)
class DecisionQuestion:
    """A yes/no question about a text; `yes` and `no` are the criteria of the answers.

    Only System One has fields for the criteria; in Decisions they follow the instructions.
    """

    instructions: str
    yes: str = ""
    no: str = ""

    @property
    def whole(self) -> str:
        """Instructions and criteria as one text."""
        criteria = (("true", self.yes), ("false", self.no))
        return "\n".join(
            [self.instructions, *(f"Answer {word}: {text}" for word, text in criteria if text)]
        )


@dataclass(frozen=True, slots=True)
class DecisionAnswer:
    """Result of a question: a probability of yes, from 0 to 1, or the `problem`.

    `refused` says that the service answered properly but declined to decide.
    """

    probability: float | None
    problem: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class DecisionReply:
    """One answer per question, in order, and the model that gave them ("" if unknown)."""

    model: str
    answers: tuple[DecisionAnswer, ...]
    usage: TokenUsage = field(default_factory=TokenUsage)


class DecisionModel:
    """A decision model of a service, whose `client` is a `model_client` of the path of `api`."""

    def __init__(self, client: RemoteClient, model: str, api: Api = Api.DECISIONS) -> None:
        self.client, self.model, self.api = client, model, api

    def body(self, text: str, questions: Sequence[DecisionQuestion]) -> dict[str, Any]:
        """Return the request body for these questions about a text."""
        return request_body(self.api, self.model, text, questions)

    async def ask(self, text: str, questions: Sequence[DecisionQuestion]) -> DecisionReply:
        """Request the answers to questions about a text. Raises ServiceError."""
        try:
            reply = await self.client.request(
                "POST", self.api.path, json=self.body(text, questions)
            )
        except ServiceError as error:
            if error.status != _CONFLICT:
                raise
            conflict = error
        else:
            return read_answers(self.api, reply.data, len(questions))
        # These services use 409 like others use 503: nothing was done, retry.
        raise ServiceError(
            ErrorKind.SERVER, conflict.message, status=_CONFLICT, attempts=conflict.attempts
        )


def request_body(
    api: Api, model: str, text: str, questions: Sequence[DecisionQuestion]
) -> dict[str, Any]:
    """Return the JSON of a request in one of the formats; questions are named by number."""
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


def read_answers(api: Api, data: object, count: int) -> DecisionReply:
    """Return the answers to `count` questions in a service's JSON. Raises ServiceError.

    A question whose answer is missing, duplicated or not a probability has a problem; the other
    questions are not affected.
    """
    if not isinstance(data, Mapping):
        raise _unusable("it is not a JSON object")
    entries = data.get("answers")
    if (error := data.get("error")) and not entries:
        message = told_by(error) or "an error without a message"
        raise ServiceError(ErrorKind.SERVER, message, status=200)
    named: Iterable[tuple[object, object]]
    if api is Api.DECISIONS and isinstance(entries, list):
        named = [(entry.get("name"), entry) for entry in entries if isinstance(entry, Mapping)]
    elif api is Api.SYSTEM_ONE and isinstance(entries, Mapping):
        named = entries.items()
    else:
        raise _unusable("it has no answers")
    by_name: dict[object, list[object]] = {}
    for name, answer in named:
        if isinstance(name, str):
            by_name.setdefault(name, []).append(answer)
    model = data.get("model")
    return DecisionReply(
        model if isinstance(model, str) else "",
        tuple(_answer(api, by_name.get(_name(number), [])) for number in range(count)),
        _usage(data.get("usage")),
    )


def _name(number: int) -> str:
    return f"q{number + 1}"


def _answer(api: Api, given: Sequence[object]) -> DecisionAnswer:
    if len(given) != 1:
        return DecisionAnswer(
            None, "the answer is missing" if not given else "the question has two answers"
        )
    answer = given[0]
    if not isinstance(answer, Mapping):
        return DecisionAnswer(None, "the answer is not a JSON object")
    kind = answer.get("type")
    if kind == "refusal":
        return DecisionAnswer(None, "the model refused to answer", refused=True)
    wanted, field = ("predicate", "probability") if api is Api.DECISIONS else ("noul", "noul")
    if kind != wanted:
        shown = inert(kind, characters=40) if isinstance(kind, str) else "unknown"
        return DecisionAnswer(None, f"the answer is of type {shown}, not {wanted}")
    value = answer.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return DecisionAnswer(None, f"the answer holds no {field}")
    if not 0 <= value <= 1:  # nan fails this too
        return DecisionAnswer(None, f"the probability {str(value)[:20]} is not from 0 to 1")
    return DecisionAnswer(float(value))


def _unusable(problem: str) -> ServiceError:
    message = f"the answer holds no decisions: {problem}"
    return ServiceError(ErrorKind.CONTENT, message, status=200, final=True)


def _usage(data: object) -> TokenUsage:
    """Return token counts by the names of either format; missing output counts as 0."""
    if not isinstance(data, Mapping):
        return TokenUsage()

    def count(*names: str) -> int | None:
        values = (data.get(name) for name in names)
        return next((number for number in values if type(number) is int and number >= 0), None)

    sent, answered = count("input_tokens", "prompt_tokens"), None
    if sent is not None:
        answered = count("output_tokens", "completion_tokens") or 0
    return TokenUsage(sent, answered)
