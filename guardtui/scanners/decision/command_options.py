"""Options of a decision model: where it is, its question and threshold, and its cost."""

from __future__ import annotations

from guardtui.scanners.local.command_options import THRESHOLD
from guardtui.scanners.model_options import ALLOW_HTTP, BUDGET, MODEL
from guardtui.scanners.options import CONCURRENCY, FRESH, RATE, RETRIES, Kind, ScannerOption

API = ScannerOption(
    "--api",
    "decision_api",
    "Wire format of a decision model (default: decisions).",
    choices=("decisions", "systemone"),
)
TEMPLATE = ScannerOption(
    "--template",
    "decision_template",
    "The question that a decision model is asked (see 'guardtui decision-template').",
    "FILE",
    Kind.FILE,
)
OWN = (API, TEMPLATE)
"""What only a decision model takes."""

OPTIONS = (MODEL, *OWN, ALLOW_HTTP, THRESHOLD, *BUDGET, CONCURRENCY, RATE, RETRIES, FRESH)
