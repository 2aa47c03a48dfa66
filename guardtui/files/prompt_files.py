"""Prompt sets from CSV, TSV, JSONL and Parquet, with the line of every row."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.prompts import (
    HEADER,
    Finding,
    PromptSet,
    PromptSetError,
    Severity,
    build_prompt_set,
)
from guardtui.domain.text import display_start
from guardtui.domain.topic import Intent
from guardtui.files.chats import looks_like_chat
from guardtui.files.inspect_logs import is_inspect_log
from guardtui.files.json_rows import (
    NO_OBJECT,
    NO_OBJECT_IN_ARRAY,
    holds_lone_surrogate,
    json_rows,
)
from guardtui.files.parquet import as_text, parse_parquet
from guardtui.files.problems import (
    ContentError,
    FileError,
    decode,
    read_bytes,
    read_standard_input,
)
from guardtui.files.table_formats import TableFormat, detect_format, detect_separator, unpack
from guardtui.files.workbooks import read_workbook

_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")

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


def load_prompts(path: Path, intent: Intent | None = None) -> PromptSet:
    """Read and validate a prompt set in any `TableFormat`; the path `-` is standard input.

    `intent` is the topic's; it applies if the file has no column `intent`. Raises FileError if the
    file cannot be read, and PromptSetError with all errors of its rows together.
    """
    return parse_prompts(*read_prompt_bytes(path), intent)


def read_prompt_bytes(path: Path) -> tuple[Path, bytes]:
    """Return the name of a prompt file for messages, and its content. Raises FileError."""
    if str(path) == "-":
        return STANDARD_INPUT, read_standard_input(STANDARD_INPUT, if_empty=_IF_EMPTY)
    return path, read_bytes(path, pipes=True, if_empty=_IF_EMPTY)


def parse_prompts(path: Path, content: bytes, intent: Intent | None = None) -> PromptSet:
    """Parse a prompt set as `load_prompts`, from the content of a file called `path`."""
    rows = read_rows(path, content)
    if rows.unread:
        raise _all_errors(path, rows, intent)
    return build_prompt_set(rows.raw, rows.lines, str(path), intent, rows.header)


_MARK = b"\xef\xbb\xbf"
_IF_EMPTY = "guardtui sample prints an example"
_NEEDED = ("prompt", "expected")
"""Columns for detecting the delimiter of a file."""


def split_mark(content: bytes) -> tuple[bytes, bytes]:
    """Return the byte order mark, or b"", and the content after it."""
    body = content.removeprefix(_MARK)
    return content[: len(content) - len(body)], body


@dataclass(frozen=True, eq=False)
class RowLayout:
    """Positions of the rows of a delimited file, header first; offsets after the byte order mark.

    `starts` and `stops` (intp [R + 1]) bound each row without its line feed, but with a carriage
    return before that. `separators` (intp) are those outside of quotes.
    """

    starts: NDArray[np.intp]
    stops: NDArray[np.intp]
    separators: NDArray[np.intp]
    separator: str = ","


@dataclass(frozen=True, eq=False)
class RawRows:
    """A prompt file as read, before any validation.

    `raw` has the file's columns, all String [N], `lines` (uint32 [N]) the line of each row.
    `unread` are the errors of rows that could not be read and are not in `raw`. `header` describes
    the source of the column names, for messages.
    """

    raw: pl.DataFrame
    lines: NDArray[np.uint32]
    unread: list[Finding]
    layout: RowLayout | None = None
    header: str = HEADER


def read_rows(path: Path, content: bytes, needed: Collection[str] = _NEEDED) -> RawRows:
    """Return the rows of a file called `path`, from its content. Raises FileError.

    `needed` are column names in lower case. The delimiter with which the header has them all is
    used; without any, the usual one of the file extension.
    """
    content = unpack(path, content)
    if is_inspect_log(path, content):
        remedy = f"make one of it: guardtui convert {path} --output prompts.csv"
        raise FileError(path, "this is a log of inspect_ai, not a prompt set", remedy)
    kind = detect_format(path, content)
    if kind is TableFormat.PARQUET:
        return RawRows(*_parquet(path, content), [], header="the file")
    if kind is TableFormat.WORKBOOK:
        return RawRows(*read_workbook(path, content), [], header="the first sheet")
    if kind in (TableFormat.JSON_LINES, TableFormat.JSON_ARRAY):
        return RawRows(*_json(path, decode(path, content)), header="the JSON")
    decode(path, content)
    body = split_mark(content)[1]
    return _delimited(path, body, detect_separator(path, body, needed))


def _all_errors(path: Path, rows: RawRows, intent: Intent | None) -> PromptSetError:
    """Return the errors of unreadable rows together with those of the readable ones."""
    unread = rows.unread
    others: tuple[Finding, ...] = ()
    total = len(unread)
    if rows.raw.height:
        try:
            build_prompt_set(rows.raw, rows.lines, str(path), intent, rows.header)
        except PromptSetError as error:
            # Drop errors of the whole file: unreadable rows may contain what is missing.
            others = tuple(finding for finding in error.findings if finding.lines)
            total += error.total - len(error.findings) + len(others)
    findings = sorted([*unread, *others], key=lambda finding: finding.lines[0])
    return PromptSetError(str(path), findings, total)


def _parquet(path: Path, content: bytes) -> tuple[pl.DataFrame, NDArray[np.uint32]]:
    raw = as_text(path, parse_parquet(path, content))
    return raw, np.arange(1, raw.height + 1, dtype=np.uint32)


def _json(path: Path, text: str) -> tuple[pl.DataFrame, NDArray[np.uint32], list[Finding]]:
    columns: dict[str, list[str | None]] = {}
    lines: list[int] = []
    errors: list[Finding] = []
    # UTF-8 can contain half a surrogate pair only as an escape.
    escapes = "\\u" in text
    no_object = NO_OBJECT_IN_ARRAY if text.lstrip().startswith("[") else NO_OBJECT
    for number, row in json_rows(path, text):
        problem = _json_problem(row, escapes=escapes) if isinstance(row, dict) else no_object
        if problem or not isinstance(row, dict):
            errors.append(Finding(Severity.ERROR, "json", problem, (number,)))
            continue
        for name in row:
            if name not in columns:
                columns[name] = [None] * len(lines)
        for name, values in columns.items():
            values.append(_json_text(row.get(name)))
        lines.append(number)
    frame = pl.DataFrame(columns, dict.fromkeys(columns, pl.String))
    return frame, np.array(lines, np.uint32), errors


def _returns_only(path: Path) -> FileError:
    """Return the error for line ends as on Macintoshes until 2001."""
    problem = "its lines end with carriage returns only"
    return FileError(path, problem, "save it with line feeds, as programs do since 2001")


def _json_problem(row: dict[str, object], *, escapes: bool) -> str:
    """Return why a row cannot be used as it is, or ""."""
    for name, value in row.items():
        if not isinstance(value, str) and name.strip().lower() == "prompt":
            if looks_like_chat(value):
                return "the prompt is a list of messages: guardtui convert takes the user's last"
            return f"the prompt is not text but {type(value).__name__}: put it in quotes"
    if escapes and holds_lone_surrogate("".join(f"{name}{value}" for name, value in row.items())):
        return "a text holds half of a surrogate pair, which is not a character: remove it"
    return ""


def _json_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value)


def _delimited(path: Path, content: bytes, separator: str) -> RawRows:
    """Return the rows according to RFC 4180, with errors for rows of wrong length.

    The structure is derived from the bytes; polars reads the values.
    """
    if not content:
        raise ContentError(path, "the file is empty", _IF_EMPTY)
    data = np.frombuffer(content, np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    _check_quotes(path, data, quotes, ord(separator))
    newlines = np.flatnonzero(data == _NEWLINE)
    body = content.rstrip(b"\r\n")
    if b"\n" not in body and b"\r" in body:
        raise _returns_only(path)
    # A line feed ends a row if an even number of quotes precedes it.
    ends = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    starts = np.concatenate(([0], ends + 1))
    stops = np.concatenate((ends, [len(data)]))
    line_of = np.searchsorted(newlines, starts) + 1
    lengths = stops - starts
    lengths -= (lengths > 0) & (data[np.maximum(stops - 1, 0)] == _RETURN)
    filled = lengths > 0
    separators = np.flatnonzero(data == ord(separator))
    separators = separators[np.searchsorted(quotes, separators) % 2 == 0]
    fields = np.searchsorted(separators, stops) - np.searchsorted(separators, starts) + 1
    for row in np.flatnonzero(filled & (fields == 1)).tolist():
        if not content[starts[row] : stops[row]].strip():
            filled[row] = False  # a row of blanks counts as empty
    if not filled.any():
        raise ContentError(path, "the file is empty", _IF_EMPTY)
    width = int(fields[filled][0])
    even = filled & (fields == width)
    ragged = _ragged(line_of[filled & ~even], fields[filled & ~even], width, separator)
    starts, stops, line_of = (part[even] for part in (starts, stops, line_of))
    if not even.all():
        content = b"\n".join(
            content[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
        )
    try:
        frame = pl.read_csv(
            io.BytesIO(content),
            has_header=False,
            infer_schema=False,
            separator=separator,
        )
    except pl.exceptions.PolarsError as error:
        raise FileError(path, "not valid CSV", "write it with a CSV writer") from error
    if frame.height != len(starts):
        raise FileError(
            path,
            f"{len(starts)} rows were counted and {frame.height} read",
            "write it with a CSV writer: line feeds, quotes doubled",
        )
    names = [str(name).strip() for name in frame.row(0)]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        problem = f"duplicate column {display_start(twice, 60)!r} in the header"
        raise FileError(path, problem, "rename or remove one of the two", 1)
    raw = frame.slice(1).rename(dict(zip(frame.columns, names, strict=True)))
    layout = RowLayout(starts, stops, separators, separator)
    header = HEADER if separator == "," else f"the header, separated by {_NAMED[separator]}s,"
    return RawRows(raw, line_of[1:].astype(np.uint32), ragged, layout, header)


def _check_quotes(
    path: Path, data: NDArray[np.uint8], quotes: NDArray[np.intp], separator: int
) -> None:
    """Raise FileError unless quotes enclose whole fields and are doubled inside."""
    if not len(quotes):
        return
    padded = np.concatenate(([_NEWLINE], data, [_NEWLINE])).astype(np.uint8)
    before, after = padded[quotes], padded[quotes + 2]
    edges = np.array([separator, _NEWLINE, _RETURN], np.uint8)
    opens = np.isin(before[::2], edges)
    # The second of a doubled quote counts as opening again, directly after a closing one.
    opens[1:] |= quotes[2::2] == quotes[1:-1:2][: len(quotes[2::2])] + 1
    closing = quotes[1::2]
    closes = np.isin(after[1::2], edges) | (after[1::2] == _QUOTE)
    bad_open = quotes[::2][~opens]
    bad_close = closing[~closes]
    if len(bad_open) or len(bad_close):
        first = min(np.concatenate((bad_open, bad_close)).tolist())
        line = int(np.count_nonzero(data[:first] == _NEWLINE)) + 1
        raise FileError(
            path,
            "unescaped quote inside a field",
            'put the whole field in quotes and double those inside: "say ""hi"""',
            line,
        )
    if len(quotes) % 2:
        line = int(np.count_nonzero(data[: quotes[-1]] == _NEWLINE)) + 1
        raise FileError(
            path,
            "the quote that opens here is never closed",
            "close it; is the file truncated?",
            line,
        )


_NAMED = {",": "comma", ";": "semicolon", "\t": "tab"}


def _ragged(
    lines: NDArray[np.intp], fields: NDArray[np.intp], width: int, separator: str
) -> list[Finding]:
    """Return an error for each row whose number of fields differs from the header."""
    return [
        Finding(
            Severity.ERROR,
            "ragged",
            f"{count} fields where the header has {width}: "
            f"a text that holds a {_NAMED[separator]} needs quotes",
            (line,),
        )
        for line, count in zip(lines.tolist(), fields.tolist(), strict=True)
    ]
