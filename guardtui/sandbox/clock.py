"""The sandbox's time, which can be moved ahead, so that nobody has to wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime


class Clock:
    """Seconds since 1970 by `source`, and what `advance` added."""

    def __init__(self, source: Callable[[], float] = time.time) -> None:
        self._source = source
        self._ahead = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return self._source() + self._ahead

    def advance(self, seconds: float) -> None:
        """Let that much time pass at once."""
        self._ahead += seconds

    def stamp(self) -> str:
        """The time as RFC 3339 with whole seconds."""
        return datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
