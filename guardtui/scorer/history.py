"""Text form of a conversation, for grading models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pprint import pformat
from textwrap import indent
from typing import Any

_WIDTH = 80
"""Function calls of at least this many characters are split over several lines."""

_INDENT = " " * 4


def conversation_text(messages: Sequence[Any]) -> str:
    """Return the messages without system messages, up to the assistant's last answer.

    The first message is its text only; all others name the speaker, after a blank line.
    """
    spoken = [message for message in messages if message.role != "system"]
    answers = [index for index, message in enumerate(spoken) if message.role == "assistant"]
    if answers:
        spoken = spoken[: answers[-1] + 1]
    parts = [message.text for message in spoken[:1]]
    parts += [part for part in map(_part, spoken[1:]) if part is not None]
    return "\n\n".join(parts)


def _part(message: Any) -> str | None:
    if message.role == "user":
        return f"User: {message.text}"
    if message.role == "assistant":
        parts = [message.text] if message.text else []
        calls = message.tool_calls or []
        parts += [function_call(call.function, call.arguments) for call in calls]
        return "Assistant: " + "\n\n".join(parts)
    if message.role == "tool":
        return f"Tool ({message.function}): {_error(message)}{message.text}"
    return None


def _error(message: Any) -> str:
    """Return the error of a tool: a text, or the `message` of an object."""
    error = getattr(message, "error", None)
    return str(getattr(error, "message", error) or "")


def function_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call in Python syntax, on several lines if it is long.

    Texts are in single quotes without escapes; containers are formatted by `pprint`.
    """
    words = [f"{key}={_argument(value)}" for key, value in arguments.items()]
    line = f"{name}({', '.join(words)})"
    if len(line) < _WIDTH:
        return line
    body = indent(",\n".join(words), _INDENT)
    return f"{name}(\n{body}\n)"


def _argument(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    return pformat(value, width=_WIDTH) if isinstance(value, list | tuple | dict) else str(value)
