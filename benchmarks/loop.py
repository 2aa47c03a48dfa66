"""One edit → metrics, comparison and table contents on made-up prompts, against its floor.

The floor is what cannot be left out: embedding the edited text, one product of the prompts'
vectors with it, and one pass of metrics, timed in turns with the real thing in one process. Each
size runs in a process of its own, so that its peak memory is its own.

    python benchmarks/loop.py [--encoder static] [--sizes 1000,10000,100000,1000000]
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
from guardtui.scanners.local.encoder import ENCODERS

TURNS = 30


def measure(count: int, encoder_name: str) -> dict[str, float]:
    """Times in milliseconds and peak memory in MiB for one size."""
    import numpy as np
    from prompts import made_up

    from guardtui.domain.comparison import compare
    from guardtui.domain.evaluation import Evaluation
    from guardtui.domain.metrics import metrics_of
    from guardtui.domain.operating_point import FITTED
    from guardtui.domain.topic import Topic
    from guardtui.domain.verdicts import outcomes
    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.tui.results.model import ResultsView, build_results

    prompts = made_up(count)
    topic = Topic(
        name="Tax advice",
        description="Personal advice on taxes",
        examples=("How can I pay less tax?", "Can I deduct this?", "Should I declare it?"),
    )
    with tempfile.TemporaryDirectory() as folder:
        # As in the app: the threshold is fitted to each definition.
        scanner = LocalScanner(encoder_name, FITTED, cache=Path(folder))

        def evaluate(topic: Topic) -> Evaluation:
            evaluation = scanner.evaluate_now(topic, prompts)
            assert evaluation is not None
            return evaluation

        start = time.perf_counter()
        baseline = evaluate(topic)
        first = time.perf_counter() - start
        baseline.metrics  # noqa: B018 - a kept iteration has its metrics
        prepared = scanner._prepared
        assert prepared is not None
        encoder, _, _ = scanner.load()
        row = np.empty(count, np.float32)
        triggered = baseline.verdicts.triggered
        real, floor = [], []
        for turn in range(TURNS):
            start = time.perf_counter()
            vector = encoder.encode([f"Tax advice: Advice on taxes, floor {turn}"])[0]
            prepared.matrix.product(vector, row)
            metrics_of(outcomes(prompts.expected, triggered))
            floor.append(time.perf_counter() - start)

            start = time.perf_counter()
            edited = topic.model_copy(update={"description": f"Advice on taxes, turn {turn}"})
            evaluation = evaluate(edited)
            comparison = compare(baseline, evaluation)
            results = build_results(prompts, evaluation, comparison, ResultsView())
            evaluation.metrics  # noqa: B018 - this is what is measured
            results.cells(0, 40)
            real.append(time.perf_counter() - start)
    return {
        "prompts": count,
        "floor_ms": 1000 * min(floor),
        "edit_ms": 1000 * min(real),
        "edit_median_ms": 1000 * sorted(real)[TURNS // 2],
        "ratio": min(real) / min(floor),
        "first_s": first,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--encoder", default="static", choices=ENCODERS)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.encoder)))
        return
    print(f"encoder {options.encoder}; best of {TURNS} turns, one BLAS thread")
    print(f"{'prompts':>9} {'floor ms':>9} {'edit ms':>9} {'median':>9} {'ratio':>6} "
          f"{'first s':>8} {'peak MiB':>9}")  # fmt: skip
    for size in options.sizes.split(","):
        command = [sys.executable, __file__, "--one", size, "--encoder", options.encoder]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(run.stdout)
        print(
            f"{found['prompts']:>9} {found['floor_ms']:>9.2f} {found['edit_ms']:>9.2f} "
            f"{found['edit_median_ms']:>9.2f} {found['ratio']:>6.2f} {found['first_s']:>8.1f} "
            f"{found['peak_mib']:>9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
