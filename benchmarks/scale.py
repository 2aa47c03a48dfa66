"""Large prompt sets: embedding on one core and on two, edits, ten million rows, fan-out.

Beside each figure stands its floor, measured in the same run, and what it is to reach.

    python benchmarks/scale.py [--rows 1000000] [--opened 10000000] [--parts acd] [--json]

    a  cold: cut, and embed with --jobs 1 and --jobs 2; floor: the same of the bare encoder
    c  merging and opening rows that are made up, in parts as `guardtui eval` writes them
    d  what executors cost for each shard that has nothing to do

Prompts are made of halves of the samples' prompts, by a seed, in a folder that is removed; about
1.2 GB of disk at the sizes above. Memory is the sum of PSS over all processes of a step, sampled.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import importlib.util
import json
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE, Guardrail, ScannerSettings
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.files.atomic import write_atomically
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.shards.executors import ONE_THREAD, make_executor
from guardtui.shards.large_set import LargeSet, cut, open_set, read_frame, write_frame
from guardtui.shards.merge import merge
from guardtui.shards.parts import Run, runs_of, write_part
from guardtui.shards.sample import draw
from guardtui.shards.work import ShardJob

MOST_SPLIT = 1.2
MOST_MEMORY = 1.5 * 1024
MOST_OPENED = 3.0
SHARD = 100_000
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
    for one in found:
        found += above.get(one, [])
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
    first = pl.Series([" ".join(one) for one, _ in halves]).gather(
        generator.integers(len(halves), size=count)
    )
    second = pl.Series([" ".join(one) for _, one in halves]).gather(
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


def embed_bare(folder: Path, start: int, stop: int, alone: bool, begin: Any, taken: Any) -> None:
    """Embed some prompts of the first shard, and nothing else; its seconds and CPU seconds."""
    if alone:
        one_core()
    large = open_set(folder)
    texts = large.read_rows(large.all_shards()[0], ["prompt"])["prompt"][start:stop].to_list()
    encoder, _, _ = LocalScanner("static").load()
    encoder.encode(texts[:512])
    begin.wait()
    wall, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(texts), 512):
        encoder.encode(texts[first : first + 512])
    taken.put((time.perf_counter() - wall, time.process_time() - cpu))


def bare_split(folder: Path) -> tuple[float, float]:
    """Embedding by two bare processes over the half of what one takes: seconds, CPU seconds.

    1 on two free cores that share nothing. What is more is the machine's: caches, other work.
    """
    context = multiprocessing.get_context("spawn")
    large = open_set(folder)
    count = large.read_rows(large.all_shards()[0], ["row"]).height
    seconds, cpu = [], []
    before = dict(os.environ)
    os.environ.update(ONE_THREAD)
    for processes in (1, 2):
        begin, taken = context.Barrier(processes), context.SimpleQueue()
        share = count // processes
        all_of_them = [
            context.Process(
                target=embed_bare,
                args=(folder, share * one, share * (one + 1), processes == 1, begin, taken),
            )
            for one in range(processes)
        ]
        for one in all_of_them:
            one.start()
        found = [taken.get() for _ in all_of_them]
        for one in all_of_them:
            one.join()
        seconds.append(max(wall for wall, _ in found))
        cpu.append(sum(spent for _, spent in found))
    os.environ.clear()
    os.environ.update(before)
    return 2 * seconds[1] / seconds[0], cpu[1] / cpu[0]


def write_topic(folder: Path, name: str, description: str) -> Path:
    path = folder / f"{name}.yaml"
    topic = TOPIC.model_copy(update={"description": description})
    path.write_text(json.dumps(topic.model_dump(mode="json")))
    return path


def cold(rows: int, folder: Path, rounds: int) -> dict[str, float]:
    """Part a. The set stays in `folder`/set, with its vectors."""
    prompts, large = folder / "prompts.csv", folder / "set"
    made_up(rows, prompts)
    topic = write_topic(folder, "topic", TOPIC.description)
    cutting = measured([sys.executable, __file__, "--cut", str(prompts), str(large)], folder)
    found: dict[str, float] = {
        "csv_mib": prompts.stat().st_size / 2**20,
        "cut_s": cutting["s"],
        "cut_peak_mib": cutting["peak_mib"],
    }
    prompts.unlink()
    best: dict[int, dict[str, float]] = {}
    floors = []
    peak = cutting["peak_mib"]
    for _ in range(rounds):
        for jobs in (1, 2):
            for old in ("vectors-*", "runs"):
                for path in large.glob(old):
                    shutil.rmtree(path)
            command = guardtui(
                "eval", topic, "--prompts", large, "--encoder", "static", "--jobs", jobs
            )
            taken = measured(command, folder, alone=jobs == 1)
            peak = max(peak, taken["peak_mib"])
            if jobs not in best or taken["s"] < best[jobs]["s"]:
                best[jobs] = taken
        floors.append(bare_split(large))
    for jobs, taken in best.items():
        found |= {f"jobs_{jobs}_{name}": value for name, value in taken.items()}
    return found | {
        "split": 2 * best[2]["s"] / best[1]["s"],
        "split_of_cpu": best[2]["cpu_s"] / best[1]["cpu_s"],
        "floor_split": min(wall for wall, _ in floors),
        "floor_split_of_cpu": min(cpu for _, cpu in floors),
        "peak_mib": peak,
    }


def write_made_up(rows: int, folder: Path) -> Run:
    """A set, and a run of it with all its parts; no prompt is embedded, one in 20 is wrong."""
    count = max(1, rows // SHARD)
    generator = np.random.default_rng(10)
    (folder / "rows").mkdir(parents=True)
    strata = {
        f"category {one}": (
            len(range(one, rows, 21)) + len(range(one + 7, rows, 21)),
            len(range(one + 14, rows, 21)),
        )
        for one in range(7)
    }  # the last third of each 21 rows does not belong to the topic
    large = LargeSet(
        folder, "made-up.csv", "0" * 64, rows, Intent.BLOCK, count, "0" * 64, ("category",), strata
    )
    write_atomically(folder / "set.json", json.dumps(large.to_json()).encode())
    run = Run(large, TOPIC, ScannerSettings(Guardrail(ENGINE, version="made-up"), 0.5, "by hand"))
    run.begin()
    for shard in large.all_shards():
        numbers = np.arange(shard.index, rows, count, dtype=np.uint32)
        high = 2**64 // count - 1
        keys = generator.integers(high, size=len(numbers), dtype=np.uint64) * np.uint64(count)
        keys += np.uint64(shard.index)
        expected = numbers % 21 < 14
        frame = pl.DataFrame({"row": numbers, "key": keys, "line": numbers + 2}).select(
            "row",
            "key",
            pl.col("line").cast(pl.UInt32),
            pl.format("What do I have to know about my tax return no. {}, in short?", "row")
            .alias("prompt"),
            pl.Series("expected", expected),
            pl.format("category {}", pl.col("row") % 7).alias("category"),
        )  # fmt: skip
        write_frame(large.rows_path(shard), frame)
        triggered = expected ^ (generator.random(len(numbers)) < 0.05)
        score = generator.random(len(numbers), np.float32) / 2 + triggered / np.float32(2)
        verdicts = Verdicts(
            triggered.astype(np.int8), score.astype(np.float32), np.zeros(len(numbers), np.int16)
        )
        evaluation = Evaluation(TOPIC, run.settings, large.fingerprint, keys, expected, verdicts)
        write_part(run, shard, numbers, frame["category"], evaluation, {})
    return run


def opened(rows: int, folder: Path) -> dict[str, float]:
    """Part c."""
    begun = time.perf_counter()
    write_made_up(rows, folder / "large")
    found = {"written_s": time.perf_counter() - begun}
    taken = measured([sys.executable, __file__, "--open", str(folder / "large")], folder)
    told = json.loads((folder / "large" / "opened.json").read_text())
    found |= {**told, "open_peak_mib": taken["peak_mib"], "open_process_s": taken["s"]}
    taken = measured(guardtui("merge", folder / "large"), folder)
    shutil.rmtree(folder / "large")
    return found | {"merge_command_s": taken["s"], "merge_command_peak_mib": taken["peak_mib"]}


def opened_here(folder: Path) -> dict[str, float]:
    taken = {}

    def step(name: str, work: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        value = work()
        taken[f"{name}_s"] = time.perf_counter() - begun
        return value

    large = step("open_set", lambda: open_set(folder))
    run = step("open_runs", lambda: runs_of(large)[-1])
    merged = step("merge", lambda: merge(run))
    assert step("metrics", lambda: merged.metrics).total == large.rows
    sample = step("sample", lambda: draw(large))
    first = large.all_shards()[0]
    wrong = step("wrong_rows", lambda: read_frame(run.path(first, ".wrong.parquet")))
    assert sample.prompts.frame.height
    assert wrong.height
    total = sum(taken.values())
    begun = time.perf_counter()
    for path in run.folder.glob("*.json"):
        json.loads(path.read_bytes())
    return taken | {"opened_s": total, "floor_opened_s": time.perf_counter() - begun}


def fan_out(folder: Path) -> dict[str, float]:
    """Part d: executors over finished shards, few and many, the encoder loaded by two workers."""
    made_up(4000, folder / "few.csv")
    names = ["serial", "processes", *(["ray"] if importlib.util.find_spec("ray") else [])]
    taken: dict[str, list[float]] = {name: [] for name in names}
    counts = (10, 400)
    for count in counts:
        large = cut(folder / "few.csv", folder / f"few-{count}", count)
        assert large is not None
        job = ShardJob(large.folder, TOPIC, "static")
        list(make_executor("serial").run(job, large.all_shards()))  # the work itself
        for name in names:
            turns = []
            for _ in range(3):
                begun = time.perf_counter()
                landed = list(make_executor(name, 2).run(job, large.all_shards()))
                turns.append(time.perf_counter() - begun)
                assert len(landed) == count
            taken[name].append(min(turns))
    return {
        f"{name}_{count}_shards_s": seconds
        for name, turns in taken.items()
        for count, seconds in zip(counts, turns, strict=True)
    }


GOALS = {
    "split": MOST_SPLIT,
    "peak_mib": MOST_MEMORY,
    "opened_s": MOST_OPENED,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--opened", type=int, default=10_000_000)
    parser.add_argument("--parts", default="acd", help="which to measure")
    parser.add_argument("--rounds", type=int, default=2, help="of part a; the best counts")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cut", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cut:
        cut(*options.cut)
        return
    if options.open:
        (options.open / "opened.json").write_text(json.dumps(opened_here(options.open)))
        return
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="guardtui-scale-") as name:
        folder = Path(name)
        work: dict[str, Callable[[], dict[str, float]]] = {
            "a": lambda: cold(options.rows, folder, options.rounds),
            "c": lambda: opened(options.opened, folder),
            "d": lambda: fan_out(folder),
        }
        for part in options.parts:
            load = os.getloadavg()[0]
            found[part] = {"load": load, **work[part]()}
            if not options.json:
                _print(part, found[part])
    if options.json:
        print(json.dumps({"rows": options.rows, "opened": options.opened, **found}))


def _print(part: str, figures: dict[str, float]) -> None:
    print(f"part {part}")
    for name, value in figures.items():
        floor = figures.get(f"floor_{name}", 0.0)
        beside = f"  {value / floor:.1f} × its floor" if floor else ""
        if (goal := GOALS.get(name)) is not None:
            beside += f"  {'reached' if value <= goal else 'MISSED'}: at most {goal:g}"
            if name == "split" and value > goal and floor > goal:
                beside += ", and the bare encoder misses it too: the machine is not free"
        print(f"  {name:<24}{value:>10.3f}{beside}", flush=True)


if __name__ == "__main__":
    main()
