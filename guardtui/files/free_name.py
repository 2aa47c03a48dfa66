"""Names of files that do not stand in a folder yet, so that nothing is written over."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path


def names_in(folder: Path) -> frozenset[str]:
    """Names of all that stands in a folder, as `free_name` takes them; none if it is unreadable."""
    try:
        return frozenset(name.casefold() for name in os.listdir(folder))  # noqa: PTH208
    except (OSError, ValueError):
        return frozenset()


def free_name(stem: str, ending: str, taken: Collection[str]) -> str:
    """`stem.ending`, or the first of `stem-2.ending`, `stem-3.ending` … that is not taken.

    `taken` are names from `names_in`: file systems differ in whether letters' case counts.
    """
    name, number = f"{stem}.{ending}", 1
    while name.casefold() in taken:
        number += 1
        name = f"{stem}-{number}.{ending}"
    return name
