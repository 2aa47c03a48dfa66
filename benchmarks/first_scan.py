"""Measure estimates of coverage during the first scan of a guardrail, from its own verdicts so far.

    python benchmarks/first_scan.py RECORDINGS [--encoder pair]

RECORDINGS is a file as for `forecast.py`, of which the first step of each recording counts. Beside
its guardrails stands one made up: `labels` follows the labels, but for a tenth of the prompts. The
verdicts arrive in the order of the file and in a random one. `strata` is the estimate from the
engine's verdicts and the labels, `forecast` that of the model, where there are ten verdicts on each
kind of prompt. Below a third of all verdicts the app shows the first.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))
from forecast import coverage, read_recordings

from guardtui.app.scan.forecasting import LEAST_OF_EACH_LABEL
from guardtui.domain.estimates import estimate
from guardtui.domain.sweep import sweep
from guardtui.domain.verdicts import outcomes
from guardtui.forecast.engine_features import EngineFeatures, EngineReader
from guardtui.forecast.expected import expected_rates
from guardtui.forecast.forecaster import LEAST_ASKED, LEAST_OF_EACH
from guardtui.forecast.model import ScannedDefinition, VerdictModel
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import probability

SHARES = (0.2, 0.35, 0.5, 0.8)


def measured(
    reading: EngineFeatures,
    belongs: NDArray[np.bool_],
    matched: NDArray[np.int8],
    answered: NDArray[np.bool_],
) -> tuple[tuple[float, float, bool], ...] | None:
    """Return error, width and whether the interval holds, by strata and by the model."""
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
    strata = estimate(outcomes(belongs, verdicts), belongs, engine).rates["coverage"]
    model = VerdictModel([ScannedDefinition(reading, verdicts)])
    chances = model.chances(reading).with_answers(verdicts)
    forecast = expected_rates(chances, belongs).coverage
    assert strata is not None
    assert forecast is not None
    return tuple(
        (abs(rate.value - truth), rate.high - rate.low, rate.low <= truth <= rate.high)
        for rate in (strata, forecast)
    )


def main() -> None:
    """Print a row for each kind of guardrail, order and share of verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--encoder", choices=ENCODERS, default="pair")
    options = parser.parse_args()
    reader = EngineReader(LocalScanner(options.encoder))
    rows = defaultdict(list)
    for number, recording in enumerate(read_recordings(options.recordings)):
        belongs, random = recording.belongs, np.random.default_rng(number)
        reading = reader.read(recording.topics[0], recording.prompts)
        assert reading is not None
        count = len(belongs)
        made_up = (belongs ^ (random.random(count) < 0.1)).astype(np.int8)
        orders = {"file": np.arange(count), "random": random.permutation(count)}
        for kind, matched in (("recorded", recording.matched[0]), ("labels", made_up)):
            for order, rank in orders.items():
                for share in SHARES:
                    answered = np.zeros(count, bool)
                    answered[rank[: int(share * count)]] = True
                    rows[kind, order, share].append(measured(reading, belongs, matched, answered))
    print("| guardrail | order | answered | possible | strata: error, width, holds | forecast |")
    for (kind, order, share), cases in sorted(rows.items(), reverse=True):
        possible = [case for case in cases if case is not None]
        cells = "n/a | n/a"
        if possible:
            means = np.array(possible, float).mean(axis=0)
            cells = " | ".join(
                f"{error:.3f}, {width:.2f}, {holds:.2f}" for error, width, holds in means
            )
        print(f"| {kind} | {order} | {share:.0%} | {len(possible) / len(cases):.2f} | {cells} |")


if __name__ == "__main__":
    main()
