"""The recent messages of the app, their reading time, and shortening for the message area."""

from __future__ import annotations

import textwrap
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.text import Text

REMEMBERED = 50
"""Messages that can be read again."""

_SHORTEST = 4.0
_READ_PER_SECOND = 15  # characters, at leisure

_SIGNS = {"information": "✓", "warning": "!", "error": "✗"}
_STYLES = {"information": "$text-success", "warning": "$text-warning", "error": "$text-error"}


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """A message as it was shown, inert."""

    message: str
    severity: str = "information"
    title: str = ""
    at: float = field(default_factory=time.time)

    @property
    def line(self) -> str:
        """Title and text."""
        return f"{self.title}: {self.message}" if self.title else self.message


class MessageLog:
    """The last messages, newest first."""

    def __init__(self) -> None:
        self.messages: deque[LoggedMessage] = deque(maxlen=REMEMBERED)

    def add(self, message: LoggedMessage) -> None:
        """Add a message."""
        self.messages.appendleft(message)


def reading_time(text: str) -> float:
    """Return the seconds that a busy reader needs for a text."""
    return max(_SHORTEST, len(text) / _READ_PER_SECOND)


def shortened(text: str, cells: int, most: int, more: str) -> str:
    """Return a text cut to `most` lines of so many cells; a cut text ends with `more`."""
    lines = [
        part for line in text.splitlines() for part in textwrap.wrap(line, max(20, cells)) or [""]
    ]
    if len(lines) <= most:
        return "\n".join(lines)
    last = textwrap.shorten(" ".join(lines[most - 1 :]), max(20, cells), placeholder=f" {more}")
    return "\n".join([*lines[: most - 1], last])


def messages_text(messages: Iterable[LoggedMessage]) -> Text:
    """Return the page of the messages, each with its time of day and a sign for its kind."""
    text = Text()
    for message in messages:
        text.append(f"{time.strftime('%H:%M:%S', time.localtime(message.at))} ", "$text-muted")
        text.append(f"{_SIGNS[message.severity]} ", f"bold {_STYLES[message.severity]}")
        text.append(f"{message.line}\n")
    return text if text else Text("No messages yet.")
