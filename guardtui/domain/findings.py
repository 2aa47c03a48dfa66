"""Findings about prompts: their severity, and how they are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a prompt set that its author should know; at most 20 lines are listed."""

    severity: Severity
    code: str
    message: str
    lines: tuple[int, ...] = ()


def located(source: str, message: str, lines: Sequence[int]) -> str:
    """Return a finding as a sentence: source with first line, message, further lines."""
    position = f"{source}:{lines[0]}" if lines else source
    further = f" (lines {', '.join(map(str, lines[:10]))})" if len(lines) > 1 else ""
    if len(lines) > 10:
        further = f"{further[:-1]}, …)"
    return f"{position}: {message}{further}"
