"""Parquet files; a damaged file gives an error with its name, even if Polars crashes."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import polars as pl

from guardtui.files.problems import FileError
from guardtui.files.trial_read import PARQUET, remember_sound, survives

MAGIC = b"PAR1"
"""First and last four bytes of every Parquet file."""


def parse_parquet(path: Path, content: bytes) -> pl.DataFrame:
    """Return the rows of a Parquet file called `path` with this content. Raises FileError."""
    # If the last bytes are missing, the file is truncated; that needs no trial in a process.
    if not (content.startswith(MAGIC) and content.endswith(MAGIC)):
        raise _damaged(path)
    if not survives(PARQUET, content):
        raise _damaged(path, "needs too much memory")
    try:
        return pl.read_parquet(io.BytesIO(content))
    except Exception as error:  # polars raises many kinds here
        raise _damaged(path) from error


def as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return all columns as String [N]: lists and structs as JSON, durations as ISO 8601.

    Bytes that are not UTF-8 become base64.
    """
    return frame.select(_text(column) for column in frame)


def _text(column: pl.Series) -> pl.Series:
    kind = column.dtype
    if isinstance(kind, pl.Duration):
        return column.dt.to_string("iso")
    if kind.is_nested() or kind in (pl.Object, pl.Binary):
        texts = [None if value is None else json_text(value) for value in column.to_list()]
        return pl.Series(column.name, texts, pl.String)
    return column.cast(pl.String)


def json_text(value: object) -> str:
    """Return a value of a nested or binary column as text, JSON if it is a list or struct."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    if isinstance(value, timedelta):
        return str(pl.Series([value]).dt.to_string("iso")[0])
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=json_text)
    return str(value)


def parquet_bytes(frame: pl.DataFrame, notes: Mapping[str, str] | None = None) -> bytes:
    """Return a frame as a Parquet file, with key-value metadata."""
    stream = io.BytesIO()
    frame.write_parquet(stream, metadata=dict(notes) if notes else None)
    content = stream.getvalue()
    remember_sound(content)
    return content


def parquet_notes(content: bytes) -> dict[str, str]:
    """Return the key-value metadata of a valid Parquet file, without the Arrow schema."""
    metadata = pl.read_parquet_metadata(io.BytesIO(content))
    return {name: text for name, text in metadata.items() if name != "ARROW:schema"}


def _damaged(path: Path, otherwise: str = "") -> FileError:
    problem = "not a Parquet file, or a damaged one"
    if otherwise:
        return FileError(path, f"{problem}, or it {otherwise}", "write it again, or split it")
    return FileError(path, problem, "write or copy the file again")
