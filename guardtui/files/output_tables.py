"""Tables as columns of values: CSV, JSON lines with typed values, Parquet."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from guardtui.domain.prompts import Finding, Severity
from guardtui.files.json_rows import holds_lone_surrogate, json_rows
from guardtui.files.parquet import as_text, parse_parquet
from guardtui.files.problems import FileError, decode
from guardtui.files.prompt_rows import read_rows
from guardtui.files.raw_rows import ERRORS_AT_MOST, JSON_CELLS_AT_MOST, require_cells
from guardtui.files.table_formats import TableFormat, detect_format, unpack
from guardtui.files.workbooks import require_no_sheet

Columns: TypeAlias = dict[str, list[Any]]
"""Values by column name, in the order of the file."""


def row_error(code: str, message: str, line: int | None = None) -> Finding:
    """Return an error of a row, or of the whole file without a line."""
    return Finding(Severity.ERROR, code, message, () if line is None else (line,))


def read_table(
    path: Path, content: bytes, needed: Collection[str] = (), sheet: str = ""
) -> tuple[Columns, list[int], list[Finding]]:
    """Return the columns, the line of each row, and the errors of unreadable rows.

    `needed` and `sheet` are as in `read_rows`. Raises FileError if the
    file cannot be read at all.
    """
    content = unpack(path, content)
    kind = detect_format(path, content)
    if kind is not TableFormat.WORKBOOK:
        require_no_sheet(path, sheet)
    if kind in (TableFormat.JSON_LINES, TableFormat.JSON_ARRAY):
        return _json(path, decode(path, content), needed)
    if kind is TableFormat.PARQUET:
        return _parquet(path, content)
    rows = read_rows(path, content, needed, sheet)
    columns = {name: rows.raw[name].to_list() for name in rows.raw.columns}
    return columns, rows.lines.tolist(), list(rows.unread)


def _json(
    path: Path, text: str, needed: Collection[str]
) -> tuple[Columns, list[int], list[Finding]]:
    """Read rows of JSON objects with typed values.

    `read_rows` is not used because it turns everything into text, while here a list and a text that
    looks like one differ.
    """
    columns: Columns = {}
    lines: list[int] = []
    errors: list[Finding] = []
    found = json_rows(path, text, needed)
    # UTF-8 can contain half a surrogate pair only as an escape.
    escapes = "\\u" in text
    for number, value in found.rows:
        if len(errors) == ERRORS_AT_MOST:
            break
        if not isinstance(value, dict):
            errors.append(row_error("json", found.not_object, number))
            continue
        row, problem = _named(value, escapes=escapes)
        if problem:
            errors.append(row_error("json", problem, number))
            continue
        for name in row:
            if name not in columns:
                columns[name] = [None] * len(lines)
        for name, values in columns.items():
            values.append(row.get(name))
        lines.append(number)
        require_cells(path, len(columns), len(lines), JSON_CELLS_AT_MOST)
    return columns, lines, errors


def _named(row: dict[str, Any], *, escapes: bool) -> tuple[dict[str, Any], str]:
    """Return the values by their stripped names, and the problem or ""."""
    if escapes and holds_lone_surrogate(json.dumps(row, ensure_ascii=False)):
        return {}, "a text holds half of a surrogate pair, which is not a character: remove it"
    named: dict[str, Any] = {}
    for name, value in row.items():
        if name.strip() in named:
            return {}, f"duplicate key {name.strip()!r} in this line: remove one of them"
        named[name.strip()] = value
    return named, ""


def _parquet(path: Path, content: bytes) -> tuple[Columns, list[int], list[Finding]]:
    frame = parse_parquet(path, content)
    names = [name.strip() for name in frame.columns]
    if len(set(names)) != len(names):
        raise FileError(path, "duplicate column", "rename one of them")
    columns: Columns = {}
    for name, column in zip(names, frame.columns, strict=True):
        values = frame[column]
        typed = values.dtype.is_numeric() or values.dtype.is_nested()
        if not typed and values.dtype not in (pl.String, pl.Boolean, pl.Null):
            values = as_text(values.to_frame()).to_series()
        columns[name] = values.to_list()
    return columns, list(range(1, frame.height + 1)), []
