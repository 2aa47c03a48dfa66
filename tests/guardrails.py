"""Settings of guardrails for tests, each in a few words."""

from __future__ import annotations

from typing import Any

from guardtui.domain.guardrail import AIRS, DECISION, ENGINE, JUDGE, Guardrail, ScannerSettings


def engine_settings(
    version: str = "1", threshold: float | None = None, source: str = "", **parts: Any
) -> ScannerSettings:
    """The embedded engine at a threshold; `parts` are fields of the guardrail."""
    guardrail = Guardrail(ENGINE, encoder="static", version=version, **parts)
    return ScannerSettings(guardrail, threshold, source)


def airs_settings(profile: str = "prod", revision: str = "", **parts: Any) -> ScannerSettings:
    """A profile of AIRS; `parts` as in `engine_settings`."""
    return ScannerSettings(Guardrail(AIRS, profile=profile, **parts), revision=revision)


def judge_settings(*models: str, template: str = "1a2b", **parts: Any) -> ScannerSettings:
    """A judge, or a panel of judges; `parts` as in `engine_settings`."""
    return ScannerSettings(Guardrail(JUDGE, models=models, template=template, **parts))


def decision_settings(
    model: str = "m", threshold: float | None = None, source: str = "", **parts: Any
) -> ScannerSettings:
    """A decision model at a threshold; `parts` as in `engine_settings`."""
    guardrail = Guardrail(DECISION, models=(model,), **{"template": "1f2e"} | parts)
    return ScannerSettings(guardrail, threshold, source)


def other_settings(
    kind: str, version: str = "", threshold: float | None = None, source: str = ""
) -> ScannerSettings:
    """Another scanner, which names its version."""
    return ScannerSettings(Guardrail(kind, version=version), threshold, source)


def settings_of(
    kind: str, name: str = "made by hand", threshold: float | None = None
) -> ScannerSettings:
    """A guardrail of any kind by one name: of its profile, model or version."""
    if kind == AIRS:
        return ScannerSettings(Guardrail(kind, profile=name), threshold)
    if kind in (JUDGE, DECISION):
        return ScannerSettings(Guardrail(kind, models=(name,)), threshold)
    return ScannerSettings(Guardrail(kind, version=name), threshold)
