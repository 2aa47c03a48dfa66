"""Options of the AIRS scanner."""

from __future__ import annotations

from guardtui.scanners.options import (
    COMPANIONS,
    CONCURRENCY,
    FRESH,
    RATE,
    RETRIES,
    OptionKind,
    ScannerOption,
)

MOST_CONCURRENT = 20
"""Maximum concurrent requests to AIRS."""

REGIONS = ("us", "de", "in", "sg")
"""Regions of AIRS; a test compares them with the addresses."""

BATCH = ScannerOption(
    "--batch",
    "batch",
    "Use the asynchronous batch API of AIRS, with 20 prompts a batch.",
    kind=OptionKind.FLAG,
)
TENANT = ScannerOption(
    "--tenant",
    "tenant",
    "Tenant of airs-cli whose settings are used (default: its active tenant).",
    "NAME",
)
ADDRESS = (
    ScannerOption(
        "--region",
        "region",
        "Region of AIRS to which scans are sent: that of the API key (default: us).",
        choices=REGIONS,
    ),
    ScannerOption(
        "--scan-endpoint",
        "scan_endpoint",
        "URL for scans, instead of a region (default: PANW_AI_SEC_API_ENDPOINT).",
        "URL",
    ),
    TENANT,
)
"""Options for the address of scans."""

SENDING = (RETRIES, BATCH, FRESH, *ADDRESS)
"""Options for sending prompts."""

OPTIONS = (CONCURRENCY, RATE, *SENDING, COMPANIONS)
