"""Notes on the evaluation of a whole large set, and the metrics of its sample."""

from __future__ import annotations

from guardtui.app.engine import Engine
from guardtui.domain.evaluation import Evaluation, EvaluationKey, ScannerSettings, should_trigger
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import remote_subject
from guardtui.domain.metrics import Metrics, metrics_of
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import outcomes
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


def sample_metrics(
    engine: Engine,
    shown: Evaluation | None,
    topic: Topic,
    prompts: PromptSet,
    settings: ScannerSettings,
) -> Metrics | None:
    """Return the metrics of the sample by the embedded engine, or None if it fails. Blocks."""
    key = EvaluationKey(topic, settings, prompts.fingerprint)
    if shown is not None and shown.key == key and not shown.is_of_a_part:
        return shown.metrics
    try:
        verdicts = engine.verdicts(topic, prompts)
    except ScannerError:
        return None
    duty = should_trigger(prompts.expected, topic.intent)
    return metrics_of(outcomes(duty, verdicts.triggered))
