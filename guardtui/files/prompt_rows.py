"""Rows of prompt files in every table format, with the line of each."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import numpy as np
import polars as pl

from guardtui.domain.prompts import Finding, Severity
from guardtui.files.chats import looks_like_chat
from guardtui.files.delimited import IF_EMPTY, read_delimited
from guardtui.files.inspect_logs import is_inspect_log
from guardtui.files.json_rows import holds_lone_surrogate, json_rows
from guardtui.files.parquet import as_text, parse_parquet
from guardtui.files.problems import (
    SIZE_LIMIT,
    FileError,
    decode,
    read_bytes,
    read_standard_input,
)
from guardtui.files.raw_rows import ERRORS_AT_MOST, JSON_CELLS_AT_MOST, RawRows, require_cells
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
    columns: dict[str, list[str | None]] = {}
    lines: list[int] = []
    errors: list[Finding] = []
    # UTF-8 can contain half a surrogate pair only as an escape.
    escapes = "\\u" in text
    found = json_rows(path, text, needed)
    for number, row in found.rows:
        problem = found.not_object
        if isinstance(row, dict):
            problem = _json_problem(row, escapes=escapes)
        if problem or not isinstance(row, dict):
            errors.append(Finding(Severity.ERROR, "json", problem, (number,)))
            if len(errors) == ERRORS_AT_MOST:
                break
            continue
        for name in row:
            if name not in columns:
                columns[name] = [None] * len(lines)
        for name, values in columns.items():
            values.append(_json_text(row.get(name)))
        lines.append(number)
        require_cells(path, len(columns), len(lines), JSON_CELLS_AT_MOST)
    frame = pl.DataFrame(columns, dict.fromkeys(columns, pl.String))
    return RawRows(
        frame, np.array(lines, np.uint32), errors, header="the JSON", read_only=found.wrapped
    )


def _json_problem(row: dict[str, object], *, escapes: bool) -> str:
    """Return why a row cannot be used as it is, or ""."""
    for name, value in row.items():
        if not isinstance(value, str) and name.strip().lower() == "prompt":
            if looks_like_chat(value):
                return "the prompt is a list of messages: guardtui convert takes the user's last"
            return f"the prompt is {_kind(value)}, not text: put it in quotes"
    if escapes and holds_lone_surrogate("".join(f"{name}{value}" for name, value in row.items())):
        return "a text holds half of a surrogate pair, which is not a character: remove it"
    return ""


def _json_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value)


def _kind(value: object) -> str:
    """Return what JSON calls a value that is not text."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else "a number"
