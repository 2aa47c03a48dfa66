"""State of the results table in a session: widths of columns and filter history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

COLUMNS, HISTORY = "results_columns", "filter_history"
"""Names of the two values in a session's settings."""

LINE_LENGTH = 2000
HISTORY_LENGTH = 50


def read_widths(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the cells of resized columns by key; damaged entries are skipped."""
    columns = settings.get(COLUMNS)
    entries = [entry for entry in _list(columns) if isinstance(entry, dict)]
    return {
        key: width
        for key, width in ((entry.get("key"), entry.get("width")) for entry in entries)
        if isinstance(key, str) and type(width) is int
    }


def read_lines(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the filter history, oldest line first; damaged entries are skipped."""
    lines = [
        line
        for line in _list(settings.get(HISTORY))
        if isinstance(line, str) and 0 < len(line) <= LINE_LENGTH and _encodable(line)
    ]
    return tuple(lines[-HISTORY_LENGTH:])


def write_widths(widths: Mapping[str, int]) -> dict[str, Any]:
    """Return the cells of resized columns as a change of a session's settings."""
    return {COLUMNS: [{"key": key, "width": width} for key, width in widths.items()]}


def write_lines(lines: Iterable[str]) -> dict[str, Any]:
    """Return filter lines, oldest first, as a change of a session's settings."""
    return {HISTORY: [line for line in lines if len(line) <= LINE_LENGTH]}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
