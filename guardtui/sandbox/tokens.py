"""Public credentials of the sandbox: one API key, one OAuth client, and its tokens."""

from __future__ import annotations

import base64
import binascii
import math
import secrets

from guardtui.sandbox.clock import SandboxClock
from guardtui.sandbox.replies import RefusedError, SandboxReply, SandboxRequest
from guardtui.sandbox.tenant import TSG

API_KEY = "sandbox-key"
CLIENT = "sandbox"
SECRET = "sandbox"  # noqa: S105 - public on purpose
LIFETIME = 899
"""Lifetime of a management token, in seconds."""


class IssuedTokens:
    """Issues tokens and checks their validity."""

    def __init__(self, clock: SandboxClock) -> None:
        self._clock = clock
        self._ends: dict[str, float] = {}

    def issue(self, request: SandboxRequest) -> SandboxReply:
        """Issue a token of 899 seconds for client credentials in a Basic header or in the form."""
        form = request.content if isinstance(request.content, dict) else {}
        client, secret = form.get("client_id"), form.get("client_secret")
        basic = request.headers.get("Authorization", "")
        if basic.lower().startswith("basic "):
            try:
                pair = base64.b64decode(basic[6:].strip(), validate=True).decode("utf-8")
            except (binascii.Error, UnicodeDecodeError):
                raise RefusedError(401, detail="the Basic credentials cannot be read") from None
            client, _, secret = pair.partition(":")
        if form.get("grant_type") != "client_credentials":
            raise RefusedError(
                400,
                detail="grant_type must be client_credentials",
                extra={"error": "unsupported_grant_type"},
            )
        if (client, secret) != (CLIENT, SECRET):
            raise RefusedError(401, detail="Client authentication failed")
        scope = form.get("scope") or f"tsg_id:{TSG}"
        if f"tsg_id:{TSG}" not in scope.split():
            raise RefusedError(
                400, detail=f"unknown scope: {scope}", extra={"error": "invalid_scope"}
            )
        now = self._clock.now()
        self._ends = {known: end for known, end in self._ends.items() if end > now}
        token = secrets.token_urlsafe(32)
        self._ends[token] = now + LIFETIME
        content = {
            "access_token": token,
            "expires_in": LIFETIME,
            "token_type": "Bearer",
            "scope": scope,
        }
        return SandboxReply(content)

    def require_management(self, request: SandboxRequest) -> None:
        """Raise `RefusedError` (401, or 403 for another tenant's path) without a valid token."""
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        end = self._ends.get(token.strip(), -math.inf)
        if kind.lower() != "bearer" or self._clock.now() >= end:
            raise RefusedError(401, detail="Unauthorized: no valid access token")
        if request.parameters.get("tsg", TSG) != TSG:
            raise RefusedError(403, detail=f"the token is for the TSG {TSG}")


def require_scan_key(request: SandboxRequest) -> None:
    """Raise `RefusedError`: 401 without an API key, 403 for a wrong one."""
    key = request.headers.get("x-pan-token")
    if key != API_KEY:
        raise RefusedError(401 if key is None else 403)
