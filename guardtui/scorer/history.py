"""A conversation as text, for a grader to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pprint import pformat
from textwrap import indent
from typing import Any

_WIDTH = 80
"""Characters from which on a function call is written over several lines."""

_INDENT = " " * 4


def conversation_text(messages: Sequence[Any]) -> str:
    """The messages without system messages, up to the last answer of the assistant.

    The first one's text as it is; each further one with who says it, after a blank line.
    """
    spoken = [message for message in messages if message.role != "system"]
    answers = [place for place, message in enumerate(spoken) if message.role == "assistant"]
    if answers:
        spoken = spoken[: answers[-1] + 1]
    parts = [message.text for message in spoken[:1]]
    parts += [part for part in map(_part, spoken[1:]) if part is not None]
    return "\n\n".join(parts)


def _part(message: Any) -> str | None:
    if message.role == "user":
        return f"User: {message.text}"
    if message.role == "assistant":
        said = [message.text] if message.text else []
        calls = message.tool_calls or []
        said += [function_call(call.function, call.arguments) for call in calls]
        return "Assistant: " + "\n\n".join(said)
    if message.role == "tool":
        return f"Tool ({message.function}): {_error(message)}{message.text}"
    return None


def _error(message: Any) -> str:
    """What went wrong with a tool: a text, or an object that has one as its `message`."""
    error = getattr(message, "error", None)
    return str(getattr(error, "message", error) or "")


def function_call(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as it is written in Python, over several lines when it is long.

    Texts stand between single quotes as they are, containers as `pprint` breaks them.
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
