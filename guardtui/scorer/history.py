"""A conversation as text, for a grader to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_WIDTH = 80
"""Characters from which on a function call is written over several lines."""


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
    return str(getattr(message, "error", None) or getattr(message, "tool_error", None) or "")


def function_call(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as it is written in Python, over several lines when it is long."""
    words = [f"{key}={value!r}" for key, value in arguments.items()]
    line = f"{name}({', '.join(words)})"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"  {word}," for word in words), ")"])
