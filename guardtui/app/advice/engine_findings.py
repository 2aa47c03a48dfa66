"""Warnings of the engine about a prompt set, and about its own limits on it."""

from __future__ import annotations

from guardtui.advice.near_misses import near_miss_finding
from guardtui.advice.unknown_languages import unknown_language_finding
from guardtui.domain.findings import Finding
from guardtui.domain.prompts import PromptSet
from guardtui.scanners.local.scanner import LocalScanner


def engine_findings(scanner: LocalScanner, prompts: PromptSet) -> tuple[Finding, ...]:
    """Return the warnings about near misses and unknown languages. Blocks.

    Raises ScannerError if the encoder cannot be loaded.
    """
    findings = (
        near_miss_finding(scanner, prompts),
        unknown_language_finding(scanner.encoder_name, prompts),
    )
    return tuple(finding for finding in findings if finding is not None)
