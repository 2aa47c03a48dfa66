"""Chat completions of any service that implements the OpenAI protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from guardtui.domain.text import display_text
from guardtui.http.address import AddressError, Endpoint, without_queries
from guardtui.http.answers import TokenUsage, told_by
from guardtui.http.errors import ErrorKind, ServiceError

if TYPE_CHECKING:
    from guardtui.http.client import RemoteClient

PATH = "/chat/completions"


class MessageLike(Protocol):
    """One message of a conversation."""

    @property
    def role(self) -> str:
        """`system`, `user`, `assistant` or `tool`."""

    @property
    def text(self) -> str:
        """The text of the message."""


@dataclass(frozen=True, slots=True)
class ChatCompletion:
    """A model's response; `completion` is empty after a refusal or an empty answer.

    `finish` is the service's stop reason: with "length" the text is truncated.
    """

    completion: str
    usage: TokenUsage = field(default_factory=TokenUsage)
    id: str = ""
    finish: str = ""
    refusal: str = ""

    @property
    def cut_off(self) -> bool:
        """Return whether the response was truncated."""
        return self.finish == "length"


def parse_model(text: str, *, allow_http: bool = False) -> tuple[str, str]:
    """Return URL and name of a model written as `URL#name`. Raises AddressError.

    Everything after the first # is the name, as the service knows it.
    """
    url, sign, name = text.strip().partition("#")
    name = name.strip()
    if not sign or not name:
        shown = "…" if "@" in url else display_text(without_queries(url)[:80])
        raise AddressError(
            f"{shown!r} has no model name: write URL#name, such as https://host/v1#my-model"
        )
    if len(name) > 256 or not name.isprintable():
        raise AddressError(f"{display_text(name[:80])!r} is not a model name")
    return Endpoint.parse(url, allow_http=allow_http).join(""), name


class ChatModel:
    """A model of a service, whose `client` is a `model_client` of `PATH`."""

    def __init__(self, client: RemoteClient, model: str) -> None:
        self.client, self.model = client, model

    async def generate(self, input: str | Sequence[MessageLike]) -> ChatCompletion:  # noqa: A002
        """Send a prompt or messages, and return the response. Raises ServiceError.

        An attachment of a message must be a content part of the protocol (a mapping with `type`).
        """
        if isinstance(input, str):
            return await self.complete([{"role": "user", "content": input}])
        return await self.complete([_message(message) for message in input])

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], **options: Any
    ) -> ChatCompletion:
        """Send messages of the protocol, and return the response. Raises ServiceError."""
        body = {"model": self.model, "messages": list(messages), **options}
        reply = await self.client.request("POST", PATH, json=body)
        return read_completion(reply.data)


def _message(message: MessageLike) -> dict[str, Any]:
    """Return a message of the protocol; tool calls and their results become text."""
    role, text = message.role, message.text
    calls = getattr(message, "tool_calls", None) or ()
    call_texts = [f"{call.function}({json.dumps(call.arguments, default=str)})" for call in calls]
    text = "\n".join([text, *call_texts] if text else call_texts)
    if role == "tool":
        name = getattr(message, "function", None) or "a tool"
        role, text = "user", f"Answer of {name}:\n{getattr(message, 'error', None) or text}"
    attachments = getattr(message, "attachments", None) or ()
    if not attachments:
        return {"role": role, "content": text}
    parts = [dict(part) for part in attachments if isinstance(part, Mapping) and "type" in part]
    if len(parts) < len(attachments):
        raise ServiceError(
            ErrorKind.REQUEST, "an attachment is not a message part that can be sent", final=True,
            attempts=0,
        )  # fmt: skip
    return {"role": role, "content": [{"type": "text", "text": text}, *parts]}


def read_completion(data: object) -> ChatCompletion:
    """Return the response in a service's JSON; fields may be missing. Raises ServiceError."""
    if not isinstance(data, Mapping):
        raise _unusable("it is not a JSON object")
    error = data.get("error")
    choices = data.get("choices")
    if error and not choices:
        code = error.get("code") if isinstance(error, Mapping) else None
        refused = code in (429, "429", "rate_limit_exceeded")
        kind = ErrorKind.LIMITED if refused else ErrorKind.SERVER
        raise ServiceError(kind, told_by(error) or "an error without a message", status=200)
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise _unusable("it has no choices")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise _unusable("its choice has no message")
    content = message.get("content")
    if not isinstance(content, str | list | None):
        raise _unusable("its message is not text")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return ChatCompletion(
        completion=_joined(parts, "text"),
        usage=_usage(data.get("usage")),
        id=_text(data.get("id")),
        finish=_text(choices[0].get("finish_reason")),
        refusal=_text(message.get("refusal")) or _joined(parts, "refusal"),
    )


def _unusable(problem: str) -> ServiceError:
    message = f"the answer is not a chat completion: {problem}"
    return ServiceError(ErrorKind.CONTENT, message, status=200, final=True)


def _joined(parts: Sequence[object], kind: str) -> str:
    """Return the joined texts of one kind; a bare text is "text", reasoning parts are skipped."""
    texts = []
    for part in parts:
        if isinstance(part, str) and kind == "text":
            texts.append(part)
        elif isinstance(part, Mapping) and part.get("type", "text") in (kind, f"output_{kind}"):
            texts.append(_text(part.get(kind)))
    return "".join(texts)


def _usage(data: object) -> TokenUsage:
    if not isinstance(data, Mapping):
        return TokenUsage()
    counts = (data.get(f"{name}_tokens") for name in ("prompt", "completion"))
    return TokenUsage(*(count if type(count) is int and count >= 0 else None for count in counts))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
