"""Thresholds in a session's settings: the one chosen for the engine, and a decision model's."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guardtui.domain.guardrail import Guardrail
from guardtui.domain.operating_point import SHIPPED, ThresholdFit, Wanted
from guardtui.session.report_reader import has_session
from guardtui.session.store import SessionStore

DECISION = "decision_threshold"
"""Key of a decision model's threshold in a session's settings."""


def read_decision_threshold(
    settings: Mapping[str, Any], guardrail: Guardrail
) -> ThresholdFit | float | None:
    """Return the fit, or the threshold set by hand, of a decision model in a session's settings.

    None if there is none for this model, or if it is damaged.
    """
    stored = settings.get(DECISION)
    if not isinstance(stored, dict) or _guardrail(stored) != guardrail:
        return None
    if "labels" in stored:
        return read_fit(settings)
    value = stored.get("threshold")
    return value if isinstance(value, float) and 0 < value < 1 else None


def _guardrail(stored: dict[str, Any]) -> Guardrail | None:
    with contextlib.suppress(ValueError):
        return Guardrail.from_json(stored.get("guardrail"))
    return None


def write_decision_threshold(
    fit: ThresholdFit | float | None, guardrail: Guardrail
) -> dict[str, Any]:
    """Return the threshold of a decision model as a part of a session's settings."""
    if isinstance(fit, ThresholdFit):
        return {DECISION: fit.to_json()}
    threshold = fit and {"threshold": fit, "guardrail": guardrail.to_json()}
    return {DECISION: threshold}


def read_fit(settings: Mapping[str, Any]) -> ThresholdFit | None:
    """Return the fit of a decision model in a session's settings; None if missing or damaged."""
    return parse_fit(settings.get(DECISION))


def parse_fit(stored: object) -> ThresholdFit | None:
    """Return a fit from the mapping of its fields; None if it is missing or damaged."""
    if not isinstance(stored, dict):
        return None
    try:
        return ThresholdFit(
            threshold=_share(stored["threshold"]),
            shipped=_share(stored["shipped"]),
            labels=int(stored["labels"]),
            coverage=_share(stored["coverage"]),
            held_out=_share(stored["held_out"]),
            folds=tuple(map(_share, stored["folds"])),
            guardrail=Guardrail.from_json(stored["guardrail"]),
            prompt_set=str(stored["prompt_set"]),
            prompts=str(stored["prompts"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def wanted_threshold(settings: Mapping[str, Any]) -> Wanted:
    """Return the threshold chosen in a session: set by hand, shipped, or None (fitted)."""
    value = settings.get("threshold")
    if isinstance(value, float) and 0 < value < 1:
        return value
    return SHIPPED if settings.get("threshold_source") == SHIPPED else None


def settings_of_session(topic_path: Path) -> Mapping[str, Any]:
    """Return the settings of a topic file's session, without creating one. Raises StoreError."""
    if not has_session(topic_path):
        return {}
    return SessionStore(topic_path, reading=True).settings()


def _share(value: Any) -> float:
    number = float(value)
    if not 0 <= number <= 1:
        raise ValueError(f"{number} is not from 0 to 1")
    return number
