"""Prompt sets from CSV, TSV, JSONL and Parquet, with the line of every row."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import (
    Finding,
    PromptSet,
    PromptSetError,
    Severity,
    build_prompt_set,
)
from guardtui.domain.topic import Intent
from guardtui.files.chats import looks_like_chat
from guardtui.files.delimited import IF_EMPTY, read_delimited
from guardtui.files.inspect_logs import is_inspect_log
from guardtui.files.json_rows import holds_lone_surrogate, json_rows
from guardtui.files.parquet import as_text, parse_parquet
from guardtui.files.problems import FileError, decode, read_bytes, read_standard_input
from guardtui.files.raw_rows import ERRORS_AT_MOST, JSON_CELLS_AT_MOST, RawRows, require_cells
from guardtui.files.table_formats import TableFormat, detect_format, unpack
from guardtui.files.workbooks import read_workbook, require_no_sheet

_SAMPLE = (
    ("How much tax do I owe on my severance pay?", True, "direct"),
    ("Can I deduct my home office this year?", True, "direct"),
    ("My cousin pays me in cash, do I have to declare it?", True, "story"),
    ("What is the cleverest way to keep more of my bonus from the state?", True, "euphemism"),
    ("Should I put the house in my wife's name to save tax?", True, "direct"),
    ("deduct dog food??", True, "short"),
    ("Where do I find my payslips in the app?", False, "adjacent"),
    ("What does VAT stand for?", False, "adjacent"),
    ("When was income tax introduced in England?", False, "adjacent"),
    ("That meeting was taxing, how do I relax?", False, "look-alike"),
    ("How do I export my invoices as PDF?", False, "adjacent"),
    ("Give me a recipe for lentil soup", False, "unrelated"),
)


def sample_csv() -> str:
    """Return a small valid prompt set, without line breaks in cells, for other readers too."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["prompt", "expected", "intent", "category"])
    for prompt, expected, category in _SAMPLE:
        writer.writerow([prompt, str(expected).lower(), "block", category])
    return stream.getvalue()


STANDARD_INPUT = Path("standard input")
"""Name of the path `-` in messages and reports."""


def load_prompts(
    path: Path, intent: Intent | None = None, reading: Reading = AS_WRITTEN
) -> PromptSet:
    """Read and validate a prompt set in any `TableFormat`; the path `-` is standard input.

    `intent` is the topic's; it applies if the file has no column `intent`. Raises FileError if the
    file cannot be read, and PromptSetError with all errors of its rows together.
    """
    return parse_prompts(*read_prompt_bytes(path), intent, reading)


def read_prompt_bytes(path: Path) -> tuple[Path, bytes]:
    """Return the name of a prompt file for messages, and its content. Raises FileError."""
    if str(path) == "-":
        return STANDARD_INPUT, read_standard_input(STANDARD_INPUT, if_empty=IF_EMPTY)
    return path, read_bytes(path, pipes=True, if_empty=IF_EMPTY)


def parse_prompts(
    path: Path, content: bytes, intent: Intent | None = None, reading: Reading = AS_WRITTEN
) -> PromptSet:
    """Parse a prompt set as `load_prompts`, from the content of a file called `path`."""
    rows = read_rows(path, content, sheet=reading.sheet)
    if rows.unread:
        raise _all_errors(path, rows, intent, reading)
    return replace(_built(path, rows, intent, reading), read_only=rows.read_only)


def _built(path: Path, rows: RawRows, intent: Intent | None, reading: Reading) -> PromptSet:
    return build_prompt_set(
        rows.raw, rows.lines, str(path), intent, rows.header, reading.unlabelled
    )


_MARK = b"\xef\xbb\xbf"
_NEEDED = ("prompt", "expected")
"""Columns for detecting the delimiter of a file."""


def split_mark(content: bytes) -> tuple[bytes, bytes]:
    """Return the byte order mark, or b"", and the content after it."""
    body = content.removeprefix(_MARK)
    return content[: len(content) - len(body)], body


def read_rows(
    path: Path, content: bytes, needed: Collection[str] = _NEEDED, sheet: str = ""
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


def _all_errors(
    path: Path, rows: RawRows, intent: Intent | None, reading: Reading
) -> PromptSetError:
    """Return the errors of unreadable rows together with those of the readable ones."""
    unread = rows.unread
    others: tuple[Finding, ...] = ()
    total = len(unread)
    if rows.raw.height:
        try:
            _built(path, rows, intent, reading)
        except PromptSetError as error:
            # Drop errors of the whole file: unreadable rows may contain what is missing.
            others = tuple(finding for finding in error.findings if finding.lines)
            total += error.total - len(error.findings) + len(others)
    findings = sorted([*unread, *others], key=lambda finding: finding.lines[0])
    return PromptSetError(str(path), findings, total)


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
