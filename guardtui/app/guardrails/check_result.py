"""Result of one check of the installation or a service."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

BAD = ("missing", "failed")
"""States that prevent work."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of a check.

    `state` is `ok`, `warning` (works, with limits), `missing` or `failed` (present, but unusable).
    """

    name: str
    state: str
    value: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class CheckResults:
    """Results of checks; `ok` unless something is missing or failed."""

    ok: bool
    facts: tuple[CheckResult, ...]

    @classmethod
    def of(cls, facts: Iterable[CheckResult]) -> CheckResults:
        """Return the results."""
        results = tuple(facts)
        return cls(all(fact.state not in BAD for fact in results), results)
