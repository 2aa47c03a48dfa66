"""Guardrails of sessions before schema 8, which named each by a sentence: read once, here only."""

from __future__ import annotations

import json
import re
import sqlite3
from typing import Any

from guardtui.domain.guardrail import (
    AIRS,
    DECISION,
    ENGINE,
    FORECAST,
    JUDGE,
    Companion,
    Guardrail,
    ScannerSettings,
)
from guardtui.domain.topic import Intent
from guardtui.session.stored_json import read_json

_THRESHOLD = "decision_threshold"

_TAIL = re.compile(
    r"(?:, together with (?P<companions>.+?)(?:; default (?P<otherwise>block|allow))?)?"
    r"(?:, (?P<epochs>\d{1,3}) epochs by (?P<reducer>.+))?",
    re.DOTALL,
)
_COMPANION = re.compile(r"(.+?) \((block|allow), ([0-9a-f]{8})\)(?:, |$)", re.DOTALL)
_ENGINE = re.compile(r"(?P<encoder>\w+)-(?P<version>[^,]+)", re.DOTALL)
_AIRS = re.compile(r"airs(?P<sandbox> on this machine)?, profile (?P<profile>.*?)", re.DOTALL)
_JUDGE = re.compile(
    r"judge, (?P<models>.+?)(?: and (?P<more>\d{1,4}) more)?, template (?P<template>[0-9a-f]+)"
    r"(?:, (?P<form>(?!\{|\d+ epochs by ).+?))?(?:, (?P<options>\{.*?))?",
    re.DOTALL,
)
_DECISION = re.compile(
    r"decision, (?P<model>.+?)(?:, answered by (?P<answered_by>.+?))?(?:, (?P<api>systemone))?"
    r", template (?P<template>[0-9a-f]+)",
    re.DOTALL,
)
_PATTERNS = {ENGINE: _ENGINE, AIRS: _AIRS, JUDGE: _JUDGE, DECISION: _DECISION}


def guardrails_to_objects(database: sqlite3.Connection) -> None:
    """Convert the scanners of all iterations and trials, and the thresholds of decision models.

    Values that no guardtui wrote stay as they are.
    """
    for table in ("iteration", "trial"):
        rows = database.execute(f"SELECT rowid, scanner FROM {table}").fetchall()  # noqa: S608 - a constant
        for row, text in rows:
            old = _read(text)
            if old is not None:
                database.execute(
                    f"UPDATE {table} SET scanner = ? WHERE rowid = ?",  # noqa: S608 - a constant
                    (json.dumps(_settings(old).to_json()), row),
                )
    thresholds = database.execute(
        "SELECT rowid, value FROM setting WHERE name = ?", (_THRESHOLD,)
    ).fetchall()
    for row, text in thresholds:
        stored = _mapping(text)
        identity = stored.pop("engine", None)
        if isinstance(identity, str):
            stored["guardrail"] = _guardrail(DECISION, identity).to_json()
            database.execute(
                "UPDATE setting SET value = ? WHERE rowid = ?", (json.dumps(stored), row)
            )


def _mapping(text: Any) -> dict[str, Any]:
    try:
        value = read_json(text)
    except (ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


def _read(text: Any) -> dict[str, Any] | None:
    """Return the stored settings of a scanner, None if they are damaged."""
    old = {"threshold": None, "threshold_source": "", "revision": ""} | _mapping(text)
    names = ("name", "identity", "threshold_source", "revision")
    return old if all(isinstance(old.get(name), str) for name in names) else None


def _settings(old: dict[str, Any]) -> ScannerSettings:
    kind, identity = old["name"], old["identity"]
    is_forecast = kind == FORECAST
    if is_forecast:
        kind = re.split("[, ]", identity, maxsplit=1)[0]
    guardrail = _guardrail(ENGINE if kind == "local" else kind, identity)
    return ScannerSettings(
        guardrail, old["threshold"], old["threshold_source"], old["revision"], is_forecast
    )


def _guardrail(kind: str, identity: str) -> Guardrail:
    """Return the guardrail that a sentence names; its text is the version if it is unusual."""
    pattern = _PATTERNS.get(kind)
    match = pattern and re.fullmatch(pattern.pattern + _TAIL.pattern, identity, re.DOTALL)
    if not match:
        return Guardrail(kind, version=identity)
    stated = {name: value for name, value in match.groupdict().items() if value is not None}
    epochs, companions = int(stated.pop("epochs", 1)), stated.pop("companions", "")
    names = stated.pop("models", stated.pop("model", ""))
    models = tuple(names.split(", ")) if kind == JUDGE else (names,) if names else ()
    # Further models of a panel were counted only.
    models += ("",) * int(stated.pop("more", 0))
    return Guardrail(
        kind,
        sandbox=bool(stated.pop("sandbox", "")),
        models=models,
        companions=tuple(
            Companion(name, Intent(intent), fingerprint)
            for name, intent, fingerprint in _COMPANION.findall(companions)
        ),
        epochs=epochs,
        **stated,
    )
