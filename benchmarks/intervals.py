"""Measure how often the 95 % intervals of coverage and of its changes hold.

    python benchmarks/intervals.py [--json] [--samples 1000] [--kinds KIND …]

Each kind has cells: numbers of prompts of the two classes, and true rates. Of each cell samples are
drawn, with one seed for each kind, and the intervals are computed by the code of the app.

- `coverage_equal`, `coverage_unequal`: TPR and TNR known, 10 to 300 prompts of a class, rates 0.6
  to 0.97. These shares are sums over all counts, not samples, so they have no error.
- `change`: coverage before and after an edit, of the same prompts: no effect, one or both rates
  better, unequal rates that become equal or change places; with and without prompts that change
  their verdict for nothing.
- `change_trade`: edits that trade one rate for the other, from equal rates.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent.parent))
from guardtui.domain.metrics import Metrics
from guardtui.domain.significance import Pairs, change_intervals
from guardtui.domain.statistics import coverage_interval

SIZES = (10, 15, 20, 30, 60, 100, 300)
RATES = (0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97)
LARGE = 30
"""Cells with this many prompts in both classes are reported separately."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Result of one cell: the share of intervals that hold, and their mean width.

    `too_low` and `too_high` are the shares of intervals below and above the true value, `samples`
    is 0 for an exact share, and `false_gain` the share of intervals above 0 without a true gain.
    """

    name: str
    sizes: tuple[int, int]
    too_low: float
    too_high: float
    width: float
    samples: int = 0
    false_gain: float | None = None

    @property
    def held(self) -> float:
        """Share of intervals that hold."""
        return 1 - self.too_low - self.too_high

    @property
    def error(self) -> float:
        """Standard error of `held`."""
        return (self.held * (1 - self.held) / self.samples) ** 0.5 if self.samples else 0.0


@dataclass(slots=True)
class Samples:
    """Collect intervals of one cell and their true values."""

    name: str
    sizes: tuple[int, int]
    rows: list[tuple[float, float, float]] = field(default_factory=list)

    def add(self, low: float, high: float, true: float) -> None:
        """Add an interval and the value that it should contain."""
        self.rows.append((low, high, true))

    @property
    def cell(self) -> Cell:
        """The result."""
        low, high, true = np.array(self.rows).T
        return Cell(
            self.name,
            self.sizes,
            too_low=float(np.mean(high < true - 1e-12)),
            too_high=float(np.mean(low > true + 1e-12)),
            width=float(np.mean(high - low)),
            samples=len(self.rows),
            false_gain=float(np.mean(low > 0)) if true.max() <= 0 else None,
        )


def coverage_cells(*, equal: bool) -> Iterator[Cell]:
    """Yield the exact shares of `coverage_interval` for pairs of equal or unequal rates."""
    for sizes in product(SIZES, SIZES):
        low, high = np.empty((sizes[0] + 1, sizes[1] + 1)), np.empty((sizes[0] + 1, sizes[1] + 1))
        for tp, tn in np.ndindex(low.shape):
            interval = coverage_interval(Metrics(tp, tn, sizes[1] - tn, sizes[0] - tp))
            assert interval is not None
            low[tp, tn], high[tp, tn] = interval.low, interval.high
        chances = [
            {rate: stats.binom.pmf(np.arange(size + 1), size, rate) for rate in RATES}
            for size in sizes
        ]
        for first, second in product(RATES, RATES):
            if (first == second) is not equal:
                continue
            true, positive, negative = min(first, second), chances[0][first], chances[1][second]
            yield Cell(
                f"{first} {second}",
                sizes,
                too_low=float(positive @ (high < true) @ negative),
                too_high=float(positive @ (low > true) @ negative),
                width=float(positive @ (high - low) @ negative),
            )


def change_cells(samples: int, edits: Sequence[tuple[float, ...]], seed: int) -> Iterator[Cell]:
    """Yield the shares of the intervals of a change of coverage for `edits`.

    An edit has TPR and TNR before, and both after.
    """
    generator = np.random.default_rng(seed)
    for sizes, churn, edit in product(CHANGE_SIZES, (0.0, 0.04), edits):
        before, after = edit[:2], edit[2:]
        chances = []
        for old, new in zip(before, after, strict=True):
            broken, fixed = churn + max(old - new, 0), churn + max(new - old, 0)
            chances.append((old - broken, broken, fixed, 1 - old - fixed))
        if min(map(min, chances)) < 0:
            continue
        cell = Samples(f"{before} to {after}, {churn} at random", sizes)
        drawn = [
            generator.multinomial(size, chance, size=samples).tolist()
            for size, chance in zip(sizes, chances, strict=True)
        ]
        for positive, negative in zip(*drawn, strict=True):
            pairs = Pairs(tuple(positive), tuple(negative))
            interval = change_intervals(pairs, draws=CHANGE_DRAWS)["coverage"]
            assert interval is not None
            cell.add(interval.low, interval.high, min(after) - min(before))
        yield cell.cell


CHANGE_SIZES = ((20, 20), (30, 100), (100, 100), (300, 300))
CHANGE_DRAWS = 800
"""Draws of one interval; the app has five times as many."""

CHANGES = tuple(
    edit
    for rate in (0.7, 0.8, 0.9)
    for edit in (
        (rate, rate, rate, rate),
        (rate, rate, rate + 0.05, rate),
        (rate, rate, rate + 0.05, rate + 0.05),
        (rate - 0.05, rate + 0.05, rate, rate),
        (rate, rate + 0.07, rate + 0.06, rate + 0.07),
        (rate, rate + 0.08, rate + 0.08, rate),
    )
)
TRADES = tuple(
    (rate, rate, min(rate + step, 0.97), rate - step)
    for rate in (0.7, 0.8, 0.9)
    for step in (0.03, 0.05, 0.1)
)


KINDS: dict[str, Callable[[int], Iterator[Cell]]] = {
    "coverage_equal": lambda _: coverage_cells(equal=True),
    "coverage_unequal": lambda _: coverage_cells(equal=False),
    "change": lambda samples: change_cells(samples, CHANGES, 2),
    "change_trade": lambda samples: change_cells(samples, TRADES, 3),
}


def summary(cells: list[Cell]) -> dict[str, object]:
    """Return the figures of a kind: means over its cells, and the cell that holds least often."""

    def mean(chosen: list[Cell]) -> tuple[float | None, float | None]:
        if not chosen:
            return None, None
        errors = np.array([cell.error for cell in chosen])
        return (
            float(np.mean([cell.held for cell in chosen])),
            float(np.sqrt(np.sum(errors**2)) / len(chosen)),
        )

    (held, error), worst = mean(cells), min(cells, key=lambda cell: cell.held)
    large, large_error = mean([cell for cell in cells if min(cell.sizes) >= LARGE])
    gains = [cell.false_gain for cell in cells if cell.false_gain is not None]
    return {
        "held": held,
        "error": error,
        "held_from_30": large,
        "error_from_30": large_error,
        "lowest": {
            "held": worst.held,
            "error": worst.error,
            "cell": worst.name,
            "prompts": list(worst.sizes),
        },
        "too_low": float(np.mean([cell.too_low for cell in cells])),
        "too_high": float(np.mean([cell.too_high for cell in cells])),
        "width": float(np.mean([cell.width for cell in cells])),
        "false_gain": float(np.mean(gains)) if gains else None,
        "false_gain_most": max(gains, default=None),
        "cells": len(cells),
        "samples": cells[0].samples,
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--samples", type=int, default=600, help="samples of a cell")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    found = {}
    for kind in options.kinds:
        found[kind] = figures = summary(list(KINDS[kind](options.samples)))
        if not options.json:
            print(f"{kind}: {json.dumps(figures)}", flush=True)
    if options.json:
        print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
