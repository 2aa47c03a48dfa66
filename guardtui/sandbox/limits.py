"""Rate limits like those of the service: a number of requests in a rolling time span."""

from __future__ import annotations

from collections import deque


class RollingLimit:
    """Counts requests within the last `span` seconds."""

    def __init__(self, span: float) -> None:
        self._span = span
        self._times: deque[float] = deque()

    def take(self, limit: int, now: float) -> float:
        """Count a request and return 0, or return the seconds until a request is allowed.

        A `limit` of 0 means no limit.
        """
        if limit <= 0:
            self._times.clear()
            return 0.0
        while self._times and self._times[0] <= now - self._span:
            self._times.popleft()
        if len(self._times) >= limit:
            return self._times[-limit] + self._span - now
        self._times.append(now)
        return 0.0
