"""Rate limits as the service has them: so many requests in a rolling span of time."""

from __future__ import annotations

from collections import deque


class RollingLimit:
    """Counts what came within the last `span` seconds."""

    def __init__(self, span: float) -> None:
        self._span = span
        self._times: deque[float] = deque()

    def take(self, limit: int, now: float) -> float:
        """0 when one more is allowed (and counted), or else the seconds until one is.

        A `limit` of 0 allows all.
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
