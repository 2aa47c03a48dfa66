"""Public credentials of the sandbox: one API key, one OAuth client, and its tokens."""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import Any

from guardtui.sandbox.clock import SandboxClock
from guardtui.sandbox.replies import RefusedError, SandboxReply, SandboxRequest
from guardtui.sandbox.tenant import TSG

API_KEY = "sandbox-key"
CLIENT = "sandbox"
SECRET = "sandbox"  # noqa: S105 - public on purpose
LIFETIME = 899
"""Lifetime of a management token, in seconds."""

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_MAX_TOKENS = 10_000


class IssuedTokens:
    """Issues tokens and checks their validity."""

    def __init__(self, clock: SandboxClock) -> None:
        self._clock = clock
        self._management: dict[str, float] = {}
        self._scan: dict[str, float] = {}

    def management_token(self, request: SandboxRequest) -> SandboxReply:
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
        token = self._new(self._management, LIFETIME)
        content = {
            "access_token": token,
            "expires_in": LIFETIME,
            "token_type": "Bearer",
            "scope": scope,
        }
        return SandboxReply(content)

    def scan_token(self, request: SandboxRequest) -> SandboxReply:
        """Issue a bearer token for the scan API; `expires_in` is a text, as in the service."""
        body = request.content if isinstance(request.content, dict) else {}
        if body.get("client_id") != CLIENT:
            raise RefusedError(400, detail=f"client_id must be {CLIENT}")
        unit = request.query.get("tokenTtlUnit", "hour").lower().removesuffix("s")
        interval = request.query.get("tokenTtlInterval", "1")
        if unit not in _UNITS or not interval.isdigit() or not 0 < int(interval) <= 100_000:
            raise RefusedError(400, detail="tokenTtlInterval or tokenTtlUnit is invalid")
        seconds = int(interval) * _UNITS[unit]
        content = {
            "access_token": self._new(self._scan, seconds),
            "expires_in": str(seconds),
            "token_type": "BearerToken",
            "issued_at": str(int(self._clock.now() * 1000)),
            "client_id": CLIENT,
            "status": "approved",
        }
        return SandboxReply(content)

    def end_scan_token(self, request: SandboxRequest) -> SandboxReply:
        """Make a scan token invalid."""
        body = request.content if isinstance(request.content, dict) else {}
        token = request.query.get("token") or body.get("token")
        if self._scan.pop(str(token), None) is None:
            raise RefusedError(404, detail="unknown token")
        return SandboxReply("the token is no longer valid")

    def require_management(self, request: SandboxRequest) -> None:
        """Raise `RefusedError` (401, or 403 for another tenant's path) without a valid token."""
        if not self._valid(self._management, request):
            raise RefusedError(401, detail="Unauthorized: no valid access token")
        if request.parameters.get("tsg", TSG) != TSG:
            raise RefusedError(403, detail=f"the token is for the TSG {TSG}")

    def require_scan(self, request: SandboxRequest) -> None:
        """Raise `RefusedError`: 401 without a credential or a valid token, 403 for a wrong key."""
        key = request.headers.get("x-pan-token")
        if key is not None:
            if key != API_KEY:
                raise RefusedError(403)
        elif not self._valid(self._scan, request):
            raise RefusedError(401)

    def _new(self, tokens: dict[str, float], seconds: float) -> str:
        now = self._clock.now()
        if len(tokens) >= _MAX_TOKENS:
            for old in [token for token, end in tokens.items() if end <= now] or [
                next(iter(tokens))
            ]:
                del tokens[old]
        token = secrets.token_urlsafe(32)
        tokens[token] = now + seconds
        return token

    def _valid(self, tokens: dict[str, float], request: SandboxRequest) -> bool:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        end: Any = tokens.get(token.strip())
        return kind.lower() == "bearer" and end is not None and self._clock.now() < end
