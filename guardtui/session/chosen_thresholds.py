"""Thresholds in a session's settings: the one chosen for the engine, and a decision model's."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guardtui.domain.guardrail import Guardrail
from guardtui.domain.operating_point import BUILT_IN, Wanted
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore

DECISION = "decision_threshold"
"""Key of a decision model's threshold in a session's settings."""


def read_decision_threshold(settings: Mapping[str, Any], guardrail: Guardrail) -> float | None:
    """Return the threshold set by hand for a decision model in a session's settings.

    None if there is none for this model, or if it is damaged.
    """
    stored = settings.get(DECISION)
    if not isinstance(stored, dict) or _guardrail(stored) != guardrail:
        return None
    value = stored.get("threshold")
    return value if isinstance(value, float) and 0 < value < 1 else None


def write_decision_threshold(threshold: float | None, guardrail: Guardrail) -> dict[str, Any]:
    """Return the threshold of a decision model as a part of a session's settings."""
    stored = {"threshold": threshold, "guardrail": guardrail.to_json()}
    return {DECISION: None if threshold is None else stored}


def _guardrail(stored: dict[str, Any]) -> Guardrail | None:
    with contextlib.suppress(ValueError):
        return Guardrail.from_json(stored.get("guardrail"))
    return None


def wanted_threshold(settings: Mapping[str, Any]) -> Wanted:
    """Return the threshold chosen in a session: set by hand, built-in, or None (fitted)."""
    value = settings.get("threshold")
    if isinstance(value, float) and 0 < value < 1:
        return value
    return BUILT_IN if settings.get("threshold_source") == BUILT_IN else None


def settings_of_session(topic_path: Path) -> Mapping[str, Any]:
    """Return the settings of a topic file's session, without creating one. Raises StoreError."""
    if not has_session(topic_path):
        return {}
    return SessionStore(topic_path, reading=True).settings()
