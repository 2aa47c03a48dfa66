"""Options of a decision model: where it is, its question and threshold, and its cost."""

from __future__ import annotations

from guardtui.scanners.local.command_options import THRESHOLD
from guardtui.scanners.model_options import ALLOW_HTTP, BUDGET, MODEL
from guardtui.scanners.options import CONCURRENCY, FRESH, RATE, RETRIES, OptionKind, ScannerOption

API = ScannerOption(
    "--api",
    "decision_api",
    "Wire format of a decision model (default: decisions).",
    choices=("decisions", "systemone"),
)
TEMPLATE = ScannerOption(
    "--template",
    "decision_template",
    "Template of the question to a decision model (see 'guardtui decision-template').",
    "FILE",
    OptionKind.FILE,
)
OWN = (API, TEMPLATE)
"""Options only for decision models."""

OPTIONS = (MODEL, *OWN, ALLOW_HTTP, THRESHOLD, *BUDGET, CONCURRENCY, RATE, RETRIES, FRESH)
