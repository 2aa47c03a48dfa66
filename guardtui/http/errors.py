"""The error of remote calls: typed, with a short, inert message without keys."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_text, shortened
from guardtui.http.secret import LONGEST, Secret, redacted

LONGEST_MESSAGE = 300


class ErrorKind(Enum):
    """Kinds of failure that callers may distinguish."""

    UNREACHABLE = "unreachable"
    """No connection: nothing was sent."""
    BROKEN = "broken connection"
    """The connection ended, or the response was not HTTP: the service may have processed it."""
    TIMEOUT = "timeout"
    """No complete response in time: the service may have processed the request."""
    LIMITED = "limited"
    """429: too many requests, or a quota is used up. The service did nothing."""
    CREDENTIALS = "credentials"
    """401 and 403."""
    REQUEST = "request"
    """Any other 4xx: the service rejects this request."""
    SERVER = "server"
    """5xx."""
    REDIRECT = "redirect"
    """3xx, which is never followed."""
    SIZE = "size"
    """The response is larger than allowed."""
    CONTENT = "content"
    """The response is not the expected JSON."""
    BUDGET = "budget"
    """The caller's own spending limit was reached: nothing was sent."""
    FAULT = "fault"
    """An error of the caller's own code, not of the service."""


class ServiceError(GuardtuiError):
    """A remote call failed; `message` is one short line, safe to show anywhere.

    `status` is the HTTP status, if any. `retry_after` is the wait in seconds requested by the
    service. `final` is True if a retry is pointless. `attempts` counts how often it was sent.
    `secrets` are removed from the message, and not stored. `data` is the JSON of the response, for
    programs and not to be shown; None if it is large or contains a secret.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        final: bool = False,
        attempts: int = 1,
        secrets: Iterable[Secret] = (),
        data: Any = None,
    ) -> None:
        self.data = data
        self.kind, self.status, self.retry_after = kind, status, retry_after
        self.message, self.final, self.attempts = inert(message, secrets), final, attempts
        super().__init__(self.message)

    def __repr__(self) -> str:
        return f"ServiceError({self.kind.name}, {self.message!r}, status={self.status})"


def inert(text: str, secrets: Iterable[Secret] = (), *, characters: int = LONGEST_MESSAGE) -> str:
    """Return the start of a foreign text as one line without secrets or hidden characters.

    A text of more than so many characters is `shortened`.
    """
    # First cut far enough to include a whole secret, so that no part of one is left at the end.
    text = redacted(text[: 4 * LONGEST_MESSAGE + 3 * LONGEST], secrets)
    text = " ".join(text[: 4 * LONGEST_MESSAGE].split())
    return shortened(display_text(text), characters)
