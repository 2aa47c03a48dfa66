"""Measure how often the 95 % intervals of coverage and of its changes hold.

    python benchmarks/intervals.py [--json] [--samples 600] [--kinds KIND …] [--cases CASES]

The simulated kinds have cells: numbers of prompts of the two classes, and true rates. Of each cell
samples are drawn, with one seed for each kind, and the intervals are computed by the app's code.

- `coverage_equal`, `coverage_unequal`: TPR and TNR known, 10 to 300 prompts of a class, rates 0.6
  to 0.97. These shares are sums over all counts, not samples, so they have no error.
- `coverage_fitted`: the threshold is fitted to the labels; the true value is the coverage of this
  threshold for all prompts. Scores are normal with equal and unequal deviations, skewed, rounded to
  tenths, mixed, or have a gap that leaves the fit no choice.
- `change`: coverage before and after an edit, of the same prompts: no effect, one or both rates
  better, unequal rates that become equal or change places; with and without prompts that change
  their verdict for nothing.
- `change_trade`: edits that trade one rate for the other, from equal rates.

The others use scores of the engine on CASES (as `evidence.py`; by default those that the engine's
own threshold is fitted to). Their prompts are shared by many samples, so the real error is larger.

- `fitted_on_cases`: each case is cut in two halves of each class at random. Coverage on the other
  half at the threshold fitted to one half lies in its interval, widened by the sampling error of
  the other half.
- `change_on_cases`: the same of the change of coverage by leaving an example out, with a threshold
  fitted to each definition.
- `forecasts`, `first_scans`: coverage after an edit, and that of a whole scan after a random third
  of the first one, of the two guardrails of `author_edits.py` on a third of CASES.

`best_of_series` has no interval: it tells how much more coverage the best of 5 or 20 iterations has
than it has for all prompts (`realised`), and what was expected of that (`expected`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))
import first_scan
from author_edits import SIMULATED, recordings
from fidelity import Case, read_cases
from forecast import as_recording, forecasts, prompt_set, share

from guardtui.domain.metrics import Metrics, metrics_of
from guardtui.domain.operating_point import fitted_threshold
from guardtui.domain.series import best_of_series
from guardtui.domain.significance import Pairs, change_intervals
from guardtui.domain.statistics import coverage_interval
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import outcomes
from guardtui.forecast.engine_features import EngineReader
from guardtui.scanners.local.scanner import LocalScanner

Scores: TypeAlias = NDArray[np.float32]

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


def scores_of(name: str, generator: np.random.Generator, size: int) -> tuple[Scores, Scores]:
    """Return scores of `size` prompts of each class, float32."""
    ours, others = generator.normal(size=(2, size))
    logits = {
        "normal 1": (ours + 0.5, others - 0.5),
        "normal 2": (ours + 1, others - 1),
        "normal 3": (ours + 1.5, others - 1.5),
        "unequal deviations": (1.5 * ours + 1, 0.6 * others - 1),
        "rounded": (ours + 1, others - 1),
        "skewed": (4 - np.exp(ours), np.exp(others) - 4),
        "mixed": (
            0.7 * ours + np.where(generator.random(size) < 0.85, 2.5, -1.5),
            0.7 * others - np.where(generator.random(size) < 0.85, 2.5, -1.5),
        ),
        "gap 0.95": (
            0.7 * ours + np.where(generator.random(size) < 0.95, 4, -4),
            0.7 * others - np.where(generator.random(size) < 0.95, 4, -4),
        ),
        "gap 0.85": (
            0.7 * ours + np.where(generator.random(size) < 0.85, 4, -4),
            0.7 * others - np.where(generator.random(size) < 0.85, 4, -4),
        ),
    }[name]
    scores = [special.expit(values).astype(np.float32) for values in logits]
    if name == "rounded":
        scores = [np.round(values, 1) for values in scores]
    return scores[0], scores[1]


SCORES = (
    "normal 1",
    "normal 2",
    "normal 3",
    "unequal deviations",
    "rounded",
    "skewed",
    "mixed",
    "gap 0.95",
    "gap 0.85",
)
FITTED_SIZES = ((10, 10), (20, 60), (30, 30), (30, 100), (100, 30), (100, 100), (300, 300))


def fitted_cells(samples: int) -> Iterator[Cell]:
    """Yield the shares of the interval of coverage at a fitted threshold."""
    generator = np.random.default_rng(1)
    for name in SCORES:
        everyone = [np.sort(scores) for scores in scores_of(name, generator, 200_000)]
        for sizes in FITTED_SIZES:
            cell = Samples(name, sizes)
            expected = np.arange(sum(sizes)) < sizes[0]
            for _ in range(samples):
                ours, others = scores_of(name, generator, max(sizes))
                scores = np.concatenate((ours[: sizes[0]], others[: sizes[1]]))
                fitted = fitted_threshold(scores, expected)
                assert fitted is not None
                threshold = np.float32(fitted[0])
                matches = (scores >= threshold).view(np.int8)
                metrics = metrics_of(outcomes(expected, matches))
                interval = coverage_interval(metrics, fitted=True)
                assert interval is not None
                below = [np.searchsorted(all_, threshold) / len(all_) for all_ in everyone]
                cell.add(interval.low, interval.high, min(1 - below[0], below[1]))
            yield cell.cell


def best_of_series_figures(samples: int) -> dict[str, object]:
    """Return what the best of several iterations is expected to lose, and what it loses."""
    generator = np.random.default_rng(4)
    cells = []
    for count, sizes, rates, effect in product(
        (5, 20), ((40, 40), (100, 100)), ((0.8, 0.8), (0.75, 0.9)), (0.0, 0.15, 0.4)
    ):
        expected, realised = [], []
        duty = np.arange(sum(sizes)) < sizes[0]
        for _ in range(samples // 6):
            level = special.ndtri(rates) + generator.normal(0, effect, (count, 2))
            shared = generator.normal(0, 0.8**0.5, len(duty))
            own = generator.normal(0, 0.2**0.5, (count, len(duty)))
            right = np.where(duty, level[:, :1], level[:, 1:]) + shared + own > 0
            coverage = np.minimum(right[:, duty].mean(axis=1), right[:, ~duty].mean(axis=1))
            best = int(coverage.argmax())
            series = best_of_series(right, duty, best)
            assert series is not None
            expected.append(series.less)
            realised.append(float(coverage[best] - special.ndtr(level[best]).min()))
        cells.append(
            {
                "iterations": count,
                "prompts": list(sizes),
                "rates": list(rates),
                "effect": effect,
                "expected": float(np.mean(expected)),
                "realised": float(np.mean(realised)),
                "error": float(np.std(realised) / len(realised) ** 0.5),
            }
        )
    return {
        "expected": float(np.mean([cell["expected"] for cell in cells])),
        "realised": float(np.mean([cell["realised"] for cell in cells])),
        "error": float(np.sum([cell["error"] ** 2 for cell in cells]) ** 0.5 / len(cells)),
        "cells": cells,
    }


def scores_on_cases(cases: Sequence[Case]) -> Iterator[tuple[NDArray[np.bool_], list[Scores]]]:
    """Yield labels and scores of each case, at its definition and without its last example."""
    engine = LocalScanner("pair")
    for case in cases:
        prompts = prompt_set(case.prompts, np.array(case.expected, bool), Intent(case.intent))
        topics = [
            Topic(
                name=case.name,
                description=case.description,
                examples=tuple(examples),
                intent=Intent(case.intent),
            )
            for examples in (case.examples, case.examples[:-1])
        ]
        z = [engine.z(topic, prompts, lambda _: None) for topic in topics]
        yield prompts.expected, [special.expit(sample[0]) for sample in z if sample is not None]


def halves_held(cases: Sequence[Case], samples: int) -> dict[str, list[bool]]:
    """Return whether coverage on other halves, and its change, lie in their intervals."""
    held: dict[str, list[bool]] = {"fitted_on_cases": [], "change_on_cases": []}
    generator = np.random.default_rng(6)
    for expected, scores in scores_on_cases(cases):
        for _ in range(samples):
            first = np.zeros(len(expected), bool)
            for duty in (True, False):
                rows = np.flatnonzero(expected == duty)
                first[generator.permutation(rows)[: len(rows) // 2]] = True
            right = []
            for values in scores:
                fitted = fitted_threshold(values[first], expected[first])
                assert fitted is not None
                right.append((values >= np.float32(fitted[0])) == expected)
            # The sampling error of the other half: its bootstrap around what was measured.
            other = np.flatnonzero(~first)
            drawn = np.concatenate(
                [
                    generator.choice(rows, (400, len(rows)))
                    for rows in (other[expected[other]], other[~expected[other]])
                ],
                axis=1,
            )
            ours = int(expected[other].sum())
            redrawn, measured, known = [], [], []
            for values in right:
                hits = values[drawn]
                redrawn.append(np.minimum(hits[:, :ours].mean(1), hits[:, ours:].mean(1)))
                for rows, found in ((other, measured), (np.flatnonzero(first), known)):
                    duty = expected[rows]
                    found.append(min(values[rows][duty].mean(), values[rows][~duty].mean()))
            metrics = metrics_of(outcomes(expected[first], (right[0] == expected)[first]))
            interval = coverage_interval(metrics, fitted=True)
            assert interval is not None
            ends = (interval.low, interval.high)
            held["fitted_on_cases"].append(within(measured[0], known[0], ends, redrawn[0]))
            cells = [
                tuple(
                    int(
                        np.count_nonzero(
                            first & (expected == duty) & (right[0] == old) & (right[1] == new)
                        )
                    )
                    for old, new in ((True, True), (True, False), (False, True), (False, False))
                )
                for duty in (True, False)
            ]
            change = change_intervals(Pairs(*cells), draws=CHANGE_DRAWS)["coverage"]
            assert change is not None
            held["change_on_cases"].append(
                within(
                    measured[1] - measured[0],
                    known[1] - known[0],
                    (change.low, change.high),
                    redrawn[1] - redrawn[0],
                )
            )
    return held


def within(
    value: float, known: float, ends: tuple[float, float], redrawn: NDArray[np.float64]
) -> bool:
    """Return whether a value on other prompts lies in an interval, given its sampling error.

    The arms of the interval and those of the other half's bootstrap add up as independent errors.
    """
    least, most = np.quantile(redrawn - redrawn.mean(), (0.025, 0.975))
    low = known - float(np.hypot(known - ends[0], most))
    high = known + float(np.hypot(ends[1] - known, least))
    return bool(low - 1e-9 <= value <= high + 1e-9)


def simulated_held(cases: Sequence[Case]) -> dict[str, list[bool]]:
    """Return whether the intervals of forecasts and first scans hold for simulated guardrails."""
    held: dict[str, list[bool]] = {"forecasts": [], "first_scans": []}
    reader = EngineReader(LocalScanner("pair"))
    generator = np.random.default_rng(8)
    for content in recordings(cases, SIMULATED):
        recording = as_recording(content)
        readings = [reader.read(topic, recording.prompts) for topic in recording.topics]
        known = [reading for reading in readings if reading is not None]
        held["forecasts"] += [edit.holds for _, _, edit in forecasts(recording, known)]
        count = len(recording.belongs)
        for _ in range(4):
            answered = np.zeros(count, bool)
            answered[generator.permutation(count)[: int(np.ceil(count / 3))]] = True
            found = first_scan.measured(known[0], recording.belongs, recording.matched[0], answered)
            if found is not None:
                held["first_scans"].append(found[-1][2])
    return held


KINDS: dict[str, Callable[[int], Iterator[Cell]]] = {
    "coverage_equal": lambda _: coverage_cells(equal=True),
    "coverage_unequal": lambda _: coverage_cells(equal=False),
    "coverage_fitted": fitted_cells,
    "change": lambda samples: change_cells(samples, CHANGES, 2),
    "change_trade": lambda samples: change_cells(samples, TRADES, 3),
}


SERIES = "best_of_series"
ON_CASES = ("fitted_on_cases", "change_on_cases")
SIMULATIONS = ("forecasts", "first_scans")


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
    kinds = (*KINDS, SERIES, *ON_CASES, *SIMULATIONS)
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    folder = Path(__file__).parent.parent / "scripts/fit_data"
    parser.add_argument("--cases", type=Path, default=folder)
    options = parser.parse_args()
    found = {}
    shares: dict[str, list[bool]] = {}
    cases = read_cases(options.cases)
    if set(ON_CASES) & set(options.kinds):
        shares |= halves_held(cases, max(1, options.samples // 30))
    if set(SIMULATIONS) & set(options.kinds):
        shares |= simulated_held(cases[::3])
    for kind in options.kinds:
        figures: object
        if kind == SERIES:
            figures = best_of_series_figures(options.samples)
        elif kind in shares:
            figures = share(shares[kind])
        else:
            figures = summary(list(KINDS[kind](options.samples)))
        found[kind] = figures
        if not options.json:
            print(f"{kind}: {json.dumps(figures)}", flush=True)
    if options.json:
        print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
