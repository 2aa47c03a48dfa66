"""Options of all scanners that call models: addresses, and limits of the cost."""

from __future__ import annotations

from guardtui.scanners.options import OptionKind, ScannerOption

MODEL = ScannerOption(
    "--model",
    "models",
    "Address and name of a model; repeat it for several judges, which vote (a decision model: one "
    "only). Key: GUARDTUI_MODEL_KEY; for several addresses GUARDTUI_MODEL_KEYS.",
    "URL#NAME",
    repeated=True,
)
ALLOW_HTTP = ScannerOption(
    "--allow-http",
    "allow_http",
    "Allow plain http:// for model endpoints on other machines.",
    kind=OptionKind.FLAG,
)
WRITER = ScannerOption(
    "--writer",
    "writer",
    "A language model that proposes wordings; called only after you agree (default: the judge).",
    "URL#NAME",
)
"""Not an option of scans."""

BUDGET = (
    ScannerOption(
        "--budget",
        "budget",
        "Maximum cost, in the currency of the prices; the run stops before it exceeds this.",
        "X",
        OptionKind.AMOUNT,
    ),
    ScannerOption(
        "--price-in",
        "price_in",
        "Price of a million input tokens.",
        "X",
        OptionKind.PRICE,
    ),
    ScannerOption(
        "--price-out",
        "price_out",
        "Price of a million output tokens.",
        "X",
        OptionKind.PRICE,
    ),
    ScannerOption(
        "--max-tokens",
        "max_tokens",
        "Maximum tokens of the whole run, which stops before it exceeds them.",
        "N",
        OptionKind.INTEGER,
        1,
    ),
)
"""Options that limit the cost of a run."""
