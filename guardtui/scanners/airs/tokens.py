"""OAuth tokens for the management API: one refresh for all who wait, before the old one ends."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ServiceError, inert
from guardtui.http.secret import Secret, basic
from guardtui.scanners.airs.credentials import Management
from guardtui.scanners.airs.errors import reworded, unusable

if TYPE_CHECKING:
    from guardtui.http.client import RemoteClient

LIFETIME = 900.0
"""Seconds that a token lives when the service does not say."""
_LONGEST = 86_400.0
_MARGIN = 60.0
"""Seconds before its end at which a token is not used any more; at most half of its life."""


class Tokens:
    """Gives a valid token. Belongs to one event loop; close it when done."""

    def __init__(
        self, account: Management, *, client: RemoteClient | None = None, clock: Clock = CLOCK
    ) -> None:
        if client is None:
            from guardtui.http.client import RemoteClient

            client = RemoteClient(account.token_endpoint, timeout=30.0, clock=clock)
        self._account, self._client, self._clock = account, client, clock
        self._token: Secret | None = None
        self._until = -math.inf
        self._refresh: asyncio.Task[Secret] | None = None

    async def get(self) -> Secret:
        """A token that is still good for a while. Raises ServiceError.

        Whoever comes while one is being fetched gets that one, or its failure; it goes on when a
        caller is cancelled.
        """
        if self._token is not None and self._clock.now() < self._until:
            return self._token
        if self._refresh is None:
            self._refresh = asyncio.create_task(self._fetch())
            self._refresh.add_done_callback(self._fetched)
        return await asyncio.shield(self._refresh)

    def drop(self, token: Secret) -> None:
        """This token was refused: the next caller gets a new one, unless there is one already."""
        if token == self._token:
            self._token, self._until = None, -math.inf

    async def aclose(self) -> None:
        """Stop fetching, and close the connection."""
        if self._refresh is not None:
            self._refresh.cancel()
            await asyncio.gather(self._refresh, return_exceptions=True)
        await self._client.aclose()

    def _fetched(self, task: asyncio.Task[Secret]) -> None:
        self._refresh = None
        if not task.cancelled():
            task.exception()  # retrieved, should all who waited for it have gone

    async def _fetch(self) -> Secret:
        account = self._account
        form = {"grant_type": "client_credentials", "scope": f"tsg_id:{account.tsg_id}"}
        asked_at = self._clock.now()
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
            raise unusable(f"the token service sent no token ({error})") from None
        lifetime = _lifetime(data.get("expires_in"))
        self._token = token
        # From the moment of asking: the service began to count at some time after it.
        self._until = asked_at + lifetime - min(_MARGIN, lifetime / 2)
        return token


def _lifetime(value: object) -> float:
    """Seconds; the service sends a number in one place and a text in another."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return LIFETIME
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return LIFETIME
    return min(seconds, _LONGEST) if seconds > 0 else LIFETIME


def _explained(error: ServiceError, account: Management) -> ServiceError:
    if error.status not in (400, 401, 403):
        return reworded(error, f"no access token: {error.message}")
    message = (
        f"the service account was not accepted ({error.message[:80]}): check client id, client "
        f"secret, and that the account belongs to the TSG {inert(account.tsg_id)}"
    )
    return reworded(error, message)
