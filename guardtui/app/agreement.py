"""Agreement of the embedded engine with a remote guardrail, and the threshold fitted to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guardtui.app.engine import Engine
from guardtui.domain.agreement import Agreement, agreement
from guardtui.domain.comparison import answers_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import remote_name
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.prompts import PromptSet
from guardtui.domain.sweep import LABELS_AT_LEAST
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Triggered, is_answered


@dataclass(frozen=True, eq=False)
class EngineAgreement:
    """Comparison of a scan with the embedded engine on the same definition and prompts.

    The scan comes first in `agreement`. `threshold` is the engine's (a score); `fitted` is a
    threshold fitted to the scan's verdicts, or why it could not be fitted, and `then` the agreement
    at it. `differing` are the prompts with different verdicts and whether the scan triggered; `who`
    is the name of the scanner.
    """

    agreement: Agreement
    threshold: float | None
    fitted: ThresholdFit | str
    then: Agreement | None
    differing: tuple[tuple[bool, str], ...]
    who: str
    changes: tuple[str, ...] = ()
    """Changes of the definition since the scan, in words."""


def compare_with_engine(
    engine: Engine, scan: Evaluation, prompts: PromptSet, *, listed: int, changes: tuple[str, ...]
) -> EngineAgreement:
    """Compare a scan with the engine's verdicts on its definition. Blocks. Raises ScannerError.

    At most `listed` differing prompts are returned.
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
    texts = prompts.prompts
    return EngineAgreement(
        now,
        by_engine.settings.threshold,
        fitted,
        forecast_agreement,
        tuple(
            (bool(answers[row] == Triggered.YES), texts[row])
            for row in now.differ[:listed].tolist()
        ),
        remote_name(scan.settings.kind),
        changes,
    )
