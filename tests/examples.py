"""How many examples Hypothesis tries, by stage."""

from __future__ import annotations

from hypothesis import settings


def up_to(count: int) -> int:
    """Return `count` in the exhaustive stage, and what the profile allows in the others."""
    if settings.get_current_profile_name() == "exhaustive":
        return count
    return min(count, settings().max_examples)
