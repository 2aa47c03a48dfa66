"""Parts: the files of one evaluated shard, with its wrong rows and a small manifest."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import group_codes
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome
from guardtui.files.problems import FileError, from_os_error
from guardtui.shards.large_set import LargeSet, write_frame
from guardtui.shards.leftovers import write_shared
from guardtui.shards.shard import Shard, ShardError
from guardtui.shards.vectors import keys_digest

SCHEMA_VERSION = 1

_FOR_SCORES = "for-scores"
"""Marker file in the folder of a run that was started only for its scores."""

Counts = Mapping[str, tuple[int, int, int, int, int, int]]
"""Counts by category ("" without that column).

For prompts that should trigger: TP, FN and without a verdict. Then for all others: TN, FP and
without a verdict.
"""


@dataclass(frozen=True, eq=False)
class Run:
    """One definition evaluated by one scanner on a large prompt set; its id names its folder."""

    large: LargeSet
    topic: Topic
    settings: ScannerSettings

    @property
    def id(self) -> str:
        """12 hex digits, derived from the definition, the scanner and the prompts."""
        scanner = self.settings
        text = json.dumps(
            [
                self.topic.fingerprint,
                scanner.guardrail.to_json(),
                scanner.revision,
                None if scanner.threshold is None else repr(scanner.threshold),
                self.large.fingerprint,
            ]
        )
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def folder(self) -> Path:
        """The folder of its parts."""
        return self.large.folder / "runs" / self.id

    def path(self, shard: Shard, ending: str) -> Path:
        """Return a file of a part: `.parquet`, `.wrong.parquet`, `.scores.npy` or `.json`."""
        return self.folder / f"{shard.name}{ending}"

    def begin(self) -> None:
        """Create its folder, with a description of the run. Raises FileError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_os_error(self.folder, error) from error
        scanner = self.settings
        data = {
            "schema_version": SCHEMA_VERSION,
            "topic": self.topic.model_dump(mode="json"),
            "settings": scanner.to_json(),
            "prompt_set": self.large.fingerprint,
        }
        path = self.folder / "run.json"
        if not path.exists():
            write_shared(path, _json(data))

    def begin_for_scores(self) -> None:
        """Create its folder, marked as discardable if it is new. Raises FileError."""
        if not self.folder.exists():
            self.begin()
            write_shared(self.folder / _FOR_SCORES, b"")

    def claim(self) -> None:
        """Remove the marker, because the run is used as an evaluation."""
        with contextlib.suppress(OSError):
            (self.folder / _FOR_SCORES).unlink()

    @property
    def may_be_discarded(self) -> bool:
        """Whether it was started only for its scores and is not used otherwise."""
        return (self.folder / _FOR_SCORES).exists()


def open_run(large: LargeSet, name: str) -> Run:
    """Open a run of a large prompt set by its id. Raises FileError if it is invalid."""
    path = large.folder / "runs" / name / "run.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        _known_version(path, data)
        run = Run(
            large, Topic.model_validate(data["topic"]), ScannerSettings.from_json(data["settings"])
        )
    except OSError as error:
        raise from_os_error(path, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(path, "not a description of a run", "remove its folder") from error
    if run.id != name:
        raise FileError(
            path, "its content does not match the name of its folder", "remove its folder"
        )
    return run


def _known_version(path: Path, data: Mapping[str, Any]) -> None:
    if data["schema_version"] != SCHEMA_VERSION:
        raise FileError(
            path,
            f"it has schema version {data['schema_version']}, supported is {SCHEMA_VERSION}",
            "use the guardtui that wrote it, or evaluate again into another folder",
        )


def runs_of(large: LargeSet) -> list[Run]:
    """Return all runs in the folder, the last modified one at the end. Raises FileError."""
    folder = large.folder / "runs"
    if not folder.is_dir():
        return []
    folders = [
        run_folder for run_folder in sorted(folder.iterdir()) if (run_folder / "run.json").is_file()
    ]
    # A folder's modification time is that of the last part added.
    folders.sort(key=lambda run_folder: run_folder.stat().st_mtime_ns)
    return [open_run(large, run_folder.name) for run_folder in folders]


@dataclass(frozen=True)
class Manifest:
    """Description of a part: enough for metrics and for checking that it belongs to a run.

    `scored` counts the scores of prompts that should trigger, which come first in its scores.
    `files` are the sizes of its files in bytes. `sha256` is that of the first file ("" in old
    parts). `seconds` are the durations of the steps.
    """

    run: str
    shard: Shard
    rows: int
    keys_sha256: str
    counts: Counts
    scored: int
    files: Mapping[str, int]
    seconds: Mapping[str, float]
    sha256: str = ""

    @property
    def metrics(self) -> Metrics:
        """Counts and rates of this shard."""
        return metrics_of_counts(self.counts)

    def to_json(self) -> dict[str, Any]:
        """Return the content of its file."""
        return {
            "schema_version": SCHEMA_VERSION,
            "run": self.run,
            "shard": self.shard.index,
            "shards": self.shard.count,
            "rows": self.rows,
            "keys_sha256": self.keys_sha256,
            "counts": counts_json(self.counts),
            "scored": self.scored,
            "files": dict(self.files),
            "sha256": self.sha256,
            "seconds": dict(self.seconds),
        }


def counts_json(counts: Counts) -> dict[str, Any]:
    """Return counts by category, with the names of what is counted."""
    return {
        name: {
            "should_trigger": {"tp": tp, "fn": fn, "no_verdict": left},
            "should_not_trigger": {"tn": tn, "fp": fp, "no_verdict": right},
        }
        for name, (tp, fn, left, tn, fp, right) in counts.items()
    }


def _counts(data: Mapping[str, Any]) -> Counts:
    counts = {}
    for name, numbers in data.items():
        should, other = numbers["should_trigger"], numbers["should_not_trigger"]
        counts[str(name)] = (
            int(should["tp"]),
            int(should["fn"]),
            int(should["no_verdict"]),
            int(other["tn"]),
            int(other["fp"]),
            int(other["no_verdict"]),
        )
    return counts


def add_counts(parts: Sequence[Counts]) -> Counts:
    """Return the sum of several counts, categories sorted by name."""
    total: dict[str, list[int]] = {}
    for part in parts:
        for name, numbers in part.items():
            into = total.setdefault(name, [0] * 6)
            for index, number in enumerate(numbers):
                into[index] += number
    return {name: tuple(total[name]) for name in sorted(total)}  # type: ignore[misc]


def metrics_of_counts(counts: Counts) -> Metrics:
    """Compute metrics over all categories."""
    tp, fn, left, tn, fp, right = (
        sum(numbers[index] for numbers in counts.values()) for index in range(6)
    )
    return Metrics(tp, tn, fp, fn, left + right)


def read_manifest(run: Run, shard: Shard) -> Manifest | None:
    """Return the manifest of a finished part, or None.

    Raises `ShardError` if it is of another run or other prompts, or if its files do not match it,
    and FileError if it is not a manifest.
    """
    path = run.path(shard, ".json")
    try:
        data = json.loads(path.read_bytes())
        _known_version(path, data)
        manifest = Manifest(
            str(data["run"]),
            Shard(int(data["shard"]), int(data["shards"])),
            int(data["rows"]),
            str(data["keys_sha256"]),
            _counts(data["counts"]),
            int(data["scored"]),
            {str(name): int(size) for name, size in data["files"].items()},
            {str(name): float(value) for name, value in data["seconds"].items()},
            str(data.get("sha256", "")),
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise from_os_error(path, error) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(path, "not a manifest of a part", REMEDY) from error
    if manifest.run != run.id or manifest.shard != shard:
        raise ShardError(f"{path}: this part is of another run or shard\n  {REMEDY}")
    for name, size in manifest.files.items():
        part = run.folder / name
        if not part.is_file() or part.stat().st_size != size:
            raise ShardError(f"{part}: the file is not as its manifest says\n  {REMEDY}")
    return manifest


REMEDY = "remove the part's .json file and run its shard again"


def write_part(
    run: Run,
    shard: Shard,
    rows: NDArray[np.uint32],
    categories: pl.Series | None,
    evaluation: Evaluation,
    seconds: Mapping[str, float],
) -> Manifest:
    """Write a part: its files first and the manifest last, each atomically.

    `rows` are the indices of the shard's prompts in the file, uint32 [n], in the evaluation's
    order; `categories` are their categories, String [n]. Raises FileError. Raises ValueError for an
    evaluation with open rows, because a part is final.
    """
    if evaluation.metrics.open:
        raise ValueError(f"{evaluation.metrics.open} prompts were not scanned")
    verdicts, codes = evaluation.verdicts, evaluation.codes
    frame = pl.DataFrame(
        {
            "row": rows,
            "key": evaluation.keys,
            "expected": evaluation.expected,
            "triggered": verdicts.triggered,
            "score": verdicts.score,
            "matched": verdicts.matched,
        }
    )
    sha256 = write_frame(run.path(shard, ".parquet"), frame)
    write_frame(run.path(shard, ".wrong.parquet"), _wrong(run, shard, evaluation))
    scored = _write_scores(run.path(shard, ".scores.npy"), evaluation)
    names = [
        run.path(shard, ending).name for ending in (".parquet", ".wrong.parquet", ".scores.npy")
    ]
    manifest = Manifest(
        run.id,
        shard,
        len(rows),
        keys_digest(evaluation.keys),
        count_outcomes(codes, evaluation.should_trigger, *groups_of(categories, len(codes))),
        scored,
        {name: (run.folder / name).stat().st_size for name in names},
        {name: round(value, 3) for name, value in seconds.items()},
        sha256,
    )
    write_shared(run.path(shard, ".json"), _json(manifest.to_json()))
    return manifest


def _wrong(run: Run, shard: Shard, evaluation: Evaluation) -> pl.DataFrame:
    """Return rows that are FP, FN or without a verdict, with their texts and details."""
    verdicts, codes = evaluation.verdicts, evaluation.codes
    wrong_rows = np.flatnonzero(codes >= Outcome.FP)
    numbers = wrong_rows.tolist()
    details = {
        "error": [verdicts.errors.get(row, "") for row in numbers],
        "note": [verdicts.notes.get(row, "") for row in numbers],
        "reason": [verdicts.reasons.get(row, "") for row in numbers],
    }
    texts = run.large.read_rows(shard)[wrong_rows]
    outcomes = pl.DataFrame(
        {
            "_outcome": codes[wrong_rows],
            "_triggered": verdicts.triggered[wrong_rows],
            "_score": verdicts.score[wrong_rows],
            "_matched": verdicts.matched[wrong_rows],
            **{f"_{name}": pl.Series(values, dtype=pl.String) for name, values in details.items()},
        }
    )
    return texts.hstack(outcomes)


def _write_scores(path: Path, evaluation: Evaluation) -> int:
    """Write sorted scores, those that should trigger first, and return their number."""
    scores, should = evaluation.verdicts.score, evaluation.should_trigger
    scored = ~np.isnan(scores)
    stream = io.BytesIO()
    both = [np.sort(scores[scored & should]), np.sort(scores[scored & ~should])]
    np.save(stream, np.concatenate(both), allow_pickle=False)
    write_shared(path, stream.getvalue())
    return len(both[0])


def groups_of(categories: pl.Series | None, count: int) -> tuple[NDArray[np.int32], Sequence[str]]:
    """Return the group of each row, int32 [n], and the sorted group names; [""] for None."""
    if categories is None:
        return np.zeros(count, np.int32), [""]
    return group_codes(categories.fill_null(""))


def count_outcomes(
    codes: NDArray[np.int8],
    should: NDArray[np.bool_],
    groups: NDArray[np.int32],
    names: Sequence[str],
) -> Counts:
    """Count by category: outcome codes int8 [n], duties bool [n], groups [n] of `names`."""
    width = 2 * len(Outcome)
    index = groups.astype(np.int64) * width + should * len(Outcome) + codes
    table = np.bincount(index, minlength=len(names) * width).reshape(len(names), 2, len(Outcome))
    return {
        name: (
            int(right[Outcome.TP]),
            int(right[Outcome.FN]),
            int(right[Outcome.ERROR]),
            int(left[Outcome.TN]),
            int(left[Outcome.FP]),
            int(left[Outcome.ERROR]),
        )
        for name, (left, right) in zip(names, table, strict=True)
    }


def _json(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, indent=2) + "\n").encode()
