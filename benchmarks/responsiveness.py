"""The longest gap of the app's event loop while a large set is embedded, filtered and sorted.

The app runs without a terminal; a task beside it sleeps 5 ms at a time and notes how much later it
was woken. What is counted is the lateness.

    python benchmarks/responsiveness.py [--prompts 100000] [--encoder static]

While prompts are embedded letters are typed into the definition, each after the figures of the one
before are there.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

TICK = 0.005


class Gaps:
    """Lateness of a ticking task, in seconds, since the last `take`."""

    def __init__(self) -> None:
        self._gaps: list[float] = []

    async def tick(self) -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(TICK)
            self._gaps.append(time.perf_counter() - start - TICK)

    def take(self) -> tuple[float, float]:
        """Longest and 95th percentile, and forget them."""
        ordered = sorted(self._gaps) or [0.0]
        self._gaps = []
        return ordered[-1], ordered[int(len(ordered) * 0.95)]


async def measure(count: int, encoder: str, folder: Path) -> None:
    from prompts import write_csv

    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.session.workspace import Workspace
    from guardtui.tui.app import GuardtuiApp
    from guardtui.tui.main.screen import MainScreen
    from guardtui.tui.system.memory import prepare_memory

    write_csv(count, folder / "topic.csv")
    (folder / "topic.yaml").write_text(
        "name: Tax\ndescription: Tax advice\nexamples: [pay less tax, deduct this]\nintent: block\n"
    )
    app = GuardtuiApp.of(
        Workspace.open(folder / "topic.yaml"), LocalScanner(encoder, cache=folder / "cache")
    )
    prepare_memory()
    gaps = Gaps()

    def told(name: str) -> None:
        longest, usual = gaps.take()
        print(f"{name:<28} longest {1000 * longest:6.1f} ms   p95 {1000 * usual:5.1f} ms")

    async with app.run_test(size=(120, 40)) as pilot:
        main = app.screen_stack[0]
        assert isinstance(main, MainScreen)
        ticking = asyncio.ensure_future(gaps.tick())
        began = time.perf_counter()

        async def edit(text: str) -> None:
            await pilot.press(text)
            while (
                main.state.evaluation is None
                or main.state.evaluation.topic != main.services.session.topic
            ):
                await asyncio.sleep(0.002)

        def is_partial() -> bool:
            shown = main.state.evaluation
            return shown is None or shown.is_of_a_part

        while main.features is None or main.rows.results is None:
            await asyncio.sleep(0.02)
        told(f"first figures, {time.perf_counter() - began:.1f} s")
        edits = 0
        while is_partial():
            await edit("abcdefgh"[edits % 8])
            edits += 1
            await asyncio.sleep(0.3)
        if edits:
            told(f"embedding, {edits} edits, {time.perf_counter() - began:.0f} s")
        await asyncio.sleep(1)
        told("idle")
        for text in ("a", "b", "c", "d", "e"):
            await edit(text)
        told("five edits")
        main.panes.results.table.focus()
        await pilot.press("7")
        await asyncio.sleep(0.5)
        told("all rows")
        await pilot.press("slash", *"money")
        await asyncio.sleep(1)
        told("search")
        await pilot.press("escape")
        for _ in range(7):
            await pilot.press("s")
            await asyncio.sleep(0.3)
        told("sort by every column")
        await pilot.press("pagedown", "pagedown", "end", "home")
        await asyncio.sleep(0.2)
        told("scroll")
        await pilot.press("f2")
        await asyncio.sleep(1.5)
        await pilot.press("y")
        await asyncio.sleep(1.5)
        told("keep")
        ticking.cancel()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prompts", type=int, default=100_000)
    parser.add_argument("--encoder", default="static")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GUARDTUI_DATA"] = str(Path(folder) / "data")
        asyncio.run(measure(options.prompts, options.encoder, Path(folder)))


if __name__ == "__main__":
    main()
