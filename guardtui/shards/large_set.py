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
"""Prompts in one shard where nobody says how many shards there are to be."""

OF_A_ROW = ("_outcome", "_triggered", "_score", "_matched", "_error", "_note", "_reason")
"""Columns of wrong rows that tell what became of them; what else they have is of the prompt set."""

_OWN = ("row", "key", "line", "prompt", "expected")
_RESERVED = frozenset(("row", "_category", *OF_A_ROW))

_WHOSE = "guardtui.shard"
_CUT_AGAIN = "remove it and cut the file anew: guardtui eval with --prompts FILE and --out"

Stopped = Callable[[], bool]
Advance = Callable[[int], None]


@dataclass(frozen=True)
class LargeSet:
    """What is known of a large prompt set without reading its rows.

    `source` names the file it was cut from and `source_digest` is that file's sha256;
    `fingerprint` is that of the `PromptSet` the file would give, `columns` are its columns besides
    prompt, expected and intent. `strata` counts by category ("" without that column) the prompts
    that belong to the topic, and those that do not.
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
        """The column named category, in whatever case."""
        return category_of(self.columns)

    def all_shards(self) -> list[Shard]:
        """Its shards in order."""
        return all_shards(self.shards)

    def rows_path(self, shard: Shard) -> Path:
        """Where the rows of a shard are."""
        return self.folder / "rows" / f"{shard.name}.parquet"

    def read_rows(self, shard: Shard, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Rows of a shard in the order of the file: `row` (UInt32), then as in `PromptSet.frame`.

        Raises FileError when they cannot be read.
        """
        path = self.rows_path(shard)
        frame = read_frame(path, columns)
        told = pl.read_parquet_metadata(path).get(_WHOSE)
        if told is not None and told != self._whose(shard):
            raise FileError(
                path, "these are the rows of another shard or other prompts", _CUT_AGAIN
            )
        return frame

    def write_rows(self, shard: Shard, frame: pl.DataFrame) -> None:
        """Keep the rows of a shard. Raises FileError."""
        write_frame(self.rows_path(shard), frame, {_WHOSE: self._whose(shard)})

    def _whose(self, shard: Shard) -> str:
        return f"{self.fingerprint} {shard}"

    def prompts(self, frame: pl.DataFrame) -> PromptSet:
        """Some of its rows as a prompt set; `frame` as `read_rows` gives it."""
        return PromptSet(frame.drop("row", strict=False), self.intent, self.source)

    def has_rows(self, shards: Iterable[Shard]) -> bool:
        """Whether all these shards are there."""
        return all(self.rows_path(shard).exists() for shard in shards)

    def require_rows(self) -> None:
        """Raise FileError, naming the shards, unless the rows of all are there."""
        missing = [one for one in self.all_shards() if not self.has_rows([one])]
        if missing:
            raise FileError(
                self.folder,
                f"the rows of {len(missing)} of {self.shards} shards are missing: {spans(missing)}",
                f"cut them: guardtui eval TOPIC --prompts {quote(self.source)} "
                f"--out {quote(str(self.folder))}",
            )

    def to_json(self) -> dict[str, Any]:
        """What `set.json` holds."""
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
    """Whether a path is the folder of a large prompt set."""
    return (path / "set.json").is_file()


def open_set(folder: Path) -> LargeSet:
    """The large prompt set in a folder. Raises FileError."""
    path = folder / "set.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["schema_version"] != SCHEMA_VERSION:
            raise FileError(
                path,
                f"it has schema version {told['schema_version']}, known is {SCHEMA_VERSION}",
                "cut the prompts anew into another folder",
            )
        return LargeSet(
            folder,
            str(told["source"]),
            str(told["source_sha256"]),
            int(told["rows"]),
            Intent(told["intent"]),
            int(told["shards"]),
            str(told["fingerprint"]),
            tuple(map(str, told["columns"])),
            {str(name): (int(yes), int(no)) for name, (yes, no) in told["strata"].items()},
        )
    except OSError as error:
        raise from_os_error(path, error) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            path, "this is no description of a large prompt set", "cut the prompts anew"
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
    """Cut a prompt file into shards, all of them or `only` one; None when stopped.

    Shards that are there stay. `intent` is the topic's, for a file that does not give it. Without
    `count` there are as many as its rows make sensible, or as the folder has. `advance` is told how
    many rows are read. Raises FileError, `PromptSetError` with all errors of the rows, and
    `ShardError` where the folder holds other prompts or another number of shards.
    """
    count = only.count if only is not None else count
    digest = file_digest(source)
    known = open_set(folder) if is_large_set(folder) else None
    if known is not None:
        _refuse_another(known, source, digest, count)
        count = known.shards
        if known.has_rows([only] if only is not None else known.all_shards()):
            return known
    read = _read(source, only, intent, advance, stopped)
    if read is None:
        return None
    if count is None:
        count = max(1, -(-len(read.digests) // ROWS_PER_SHARD))
    found = LargeSet(
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
    # Before any row is: whoever is second with other prompts must not mix theirs with these.
    _claim(found)
    for shard in [only] if only is not None else all_shards(count):
        part = read.frame if only is not None else read.frame.filter(shard.holds(read.digests))
        found.write_rows(shard, part)
    return found


def _refuse_another(known: LargeSet, source: Path, digest: str, count: int | None) -> None:
    if known.source_digest != digest:
        raise ShardError(
            f"{known.folder} holds other prompts than {source} does now\n"
            "  name another folder, or remove this one"
        )
    if count is not None and known.shards != count:
        raise ShardError(
            f"{known.folder} is cut into {known.shards} shards, not {count}\n"
            f"  use {known.shards}, or name another folder"
        )


def _claim(large: LargeSet) -> None:
    """Write `set.json`, unless one is there, which must then be the same. Raises `ShardError`."""
    path = large.folder / "set.json"
    data = (json.dumps(large.to_json(), indent=2) + "\n").encode()
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # Unlike a rename this fails where another process was first.
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
    there = open_set(large.folder)
    if (there.fingerprint, there.shards) != (large.fingerprint, large.shards):
        raise ShardError(
            f"{large.folder}: another process cuts other prompts, or otherwise, into it\n"
            "  name another folder"
        )


_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES)
"""What a file system without hard links answers."""


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
    """The rows of a shard or of all, once through the file."""
    frames: list[pl.DataFrame] = []
    digests: list[NDArray[np.uint64]] = []
    labels: list[NDArray[np.bool_]] = []
    errors: list[Finding] = []
    columns: dict[str, None] = {}
    strata: dict[str, list[int]] = {}
    intent: Intent | None = None
    wrong = count = 0
    for rows in prompt_blocks(source):
        if stopped():
            return None
        if not rows.raw.height:
            continue
        try:
            frame, found = valid_rows(rows.raw, rows.lines, str(source), topic_intent, rows.header)
        except PromptSetError as error:
            errors += error.findings[: LISTED - len(errors)]
            wrong += error.total
            continue
        if intent is not None and found is not intent:
            raise FileError(
                source,
                f"intent is {found} here and {intent} before",
                "a prompt set has one intent",
                int(frame["line"][0]),
            )
        intent = found
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
    if wrong:
        raise PromptSetError(str(source), errors, wrong)
    if intent is None:
        raise FileError(source, "the file has no rows", "add prompts to it")
    expected = np.concatenate(labels)
    if classes := missing_class(pl.Series(expected), intent):
        raise PromptSetError(str(source), [classes])
    every = np.concatenate(digests)
    keys = keys_of(every)
    fingerprint = fingerprint_of(intent, keys, expected)
    frame = pl.concat(frames, how="diagonal").with_columns(
        pl.col(name).fill_null("") for name in columns
    )
    frame = frame.insert_column(1, pl.Series("key", keys[frame["row"].to_numpy()]))
    frame = frame.select(*_OWN, *columns)
    counted = {name: (strata[name][0], strata[name][1]) for name in sorted(strata)}
    return _Read(frame, every, intent, fingerprint, tuple(columns), counted)


def _with_own_names(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns of the file that are called like some of ours get a suffix, as in `PromptSet`."""
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
    """Write a Parquet file atomically; the same rows give the same bytes. Raises FileError.

    `about` is kept in its metadata. Returns the sha256 of the file (64 hex digits).
    """
    stream = io.BytesIO()
    # One row group of one chunk: how the rows came together leaves no trace.
    frame.rechunk().write_parquet(
        stream,
        compression="zstd",
        row_group_size=max(1, frame.height),
        metadata=dict(about) if about else None,
    )
    write_shared(path, stream.getvalue())
    return hashlib.sha256(stream.getvalue()).hexdigest()


def read_frame(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a Parquet file of ours. Raises FileError when it is missing or damaged."""
    try:
        if not path.is_file():
            raise FileNotFoundError(2, os.strerror(2))
        return pl.read_parquet(path, columns=list(columns) if columns is not None else None)
    except OSError as error:
        raise from_os_error(path, error) from error
    except pl.exceptions.PolarsError as error:
        raise FileError(
            path, "this is no Parquet file, or half of one", "remove it and run its shard again"
        ) from error
