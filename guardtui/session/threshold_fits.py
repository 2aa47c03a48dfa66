"""The fitted threshold that a session keeps among its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from guardtui.domain.operating_point import SHIPPED, ThresholdFit, Wanted
from guardtui.session.recorded import has_session
from guardtui.session.store import SessionStore

FIT = "threshold_fit"
"""Key of the fit among a session's settings."""


def read_fit(settings: Mapping[str, Any]) -> ThresholdFit | None:
    """Return the fit that a session's settings hold; None where there is none, or it is damaged."""
    kept = settings.get(FIT)
    if not isinstance(kept, dict):
        return None
    try:
        return ThresholdFit(
            threshold=_share(kept["threshold"]),
            shipped=_share(kept["shipped"]),
            labels=int(kept["labels"]),
            coverage=_share(kept["coverage"]),
            held_out=_share(kept["held_out"]),
            folds=tuple(map(_share, kept["folds"])),
            engine=str(kept["engine"]),
            prompt_set=str(kept["prompt_set"]),
            prompts=str(kept["prompts"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def write_fit(fit: ThresholdFit) -> dict[str, Any]:
    """Return the fit as a part of a session's settings; it takes the place of what was set."""
    return {FIT: asdict(fit), "threshold": None, "threshold_source": ""}


def wanted_threshold(settings: Mapping[str, Any]) -> Wanted:
    """Return the threshold that was chosen in a session: one set by hand, or the shipped one."""
    value = settings.get("threshold")
    if isinstance(value, float) and 0 < value < 1:
        return value
    return SHIPPED if settings.get("threshold_source") == SHIPPED else None


def fit_of_session(topic_path: Path) -> ThresholdFit | None:
    """Return the fit of a topic file's session, without making one. Raises StoreError."""
    if not has_session(topic_path):
        return None
    return read_fit(SessionStore(topic_path, reading=True).settings())


def _share(value: Any) -> float:
    number = float(value)
    if not 0 <= number <= 1:
        raise ValueError(f"{number} is not from 0 to 1")
    return number
