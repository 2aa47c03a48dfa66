"""Whether an address answers at all, and what time it has there: asked without any key."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from guardtui.http.address import Endpoint
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import Kind, ServiceError
from guardtui.http.retries import ONCE

_UNANSWERED = frozenset({Kind.UNREACHABLE, Kind.BROKEN, Kind.TIMEOUT, Kind.FAULT})
_HALF = 0.5
"""Seconds: the header has whole ones, cut off."""


@dataclass(frozen=True, slots=True)
class Contact:
    """An answer of whatever status. `seconds` is how long it took.

    `ahead` is by how many seconds the clock there is before the one here (the header Date, RFC
    9110); None where it does not say.
    """

    seconds: float
    ahead: float | None


async def contact(endpoint: Endpoint, *, timeout: float = 15.0, clock: Clock = CLOCK) -> Contact:
    """Ask an address for anything, without a credential. Raises ServiceError where none answers."""
    from guardtui.http.client import RemoteClient

    begun, wall = clock.now(), clock.wall()
    async with RemoteClient(endpoint, retries=ONCE, timeout=timeout, clock=clock) as client:
        try:
            await client.request("GET")
        except ServiceError as error:
            if error.kind in _UNANSWERED:
                raise
    seconds = clock.now() - begun
    there = _time(client.date)
    return Contact(seconds, None if there is None else there + _HALF - (wall + seconds / 2))


def _time(text: str) -> float | None:
    """Seconds since 1970; None for what is no date."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
