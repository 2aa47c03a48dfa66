"""Notes on the evaluation of a whole large set, and the metrics of its sample."""

from __future__ import annotations

from guardtui.app.engine import Engine
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import remote_subject
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError


def large_set_notes(remote: str, companions: int) -> list[str]:
    """Return what the figures of a large set do not include.

    `remote` is the name of the remote guardrail that scans the sample, or "".
    """
    notes = []
    if remote:
        who = remote_subject(remote)
        notes.append(f"{who} is not asked: all prompts are judged by the embedded engine only")
    if companions:
        topics = count_text(companions, "other topic")
        notes.append(f"this definition alone, without the {topics} measured together with it")
    return notes


def sample_metrics(engine: Engine, topic: Topic, prompts: PromptSet) -> Metrics | None:
    """Return the metrics of the sample by the embedded engine, or None if it fails. Blocks."""
    try:
        return engine.evaluate_now(topic, prompts).metrics
    except ScannerError:
        return None
