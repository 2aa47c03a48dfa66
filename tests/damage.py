"""Damaged copies of files: bytes that a disk or another program changed."""

from __future__ import annotations

import random
from collections.abc import Iterator

from hypothesis import settings


def changed_bytes(content: bytes, number: int) -> Iterator[bytes]:
    """Yield copies of the content with up to three changed bytes, often in its first pages."""
    chance = random.Random(20261126)
    for _ in range(number):
        changed = bytearray(content)
        for _ in range(chance.choice((1, 1, 3))):
            position = chance.randrange(chance.choice((100, 4096, len(changed))))
            flipped = changed[position] ^ (1 << chance.randrange(8))
            changed[position] = chance.choice((flipped, flipped, 0, 255))
        yield bytes(changed)


def is_exhaustive() -> bool:
    """Return whether this is the exhaustive stage."""
    return settings.get_current_profile_name() == "exhaustive"
