"""How many calls a check of the likely changes takes until coverage is known closely enough.

    python benchmarks/flip_check.py RECORDINGS [--encoder pair] [--every 3]

RECORDINGS is as for `forecast.py`. Steps 1, 3 and 5 of each recording are checked from those before
them, in rounds of five, in the order of the app (`teaching`) and by the probability of a flip.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from forecast import Recording, coverage, read_recordings

from guardtui.forecast.engine_features import EngineFeatures, EngineReader
from guardtui.forecast.expected import expected_rates
from guardtui.forecast.model import ScannedDefinition, VerdictModel
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.scan_order import IN_DOUBT, teaching_order

STEPS = (1, 3, 5)
ROUND = 5
CALLS = (0, 10, 20, 30, 50, 75, 100)
WIDTHS = (0.02, 0.03, 0.05)

Rows = NDArray[np.intp]
Order = Callable[[NDArray[np.floating], NDArray[np.floating], NDArray[np.bool_]], Rows]
Trace = list[tuple[int, float, bool, float]]
"""Calls, half of the interval, whether it holds, and the error of coverage, after each round."""


def by_flip(
    changes: NDArray[np.floating], right: NDArray[np.floating], belongs: NDArray[np.bool_]
) -> Rows:
    """The likeliest flips first."""
    rows = np.flatnonzero(changes >= IN_DOUBT)
    return rows[np.argsort(-changes[rows], kind="stable")]


ORDERS: dict[str, Order] = {"teaching": teaching_order, "flip": by_flip}


def trace(recording: Recording, readings: list[EngineFeatures], k: int, order: Order) -> Trace:
    """Check step k to the end."""
    belongs, true, last = recording.belongs, recording.matched[k], recording.matched[k - 1]
    earlier = [
        ScannedDefinition(*pair) for pair in zip(readings[:k], recording.matched[:k], strict=True)
    ]
    answers = np.full(len(belongs), -1, np.int8)
    came, found = coverage(true, belongs), []
    while True:
        calls = int((answers >= 0).sum())
        scans = [*earlier, ScannedDefinition(readings[k], answers.copy())] if calls else earlier
        chances = VerdictModel(scans).chances(readings[k]).with_answers(answers)
        expected = expected_rates(chances, belongs).coverage
        assert expected is not None
        holds = expected.low - 1e-9 <= came <= expected.high + 1e-9
        found.append((calls, expected.half_width, holds, expected.value - came))
        match = chances.match
        changes = np.where(last == 1, 1 - match, match)
        rows = order(changes, np.where(belongs, match, 1 - match), belongs)
        rows = rows[answers[rows] < 0][:ROUND]
        if not len(rows):
            return found
        answers[rows] = true[rows]


def main() -> int:
    """Run the benchmark; 2 for bad input."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--encoder", choices=ENCODERS, default=ENCODERS[0])
    parser.add_argument("--every", type=int, default=1, help="only each n-th recording")
    options = parser.parse_args()
    try:
        recordings = read_recordings(options.recordings)[:: options.every]
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    traces: dict[str, list[Trace]] = {name: [] for name in ORDERS}
    for recording in recordings:
        reader = EngineReader(LocalScanner(options.encoder))
        readings = [reader.read(topic, recording.prompts) for topic in recording.topics]
        known = [reading for reading in readings if reading is not None]
        for k in STEPS:
            if k < len(known):
                for name, order in ORDERS.items():
                    traces[name].append(trace(recording, known, k, order))
    for name, found in traces.items():
        print(f"{name}: {len(found)} checks")
        for calls in CALLS:
            at = [[step for step in steps if step[0] <= calls][-1] for steps in found]
            half, held = np.mean([step[1] for step in at]), np.mean([step[2] for step in at])
            within = [f"{np.mean([step[1] <= width for step in at]):.2f}" for width in WIDTHS]
            errors = np.array([step[3] for step in at])
            off = f"off by {np.abs(errors).mean():.4f}, mean error {errors.mean():+.4f}"
            print(
                f"  {calls:3} calls: ±{half:.3f}, held {held:.2f}, within {WIDTHS}: {within}, {off}"
            )
        for width in WIDTHS:
            needed = [next((step for step in steps if step[1] <= width), None) for steps in found]
            ended = [step for step in needed if step is not None]
            quarters = np.percentile([step[0] for step in ended], [25, 50, 75]).round()
            held = np.mean([step[2] for step in ended])
            print(f"  ±{width}: {len(ended)} reached, calls {quarters}, held {held:.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
