"""What can go wrong with a remote call: one typed error whose text is short, inert, keyless."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_text
from guardtui.http.secret import LONGEST, Secret, redacted

LONGEST_MESSAGE = 300


class Kind(Enum):
    """What went wrong, as far as a caller may want to tell it apart."""

    UNREACHABLE = "unreachable"
    """No connection: nothing was sent."""
    BROKEN = "broken connection"
    """The connection ended, or what came was no HTTP: the service may have done its work."""
    TIMEOUT = "timeout"
    """No complete answer in time: the service may have done its work."""
    LIMITED = "limited"
    """429: too many requests, or a quota is used up. The service did nothing."""
    CREDENTIALS = "credentials"
    """401 and 403."""
    REQUEST = "request"
    """Any other 4xx: the service does not take this request."""
    SERVER = "server"
    """5xx."""
    REDIRECT = "redirect"
    """3xx, which is never followed."""
    SIZE = "size"
    """The answer is larger than allowed."""
    CONTENT = "content"
    """The answer is not the JSON that was expected."""
    BUDGET = "budget"
    """The caller's own limit on spending has no room for it: nothing was sent."""
    FAULT = "fault"
    """An error of the caller's own code, not of the service."""


class ServiceError(GuardtuiError):
    """A remote call failed. `message` is one short line, safe to show anywhere.

    `status` is that of HTTP, if one came; `retry_after` the seconds the service asked to wait;
    `final` is true when repeating the call cannot help; `attempts` says how often it was sent.
    `secrets` are taken out of the message, and not kept. `data` is the JSON that came with it, for
    programs to look into and not to be shown: None when it is large or holds a secret.
    """

    def __init__(
        self,
        kind: Kind,
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


def inert(text: str, secrets: Iterable[Secret] = ()) -> str:
    """The start of a text that is not ours, as one line without secrets or hidden characters."""
    # Cut behind the longest secret first, so that no half of one is left at the end.
    text = redacted(text[: 4 * LONGEST_MESSAGE + 3 * LONGEST], secrets)
    text = " ".join(text[: 4 * LONGEST_MESSAGE].split())
    shown = display_text(text)
    return shown if len(shown) <= LONGEST_MESSAGE else shown[: LONGEST_MESSAGE - 1] + "…"
