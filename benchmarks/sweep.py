"""How long the threshold sweep takes, beside one sort of the same scores.

    python benchmarks/sweep.py [--prompts 1000000] [--json]

Scores are made up: two overlapping bells, nearly all distinct, which is the most work. Each figure
is the median of several runs. `key` is what one key of the dialog works out and draws, beside the
new preview: chart and figures at 120 × 40.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from guardtui.domain.curves import curve_points, neighbour, thinned
from guardtui.domain.metrics import RATES
from guardtui.domain.sweep import Sweep, best_threshold, sweep
from guardtui.tui.threshold.sweep_text import VIEWS, chart_text, here_text, table_text

RUNS = 7


def timed(work: Callable[[], object]) -> float:
    """Milliseconds, the median of several runs; the first one, which loads things, is left out."""
    work()
    taken = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    duty = random.random(options.prompts) < 0.3
    scores = (1 / (1 + np.exp(-random.normal(size=options.prompts) - 2 * duty))).astype(np.float32)

    def swept() -> Sweep:
        found = sweep(scores, duty)
        for name in (*RATES, "roc_area", "average_precision"):
            getattr(found, name)
        found.best()
        return found

    found = swept()
    places, best = thinned(found), best_threshold(found)

    def key() -> None:
        threshold = neighbour(found, 0.7, 1)
        here_text(found, threshold, 0.5)
        for view in VIEWS:
            chart_text(found, view, places, threshold, best, 56, 8)
        table_text(found, places, threshold, best, 56, 8)

    floor = timed(lambda: np.sort(scores))
    figures = {
        "prompts": options.prompts,
        "thresholds": len(found),
        "sort_ms": floor,
        "sweep_ms": timed(swept),
        "curve_points_ms": timed(lambda: curve_points(found)),
        "key_ms": timed(key) / len(VIEWS),
    }
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        ratio = f"  {value / floor:.1f} × one sort" if name.endswith("_ms") else ""
        print(f"{name:<20}{value:>12.1f}{ratio}")


if __name__ == "__main__":
    main()
