"""Reachability of an address and its clock offset, checked without a credential."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from guardtui.http.address import Endpoint
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.retries import ONCE

_NO_RESPONSE = frozenset(
    {ErrorKind.UNREACHABLE, ErrorKind.BROKEN, ErrorKind.TIMEOUT, ErrorKind.FAULT}
)
_HALF = 0.5
"""Seconds; the header has whole seconds, rounded down."""


@dataclass(frozen=True, slots=True)
class Contact:
    """A response with any status. `seconds` is its duration.

    `ahead` is the number of seconds by which the server's clock (header Date, RFC 9110) is ahead of
    ours; None without that header.
    """

    seconds: float
    ahead: float | None


async def contact(endpoint: Endpoint, *, timeout: float = 15.0, clock: Clock = CLOCK) -> Contact:
    """Send a request without a credential. Raises ServiceError without a response."""
    from guardtui.http.client import RemoteClient

    start, wall = clock.now(), clock.wall()
    async with RemoteClient(endpoint, retries=ONCE, timeout=timeout, clock=clock) as client:
        try:
            await client.request("GET")
        except ServiceError as error:
            if error.kind in _NO_RESPONSE:
                raise
    seconds = clock.now() - start
    server = _time(client.date)
    return Contact(seconds, None if server is None else server + _HALF - (wall + seconds / 2))


def _time(text: str) -> float | None:
    """Return seconds since 1970; None for an invalid date."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
