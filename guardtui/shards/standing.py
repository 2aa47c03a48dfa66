"""A whole large set held ready: vectors are mapped, and an edit is one product for each shard."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.evaluation import Evaluation, ScannerSettings
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
    """One shard: its rows, columns [n] each, and a scanner that holds its vectors."""

    shard: Shard
    rows: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    expected: NDArray[np.bool_]
    groups: NDArray[np.int32]
    names: Sequence[str]
    scanner: LocalScanner


@dataclass(frozen=True, eq=False)
class Whole:
    """What became of all prompts under one definition; evaluations are by shard."""

    topic: Topic
    settings: ScannerSettings
    counts: Counts
    evaluations: tuple[Evaluation, ...]

    @property
    def metrics(self) -> Metrics:
        """Counts and rates over all prompts."""
        return metrics_of_counts(self.counts)

    def since(self, before: Whole) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Prompts by outcome before and now: [5, 5] counts of this, of the same prompts.

        Two tables: of those that should trigger now, and of those that should not.
        """
        tables = np.zeros((2, 5, 5), np.int64)
        for then, now in zip(before.evaluations, self.evaluations, strict=True):
            should = now.should_trigger
            index = (should.astype(np.int64) * 5 + then.codes) * 5 + now.codes
            tables += np.bincount(index, minlength=50).reshape(2, 5, 5)
        return tables[1], tables[0]


class Standing:
    """Evaluates a large set again and again with the embedded scanner."""

    def __init__(
        self,
        large: LargeSet,
        scanner: LocalScanner,
        threads: int | None = None,
    ) -> None:
        """`scanner` gives encoder and threshold; its prompts stay its own."""
        self.large = large
        self._scanner = scanner
        self._threads = threads or os.cpu_count() or 1
        self._ready: list[_Ready] = []

    def prepare(
        self, advance: Advance = lambda prompts: None, stopped: Stopped = lambda: False
    ) -> bool:
        """Map the vectors of all shards, embedding what is not there yet; False when stopped.

        `advance` is told how many prompts are ready. Raises FileError and ScannerError.
        """
        done = sum(len(one.keys) for one in self._ready)
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
    ) -> Whole | None:
        """All prompts under a definition, `prepare` having been done; None when stopped.

        `advance` is told how many prompts are done. Raises ScannerError.
        """
        settings = self._scanner.settings
        found: list[Evaluation] = []
        counts: list[Counts] = []
        done = 0
        with ThreadPoolExecutor(self._threads) as pool:
            jobs = [pool.submit(self._evaluate, one, topic, stopped) for one in self._ready]
            for job, one in zip(jobs, self._ready, strict=True):
                evaluation = job.result()
                if evaluation is None:
                    return None
                found.append(evaluation)
                codes, should = evaluation.codes, evaluation.should_trigger
                counts.append(count_outcomes(codes, should, one.groups, one.names))
                done += len(one.keys)
                advance(done)
        return Whole(topic, settings, add_counts(counts), tuple(found))

    def _evaluate(self, one: _Ready, topic: Topic, stopped: Stopped) -> Evaluation | None:
        if stopped():
            return None
        scanner = one.scanner
        scanner.follow(self._scanner)
        empty = pl.DataFrame({"key": one.keys, "expected": one.expected})
        prompts = self.large.prompts(empty)
        verdicts = scanner.scan_now(topic, prompts, lambda progress: None, stopped)
        if verdicts is None:
            return None
        return Evaluation(
            topic, scanner.settings, self.large.fingerprint, one.keys, one.expected, verdicts
        )

    def write(
        self,
        whole: Whole,
        advance: Advance = lambda prompts: None,
        stopped: Stopped = lambda: False,
    ) -> Run | None:
        """Keep what was found as parts, as `guardtui eval` does; None when stopped.

        A run that was begun here is then taken away again. `advance` is told how many prompts are
        written. Raises FileError and ShardError.
        """
        run = Run(self.large, whole.topic, whole.settings)
        was_there = run.folder.exists()
        run.begin()
        done = 0
        for one, evaluation in zip(self._ready, whole.evaluations, strict=True):
            if stopped():
                if not was_there:
                    shutil.rmtree(run.folder, ignore_errors=True)
                return None
            if read_manifest(run, one.shard) is None:
                names = pl.Series(one.names, dtype=pl.String)
                categories = names.gather(one.groups) if self.large.category_column else None
                write_part(run, one.shard, one.rows, categories, evaluation, {})
            done += len(one.keys)
            advance(done)
        return run
