"""Options of every scanner that calls models: where the model is, and what limits the cost."""

from __future__ import annotations

from guardtui.scanners.options import Kind, ScannerOption

MODEL = ScannerOption(
    "--model",
    "models",
    "A model that judges; several vote. Its key: GUARDTUI_MODEL_KEY (of several addresses: "
    "GUARDTUI_MODEL_KEYS). A decision endpoint is one model.",
    "URL#NAME",
    repeated=True,
)
ALLOW_HTTP = ScannerOption(
    "--allow-http",
    "allow_http",
    "Allow plain http:// for model endpoints on other machines.",
    kind=Kind.FLAG,
)

BUDGET = (
    ScannerOption(
        "--budget",
        "budget",
        "Money that the models may cost; the run ends before it is passed.",
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
)
"""What limits the cost of a run."""
