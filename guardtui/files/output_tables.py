"""Tables as columns of values: CSV, JSON lines with typed values, Parquet."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from guardtui.domain.findings import Finding, Severity
from guardtui.files.json_rows import json_table
from guardtui.files.parquet import as_text, parse_parquet
from guardtui.files.problems import FileError, decode
from guardtui.files.prompt_rows import read_rows
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
        # As texts, which `read_rows` gives, a list and a text that looks like one would be alike.
        table = json_table(path, decode(path, content), needed, _named)
        return table.columns, table.lines, table.errors
    if kind is TableFormat.PARQUET:
        return _parquet(path, content)
    rows = read_rows(path, content, needed, sheet)
    columns = {name: rows.raw[name].to_list() for name in rows.raw.columns}
    return columns, rows.lines.tolist(), list(rows.unread)


def _named(row: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the values by their stripped names, and the problem or ""."""
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
