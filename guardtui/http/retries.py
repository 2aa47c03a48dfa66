"""Retries of failed calls: whether, and after which wait (full jitter, or as requested)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from guardtui.http.errors import ErrorKind, ServiceError

LONGEST_WAIT = 86_400.0
"""Longer waits requested by a service are reduced to a day (in seconds)."""

TRANSIENT = frozenset(
    {
        ErrorKind.UNREACHABLE,
        ErrorKind.BROKEN,
        ErrorKind.TIMEOUT,
        ErrorKind.LIMITED,
        ErrorKind.SERVER,
    }
)
NOTHING_DONE = frozenset({ErrorKind.UNREACHABLE, ErrorKind.LIMITED})
"""Failures after which the service has certainly not processed the request."""


@dataclass(frozen=True, slots=True)
class Retries:
    """At most `attempts` attempts, none of which starts `total` seconds after the first.

    The wait before attempt n + 1 is uniform between 0 and min(longest, base · 2^(n-1)) seconds:
    "full jitter", M. Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015. A wait
    requested by the service is used instead, in full. Only failures of the kinds `on` that are not
    final are retried.
    """

    attempts: int = 6
    total: float = 300.0
    base: float = 1.0
    longest: float = 30.0
    on: frozenset[ErrorKind] = TRANSIENT

    def wait(self, error: ServiceError, attempt: int, draw: Callable[[], float]) -> float | None:
        """Return the seconds until the attempt after number `attempt` (from 1); None to give up.

        `draw` returns numbers from 0 to 1.
        """
        if error.final or error.kind not in self.on or attempt >= self.attempts:
            return None
        if error.retry_after:
            return error.retry_after
        return draw() * min(self.longest, self.base * 2.0 ** min(attempt - 1, 60))


ONCE = Retries(attempts=1)
UNSENT = Retries(on=NOTHING_DONE)
"""For calls that are unsafe to repeat: retry only if the service certainly did nothing."""

_UNITS = {
    "ms": 0.001, "msec": 0.001, "millisecond": 0.001, "milli": 0.001,
    "": 1.0, "s": 1.0, "sec": 1.0, "second": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0,
    "h": 3600.0, "hr": 3600.0, "hour": 3600.0,
    "d": 86_400.0, "day": 86_400.0,
}  # fmt: skip
_LENGTH = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,9})?)\s*([A-Za-z]{0,12})")


def asked_wait(headers: Mapping[str, str], body: object, wall: float) -> float | None:
    """Return the longest wait requested by a response, in seconds from 0 to a day, or None.

    It may be in the header `Retry-After` (seconds or an HTTP date, which is compared with the
    service's own `Date`, else with `wall`, seconds since 1970), in `retry-after-ms`, and in the
    body as `retry_after` or `error.retry_after`: a number, a text such as "20s", or an object of
    `interval` and `unit`. Unreadable values are ignored. Names of `headers` are in lower case.
    """
    waits = [
        _header(headers, wall),
        _length(headers.get("retry-after-ms"), "ms"),
    ]
    if isinstance(body, dict):
        waits.append(_length(body.get("retry_after")))
        error = body.get("error")
        if isinstance(error, dict):
            waits.append(_length(error.get("retry_after")))
    return max((wait for wait in waits if wait is not None), default=None)


def _header(headers: Mapping[str, str], wall: float) -> float | None:
    text = headers.get("retry-after", "").strip()[:100]
    seconds = _length(text) if text else None
    if seconds is not None or not text:
        return seconds
    date = _date(text)
    since = _date(headers.get("date", "")[:100])
    return None if date is None else _bounded(date - (wall if since is None else since))


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return None


def _length(value: Any, unit: object = "s") -> float | None:
    if isinstance(value, dict):
        return _length(value.get("interval"), value.get("unit", "s"))
    if isinstance(value, str):
        match = _LENGTH.fullmatch(value.strip()[:40])
        if match is None:
            return None
        value, unit = float(match[1]), match[2] or unit
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    name = unit.strip().lower() if isinstance(unit, str) else "?"
    factor = _UNITS.get(name, _UNITS.get(name.removesuffix("s")))
    if factor is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return _bounded(min(value, 10**12) * factor)


def _bounded(seconds: float) -> float:
    return min(max(float(seconds), 0.0), LONGEST_WAIT)
