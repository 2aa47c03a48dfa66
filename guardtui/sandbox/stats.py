"""Counts of requests by endpoint and outcome, and of each prompt."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

SCHEMA_VERSION = 1


def prompt_key(profile: str, text: str) -> bytes:
    """Return eight bytes that identify a prompt scanned against a profile."""
    content = f"{profile}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=8).digest()


class Stats:
    """Counts since the start or the last reset. Prompts are stored only as hashes."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.reset()

    def reset(self) -> None:
        """Clear the counts, except requests in flight."""
        self._answers: dict[str, Counter[str]] = {}
        self._asked: Counter[bytes] = Counter()
        self._delivered: Counter[bytes] = Counter()
        self._most_in_flight = self.in_flight

    def begin_request(self) -> None:
        """Count a request in flight."""
        self.in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self.in_flight)

    def end_request(self) -> None:
        """Count a request as completed, whatever its outcome."""
        self.in_flight -= 1

    def count_outcome(self, endpoint: str, outcome: str) -> None:
        """Count the outcome of a request: a status, or what the client saw instead (`reset`)."""
        self._answers.setdefault(endpoint, Counter())[outcome] += 1

    def count_asked(self, key: bytes) -> None:
        """Count a prompt that was sent."""
        self._asked[key] += 1

    def count_delivered(self, key: bytes) -> None:
        """Count a prompt whose verdict was returned or whose batch was accepted."""
        self._delivered[key] += 1

    def shown(self) -> dict[str, Any]:
        """Return all counts. `times` is the number of prompts sent once, twice and so on."""
        return {
            "schema_version": SCHEMA_VERSION,
            "requests": sum(counts.total() for counts in self._answers.values()),
            "endpoints": {
                name: dict(sorted(counts.items())) for name, counts in sorted(self._answers.items())
            },
            "in_flight": self.in_flight,
            "most_in_flight": self._most_in_flight,
            "prompts": {"asked": _summary(self._asked), "delivered": _summary(self._delivered)},
        }

    def of_prompt(self, key: bytes) -> dict[str, int]:
        """Return how often one prompt was sent and answered."""
        return {"asked": self._asked[key], "delivered": self._delivered[key]}


def _summary(counts: Counter[bytes]) -> dict[str, Any]:
    total, distinct = counts.total(), len(counts)
    return {
        "total": total,
        "distinct": distinct,
        "duplicates": total - distinct,
        "times": {str(n): k for n, k in sorted(Counter(counts.values()).items())},
    }
