"""Conversations in files: message lists as written by chat services and inspect_ai."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}

EXAMPLE = '[{"role": "user", "content": "…"}]'
"""The shortest conversation, for messages."""


@dataclass(frozen=True, slots=True)
class ChatToolCall:
    """A tool call in an assistant's message."""

    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message; `text` joins its text parts with line feeds.

    `media` are the types of its other parts, such as image. `function` and `error` belong to the
    result of a tool.
    """

    role: Role
    text: str
    tool_calls: tuple[ChatToolCall, ...] = ()
    function: str | None = None
    error: str | None = None
    media: tuple[str, ...] = ()


def read_chat(
    value: object, resolve: Callable[[str], str] = lambda text: text
) -> tuple[ChatMessage, ...]:
    """Return the messages of a list of objects with `role` and `content`.

    `resolve` maps a text as written to the text it refers to. Raises ValueError with the problem,
    such as "message 2 has no role".
    """
    if not isinstance(value, list):
        raise ValueError("this is not a list of messages")
    if not value:
        raise ValueError("it has no messages")
    return tuple(
        _message(number, message, resolve) for number, message in enumerate(value, start=1)
    )


def read_question(
    value: object, resolve: Callable[[str], str] = lambda text: text
) -> tuple[ChatMessage, ...]:
    """Return the messages of an input: as `read_chat`, but images without text get a text.

    As in inspect_ai, the text of a user's message without words is then "[image]", once for each
    part.
    """
    return tuple(
        replace(message, text=" ".join(f"[{part}]" for part in message.media))
        if message.role == "user" and not message.text
        else message
        for message in read_chat(value, resolve)
    )


def looks_like_chat(value: object) -> bool:
    """Return whether a value is a list of objects that each have a role."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and isinstance(item.get("role"), str) for item in value)
    )


def user_texts(value: object) -> list[str] | None:
    """Return the texts of the user's messages in a value of a log; None if it is no text or chat.

    A chat is a list of messages, or that as JSON text, in the form of chat services (`content`) or
    of OpenTelemetry (`parts`). Messages that cannot be read are skipped.
    """
    if isinstance(value, str):
        try:
            chat = json.loads(value) if value.lstrip().startswith("[") else None
        except (ValueError, RecursionError):
            chat = None
        if not looks_like_chat(chat):
            return [value]
        value = chat
    if not isinstance(value, list) or not looks_like_chat(value):
        return None
    contents = (
        message.get("content", message.get("parts"))
        for message in value
        if _ROLES.get(message["role"]) == "user" or message["role"] == "human"
    )
    return [text for content in contents if (text := text_of_content(content, str))]


def last_of_user(messages: tuple[ChatMessage, ...]) -> ChatMessage | None:
    """Return the user's last message, or None if no message is the user's."""
    return next((message for message in reversed(messages) if message.role == "user"), None)


def last_user_text(messages: tuple[ChatMessage, ...]) -> str:
    """Return the user's last message. Raises ValueError if there is none, or not only text."""
    last = last_of_user(messages)
    if last is None:
        raise ValueError("no message in this list is the user's")
    if last.media:
        raise ValueError(f"the user's last message holds {last.media[0]!r:.40}, not only text")
    return last.text


def _message(number: int, value: object, resolve: Callable[[str], str]) -> ChatMessage:
    name = f"message {number}"
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not an object with role and content")
    role = value.get("role")
    if not isinstance(role, str):
        raise ValueError(f"{name} has no role")
    if role not in _ROLES:
        raise ValueError(f"{name} has the unknown role {role!r:.40}")
    calls = value.get("tool_calls")
    if not isinstance(calls, list | None):
        raise ValueError(f"{name} has tool calls that are not a list")
    content = value.get("content")
    text = text_of_content(content, resolve)
    if text is None:
        if content is not None:
            raise ValueError(f"{name} has a content that is neither text nor a list of parts")
        if not calls:
            raise ValueError(f"{name} has no content")
    parts = content if isinstance(content, list) else []
    types = [part.get("type") for part in parts if isinstance(part, dict)]
    function = value.get("function") or value.get("name")
    error = value.get("error")
    problem = error.get("message") if isinstance(error, dict) else error
    return ChatMessage(
        _ROLES[role],
        text or "",
        tool_calls=tuple(_tool_call(name, call) for call in calls or ()),
        function=function if _ROLES[role] == "tool" and isinstance(function, str) else None,
        error=problem if isinstance(problem, str) and problem else None,
        media=tuple(kind for kind in types if isinstance(kind, str) and kind != "text"),
    )


def text_of_content(content: object, resolve: Callable[[str], str]) -> str | None:
    """Return the texts of a message's content, without images, thoughts and the like.

    None if it is no content: neither text nor a list of parts. `resolve` is as in `read_chat`.
    """
    if isinstance(content, str):
        return resolve(content)
    if not isinstance(content, list) or not all(isinstance(part, str | dict) for part in content):
        return None
    texts = [
        part if isinstance(part, str) else part.get("text", part.get("content"))
        for part in content
        if isinstance(part, str) or part.get("type") == "text"
    ]
    return "\n".join(resolve(text) for text in texts if isinstance(text, str))


def _tool_call(name: str, call: object) -> ChatToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    # Services nest the name and encode the arguments as text; inspect_ai does neither.
    named = function if isinstance(function, dict) else call
    title = function.get("name") if isinstance(function, dict) else function
    if not isinstance(named, dict) or not isinstance(title, str):
        raise ValueError(f"{name} has a tool call without the name of a function")
    arguments = named.get("arguments") or {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {"arguments": arguments}
    return ChatToolCall(
        title, arguments if isinstance(arguments, dict) else {"arguments": arguments}
    )
