"""Options of the judge: models, wording and reading, and limits of the cost."""

from __future__ import annotations

from guardtui.scanners.model_options import ALLOW_HTTP, MODEL
from guardtui.scanners.model_options import BUDGET as COST
from guardtui.scanners.options import CONCURRENCY, FRESH, RATE, RETRIES, OptionKind, ScannerOption

MODELS = (
    MODEL,
    ScannerOption(
        "--judge-template",
        "judge_template",
        "Template of the judge's instructions (see 'guardtui judge-template').",
        "FILE",
        OptionKind.FILE,
    ),
    ScannerOption(
        "--judge-form",
        "judge_form",
        "Form in which the judge answers (default: answer).",
        "answer|graded|pattern:EXPR",
    ),
    ScannerOption(
        "--model-option",
        "model_options",
        "Option sent with every call to a model, such as seed=7 (repeatable).",
        "NAME=JSON",
        repeated=True,
    ),
    ALLOW_HTTP,
)
"""Options for models and how they judge."""

BUDGET = (
    *COST,
    ScannerOption(
        "--answer-tokens",
        "answer_tokens",
        "Maximum tokens of one answer (default: 512).",
        "N",
        OptionKind.INTEGER,
        1,
        100_000,
    ),
)
"""Options that limit the cost of a run."""

OPTIONS = (*MODELS, *BUDGET, CONCURRENCY, RATE, RETRIES, FRESH)
