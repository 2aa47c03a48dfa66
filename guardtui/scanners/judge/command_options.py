"""Options of the judge: its models, how they judge, and what limits the cost."""

from __future__ import annotations

from guardtui.scanners.model_options import ALLOW_HTTP, MODEL
from guardtui.scanners.model_options import BUDGET as COST
from guardtui.scanners.options import CONCURRENCY, FRESH, RATE, RETRIES, Kind, ScannerOption

MODELS = (
    MODEL,
    ScannerOption(
        "--judge-template",
        "judge_template",
        "What the judge is told (see 'guardtui judge-template').",
        "FILE",
        Kind.FILE,
    ),
    ScannerOption(
        "--judge-form",
        "judge_form",
        "How the judge's answer is read (default: answer).",
        "answer|graded|pattern:EXPR",
    ),
    ScannerOption(
        "--model-option",
        "model_options",
        "An option that goes with every call to a model, as seed=7 (repeatable).",
        "NAME=JSON",
        repeated=True,
    ),
    ALLOW_HTTP,
)
"""What names models and how they judge."""

BUDGET = (
    *COST,
    ScannerOption(
        "--answer-tokens",
        "answer_tokens",
        "Tokens that one answer may have (default: 512).",
        "N",
        Kind.INTEGER,
        1,
        100_000,
    ),
)
"""What limits the cost of a run."""

OPTIONS = (*MODELS, *BUDGET, CONCURRENCY, RATE, RETRIES, FRESH)
