"""One scan of a harmless prompt, to check whether a key is accepted."""

from __future__ import annotations

from guardtui.domain.verdicts import Verdict
from guardtui.http.retries import Retries
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.scans import ScanClient

PROBE = "What is the capital of France?"

TIMEOUT = 20.0
"""Seconds for all attempts."""


async def scan_probe(settings: AirsSettings) -> Verdict:
    """Scan the prompt. Raises ServiceError."""
    retries = Retries(attempts=2, total=TIMEOUT)
    async with ScanClient(settings, retries=retries, timeout=TIMEOUT) as client:
        return await client.scan(PROBE)
