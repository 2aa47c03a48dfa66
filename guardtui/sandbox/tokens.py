"""Credentials, which are public: one API key, one OAuth client, and the tokens it can have."""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import Any

from guardtui.sandbox.clock import Clock
from guardtui.sandbox.replies import Asked, RefusedError, Reply
from guardtui.sandbox.tenant import TSG

API_KEY = "sandbox-key"
CLIENT = "sandbox"
SECRET = "sandbox"  # noqa: S105 - public on purpose
LIFETIME = 899
"""Seconds that a management token lives."""

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_TOKENS_KEPT = 10_000


class Tokens:
    """Gives out tokens and knows which are valid by the clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._management: dict[str, float] = {}
        self._scan: dict[str, float] = {}

    def management_token(self, asked: Asked) -> Reply:
        """Client credentials, in a Basic header or in the form, for a token of 899 seconds."""
        form = asked.content if isinstance(asked.content, dict) else {}
        client, secret = form.get("client_id"), form.get("client_secret")
        basic = asked.headers.get("Authorization", "")
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
        return Reply(content)

    def scan_token(self, asked: Asked) -> Reply:
        """A bearer token for the scan API; `expires_in` is a text here, as the service has it."""
        body = asked.content if isinstance(asked.content, dict) else {}
        if body.get("client_id") != CLIENT:
            raise RefusedError(400, detail=f"client_id must be {CLIENT}")
        unit = asked.query.get("tokenTtlUnit", "hour").lower().removesuffix("s")
        interval = asked.query.get("tokenTtlInterval", "1")
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
        return Reply(content)

    def end_scan_token(self, asked: Asked) -> Reply:
        """Make a scan token invalid."""
        body = asked.content if isinstance(asked.content, dict) else {}
        token = asked.query.get("token") or body.get("token")
        if self._scan.pop(str(token), None) is None:
            raise RefusedError(404, detail="there is no such token")
        return Reply("the token is no longer valid")

    def require_management(self, asked: Asked) -> None:
        """Raise `RefusedError` (401, or 403 for another tenant's path) without a valid token."""
        if not self._valid(self._management, asked):
            raise RefusedError(401, detail="Unauthorized: no valid access token")
        if asked.parameters.get("tsg", TSG) != TSG:
            raise RefusedError(403, detail=f"the token is for the TSG {TSG}")

    def require_scan(self, asked: Asked) -> None:
        """Raise `RefusedError`: 401 without a credential or a valid token, 403 for a wrong key."""
        key = asked.headers.get("x-pan-token")
        if key is not None:
            if key != API_KEY:
                raise RefusedError(403)
        elif not self._valid(self._scan, asked):
            raise RefusedError(401)

    def _new(self, tokens: dict[str, float], seconds: float) -> str:
        now = self._clock.now()
        if len(tokens) >= _TOKENS_KEPT:
            for old in [one for one, end in tokens.items() if end <= now] or [next(iter(tokens))]:
                del tokens[old]
        token = secrets.token_urlsafe(32)
        tokens[token] = now + seconds
        return token

    def _valid(self, tokens: dict[str, float], asked: Asked) -> bool:
        kind, _, token = asked.headers.get("Authorization", "").partition(" ")
        end: Any = tokens.get(token.strip())
        return kind.lower() == "bearer" and end is not None and self._clock.now() < end
