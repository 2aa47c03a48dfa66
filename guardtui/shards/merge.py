"""Merging of parts to one evaluation, after checking that they are complete and consistent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from shlex import quote
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import RATES, Metrics
from guardtui.domain.verdicts import Verdicts
from guardtui.files.problems import FileError
from guardtui.files.prompt_blocks import file_digest
from guardtui.shards.large_set import LargeSet, read_frame
from guardtui.shards.leftovers import sweep, write_shared
from guardtui.shards.parts import (
    REMEDY,
    Counts,
    Manifest,
    Run,
    add_counts,
    counts_json,
    metrics_of_counts,
    read_manifest,
)
from guardtui.shards.shard import Shard, ShardError, spans
from guardtui.shards.vectors import keys_digest

if TYPE_CHECKING:
    from pathlib import Path


SCHEMA_VERSION = 1
NONE = "(none)"


class IncompleteError(ShardError):
    """Parts are missing; `missing` are their shards."""

    exit_code = 3

    def __init__(self, run: Run, missing: list[Shard]) -> None:
        self.run, self.missing = run, missing
        large = run.large
        # Rows of a shard that was never cut are only in the source file.
        prompts = large.folder if large.has_rows(missing) else large.source
        super().__init__(
            f"{run.folder}: {len(missing)} of {large.shards} shards are missing: {spans(missing)}\n"
            f"  run them: guardtui eval TOPIC --prompts {quote(str(prompts))} "
            f"--out {quote(str(large.folder))} "
            f"--shard {missing[0]}"
        )


@dataclass(frozen=True, eq=False)
class Merged:
    """A complete run with its totals, read from manifests alone."""

    run: Run
    manifests: tuple[Manifest, ...]
    counts: Counts

    @property
    def metrics(self) -> Metrics:
        """Counts and rates over all prompts."""
        return metrics_of_counts(self.counts)

    @property
    def by_category(self) -> dict[str, Metrics]:
        """Metrics of each category; empty without such a column."""
        return category_metrics(self.run.large, self.counts)

    @property
    def evaluation(self) -> MergedEvaluation:
        """The run as an evaluation, whose columns are read on demand."""
        return MergedEvaluation(self)

    def to_json(self) -> dict[str, Any]:
        """Return the content of `merged.json`, which does not depend on the number of shards."""
        run, metrics = self.run, self.metrics
        return {
            "schema_version": SCHEMA_VERSION,
            "topic": run.topic.model_dump(mode="json"),
            "definition": run.topic.fingerprint,
            "guardrail": run.settings.guardrail.to_json()
            | {
                "threshold": run.settings.threshold,
            },
            "prompt_set": run.large.fingerprint,
            "rows": run.large.rows,
            "no_verdict": metrics.errors,
            "rates": {name: getattr(metrics, name) for name in RATES},
            "counts": counts_json(self.counts),
        }

    def write(self) -> None:
        """Write the totals as `merged.json` beside the parts, and remove leftovers.

        Raises FileError.
        """
        text = json.dumps(self.to_json(), indent=2) + "\n"
        path, large = self.run.folder / "merged.json", self.run.large
        self.run.claim()
        # Viewing a run must not change its modification time, and its folder may be read-only.
        if not _holds(path, text.encode()):
            write_shared(path, text.encode())
        sweep(large.folder, large.folder / "rows", self.run.folder, *large.folder.glob("vectors-*"))

    def discard(self) -> None:
        """Remove the run if it was started only for its scores and is not used otherwise."""
        if self.run.may_be_discarded:
            shutil.rmtree(self.run.folder, ignore_errors=True)

    def wrong_rows(
        self, columns: Sequence[str] | None = None, most: int | None = None
    ) -> pl.DataFrame:
        """Return rows that are wrong or without a verdict, in file order.

        Columns are as in `LargeSet.read_rows`, then `_outcome` and others with an underscore;
        `columns` (including `row`) restricts them. With `most`, reading stops after the shard that
        reaches this number of rows; as a shard is a random part of the set, so are the returned
        rows. Raises FileError.
        """
        parts: list[pl.DataFrame] = []
        for shard in self.run.large.all_shards():
            if most is not None and sum(part.height for part in parts) >= most:
                break
            parts.append(_read_wrong(self.run, self.manifests[shard.index], columns))
        return pl.concat(parts).sort("row")

    def sorted_scores(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the sorted scores of prompts that should trigger, and of all others.

        Raises FileError.
        """
        should, other = [], []
        for manifest in self.manifests:
            path = self.run.path(manifest.shard, ".scores.npy")
            try:
                scores = np.load(path, allow_pickle=False)
            except (OSError, ValueError) as error:
                raise FileError(path, "the scores cannot be read", REMEDY) from error
            should.append(scores[: manifest.scored])
            other.append(scores[manifest.scored :])
        return np.sort(np.concatenate(should)), np.sort(np.concatenate(other))


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _read_part(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    try:
        return read_frame(path, columns)
    except FileError as problem:
        raise FileError(path, problem.problem, REMEDY) from problem


def _read_wrong(run: Run, manifest: Manifest, columns: Sequence[str] | None) -> pl.DataFrame:
    path = run.path(manifest.shard, ".wrong.parquet")
    frame, metrics = _read_part(path, columns), manifest.metrics
    if frame.height != metrics.fp + metrics.fn + metrics.errors:
        raise FileError(path, "the rows do not match its manifest", REMEDY)
    return frame


def category_metrics(large: LargeSet, counts: Counts) -> dict[str, Metrics]:
    """Return the metrics of each counted category; empty without such a column."""
    if large.category_column is None:
        return {}
    # A category may have the same name as the placeholder of rows without one.
    names = sorted(counts, key=lambda name: name or NONE)
    return {
        shown: metrics_of_counts({name: counts[name] for name in group})
        for shown, group in groupby(names, lambda name: name or NONE)
    }


def merge(run: Run) -> Merged:
    """Merge a run from its manifests.

    Raises `IncompleteError` naming the missing shards, `ShardError` for inconsistent parts, and
    FileError.
    """
    manifests, missing = [], []
    for shard in run.large.all_shards():
        manifest = read_manifest(run, shard)
        if manifest is None:
            missing.append(shard)
        else:
            manifests.append(manifest)
    if missing:
        raise IncompleteError(run, missing)
    rows = sum(manifest.rows for manifest in manifests)
    counts = add_counts([manifest.counts for manifest in manifests])
    counted = sum(sum(numbers) for numbers in counts.values())
    if not rows == counted == run.large.rows:
        # Shards are disjoint by construction; extra or missing rows are detected here.
        raise ShardError(
            f"{run.folder}: the parts hold {rows} prompts and count {counted}, "
            f"the prompt set has {run.large.rows}\n  remove the run's folder and start again"
        )
    return Merged(run, tuple(manifests), counts)


@dataclass(frozen=True, eq=False)
class _Columns:
    keys: NDArray[np.uint64]
    expected: NDArray[np.bool_]
    verdicts: Verdicts


class MergedEvaluation(Evaluation):
    """An evaluation whose metrics are available before any row is read.

    Otherwise it is the evaluation of the whole prompt set, in file order.
    """

    def __init__(self, merged: Merged) -> None:
        run = merged.run
        self.__dict__.update(
            topic=run.topic,
            settings=run.settings,
            prompt_set=run.large.fingerprint,
            merged=merged,
            _lock=Lock(),
            _found=None,
        )

    def __reduce__(self) -> tuple[type[MergedEvaluation], tuple[Merged]]:
        # Another process reads the columns from disk itself.
        return MergedEvaluation, (self.__dict__["merged"],)

    @property
    def _columns(self) -> _Columns:
        with self.__dict__["_lock"]:
            if self.__dict__["_found"] is None:
                self.__dict__["_found"] = _read_columns(self.__dict__["merged"])
            columns: _Columns = self.__dict__["_found"]
            return columns

    @property
    def keys(self) -> NDArray[np.uint64]:
        return self._columns.keys

    @property
    def expected(self) -> NDArray[np.bool_]:
        return self._columns.expected

    @property
    def verdicts(self) -> Verdicts:
        return self._columns.verdicts

    @property
    def metrics(self) -> Metrics:
        merged: Merged = self.__dict__["merged"]
        return merged.metrics


def _read_columns(merged: Merged) -> _Columns:
    run = merged.run
    count = run.large.rows
    keys, expected = np.empty(count, np.uint64), np.empty(count, bool)
    triggered, matched = np.empty(count, np.int8), np.empty(count, np.int16)
    score = np.empty(count, np.float32)
    into: dict[str, NDArray[Any]] = {
        "key": keys,
        "expected": expected,
        "triggered": triggered,
        "score": score,
        "matched": matched,
    }
    texts: dict[str, dict[int, str]] = {"_error": {}, "_note": {}, "_reason": {}}
    seen = np.zeros(count, bool)
    for manifest in merged.manifests:
        path = run.path(manifest.shard, ".parquet")
        if manifest.sha256 not in ("", file_digest(path)):
            raise FileError(path, "the file is not as its manifest says", REMEDY)
        frame = _read_part(path)
        rows, part_keys = frame["row"].to_numpy(), frame["key"].to_numpy()
        strangers = rows.max(initial=0) >= count or seen[rows].any()
        if strangers or keys_digest(part_keys) != manifest.keys_sha256:
            raise FileError(path, "the rows do not match its manifest", REMEDY)
        seen[rows] = True
        for name, column in into.items():
            column[rows] = frame[name].to_numpy()
        wrong = _read_wrong(run, manifest, ["row", *texts])
        if not np.isin(wrong["row"].to_numpy(), rows, assume_unique=True).all():
            raise FileError(
                run.path(manifest.shard, ".wrong.parquet"), "the rows are of another part", REMEDY
            )
        for name, by_row in texts.items():
            with_text = wrong.filter(pl.col(name) != "")
            by_row.update(zip(with_text["row"].to_list(), with_text[name].to_list(), strict=True))
    verdicts = Verdicts(
        triggered,
        score,
        matched,
        errors=texts["_error"],
        notes=texts["_note"],
        reasons=texts["_reason"],
    )
    return _Columns(keys, expected, verdicts)
