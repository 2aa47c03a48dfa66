"""A large prompt set: a folder with its rows cut into shards, one Parquet file each."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.prompts import (
    LISTED,
    Finding,
    PromptSet,
    PromptSetError,
    category_of,
    content_digests,
    fingerprint_of,
    keys_of,
    missing_class,
    valid_rows,
)
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError, from_os_error
from guardtui.files.prompt_blocks import file_digest, prompt_blocks
from guardtui.shards.leftovers import write_shared
from guardtui.shards.shard import Shard, ShardError, all_shards, spans

SCHEMA_VERSION = 1
ROWS_PER_SHARD = 25_000
"""Default number of prompts per shard."""

OF_A_ROW = ("_outcome", "_triggered", "_score", "_matched", "_error", "_note", "_reason")
"""Columns of wrong rows with their result; all others are from the prompt set."""

_OWN = ("row", "key", "line", "prompt", "expected")
_RESERVED = frozenset(("row", "_category", *OF_A_ROW))

_WHOSE = "guardtui.shard"
_CUT_AGAIN = "remove it and cut the file again: guardtui eval with --prompts FILE and --out"

Stopped = Callable[[], bool]
Advance = Callable[[int], None]


@dataclass(frozen=True)
class LargeSet:
    """Description of a large prompt set, without its rows.

    `source` names the file it was cut from, `source_digest` is that file's SHA-256. `fingerprint`
    is that of the `PromptSet` the file would give. `columns` are its columns besides prompt,
    expected and intent. `strata` counts by category ("" without that column) the prompts that
    belong to the topic, and those that do not.
    """

    folder: Path
    source: str
    source_digest: str
    rows: int
    intent: Intent
    shards: int
    fingerprint: str
    columns: tuple[str, ...]
    strata: Mapping[str, tuple[int, int]]

    @cached_property
    def category_column(self) -> str | None:
        """The column named category, ignoring case, or None."""
        return category_of(self.columns)

    def all_shards(self) -> list[Shard]:
        """Return its shards in order."""
        return all_shards(self.shards)

    def rows_path(self, shard: Shard) -> Path:
        """Return the path of the rows of a shard."""
        return self.folder / "rows" / f"{shard.name}.parquet"

    def read_rows(self, shard: Shard, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return rows of a shard in file order: `row` (UInt32), then as in `PromptSet.frame`.

        Raises FileError if they cannot be read.
        """
        path = self.rows_path(shard)
        frame = read_frame(path, columns)
        owner = pl.read_parquet_metadata(path).get(_WHOSE)
        if owner is not None and owner != self._whose(shard):
            raise FileError(
                path, "these are the rows of another shard or other prompts", _CUT_AGAIN
            )
        return frame

    def write_rows(self, shard: Shard, frame: pl.DataFrame) -> None:
        """Write the rows of a shard. Raises FileError."""
        write_frame(self.rows_path(shard), frame, {_WHOSE: self._whose(shard)})

    def _whose(self, shard: Shard) -> str:
        return f"{self.fingerprint} {shard}"

    def prompts(self, frame: pl.DataFrame) -> PromptSet:
        """Return some of its rows as a prompt set; `frame` is from `read_rows`."""
        return PromptSet(frame.drop("row", strict=False), self.intent, self.source)

    def has_rows(self, shards: Iterable[Shard]) -> bool:
        """Return whether the rows of all these shards exist."""
        return all(self.rows_path(shard).exists() for shard in shards)

    def require_rows(self) -> None:
        """Raise FileError, naming the shards, unless the rows of all exist."""
        missing = [shard for shard in self.all_shards() if not self.has_rows([shard])]
        if missing:
            raise FileError(
                self.folder,
                f"the rows of {len(missing)} of {self.shards} shards are missing: {spans(missing)}",
                f"cut them: guardtui eval TOPIC --prompts {quote(self.source)} "
                f"--out {quote(str(self.folder))}",
            )

    def to_json(self) -> dict[str, Any]:
        """Return the content of `set.json`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "source": self.source,
            "source_sha256": self.source_digest,
            "rows": self.rows,
            "intent": self.intent.value,
            "shards": self.shards,
            "fingerprint": self.fingerprint,
            "columns": list(self.columns),
            "strata": {name: list(counts) for name, counts in self.strata.items()},
        }


def is_large_set(path: Path) -> bool:
    """Return whether a path is the folder of a large prompt set."""
    return (path / "set.json").is_file()


def open_set(folder: Path) -> LargeSet:
    """Open the large prompt set in a folder. Raises FileError."""
    path = folder / "set.json"
    if not path.exists():
        remedy = "name the folder that 'guardtui eval --out DIR' has made"
        raise FileError(folder, "not a folder of shards: set.json is missing", remedy)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema_version"] != SCHEMA_VERSION:
            raise FileError(
                path,
                f"it has schema version {data['schema_version']}, supported is {SCHEMA_VERSION}",
                "cut the prompts again into another folder",
            )
        return LargeSet(
            folder,
            str(data["source"]),
            str(data["source_sha256"]),
            int(data["rows"]),
            Intent(data["intent"]),
            int(data["shards"]),
            str(data["fingerprint"]),
            tuple(map(str, data["columns"])),
            {str(name): (int(yes), int(no)) for name, (yes, no) in data["strata"].items()},
        )
    except OSError as error:
        raise from_os_error(path, error) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            path, "not a description of a large prompt set", "cut the prompts again"
        ) from error


def cut(
    source: Path,
    folder: Path,
    count: int | None = None,
    only: Shard | None = None,
    *,
    intent: Intent | None = None,
    advance: Advance = lambda rows: None,
    stopped: Stopped = lambda: False,
) -> LargeSet | None:
    """Cut a prompt file into shards, all of them or `only` one; None if stopped.

    Existing shards are kept. `intent` is the topic's, for a file without one. Without `count`, the
    number of shards is that of the folder, or follows from the number of rows. `advance` is called
    with the number of rows read. Raises FileError, `PromptSetError` with all errors of the rows,
    and `ShardError` if the folder holds other prompts or another number of shards.
    """
    count = only.count if only is not None else count
    digest = file_digest(source)
    existing = open_set(folder) if is_large_set(folder) else None
    if existing is not None:
        _refuse_another(existing, source, digest, count)
        count = existing.shards
        if existing.has_rows([only] if only is not None else existing.all_shards()):
            return existing
    read = _read(source, only, intent, advance, stopped)
    if read is None:
        return None
    if count is None:
        count = max(1, -(-len(read.digests) // ROWS_PER_SHARD))
    large = LargeSet(
        folder,
        source.name,
        digest,
        len(read.digests),
        read.intent,
        count,
        read.fingerprint,
        read.columns,
        read.strata,
    )
    try:
        (folder / "rows").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise from_os_error(folder, error) from error
    # Before any rows: a second process with other prompts must not mix them with these.
    _claim(large)
    for shard in [only] if only is not None else all_shards(count):
        part = read.frame if only is not None else read.frame.filter(shard.holds(read.digests))
        large.write_rows(shard, part)
    return large


def _refuse_another(existing: LargeSet, source: Path, digest: str, count: int | None) -> None:
    if existing.source_digest != digest:
        raise ShardError(
            f"{existing.folder} holds other prompts than {source} does now\n"
            "  name another folder, or remove this one"
        )
    if count is not None and existing.shards != count:
        raise ShardError(
            f"{existing.folder} is cut into {existing.shards} shards, not {count}\n"
            f"  use {existing.shards}, or name another folder"
        )


def _claim(large: LargeSet) -> None:
    """Write `set.json`, or check that an existing one is equal. Raises `ShardError`."""
    path = large.folder / "set.json"
    data = (json.dumps(large.to_json(), indent=2) + "\n").encode()
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # Unlike a rename, this fails if another process was first.
            os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise from_os_error(path, error) from error
        if not path.exists():
            write_shared(path, data)
    existing = open_set(large.folder)
    if (existing.fingerprint, existing.shards) != (large.fingerprint, large.shards):
        raise ShardError(
            f"{large.folder}: another process cuts different prompts or shards into it\n"
            "  name another folder"
        )


_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES)
"""Errors of file systems without hard links."""


@dataclass(frozen=True, eq=False)
class _Read:
    frame: pl.DataFrame
    digests: NDArray[np.uint64]
    intent: Intent
    fingerprint: str
    columns: tuple[str, ...]
    strata: Mapping[str, tuple[int, int]]


def _read(
    source: Path,
    only: Shard | None,
    topic_intent: Intent | None,
    advance: Advance,
    stopped: Stopped,
) -> _Read | None:
    """Read the rows of a shard or of all, in one pass through the file."""
    frames: list[pl.DataFrame] = []
    digests: list[NDArray[np.uint64]] = []
    labels: list[NDArray[np.bool_]] = []
    errors: list[Finding] = []
    columns: dict[str, None] = {}
    strata: dict[str, list[int]] = {}
    intent: Intent | None = None
    error_count = count = 0
    for rows in prompt_blocks(source):
        if stopped():
            return None
        if not rows.raw.height:
            continue
        try:
            frame, block_intent = valid_rows(
                rows.raw, rows.lines, str(source), topic_intent, rows.header
            )
        except PromptSetError as error:
            errors += error.findings[: LISTED - len(errors)]
            error_count += error.total
            continue
        if intent is not None and block_intent is not intent:
            raise FileError(
                source,
                f"intent is {block_intent} here and {intent} before",
                "a prompt set has one intent",
                int(frame["line"][0]),
            )
        intent = block_intent
        frame = _with_own_names(frame)
        columns.update(dict.fromkeys(frame.columns[3:]))
        part = content_digests(frame["prompt"].to_list())
        row = pl.Series("row", np.arange(count, count + len(part), dtype=np.uint32))
        count += len(part)
        digests.append(part)
        labels.append(frame["expected"].to_numpy())
        _count_strata(frame, strata)
        frame = frame.insert_column(0, row)
        frames.append(frame if only is None else frame.filter(only.holds(part)))
        advance(count)
    if error_count:
        raise PromptSetError(str(source), errors, error_count)
    if intent is None:
        raise FileError(source, "the file has no rows", "add prompts to it")
    expected = np.concatenate(labels)
    if classes := missing_class(pl.Series(expected), intent):
        raise PromptSetError(str(source), [classes])
    all_digests = np.concatenate(digests)
    keys = keys_of(all_digests)
    fingerprint = fingerprint_of(intent, keys, expected)
    frame = pl.concat(frames, how="diagonal").with_columns(
        pl.col(name).fill_null("") for name in columns
    )
    frame = frame.insert_column(1, pl.Series("key", keys[frame["row"].to_numpy()]))
    frame = frame.select(*_OWN, *columns)
    counted = {name: (strata[name][0], strata[name][1]) for name in sorted(strata)}
    return _Read(frame, all_digests, intent, fingerprint, tuple(columns), counted)


def _with_own_names(frame: pl.DataFrame) -> pl.DataFrame:
    """Add a suffix to columns of the file that collide with ours, as in `PromptSet`."""
    names = {}
    for name in _RESERVED.intersection(frame.columns):
        other = f"{name} (file)"
        while other in frame.columns:
            other += " (file)"
        names[name] = other
    return frame.rename(names)


def _count_strata(frame: pl.DataFrame, strata: dict[str, list[int]]) -> None:
    column = category_of(frame.columns)
    category = pl.lit("") if column is None else pl.col(column)
    counted = frame.group_by(category.alias("_category"), "expected").agg(pl.len().alias("_count"))
    for name, expected, count in counted.select("_category", "expected", "_count").iter_rows():
        strata.setdefault(name, [0, 0])[0 if expected else 1] += count


def write_frame(path: Path, frame: pl.DataFrame, about: Mapping[str, str] | None = None) -> str:
    """Write a Parquet file atomically; equal rows give equal bytes. Raises FileError.

    `about` is stored as metadata. Returns the SHA-256 of the file (64 hex digits).
    """
    stream = io.BytesIO()
    # One row group of one chunk: the bytes do not depend on how the rows were combined.
    frame.rechunk().write_parquet(
        stream,
        compression="zstd",
        row_group_size=max(1, frame.height),
        metadata=dict(about) if about else None,
    )
    write_shared(path, stream.getvalue())
    return hashlib.sha256(stream.getvalue()).hexdigest()


def read_frame(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a Parquet file of ours. Raises FileError if it is missing or damaged."""
    try:
        if not path.is_file():
            raise FileNotFoundError(2, os.strerror(2))
        return pl.read_parquet(path, columns=list(columns) if columns is not None else None)
    except OSError as error:
        raise from_os_error(path, error) from error
    except pl.exceptions.PolarsError as error:
        raise FileError(
            path, "not a Parquet file, or a truncated one", "remove it and run its shard again"
        ) from error
