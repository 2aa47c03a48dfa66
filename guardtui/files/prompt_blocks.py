"""Long prompt files: their rows are read block by block, which takes half of the memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from guardtui.files.delimited import IF_EMPTY, end_of_rows
from guardtui.files.problems import ContentError, FileError
from guardtui.files.prompt_rows import NEEDED, read_rows, split_mark
from guardtui.files.raw_rows import ERRORS_AT_MOST, RawRows
from guardtui.files.table_formats import (
    TableFormat,
    declared_separator,
    detect_format,
    detect_separator,
    header_end,
)

BLOCK_BYTES = 16 * 1024 * 1024
"""Bytes of text per block: read in a fraction of a second, with some 200 MB of memory."""

LONGEST_ROW = 64 * 1024 * 1024
"""A row longer than this number of bytes must lack a closing quote."""


def is_long(path: Path, content: bytes) -> bool:
    """Return whether a file with this unpacked content is text that is read in blocks."""
    kinds = (TableFormat.DELIMITED, TableFormat.JSON_LINES)
    return len(content) > BLOCK_BYTES and detect_format(path, content) in kinds


def read_in_blocks(path: Path, content: bytes, size: int = BLOCK_BYTES) -> RawRows:
    """Return the rows of a text as `read_rows` does, from blocks of about `size` bytes.

    Raises FileError.
    """
    content = split_mark(content)[1]
    is_delimited = detect_format(path, content) is TableFormat.DELIMITED
    separator = detect_separator(path, content, NEEDED) if is_delimited else ""
    blocks: list[RawRows] = []
    header, start, line = b"", 0, 0
    while start < len(content):
        stop = _end_of_block(path, content, start, size, header, separator, line)
        block = content[start:stop]
        if block.strip(b" \t\r\n"):
            blocks.append(_rows(path, block, header, line))
            if is_delimited and not header:
                header = block[: header_end(block)] + b"\n"
            if sum(len(read.unread) for read in blocks) >= ERRORS_AT_MOST:
                break
        start = stop
        line += block.count(b"\n")
    if not blocks:
        raise ContentError(path, "the file is empty", IF_EMPTY)
    return RawRows(
        pl.concat([block.raw for block in blocks], how="diagonal"),
        np.concatenate([block.lines for block in blocks]),
        [finding for block in blocks for finding in block.unread],
        header=blocks[0].header,
    )


def _end_of_block(
    path: Path, content: bytes, start: int, size: int, header: bytes, separator: str, line: int
) -> int:
    """Return the end of a row after about `size` bytes; the first block has at least the header."""
    stop = start
    while (stop := stop + size) < len(content):
        block = content[start:stop]
        if not separator:
            end = block.rfind(b"\n") + 1
        else:
            end = max(end_of_rows(header + block, separator) - len(header), 0)
            # Not only blank lines and the declaration of a separator.
            if not header and not block[declared_separator(block)[1] : end].strip():
                end = 0
        if end:
            return start + end
        if stop - start > LONGEST_ROW:
            problem = f"a row is longer than {LONGEST_ROW >> 20} MiB"
            remedy = "is a quote opened here that is never closed?"
            raise FileError(path, problem, remedy, line + 1)
    return len(content)


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
    unread = [
        replace(finding, lines=tuple(number + shift for number in finding.lines))
        for finding in rows.unread
    ]
    lines = (rows.lines + np.int64(shift)).astype(np.uint32)
    return RawRows(rows.raw, lines, unread, header=rows.header)
