"""Agreement of the engine with a remote guardrail, and the threshold fitted to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guardtui.app.editing.engine import Engine
from guardtui.domain.agreement import Agreement, agreement
from guardtui.domain.comparison import answers_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import remote_name
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.prompts import PromptSet
from guardtui.domain.sweep import LABELS_AT_LEAST
from guardtui.domain.topic import Intent, Topic, describe_changes
from guardtui.domain.verdicts import Triggered, is_answered


@dataclass(frozen=True, eq=False)
class EngineAgreement:
    """Comparison of a scan with the engine on the same definition and prompts.

    The scan comes first in `agreement`. `threshold` is the engine's (a score); `fitted` is a
    threshold fitted to the scan's verdicts, or why it could not be fitted, and `then` the agreement
    at it. `who` is the name of the scanner, and `changes` are those of the definition since, in
    words.
    """

    agreement: Agreement
    threshold: float | None
    fitted: ThresholdFit | str
    then: Agreement | None
    who: str
    changes: tuple[str, ...] = ()


def compare_with_engine(
    engine: Engine, scan: Evaluation, prompts: PromptSet, current: Topic
) -> EngineAgreement:
    """Compare a scan with the engine's verdicts on its definition. Blocks. Raises ScannerError.

    `current` is the definition that is edited now.
    """
    answers = answers_for(scan, prompts.keys)
    by_engine = engine.evaluate_now(scan.topic, prompts)
    verdicts = by_engine.verdicts
    now = agreement(answers, verdicts.triggered)
    blocks = scan.topic.intent is Intent.BLOCK
    # An allow topic triggers on prompts that do not match.
    belongs = (answers == Triggered.YES) == blocks
    fitted = engine.fitted(
        scan.topic, prompts, belongs, is_answered(answers), least=LABELS_AT_LEAST
    )
    forecast_agreement = None
    if isinstance(fitted, ThresholdFit):
        matches = verdicts.score >= np.float32(fitted.threshold)
        forecast_agreement = agreement(answers, (matches == blocks).astype(np.int8))
    return EngineAgreement(
        now,
        by_engine.settings.threshold,
        fitted,
        forecast_agreement,
        remote_name(scan.settings.kind),
        tuple(describe_changes(scan.topic, current)),
    )
