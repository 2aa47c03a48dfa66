"""Repeated evaluation of a large set: vectors are memory-mapped, one product per shard."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.metrics import Metrics
from guardtui.domain.topic import Topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.shards.large_set import Advance, LargeSet, Stopped
from guardtui.shards.parts import (
    Counts,
    Run,
    add_counts,
    count_outcomes,
    groups_of,
    metrics_of_counts,
    read_manifest,
    write_part,
)
from guardtui.shards.shard import Shard
from guardtui.shards.vectors import stored_vectors


@dataclass(frozen=True, eq=False)
class _Ready:
    """One prepared shard: its rows, columns [n] each, and a scanner with its vectors."""

    shard: Shard
    rows: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    expected: NDArray[np.bool_]
    groups: NDArray[np.int32]
    names: Sequence[str]
    scanner: LocalScanner


@dataclass(frozen=True, eq=False)
class WholeEvaluation:
    """Results of all prompts under one definition; evaluations are by shard."""

    topic: Topic
    settings: ScannerSettings
    counts: Counts
    evaluations: tuple[Evaluation, ...]

    @property
    def metrics(self) -> Metrics:
        """Counts and rates over all prompts."""
        return metrics_of_counts(self.counts)

    def since(self, before: WholeEvaluation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return counts [5, 5] of the same prompts, by outcome before and now.

        Two tables: for prompts that should trigger now, and for all others.
        """
        tables = np.zeros((2, 5, 5), np.int64)
        for before_shard, now_shard in zip(before.evaluations, self.evaluations, strict=True):
            should = now_shard.should_trigger
            index = (should.astype(np.int64) * 5 + before_shard.codes) * 5 + now_shard.codes
            tables += np.bincount(index, minlength=50).reshape(2, 5, 5)
        return tables[1], tables[0]


class MappedEvaluator:
    """Evaluates a large set repeatedly with the embedded scanner."""

    def __init__(
        self,
        large: LargeSet,
        scanner: LocalScanner,
        threads: int | None = None,
    ) -> None:
        """Store the arguments; `scanner` provides encoder and threshold and keeps its prompts."""
        self.large = large
        self._scanner = scanner
        self._threads = threads or os.cpu_count() or 1
        self._ready: list[_Ready] = []

    def prepare(
        self, advance: Advance = lambda prompts: None, stopped: Stopped = lambda: False
    ) -> bool:
        """Map the vectors of all shards, computing missing ones; returns False if stopped.

        `advance` is called with the number of prepared prompts. Raises FileError and ScannerError.
        """
        done = sum(len(ready.keys) for ready in self._ready)
        category = self.large.category_column
        columns = ["row", "key", "expected", *([category] if category else [])]
        for shard in self.large.all_shards()[len(self._ready) :]:
            if stopped():
                return False
            frame = self.large.read_rows(shard, columns)
            keys = frame["key"].to_numpy()
            vectors = stored_vectors(
                self.large,
                shard,
                self._scanner,
                keys,
                advance=lambda count, base=done: advance(base + count),  # type: ignore[misc]
                stopped=stopped,
            )
            if vectors is None:
                return False
            scanner = self._scanner.beside()
            scanner.adopt(keys, vectors)
            groups, names = groups_of(frame[category] if category else None, len(keys))
            self._ready.append(
                _Ready(
                    shard,
                    frame["row"].to_numpy(),
                    keys,
                    frame["expected"].to_numpy(),
                    groups,
                    names,
                    scanner,
                )
            )
            done += len(keys)
            advance(done)
        return True

    def evaluate(
        self,
        topic: Topic,
        advance: Advance = lambda prompts: None,
        stopped: Stopped = lambda: False,
    ) -> WholeEvaluation | None:
        """Evaluate all prompts under a definition, after `prepare`; None if stopped.

        `advance` is called with the number of evaluated prompts. Raises ScannerError.
        """
        settings = self._scanner.settings
        evaluations: list[Evaluation] = []
        counts: list[Counts] = []
        done = 0
        with ThreadPoolExecutor(self._threads) as pool:
            jobs = [pool.submit(self._evaluate, ready, topic, stopped) for ready in self._ready]
            for job, ready in zip(jobs, self._ready, strict=True):
                evaluation = job.result()
                if evaluation is None:
                    return None
                evaluations.append(evaluation)
                codes, should = evaluation.codes, evaluation.should_trigger
                counts.append(count_outcomes(codes, should, ready.groups, ready.names))
                done += len(ready.keys)
                advance(done)
        return WholeEvaluation(topic, settings, add_counts(counts), tuple(evaluations))

    def _evaluate(self, ready: _Ready, topic: Topic, stopped: Stopped) -> Evaluation | None:
        if stopped():
            return None
        scanner = ready.scanner
        scanner.follow(self._scanner)
        empty = pl.DataFrame({"key": ready.keys, "expected": ready.expected})
        prompts = self.large.prompts(empty)
        verdicts = scanner.scan_now(topic, prompts, lambda progress: None, stopped)
        if verdicts is None:
            return None
        return Evaluation(
            topic, scanner.settings, self.large.fingerprint, ready.keys, ready.expected, verdicts
        )

    def write(
        self,
        whole: WholeEvaluation,
        advance: Advance = lambda prompts: None,
        stopped: Stopped = lambda: False,
    ) -> Run | None:
        """Write results as parts, like `guardtui eval`; None if stopped.

        If stopped, a run that was created here is removed again. `advance` is called with the
        number of written prompts. Raises FileError and ShardError.
        """
        run = Run(self.large, whole.topic, whole.settings)
        existed = run.folder.exists()
        run.begin()
        done = 0
        for ready, evaluation in zip(self._ready, whole.evaluations, strict=True):
            if stopped():
                if not existed:
                    shutil.rmtree(run.folder, ignore_errors=True)
                return None
            if read_manifest(run, ready.shard) is None:
                names = pl.Series(ready.names, dtype=pl.String)
                categories = names.gather(ready.groups) if self.large.category_column else None
                write_part(run, ready.shard, ready.rows, categories, evaluation, {})
            done += len(ready.keys)
            advance(done)
        return run
