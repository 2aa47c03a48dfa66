"""OAuth tokens for the management API: one refresh for all callers, before the old one expires."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ServiceError, inert
from guardtui.http.secret import Secret, basic
from guardtui.scanners.airs.credentials import ManagementAccess
from guardtui.scanners.airs.errors import reworded, unusable

if TYPE_CHECKING:
    from guardtui.http.client import RemoteClient

LIFETIME = 900.0
"""Lifetime of a token in seconds if the service does not report it."""
_LONGEST = 86_400.0
_MARGIN = 60.0
"""Seconds before its end from which a token is not used; at most half of its lifetime."""


class AccessTokens:
    """Provides a valid token. Belongs to one event loop; close it when done."""

    def __init__(
        self, account: ManagementAccess, *, client: RemoteClient | None = None, clock: Clock = CLOCK
    ) -> None:
        if client is None:
            from guardtui.http.client import RemoteClient

            client = RemoteClient(account.token_endpoint, timeout=30.0, clock=clock)
        self._account, self._client, self._clock = account, client, clock
        self._token: Secret | None = None
        self._until = -math.inf
        self._refresh: asyncio.Task[Secret] | None = None

    async def get(self) -> Secret:
        """Return a token that stays valid for a while. Raises ServiceError.

        Concurrent callers share one request and its failure; cancelling a caller does not cancel
        the request.
        """
        if self._token is not None and self._clock.now() < self._until:
            return self._token
        if self._refresh is None:
            self._refresh = asyncio.create_task(self._fetch())
            self._refresh.add_done_callback(self._fetched)
        return await asyncio.shield(self._refresh)

    def drop(self, token: Secret) -> None:
        """Discard a rejected token: the next caller gets a new one."""
        if token == self._token:
            self._token, self._until = None, -math.inf

    async def aclose(self) -> None:
        """Cancel a request in progress, and close the connection."""
        if self._refresh is not None:
            self._refresh.cancel()
            await asyncio.gather(self._refresh, return_exceptions=True)
        await self._client.aclose()

    def _fetched(self, task: asyncio.Task[Secret]) -> None:
        self._refresh = None
        if not task.cancelled():
            task.exception()  # mark it as retrieved, in case all callers were cancelled

    async def _fetch(self) -> Secret:
        account = self._account
        form = {"grant_type": "client_credentials", "scope": f"tsg_id:{account.tsg_id}"}
        sent_at = self._clock.now()
        try:
            reply = await self._client.request(
                "POST", form=form, credential=basic(account.client_id, account.client_secret)
            )
        except ServiceError as error:
            raise _explained(error, account) from None
        data = reply.data if isinstance(reply.data, dict) else {}
        text = data.get("access_token")
        try:
            token = Secret(text if isinstance(text, str) else "", "the access token")
        except ValueError as error:
            raise unusable(f"the token service sent no valid token ({error})") from None
        lifetime = _lifetime(data.get("expires_in"))
        self._token = token
        # Counted from the request: the service started the lifetime later.
        self._until = sent_at + lifetime - min(_MARGIN, lifetime / 2)
        return token


def _lifetime(value: object) -> float:
    """Return seconds; the service sends a number or a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return LIFETIME
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return LIFETIME
    return min(seconds, _LONGEST) if seconds > 0 else LIFETIME


def _explained(error: ServiceError, account: ManagementAccess) -> ServiceError:
    if error.status not in (400, 401, 403):
        return reworded(error, f"no access token: {error.message}")
    message = (
        f"the service account was rejected ({error.message[:80]}): check client id, client "
        f"secret, and that the account belongs to the TSG {inert(account.tsg_id)}"
    )
    return reworded(error, message)
