"""Evaluation by the embedded engine in the calling thread."""

from __future__ import annotations

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report
from guardtui.scanners.local.scanner import LocalScanner


def evaluate_now(
    scanner: LocalScanner, topic: Topic, prompts: PromptSet, report: Report = lambda progress: None
) -> Evaluation:
    """Evaluate a topic at the threshold of the scanner. Blocks. Raises ScannerError."""
    verdicts = scanner.scan_now(topic, prompts, report)
    assert verdicts is not None  # noqa: S101 - nothing stops it
    return Evaluation(
        topic, scanner.settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
    )
