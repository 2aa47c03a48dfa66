"""What has been asked and answered: by endpoint and status, and how often each prompt."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

SCHEMA_VERSION = 1


def prompt_key(profile: str, text: str) -> bytes:
    """Eight bytes that name a prompt scanned against a profile."""
    named = f"{profile}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(named, digest_size=8).digest()


class Stats:
    """Counts since the start or the last reset. Of a prompt only a hash is kept."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.reset()

    def reset(self) -> None:
        """Begin anew; what is in flight stays counted as such."""
        self._answers: dict[str, Counter[str]] = {}
        self._asked: Counter[bytes] = Counter()
        self._delivered: Counter[bytes] = Counter()
        self._most_in_flight = self.in_flight

    def arrived(self) -> None:
        """A request has come."""
        self.in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self.in_flight)

    def left(self) -> None:
        """A request is done with, whatever became of it."""
        self.in_flight -= 1

    def answered(self, endpoint: str, outcome: str) -> None:
        """What became of a request: a status, or what the client saw instead (`reset`)."""
        self._answers.setdefault(endpoint, Counter())[outcome] += 1

    def asked(self, key: bytes) -> None:
        """A prompt was sent to be judged."""
        self._asked[key] += 1

    def delivered(self, key: bytes) -> None:
        """A prompt's verdict was sent, or its batch accepted."""
        self._delivered[key] += 1

    def shown(self) -> dict[str, Any]:
        """All counts. `times` says how many prompts came once, twice and so on."""
        return {
            "schema_version": SCHEMA_VERSION,
            "requests": sum(sum(one.values()) for one in self._answers.values()),
            "endpoints": {
                name: dict(sorted(counts.items())) for name, counts in sorted(self._answers.items())
            },
            "in_flight": self.in_flight,
            "most_in_flight": self._most_in_flight,
            "prompts": {"asked": _summary(self._asked), "delivered": _summary(self._delivered)},
        }

    def of_prompt(self, key: bytes) -> dict[str, int]:
        """How often one prompt was asked and answered."""
        return {"asked": self._asked[key], "delivered": self._delivered[key]}


def _summary(counts: Counter[bytes]) -> dict[str, Any]:
    total, distinct = counts.total(), len(counts)
    return {
        "total": total,
        "distinct": distinct,
        "duplicates": total - distinct,
        "times": {str(n): k for n, k in sorted(Counter(counts.values()).items())},
    }
