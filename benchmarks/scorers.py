"""How fast outputs are scored, held against inspect_ai in turns of one run.

    python benchmarks/scorers.py --inspect-python VENV/bin/python [--rows 100000] [--rounds 3]

Without --inspect-python this interpreter's own inspect_ai is taken; without any only our own times
are printed. The exit code is 1 when an aim is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

CALLS = 20_000
SCORES = 10_000
DRAWS = 1_000

WORKER = r"""
import asyncio, json, os, random, sys, tempfile, time
os.environ["INSPECT_LOG_LEVEL"] = "error"
os.environ["INSPECT_DISPLAY"] = "none"
answers, sys.stdout = sys.stdout, sys.stderr
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelName, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import SampleScore, Score, Target, bootstrap_stderr, match
from inspect_ai.solver import TaskState


def run_eval(rows):
    samples = [Sample(input=row[0], target=row[1]) for row in rows]
    outputs = [ModelOutput.from_content("mockllm/model", row[2]) for row in rows]
    for output in outputs:
        output.usage = ModelUsage()  # without it the mock model counts tokens, by a table it loads
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        (log,) = eval(
            Task(dataset=MemoryDataset(samples), scorer=match()), model=model, display="none",
            log_dir=folder,
        )
        took = time.perf_counter() - begin
    assert log.status == "success", log.error
    return took, log.results.scores[0].metrics["accuracy"].value


def run_calls(rows, count):
    scorer = match()
    states = [
        TaskState(
            model=ModelName("mockllm/model"), sample_id=1, epoch=1, input=row[0], messages=[],
            output=ModelOutput.from_content("mockllm/model", row[2]),
        )
        for row in rows
    ]
    targets = [Target(row[1]) for row in rows]

    async def calls():
        for place in range(count):
            await scorer(states[place % len(rows)], targets[place % len(rows)])

    begin = time.perf_counter()
    asyncio.run(calls())
    return time.perf_counter() - begin


def run_bootstrap(values, draws):
    scores = [SampleScore(score=Score(value=value)) for value in values]
    begin = time.perf_counter()
    error = bootstrap_stderr(draws)(scores)
    return time.perf_counter() - begin, float(error)


print("ready", file=answers, flush=True)
for line in sys.stdin:
    name, *arguments = json.loads(line)
    print(json.dumps(globals()[name](*arguments)), file=answers, flush=True)
"""

Row = tuple[str, str, str]


class Theirs:
    """A process with inspect_ai that measures what it is asked to."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{python}: inspect_ai cannot be imported there")

    def ask(self, *what: Any) -> Any:
        """What the function of that name returns."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def made_rows(count: int) -> list[Row]:
    """Sums, about 70 % of them right."""
    chance = random.Random(1)
    rows = []
    for _ in range(count):
        first, second = chance.randint(1, 999), chance.randint(1, 999)
        said = first + second + (chance.random() < 0.3)
        question = f"What is {first} + {second}?"
        answer = f"Let me think: {first} plus {second}, hence the answer is {said}."
        rows.append((question, str(first + second), answer))
    return rows


def our_command(path: Path) -> float:
    """Seconds for the whole command, its interpreter and its report included."""
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "guardtui", "score", str(path), "--scorer", "match()"],
        check=True, stdout=subprocess.DEVNULL, cwd=ROOT,
    )  # fmt: skip
    return time.perf_counter() - begin


def our_calls(rows: list[Row], count: int) -> float:
    """Seconds for calls of the scorer alone."""
    from guardtui.scorer import Target, TaskState, match

    scorer = match()
    states = [TaskState(row[2], input=row[0]) for row in rows]
    targets = [Target(row[1]) for row in rows]

    async def calls() -> None:
        for place in range(count):
            await scorer(states[place % len(rows)], targets[place % len(rows)])

    begin = time.perf_counter()
    asyncio.run(calls())
    return time.perf_counter() - begin


def our_bootstrap(values: list[Any], draws: int) -> float:
    """Seconds for one bootstrapped standard error."""
    import numpy as np  # noqa: F401 - its import is none of the metric's time

    from guardtui.scorer import SampleScore, Score, bootstrap_stderr

    scores = [SampleScore(score=Score(value=value)) for value in values]
    begin = time.perf_counter()
    bootstrap_stderr(draws)(scores)
    return time.perf_counter() - begin


def statement(text: str) -> float:
    """Seconds of an interpreter that runs only this."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", text], check=True, cwd=ROOT)
    return time.perf_counter() - begin


IMPORTS = (
    ("import guardtui.scorer", "import guardtui.scorer"),
    ("import with names", "from guardtui.scorer import Score, Target, accuracy, match, scorer"),
)


def import_ratio(wanted: str, rounds: int) -> tuple[float, float, float]:
    """Seconds of an import, of importing pydantic, and the median ratio of both."""
    for warm in (wanted, "import pydantic", "pass"):
        statement(warm)
    pairs = []
    for _ in range(rounds):
        bare = statement("pass")
        pairs.append((statement(wanted) - bare, statement("import pydantic") - bare))
    ratio = statistics.median(ours / floor for ours, floor in pairs)
    return *(statistics.median(pair[place] for pair in pairs) for place in (0, 1)), ratio


def in_turns(
    rounds: int, ours: Callable[[], float], theirs: Callable[[], float] | None
) -> tuple[float, float, float]:
    """Median of ours and of theirs, and of the ratios of each turn (theirs / ours)."""
    pairs = [(ours(), theirs() if theirs is not None else float("nan")) for _ in range(rounds)]
    medians = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
    return *medians, statistics.median(second / first for first, second in pairs)


def main() -> int:
    """Measure and print; 1 when an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inspect-python", help="an interpreter that has inspect_ai")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--eval-rows", type=int, default=1_000, help="rows of inspect_ai's eval")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    python = options.inspect_python
    if python is None and importlib.util.find_spec("inspect_ai") is not None:
        python = sys.executable
    theirs = Theirs(python) if python else None
    if theirs is None:
        print("inspect_ai is not installed: only our own times; see --inspect-python")
    ask = theirs.ask if theirs is not None else None
    rows = made_rows(options.rows)
    some = rows[: options.eval_rows]
    chance = random.Random(2)
    labels = [chance.choice("CI") for _ in range(SCORES)]
    places = [round(chance.random(), 2) for _ in range(SCORES)]
    floats = [chance.random() for _ in range(SCORES)]
    missed = False

    def show(what: str, figures: tuple[float, float, float], unit: float, aim: float) -> None:
        nonlocal missed
        ours, other, ratio = figures
        if theirs is None:
            print(f"{what}: {ours * unit:.4g}")
            return
        reached = ratio >= aim
        missed |= not reached
        print(
            f"{what}: {ours * unit:.4g}, inspect_ai {other * unit:.4g}, ratio {ratio:.1f} "
            f"(aim {aim:g}: {'reached' if reached else 'MISSED'})"
        )

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outputs.csv"
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([("input", "target", "output"), *rows])
        if ask is not None:
            ask("run_eval", some[:50])  # imports that are made late
        command = in_turns(
            options.rounds,
            lambda: our_command(path) / len(rows),
            None if ask is None else (lambda: ask("run_eval", some)[0] / len(some)),
        )
    show(f"whole run, µs a row ({len(rows)} rows, theirs {len(some)})", command, 1e6, 50)
    few = rows[:1000]
    calls = in_turns(
        5 * options.rounds,
        lambda: our_calls(few, CALLS) / CALLS,
        None if ask is None else (lambda: ask("run_calls", few, CALLS) / CALLS),
    )
    show("call of match(), µs", calls, 1e6, 1)
    for title, values in (
        ("labels", labels), ("values of f1()", places), ("values that all differ", floats),
    ):  # fmt: skip
        figures = in_turns(
            options.rounds,
            lambda values=values: our_bootstrap(values, DRAWS),
            None if ask is None else (lambda values=values: ask("run_bootstrap", values, DRAWS)[0]),
        )
        show(f"bootstrap_stderr({DRAWS}) of {SCORES} {title}, ms", figures, 1e3, 20)
    for title, wanted in IMPORTS:
        ours, floor, ratio = import_ratio(wanted, 5 * options.rounds)
        reached = ratio < 3
        missed |= not reached
        print(
            f"{title}, ms: {ours * 1e3:.0f}, import pydantic {floor * 1e3:.0f}, ratio {ratio:.2f} "
            f"(aim < 3: {'reached' if reached else 'MISSED'})"
        )
    if theirs is not None:
        theirs.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
