"""Rows of prompt files in every table format, with the line of each."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from guardtui.files.chats import looks_like_chat
from guardtui.files.delimited import IF_EMPTY, read_delimited
from guardtui.files.inspect_logs import is_inspect_log
from guardtui.files.json_rows import json_table
from guardtui.files.parquet import as_text, parse_parquet
from guardtui.files.problems import (
    SIZE_LIMIT,
    FileError,
    decode,
    read_bytes,
    read_standard_input,
)
from guardtui.files.raw_rows import RawRows
from guardtui.files.table_formats import TableFormat, detect_format, unpack
from guardtui.files.workbooks import read_workbook, require_no_sheet

STANDARD_INPUT = Path("standard input")
"""Name of the path `-` in messages and reports."""

_LARGEST = 8 * SIZE_LIMIT


def read_prompt_bytes(path: Path) -> tuple[Path, bytes]:
    """Return the name of a prompt file for messages, and its content. Raises FileError."""
    if str(path) == "-":
        return STANDARD_INPUT, read_standard_input(STANDARD_INPUT, if_empty=IF_EMPTY)
    return path, read_bytes(path, pipes=True, if_empty=IF_EMPTY, limit=_LARGEST)


_MARK = b"\xef\xbb\xbf"
NEEDED = ("prompt", "expected")
"""Columns for detecting the delimiter of a file."""


def split_mark(content: bytes) -> tuple[bytes, bytes]:
    """Return the byte order mark, or b"", and the content after it."""
    body = content.removeprefix(_MARK)
    return content[: len(content) - len(body)], body


def read_rows(
    path: Path, content: bytes, needed: Collection[str] = NEEDED, sheet: str = ""
) -> RawRows:
    """Return the rows of a file called `path`, from its content. Raises FileError.

    `needed` are column names in lower case. The delimiter with which the header has them all is
    used; without any, the usual one of the file extension. `sheet` is that of a workbook.
    """
    content = unpack(path, content)
    if is_inspect_log(path, content):
        remedy = f"make one of it: guardtui convert {path} --output prompts.csv"
        raise FileError(path, "this is a log of inspect_ai, not a prompt set", remedy)
    kind = detect_format(path, content)
    if kind is TableFormat.WORKBOOK:
        return read_workbook(path, content, sheet, needed)
    require_no_sheet(path, sheet)
    if kind is TableFormat.PARQUET:
        raw = as_text(parse_parquet(path, content))
        return RawRows(raw, np.arange(1, raw.height + 1, dtype=np.uint32), [], header="the file")
    if kind in (TableFormat.JSON_LINES, TableFormat.JSON_ARRAY):
        return _json(path, decode(path, content), needed)
    decode(path, content)
    return read_delimited(path, split_mark(content)[1], needed)


def _json(path: Path, text: str, needed: Collection[str]) -> RawRows:
    table = json_table(path, text, needed, _texts_of)
    frame = pl.DataFrame(table.columns, dict.fromkeys(table.columns, pl.String))
    lines = np.array(table.lines, np.uint32)
    return RawRows(frame, lines, table.errors, header="the JSON", read_only=table.wrapped)


def _texts_of(row: dict[str, Any]) -> tuple[dict[str, str | None], str]:
    """Return the values of a row as texts, and why it is no row of a prompt set, or ""."""
    texts: dict[str, str | None] = {}
    problem = ""
    for name, value in row.items():
        if value is None or isinstance(value, str):
            texts[name] = value
        else:
            texts[name] = json.dumps(value)  # true, not True
        if not isinstance(value, str) and name.strip().lower() == "prompt":
            problem = f"the prompt is {_kind(value)}, not text: put it in quotes"
            if looks_like_chat(value):
                problem = "the prompt is a list of messages: guardtui convert takes the user's last"
    return texts, problem


def _kind(value: object) -> str:
    """Return what JSON calls a value that is not text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else "a number"
