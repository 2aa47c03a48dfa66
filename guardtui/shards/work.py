"""Work of an executor: jobs, and workers that evaluate shards with the embedded scanner."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.topic import Topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.shards.large_set import LargeSet, Stopped, open_set
from guardtui.shards.parts import Manifest, Run, read_manifest, write_part
from guardtui.shards.shard import Shard
from guardtui.shards.vectors import stored_vectors

Clock = Callable[[], float]


@dataclass(frozen=True)
class ShardJob:
    """The inputs of a run's shards; can be sent to another process or machine."""

    folder: Path
    topic: Topic
    encoder: str
    threshold: float | None = None
    threshold_source: str = "by hand"

    def worker(self) -> Worker:
        """Create a worker with encoder and prompts, for many shards."""
        return Worker(self)


@dataclass(eq=False)
class Worker:
    """Evaluates shards one after the other, with the encoder loaded once."""

    job: ShardJob
    clock: Clock = time.perf_counter
    scanner: LocalScanner = field(init=False)
    large: LargeSet = field(init=False)

    def __post_init__(self) -> None:
        job = self.job
        self.scanner = LocalScanner(job.encoder, job.threshold, job.threshold_source)
        self.large = open_set(job.folder)

    @property
    def run(self) -> Run:
        """The run that its parts belong to."""
        return Run(self.large, self.job.topic, self.scanner.settings)

    def evaluate(self, shard: Shard, stopped: Stopped = lambda: False) -> Manifest | None:
        """Evaluate a shard unless its part exists, and return its manifest; None if stopped.

        Raises FileError, ScannerError and ShardError.
        """
        run = self.run
        run.begin()
        if (existing := read_manifest(run, shard)) is not None:
            return existing
        seconds: dict[str, float] = {}
        started = self.clock()

        def record_step(step: str) -> None:
            nonlocal started
            now = self.clock()
            seconds[step] = now - started
            started = now

        category = self.large.category_column
        columns = ["row", "key", "expected", *([category] if category else [])]
        frame = self.large.read_rows(shard, columns)
        keys = frame["key"].to_numpy()
        record_step("rows")
        vectors = stored_vectors(self.large, shard, self.scanner, keys, stopped=stopped)
        if vectors is None:
            return None
        record_step("vectors")
        self.scanner.adopt(keys, vectors)
        prompts = self.large.prompts(frame)
        verdicts = self.scanner.scan_now(self.job.topic, prompts, lambda progress: None, stopped)
        if verdicts is None:
            return None
        evaluation = Evaluation(
            self.job.topic,
            self.scanner.settings,
            self.large.fingerprint,
            keys,
            frame["expected"].to_numpy(),
            verdicts,
        )
        record_step("scan")
        categories = frame[category] if category else None
        return write_part(run, shard, frame["row"].to_numpy(), categories, evaluation, seconds)
