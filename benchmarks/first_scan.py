"""Measure estimates of coverage during the first scan of a guardrail, from its own verdicts so far.

    python benchmarks/first_scan.py RECORDINGS … [--encoder pair] [--json]

RECORDINGS are files as for `forecast.py`, of which the first step of each recording counts. Beside
its guardrails stands one made up: `labels` follows the labels, but for a tenth of the prompts. The
verdicts arrive in a random order, and those of the file's order are another row. `counting` is
coverage by the verdicts so far, `strata` the estimate from the engine's verdicts and the labels,
which the app shows below a third of the verdicts, `model` that of a forecast, and `average` what
the app shows from then on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))
from forecast import coverage, read_recordings

from guardtui.app.scan.forecasting import LEAST_OF_EACH_LABEL
from guardtui.domain.estimates import RateEstimate, estimate
from guardtui.domain.sweep import sweep
from guardtui.domain.verdicts import outcomes
from guardtui.forecast.engine_features import EngineFeatures, EngineReader
from guardtui.forecast.expected import averaged_with_counts, expected_rates
from guardtui.forecast.forecaster import LEAST_ASKED, LEAST_OF_EACH
from guardtui.forecast.model import ScannedDefinition, VerdictModel
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import probability

SHARES = (1 / 3, 0.5, 0.8)


METHODS = ("counting", "strata", "model", "average")


def measured(
    reading: EngineFeatures,
    belongs: NDArray[np.bool_],
    matched: NDArray[np.int8],
    answered: NDArray[np.bool_],
) -> list[tuple[float, float, bool]] | None:
    """Return error, width and whether the interval holds, for each of `METHODS`."""
    known, belonging = int(answered.sum()), int((answered & belongs).sum())
    fired = int(matched[answered].sum())
    if (
        min(belonging, known - belonging) < LEAST_OF_EACH_LABEL
        or known < LEAST_ASKED
        or min(fired, known - fired) < LEAST_OF_EACH
    ):
        return None
    truth = coverage(matched, belongs)
    verdicts = np.where(answered, matched, -2).astype(np.int8)
    scores = probability(reading.z)
    engine = (scores >= sweep(scores, belongs).best()).astype(np.int8)
    counted = coverage(matched[answered], belongs[answered])
    model = VerdictModel([ScannedDefinition(reading, verdicts)])
    forecast = expected_rates(model.chances(reading).with_answers(verdicts), belongs)
    rates = (
        RateEstimate(counted, 0.0, 1.0),
        estimate(outcomes(belongs, verdicts), belongs, engine).rates["coverage"],
        forecast.coverage,
        averaged_with_counts(forecast, belongs, verdicts).coverage,
    )
    return [
        (
            abs(rate.value - truth),
            rate.high - rate.low,
            rate.low - 1e-9 <= truth <= rate.high + 1e-9,
        )
        for rate in rates
        if rate is not None
    ]


def main() -> None:
    """Print a row for each guardrail, order and share of verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--encoder", choices=ENCODERS, default="pair")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    reader = EngineReader(LocalScanner(options.encoder))
    cases = defaultdict(list)
    recordings = [found for path in options.recordings for found in read_recordings(path)]
    for number, recording in enumerate(recordings):
        belongs, random = recording.belongs, np.random.default_rng(number)
        reading = reader.read(recording.topics[0], recording.prompts)
        assert reading is not None
        count = len(belongs)
        made_up = (belongs ^ (random.random(count) < 0.1)).astype(np.int8)
        orders = {"file": np.arange(count), "random": random.permutation(count)}
        for kind, matched in ((recording.guardrail, recording.matched[0]), ("labels", made_up)):
            for (order, rank), share in product(orders.items(), SHARES):
                answered = np.zeros(count, bool)
                answered[rank[: int(np.ceil(share * count))]] = True
                found = measured(reading, belongs, matched, answered)
                for key in (kind, "all") if kind != "labels" else (kind,):
                    cases[key, order, share].append(found)
    rows = []
    for (kind, order, share), found in sorted(cases.items(), reverse=True):
        possible = [case for case in found if case is not None]
        if possible:
            means = np.array(possible, float).mean(axis=0).round(4).tolist()
            rows.append(
                {
                    "guardrail": kind,
                    "order": order,
                    "share": round(share, 2),
                    "cases": len(possible),
                }
                | {
                    name: dict(zip(("error", "width", "holds"), values, strict=True))
                    for name, values in zip(METHODS, means, strict=True)
                }
            )
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print("| guardrail | order | answered | cases | counting | strata | model | average |")
    for row in rows:
        cells = [f"{row['counting']['error']:.3f}"]
        cells += [
            f"{row[name]['error']:.3f}, {row[name]['width']:.2f}, {row[name]['holds']:.2f}"
            for name in METHODS[1:]
        ]
        start = f"| {row['guardrail']} | {row['order']} | {row['share']:.0%} | {row['cases']} | "
        print(start + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
