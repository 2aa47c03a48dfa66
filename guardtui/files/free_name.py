"""Unused file names, so that no existing file is overwritten."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path


def names_in(folder: Path) -> frozenset[str]:
    """Return the names in a folder for `free_name`, in folded case; empty if it is unreadable."""
    try:
        return frozenset(name.casefold() for name in os.listdir(folder))  # noqa: PTH208
    except (OSError, ValueError):
        return frozenset()


def free_name(stem: str, ending: str, taken: Collection[str]) -> str:
    """Return `stem.ending`, or the first of `stem-2.ending`, `stem-3.ending` … that is not taken.

    `taken` are names from `names_in`. The comparison ignores case, as some file systems do.
    """
    name, number = f"{stem}.{ending}", 1
    while name.casefold() in taken:
        number += 1
        name = f"{stem}-{number}.{ending}"
    return name
