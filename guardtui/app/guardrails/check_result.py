"""Result of one check of the installation or a service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of a check.

    `state` is `ok`, `warning` (works, with limits), `missing` or `failed` (present, but unusable).
    """

    name: str
    state: str
    value: str
    remedy: str = ""
