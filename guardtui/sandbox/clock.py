"""Clock of the sandbox, which can be advanced to avoid waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime


class SandboxClock:
    """Seconds since 1970 from `source`, plus the seconds added by `advance`."""

    def __init__(self, source: Callable[[], float] = time.time) -> None:
        self._source = source
        self._ahead = 0.0

    def now(self) -> float:
        """Return seconds since 1970."""
        return self._source() + self._ahead

    def advance(self, seconds: float) -> None:
        """Move the clock ahead."""
        self._ahead += seconds

    def stamp(self) -> str:
        """Return the time as RFC 3339 with whole seconds."""
        return datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
