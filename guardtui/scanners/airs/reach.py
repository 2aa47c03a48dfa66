"""Whether an address answers at all, and what time it has there: asked without any key."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

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

    dates: list[str] = []

    class Dated(RemoteClient):
        async def _received(self, client: Any, call: Any) -> tuple[int, dict[str, str], bytes]:
            status, headers, body = await super()._received(client, call)
            dates.append(headers.get("date", ""))
            return status, headers, body

    begun, wall = clock.now(), clock.wall()
    async with Dated(endpoint, retries=ONCE, timeout=timeout, largest=2**20, clock=clock) as client:
        try:
            await client.request("GET")
        except ServiceError as error:
            if error.kind in _UNANSWERED:
                raise
    seconds = clock.now() - begun
    there = _time(dates[-1] if dates else "")
    return Contact(seconds, None if there is None else there + _HALF - (wall + seconds / 2))


def _time(text: str) -> float | None:
    """Seconds since 1970; None for what is no date."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
