"""How long the HTML report takes, beside the JSON of the same rows, and how large it is.

    python benchmarks/html_report.py [--prompts 20000] [--json]

`first` is the whole report in a new process: what `guardtui eval --format html` adds, on the clock
and as CPU time (on a machine that does other work only the second is of use); the best of three.
`again` is the next one of the same process (the app's second export), the median of several. The
floor is `json.dumps` of the same rows as plain lists. The exit code is 1 when 20 000 prompts take
2 s of CPU time or more, or 10 MB.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE, Guardrail, ScannerSettings
from guardtui.domain.topic import Topic, describe_changes
from guardtui.domain.verdicts import Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import load_writer
from guardtui.session.session import Decision, Iteration

RUNS = 5
SECONDS, BYTES = 2.0, 10_000_000
WORDS = "how do i deduct my home office cost on the return when a client pays me late for work"


def made_up(count: int) -> ReportInput:
    """A report of so many prompts of 8 to 45 words, with a baseline and twelve iterations."""
    random = np.random.default_rng(1)
    lines = ["prompt,expected,intent,category,source"]
    for number in range(count):
        words = " ".join(random.choice(WORDS.split(), random.integers(8, 46)))
        label = "true" if random.random() < 0.5 else "false"
        lines.append(f"{number} {words},{label},block,category {number % 12},file {number % 7}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "prompts.csv")
        path.write_text("\n".join(lines), encoding="utf-8")
        prompts = load_prompts(path)
    settings = ScannerSettings(Guardrail(ENGINE, version="made-up"), 0.5, "default")

    def evaluation(topic: Topic, shift: float, seed: int) -> Evaluation:
        drawn = np.random.default_rng(seed)
        z = drawn.normal(size=count) + 1.8 * prompts.expected - 0.9 + shift
        score = (1 / (1 + np.exp(-z))).astype(np.float32)
        verdicts = Verdicts(
            (score >= 0.5).astype(np.int8), score, drawn.integers(0, 4, count).astype(np.int16)
        )
        return Evaluation(
            topic, settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
        )

    before = Topic(name="Tax advice", description="Tax advice", examples=("a", "b", "c"))
    after = before.model_copy(update={"description": "Personal tax advice"})
    baseline, current = evaluation(before, 0, 1), evaluation(after, 0.1, 1)
    decisions = (Decision.KEEP, Decision.DISCARD)
    return ReportInput(
        topic=after,
        evaluation=current,
        prompts=prompts,
        baseline=baseline,
        comparison=compare(baseline, current),
        iterations=[
            Iteration(k, "2026-01-01", decisions[k % 2], evaluation(before, k / 40, k))
            for k in range(12)
        ],
        changes=describe_changes(before, after),
        baseline_number=3,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    report = made_up(options.prompts)
    write = load_writer("html")

    def timed() -> tuple[float, float]:
        """Seconds on the clock, and of the processor: they differ when others work too."""
        fresh = replace(report)  # nothing worked out before
        start, used = time.perf_counter(), time.process_time()
        write(fresh)
        return time.perf_counter() - start, time.process_time() - used

    if options.once:
        print(*timed())
        return 0
    command = [sys.executable, __file__, "--once", "--prompts", str(options.prompts)]
    first = [subprocess.check_output(command, text=True).split() for _ in range(3)]
    timed()
    again, floor = [], []
    rows = [
        [row.line, row.outcome, row.change, row.prompt, row.score, row.matched, *row.extra]
        for row in report.rows()
    ]
    for _ in range(RUNS):
        again.append(timed()[1])
        start = time.process_time()
        json.dumps(rows)
        floor.append(time.process_time() - start)
    page = write(report)
    figures = {
        "prompts": options.prompts,
        "first_s": min(float(seconds) for seconds, _ in first),
        "first_cpu_s": min(float(seconds) for _, seconds in first),
        "again_cpu_s": statistics.median(again),
        "json_dumps_cpu_s": statistics.median(floor),
        "ratio": statistics.median(a / b for a, b in zip(again, floor, strict=True)),
        "bytes": len(page.encode()),
        "json_dumps_bytes": len(json.dumps(rows).encode()),
    }
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:<17} {value:.3f}" if isinstance(value, float) else f"{name:<17} {value}")
    missed = figures["first_cpu_s"] >= SECONDS or figures["bytes"] >= BYTES
    return int(options.prompts <= 20_000 and missed)


if __name__ == "__main__":
    sys.exit(main())
