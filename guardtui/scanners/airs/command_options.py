"""Options of the AIRS scanner."""

from __future__ import annotations

from guardtui.scanners.options import (
    COMPANIONS,
    CONCURRENCY,
    FRESH,
    RATE,
    RETRIES,
    Kind,
    ScannerOption,
)

MOST_CONCURRENT = 20
"""Requests that AIRS is sent at once at most."""

REGIONS = ("us", "de", "in", "sg")
"""Regions of AIRS; a test holds them against the addresses."""

BATCH = ScannerOption(
    "--batch",
    "batch",
    "Use the asynchronous batch API of AIRS.",
    kind=Kind.FLAG,
)
TENANT = ScannerOption(
    "--tenant",
    "tenant",
    "The tenant of airs-cli whose settings count (default: its active one).",
    "NAME",
)
ADDRESS = (
    ScannerOption(
        "--region",
        "region",
        "The region of the API key, where scans go (default: us).",
        choices=REGIONS,
    ),
    ScannerOption(
        "--scan-endpoint",
        "scan_endpoint",
        "Where scans go, in place of a region (default: PANW_AI_SEC_API_ENDPOINT).",
        "URL",
    ),
    TENANT,
)
"""Where scans go."""

SENDING = (RETRIES, BATCH, FRESH, *ADDRESS)
"""How prompts are sent."""

OPTIONS = (CONCURRENCY, RATE, *SENDING, COMPANIONS)
