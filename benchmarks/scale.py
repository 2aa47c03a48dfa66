"""Large prompt sets: embedded by one process, by several and by Ray, and again after an edit.

    python benchmarks/scale.py [--rows 1000000] [--rounds 2] [--ray] [--json]

Beside the seconds of two processes over those of one stands their floor, the same of the bare
encoder, measured in the same run. Prompts are made of halves of the samples' prompts, by a seed, in
a folder that is removed. Memory is the sum of PSS over all processes of a command, sampled.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from guardtui.domain.topic import Topic
from guardtui.large_sets.workers import ONE_THREAD
from guardtui.scanners.local.encoder import load_encoder

MOST_SPLIT = 1.2
MOST_MEMORY = 1.5 * 1024
BARE = 40_000
"""Prompts that the bare encoder embeds for the floor."""
TOPIC = Topic(
    name="Tax advice",
    description="Personal advice on taxes",
    examples=("How can I pay less tax?", "Can I deduct this?", "Should I declare it?"),
)


class Memory(threading.Thread):
    """The peak of what a process and those below it hold, in MiB, while it runs."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process, self._end = process, threading.Event()
        self.peak = 0.0

    def run(self) -> None:
        while not self._end.wait(0.3):
            self.peak = max(self.peak, sum(map(_held, _family(self._process))))

    def take(self) -> float:
        self._end.set()
        self.join()
        return self.peak


def _family(process: int) -> list[int]:
    """A process and all below it."""
    above: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            number, _, rest = stat.read_text().rpartition(")")
            above.setdefault(int(rest.split()[1]), []).append(int(number.split()[0]))
    found = [process]
    for name in found:
        found += above.get(name, [])
    return found


def _held(process: int) -> float:
    with suppress(OSError, ValueError, IndexError):
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
        return int(text.split("\nPss:")[1].split()[0]) / 1024
    return 0.0


def measured(command: list[str], folder: Path, alone: bool = False) -> dict[str, float]:
    """Seconds, CPU seconds and peak MiB of a command, which must succeed; `alone` on one core."""
    environment = {
        **os.environ,
        "GUARDTUI_CACHE": str(folder / "cache"),
        "GUARDTUI_DATA": str(folder / "data"),
        "PYTHONPATH": str(ROOT),
    }
    before, begun = os.times(), time.perf_counter()
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=one_core if alone else None,
    )
    memory = Memory(process.pid)
    memory.start()
    said, _ = process.communicate()
    seconds, after = time.perf_counter() - begun, os.times()
    peak = memory.take()
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{said}")
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return {"s": seconds, "cpu_s": cpu, "peak_mib": peak}


def guardtui(*words: object) -> list[str]:
    return [sys.executable, "-m", "guardtui", *map(str, words)]


def made_up(count: int, path: Path) -> None:
    """A CSV of prompts, each a first half and a second half of the samples' and a number."""
    files = sorted((ROOT / "sample_data").glob("*-*.csv"))
    texts = [text for file in files for text in pl.read_csv(file)["prompt"].to_list()]
    halves = [
        (words[: len(words) // 2], words[len(words) // 2 :]) for words in map(str.split, texts)
    ]
    generator = np.random.default_rng(9)
    first = pl.Series([" ".join(half) for half, _ in halves]).gather(
        generator.integers(len(halves), size=count)
    )
    second = pl.Series([" ".join(half) for _, half in halves]).gather(
        generator.integers(len(halves), size=count)
    )
    frame = pl.DataFrame({"first": first, "second": second}).with_row_index("number")
    frame.select(
        pl.format("{} {} {}", "first", "second", "number").alias("prompt"),
        pl.when(pl.col("number") % 3 == 0).then(pl.lit("yes")).otherwise(pl.lit("no"))
        .alias("expected"),
        pl.lit("block").alias("intent"),
        pl.format("category {}", pl.col("number") % 7).alias("category"),
    ).write_csv(path)  # fmt: skip


def one_core() -> None:
    """Keep this process to a core; others may use it too."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def embed_bare(texts: list[str], alone: bool, begin: Any, taken: Any) -> None:
    """Embed some prompts, and nothing else; put the seconds."""
    if alone:
        one_core()
    encoder = load_encoder("static")
    encoder.encode(texts[:512])
    begin.wait()
    start = time.perf_counter()
    for first in range(0, len(texts), 512):
        encoder.encode(texts[first : first + 512])
    taken.put(time.perf_counter() - start)


def bare_split(prompts: Path) -> float:
    """Twice the seconds of two bare processes with half of the prompts each, over those of one.

    1 on two free cores that share nothing. What is more is the machine's: caches, other work.
    """
    context = multiprocessing.get_context("spawn")
    texts = pl.read_csv(prompts, n_rows=BARE)["prompt"].to_list()
    seconds = []
    before = dict(os.environ)
    os.environ.update(ONE_THREAD)
    for processes in (1, 2):
        begin, taken = context.Barrier(processes), context.SimpleQueue()
        started = [
            context.Process(
                target=embed_bare, args=(texts[index::processes], processes == 1, begin, taken)
            )
            for index in range(processes)
        ]
        for process in started:
            process.start()
        seconds.append(max(taken.get() for _ in started))
        for process in started:
            process.join()
    os.environ.clear()
    os.environ.update(before)
    return 2 * seconds[1] / seconds[0]


def write_topic(folder: Path, name: str, description: str) -> Path:
    path = folder / f"{name}.yaml"
    topic = TOPIC.model_copy(update={"description": description})
    path.write_text(json.dumps(topic.model_dump(mode="json")))
    return path


def scale(rows: int, folder: Path, rounds: int, ray: bool) -> dict[str, float]:
    """Measure commands over a prompt file of this many rows."""
    prompts = folder / "prompts.csv"
    made_up(rows, prompts)
    topic = write_topic(folder, "topic", TOPIC.description)
    edited = write_topic(folder, "edited", "Advice on taxes, after an edit")
    ways = {"jobs_1": ["--jobs", "1"], "jobs_2": ["--jobs", "2"]} | (
        {"ray": ["--ray"]} if ray else {}
    )
    best: dict[str, dict[str, float]] = {}
    floors = []

    def command(path: Path, *more: str) -> list[str]:
        return guardtui("eval", path, "--prompts", prompts, "--set", "encoder=static", *more)

    for _ in range(rounds):
        for name, options in ways.items():
            shutil.rmtree(folder / "cache", ignore_errors=True)
            taken = measured(command(topic, *options), folder, alone=name == "jobs_1")
            if name not in best or taken["s"] < best[name]["s"]:
                best[name] = taken
        floors.append(bare_split(prompts))
    best["edit"] = measured(command(edited), folder)
    best["edit_json"] = measured(command(edited, "-o", str(folder / "report.json")), folder)
    return {
        "csv_mib": prompts.stat().st_size / 2**20,
        **{
            f"{step}_{name}": value for step, taken in best.items() for name, value in taken.items()
        },
        "split": 2 * best["jobs_2"]["s"] / best["jobs_1"]["s"],
        "floor_split": min(floors),
        "peak_mib": max(taken["peak_mib"] for taken in best.values()),
    }


GOALS = {"split": MOST_SPLIT, "peak_mib": MOST_MEMORY}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2, help="the best of them counts")
    parser.add_argument("--ray", action="store_true", help="measure Ray on this machine too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="guardtui-scale-") as name:
        load = os.getloadavg()[0]
        figures = scale(options.rows, Path(name), options.rounds, options.ray)
    if options.json:
        print(json.dumps({"rows": options.rows, "load": load, **figures}))
        return
    for name, value in figures.items():
        floor = figures.get(f"floor_{name}", 0.0)
        beside = f"  {value / floor:.1f} × its floor" if floor else ""
        if (goal := GOALS.get(name)) is not None:
            beside += f"  {'reached' if value <= goal else 'MISSED'}: at most {goal:g}"
        print(f"{name:<24}{value:>10.3f}{beside}", flush=True)


if __name__ == "__main__":
    main()
