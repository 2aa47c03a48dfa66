"""Prompt files of any size, read in blocks."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from guardtui.files.delimited import end_of_rows
from guardtui.files.parquet import parquet_blocks
from guardtui.files.problems import ContentError, FileError, from_os_error
from guardtui.files.prompt_rows import read_prompt_bytes, read_rows, split_mark
from guardtui.files.raw_rows import ERRORS_AT_MOST, RawRows
from guardtui.files.table_formats import (
    TableFormat,
    declared_separator,
    detect_format,
    detect_separator,
    header_end,
    is_packed,
)

BLOCK_BYTES = 16 * 1024 * 1024
"""Bytes of text per block: read in a fraction of a second, with some 200 MB of memory."""

_START_BYTES = 8192
"""Bytes at the start of a file that suffice for detecting its format."""

LONGEST_ROW = 64 * 1024 * 1024
"""A row longer than this number of bytes must lack a closing quote."""

BLOCK_ROWS = 100_000
"""Rows of Parquet per block."""


def prompt_blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[RawRows]:
    """Yield the rows of a prompt file in order, block by block, with the file's line numbers.

    Raises FileError if the file cannot be read.
    """
    with _open(path) as file:
        start = file.peek(_START_BYTES)
        kind = detect_format(path, start)
        if is_packed(start):
            blocks = _packed(path, file, size)
        elif kind is TableFormat.PARQUET:
            blocks = _parquet(path)
        elif kind in (TableFormat.DELIMITED, TableFormat.JSON_LINES):
            blocks = _text(path, file, kind, size)
        else:
            blocks = _whole(path)
        yield from blocks


def is_long(path: Path) -> bool:
    """Return whether a file is read in blocks, which needs a fraction of the memory."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # whoever reads it reports that
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > BLOCK_BYTES


def read_in_blocks(path: Path) -> RawRows:
    """Return the rows of a long prompt file, as `read_rows` does. Raises FileError."""
    blocks: list[RawRows] = []
    for block in prompt_blocks(path):
        blocks.append(block)
        if sum(len(read.unread) for read in blocks) >= ERRORS_AT_MOST:
            break
    return RawRows(
        pl.concat([block.raw for block in blocks], how="diagonal"),
        np.concatenate([block.lines for block in blocks]),
        [finding for block in blocks for finding in block.unread],
        header=blocks[0].header,
        read_only=any(block.read_only for block in blocks),
    )


@contextmanager
def _open(path: Path) -> Iterator[BufferedReader]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise from_os_error(path, error) from error
    except ValueError as error:
        if "null byte" not in str(error):
            raise
        raise FileError(repr(str(path)), "not a valid file name") from error


def _whole(path: Path) -> Iterator[RawRows]:
    """Yield all rows at once, for formats that cannot be read in blocks."""
    yield read_rows(*read_prompt_bytes(path))


def _packed(path: Path, file: BufferedReader, size: int) -> Iterator[RawRows]:
    """Yield the rows of gzipped text, unpacked while reading."""
    try:
        with gzip.GzipFile(fileobj=file) as unpacked:
            kind = detect_format(path, unpacked.peek(_START_BYTES))
            if kind in (TableFormat.DELIMITED, TableFormat.JSON_LINES):
                yield from _text(path, unpacked, kind, size)
            else:
                yield from _whole(path)
    except EOFError as error:
        raise FileError(path, "the gzip file is truncated", "copy the file again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileError(path, "the gzip file is damaged", "copy the file again") from error


def _parquet(path: Path) -> Iterator[RawRows]:
    start = 1
    for raw in parquet_blocks(path, BLOCK_ROWS):
        lines = np.arange(start, start + raw.height, dtype=np.uint32)
        start += raw.height
        yield RawRows(raw, lines, [], header="the file")


def _text(
    path: Path, file: IO[bytes] | gzip.GzipFile, kind: TableFormat, size: int
) -> Iterator[RawRows]:
    header, remainder, line, started, separator = b"", b"", 0, False, ""
    chunk = split_mark(file.read(max(size, 4)))[1]
    while True:
        content = remainder + chunk
        if not started:
            separator = detect_separator(path, content, ("prompt", "expected"))
        if not chunk:
            cut = len(content)
        elif kind is TableFormat.DELIMITED:
            cut = max(end_of_rows(header + content, separator) - len(header), 0)
        else:
            cut = content.rfind(b"\n") + 1
        if chunk and (not cut or not (started or _has_header(content[:cut]))):
            # Not a whole row yet, or only empty lines so far.
            if len(content) > LONGEST_ROW:
                raise FileError(
                    path,
                    f"a row is longer than {LONGEST_ROW >> 20} MiB",
                    "is a quote opened here that is never closed?",
                    line + 1,
                )
            remainder, chunk = content, file.read(size)
            continue
        block, remainder = content[:cut], content[cut:]
        filled = bool(block.strip(b" \t\r\n"))
        if not started and not filled:
            raise ContentError(path, "the file is empty", "guardtui sample prints an example")
        if filled:
            yield _rows(path, block, header, line)
        if not started and kind is TableFormat.DELIMITED:
            header = block[: header_end(block)] + b"\n"
        started = True
        line += block.count(b"\n")
        if not chunk:
            return
        chunk = file.read(size)


def _has_header(content: bytes) -> bool:
    """Return whether there is a row besides blank lines and the declaration of a separator."""
    return bool(content[declared_separator(content)[1] :].strip())


def _rows(path: Path, block: bytes, header: bytes, line: int) -> RawRows:
    """Return the rows of a block that begins after `line` lines of the file."""
    shift = line - header.count(b"\n")
    try:
        rows = read_rows(path, header + block)
    except FileError as problem:
        if problem.line is None or not shift:
            raise
        raise type(problem)(
            path, problem.problem, problem.remedy, problem.line + shift
        ) from problem
    if not shift:
        return rows
    unread = [
        replace(finding, lines=tuple(number + shift for number in finding.lines))
        for finding in rows.unread
    ]
    return RawRows(rows.raw, (rows.lines + np.int64(shift)).astype(np.uint32), unread)
