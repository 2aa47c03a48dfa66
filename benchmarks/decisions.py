"""How fast a scan by a decision model is: answers a second against ideal, at 200 ms, 8 in flight.

The sandbox in another process answers on loopback.

    python benchmarks/decisions.py
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.http.secret import Secret
from guardtui.scanners.base import Progress
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import DecisionOptions, ScoredQuestion
from guardtui.scanners.models.scanner import ModelScanner

CONCURRENCY, LATENCY = 8, 0.2
TURNS = 3


@contextlib.contextmanager
def sandbox(*options: str) -> Iterator[str]:
    """Run a sandbox while the context lasts; yields its URL."""
    command = [sys.executable, "-m", "guardtui", "sandbox", "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().partition("'")[2].rstrip("'\n")  # export NAME='URL'
    finally:
        process.terminate()
        process.wait()


def scanner(url: str) -> ModelScanner[ScoredQuestion]:
    address = ModelAddress(f"{url}/v1", "decide-1", Secret("sandbox-key", "benchmark"))
    return DecisionOptions(address, calls=CallOptions(concurrency=CONCURRENCY)).scanner()


def silent(progress: Progress) -> None:
    """Report to nobody."""


def rate() -> int:
    """Print answers a second against ideal; 1 when the aim is missed."""
    topic = load_topic(ROOT / "sample_data" / "tax-advice.yaml").topic
    prompts = load_prompts(ROOT / "sample_data" / "tax-advice.csv")
    rates = []
    with sandbox("--latency", f"{LATENCY * 1000:.0f}ms") as url:
        for _ in range(TURNS):
            start = time.perf_counter()
            verdicts = asyncio.run(scanner(url).scan(topic, prompts, silent))
            rates.append(len(prompts) / (time.perf_counter() - start))
            assert not verdicts.errors
    ideal = CONCURRENCY / LATENCY
    ratio = statistics.median(rates) / ideal
    print(
        f"{LATENCY * 1000:.0f} ms, {CONCURRENCY} at once: {ratio:.3f} of ideal {ideal:.0f}/s "
        f"(aim 0.9){'  MISSED' if ratio < 0.9 else ''}; turns "
        + ", ".join(f"{each:.1f}/s" for each in rates)
    )
    return int(ratio < 0.9)


if __name__ == "__main__":
    sys.exit(rate())
