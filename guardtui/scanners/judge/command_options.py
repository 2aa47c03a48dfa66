"""Options of the judge: its models, how they judge, and what limits the cost."""

from __future__ import annotations

from guardtui.scanners.options import CONCURRENCY, FRESH, RATE, RETRIES, Kind, ScannerOption

MODELS = (
    ScannerOption(
        "--model",
        "models",
        "A model that judges; several vote. Its key: GUARDTUI_MODEL_KEY (of several addresses: "
        "GUARDTUI_MODEL_KEYS).",
        "URL#NAME",
        repeated=True,
    ),
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
    ScannerOption(
        "--allow-http",
        "allow_http",
        "Allow plain http:// for model endpoints on other machines.",
        kind=Kind.FLAG,
    ),
)
"""What names models and how they judge."""

BUDGET = (
    ScannerOption(
        "--budget",
        "budget",
        "Money that the judge may cost; the run ends before it is passed.",
        "X",
        Kind.AMOUNT,
    ),
    ScannerOption(
        "--price-in",
        "price_in",
        "Price of a million tokens that a model is sent.",
        "X",
        Kind.PRICE,
    ),
    ScannerOption(
        "--price-out",
        "price_out",
        "Price of a million tokens that a model answers.",
        "X",
        Kind.PRICE,
    ),
    ScannerOption(
        "--max-tokens",
        "max_tokens",
        "Tokens of the whole run; it ends before they are passed.",
        "N",
        Kind.INTEGER,
        1,
    ),
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
