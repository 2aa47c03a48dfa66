"""Tables as columns of values: CSV, JSON lines with values as they are, Parquet."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from guardtui.domain.late import late
from guardtui.domain.prompts import Finding, Severity
from guardtui.files.parquet import parse_parquet
from guardtui.files.problems import FileProblem, decode
from guardtui.files.prompt_files import Format, format_of, read_rows

if TYPE_CHECKING:
    import polars as pl
else:
    pl = late("polars")

Columns: TypeAlias = dict[str, list[Any]]
"""Values by the name of the column, in the order of the file."""


def row_error(code: str, message: str, line: int | None = None) -> Finding:
    """Return an error of a row, or without a line one of the whole file."""
    return Finding(Severity.ERROR, code, message, () if line is None else (line,))


def read_table(path: Path, content: bytes) -> tuple[Columns, list[int], list[Finding]]:
    """Return the columns, the line of each row, and the errors of rows that cannot be read.

    Raises FileProblem when the file cannot be read at all.
    """
    kind = format_of(path)
    if kind is Format.JSON_LINES:
        return _json_lines(path, decode(path, content))
    if kind is Format.PARQUET:
        return _parquet(path, content)
    rows = read_rows(path, content)
    columns = {name: rows.raw[name].to_list() for name in rows.raw.columns}
    return columns, rows.lines.tolist(), list(rows.unread)


def _json_lines(path: Path, text: str) -> tuple[Columns, list[int], list[Finding]]:
    """Rows of JSON objects, values as they are.

    Not by `read_rows`, which makes texts of everything: a list and a text that looks like one
    are two things here.
    """
    if "\n" not in text.rstrip() and re.search(r"\}\s*\r\s*\{", text):
        problem = "its lines end with carriage returns only"
        raise FileProblem(path, problem, "save it with line feeds, as programs do since 2001")
    columns: Columns = {}
    lines: list[int] = []
    errors: list[Finding] = []
    # Only a line feed ends a line: str.splitlines would also split at odd separators in texts.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        row, problem = _json_object(line)
        if problem:
            errors.append(row_error("json", problem, number))
            continue
        for name in row:
            if name not in columns:
                columns[name] = [None] * len(lines)
        for name, values in columns.items():
            values.append(row.get(name))
        lines.append(number)
    return columns, lines, errors


def _json_object(line: str) -> tuple[dict[str, Any], str]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        return {}, "this line is no JSON object: is the file half-written?"
    # Half a pair cannot stand in UTF-8, only be written as an escape.
    if "\\u" in line:
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return {}, "a text holds half of a surrogate pair, which is no character: remove it"
    named: dict[str, Any] = {}
    for name, value in row.items():
        if name.strip() in named:
            return {}, f"{name.strip()!r} stands twice in this line: remove one of them"
        named[name.strip()] = value
    return named, ""


def _parquet(path: Path, content: bytes) -> tuple[Columns, list[int], list[Finding]]:
    frame = parse_parquet(path, content)
    names = [name.strip() for name in frame.columns]
    if len(set(names)) != len(names):
        raise FileProblem(path, "a column stands twice", "rename one of them")
    columns: Columns = {}
    for name, column in zip(names, frame.columns, strict=True):
        values = frame[column]
        plain = values.dtype.is_numeric() or values.dtype.is_nested()
        if not plain and values.dtype not in (pl.String, pl.Boolean, pl.Null):
            try:
                values = values.cast(pl.String)
            except pl.exceptions.PolarsError as error:
                raise FileProblem(
                    path, f"the column {name!r} holds neither text nor numbers",
                    "write plain columns",
                ) from error  # fmt: skip
        columns[name] = values.to_list()
    return columns, list(range(1, frame.height + 1)), []
