"""Request, reply and refusal, as the modules of the sandbox exchange them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from guardtui.domain.errors import GuardtuiError


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """A parsed request. `parameters` are the named parts of its path.

    Names of `headers` are case-insensitive; `content` is the JSON or form of the body.
    """

    endpoint: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: Any = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class SandboxReply:
    """A reply whose `content` becomes JSON; None is an empty body.

    `prompts` are the keys of the prompts whose verdicts it contains.
    """

    content: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    prompts: tuple[bytes, ...] = ()


class RefusedError(GuardtuiError):
    """A request is answered with an error; `extra` is added to the body.

    `detail` explains the error to a developer, besides the service's own message.
    """

    def __init__(
        self, status: int, message: str = "", detail: str = "", extra: dict[str, Any] | None = None
    ) -> None:
        self.status = status
        self.message = message or CANONICAL.get(status, "Internal error")
        self.detail = detail
        self.extra = extra or {}
        super().__init__(self.detail or self.message)


CANONICAL = {
    400: "Request data is invalid or malformed",
    401: "Not Authenticated",
    403: "Invalid API Key",
    404: "Resource is not found",
    405: "The method is not allowed",
    413: "The request body is too large",
    415: "The media type is not supported",
    429: "Request exceeds limit",
    500: "Internal server error",
    502: "Bad gateway",
    503: "Service unavailable",
    504: "Gateway timeout",
}
"""Message of the scan service for each status."""


def error_reply(group: str, refused: RefusedError) -> SandboxReply:
    """Return the error in the format of its API: scan, decision, token, or else management."""
    content: dict[str, Any]
    if group in ("scan", "decision"):
        content = {"error": {"message": refused.message}}
        if refused.detail:
            content["error"]["detail"] = refused.detail
    elif group == "token":
        kind = "invalid_client" if refused.status == 401 else "invalid_request"
        content = {"error": kind, "error_description": refused.detail or refused.message}
    else:
        content = {
            "status_code": refused.status,
            "error_message": refused.detail or refused.message,
        }
    return SandboxReply(content | refused.extra, refused.status)
