"""What a check of an installation or a service found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing looked at.

    `state` is `ok`, `warning` (works, but less well), `missing` or `failed` (there, but unusable).
    """

    name: str
    state: str
    value: str
    remedy: str = ""
