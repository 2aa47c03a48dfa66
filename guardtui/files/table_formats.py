"""Formats of table files: detection of format, delimiter and gzip compression."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Collection
from enum import StrEnum
from pathlib import Path

from guardtui.files.problems import SIZE_LIMIT, ContentError, FileError

PARQUET_MAGIC = b"PAR1"
"""First and last four bytes of every Parquet file."""

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_WORKBOOK_PART = b"xl/"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_JSON_ROWS = re.compile(rb'\s*(?:\[\s*)?\{\s*"|\s*\[\s*\]\s*\Z')
"""Start of rows in JSON. No CSV header starts so: a quote inside a bare field is invalid."""

SEPARATORS = (",", ";", "\t")
"""Separators of fields that a delimited file may use."""

_DECLARED = re.compile(rb'[ \t\r\n]*"?sep=([,;\t|])"?[,; \t]*\r?\n', re.IGNORECASE)
"""First line by which Excel is told the separator."""

_EMPTY_LINES = re.compile(rb"(?:[ \t,;|]*\r*\n)*")

_CHUNK = 1 << 20
_HEADER_BYTES = 1 << 20
"""Number of bytes at the start of a file that are searched for the header."""


class TableFormat(StrEnum):
    """Format of a table file."""

    DELIMITED = "delimited"
    JSON_LINES = "json lines"
    JSON_ARRAY = "json array"
    PARQUET = "parquet"
    WORKBOOK = "workbook"


_ENDINGS = {
    ".csv": TableFormat.DELIMITED,
    ".tsv": TableFormat.DELIMITED,
    ".jsonl": TableFormat.JSON_LINES,
    ".ndjson": TableFormat.JSON_LINES,
    ".json": TableFormat.JSON_ARRAY,
    ".parquet": TableFormat.PARQUET,
    ".xlsx": TableFormat.WORKBOOK,
}
"""Formats by extension, which may be followed by .gz."""


def unpacked_name(path: Path) -> Path:
    """Return the name of a file without a trailing .gz."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def format_of(path: Path) -> TableFormat:
    """Return the format for a file extension, CSV for an unknown one."""
    return _ENDINGS.get(unpacked_name(path).suffix.lower(), TableFormat.DELIMITED)


def detect_format(path: Path, content: bytes) -> TableFormat:
    """Return the format by the unpacked content if that is certain, else by the extension."""
    if content.startswith(PARQUET_MAGIC) and content.endswith(PARQUET_MAGIC):
        return TableFormat.PARQUET
    if content.startswith(_ZIP) and _WORKBOOK_PART in content:
        return TableFormat.WORKBOOK
    by_ending = format_of(path)
    body = content[:_CHUNK].removeprefix(_BYTE_ORDER_MARK)
    if by_ending in (TableFormat.JSON_LINES, TableFormat.JSON_ARRAY) or _JSON_ROWS.match(body):
        return TableFormat.JSON_ARRAY if body.lstrip()[:1] == b"[" else TableFormat.JSON_LINES
    return by_ending


def separator_of(path: Path) -> str:
    """Return the usual separator of a delimited file with this extension."""
    return "\t" if unpacked_name(path).suffix.lower() == ".tsv" else ","


def declared_separator(content: bytes) -> tuple[str, int]:
    """Return the separator in a first line such as `sep=;`, and the length of that line."""
    match = _DECLARED.match(content.removeprefix(_BYTE_ORDER_MARK))
    return (match[1].decode(), match.end()) if match else ("", 0)


def detect_separator(path: Path, content: bytes, required: Collection[str]) -> str:
    """Return the separator with which the header has all required columns (in lower case).

    One that the file declares comes first. The usual separator is tried next. If none has them all,
    it is the one with the most columns, for an error that names them. Only the header is read,
    never the rows.
    """
    if declared := declared_separator(content)[0]:
        return declared
    usual = separator_of(path)
    if not required:
        return usual
    names = {
        separator: header_fields(content, separator)
        for separator in sorted(SEPARATORS, key=lambda separator: separator != usual)
    }
    for separator, fields in names.items():
        if set(required) <= {field.strip().lower() for field in fields}:
            return separator
    return max(names, key=lambda separator: len(names[separator]))


def header_fields(content: bytes, separator: str) -> list[str]:
    """Return the names of the columns if the header is separated so, [] if it is too long."""
    content = content[:_HEADER_BYTES].removeprefix(_BYTE_ORDER_MARK)
    header = content[slice(*_header_bounds(content))].decode("utf-8", "replace")
    try:
        return next(csv.reader(io.StringIO(header, newline=""), delimiter=separator), [])
    except csv.Error:  # a field of more than 128 KiB
        return []


def header_end(content: bytes) -> int:
    """Return where the header ends, without its line feed, in text without byte order mark."""
    return _header_bounds(content[:_HEADER_BYTES])[1]


def _header_bounds(content: bytes) -> tuple[int, int]:
    """Return start and end of the first line with content, below a declared separator.

    Quoted line feeds continue it.
    """
    empty = _EMPTY_LINES.match(content, declared_separator(content)[1])
    start = empty.end() if empty else 0
    end = content.find(b"\n", start)
    while end >= 0 and content.count(b'"', start, end) % 2:
        end = content.find(b"\n", end + 1)
    return start, len(content) if end < 0 else end


def unpack(path: Path, content: bytes, limit: int = SIZE_LIMIT) -> bytes:
    """Return the unpacked content of a gzip file, or the content itself if not gzipped.

    Raises FileError for a damaged, truncated or empty file, and for one of more than `limit` bytes,
    which is not unpacked any further.
    """
    if not content.startswith(_GZIP):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(limit + 1)
    except EOFError as error:
        raise FileError(path, "the gzip file is truncated", "copy the file again") from error
    except (OSError, zlib.error) as error:
        raise FileError(path, "the gzip file is damaged", "copy the file again") from error
    if len(unpacked) > limit:
        raise FileError(
            path,
            f"it unpacks to more than the {limit / 1024**3:.3g} GiB allowed",
            "split the file",
        )
    if not unpacked.strip(_BYTE_ORDER_MARK + b" \t\r\n"):
        raise ContentError(path, "the file is empty", "guardtui sample prints an example")
    return unpacked


def pack(content: bytes) -> bytes:
    """Return the content gzipped; equal content gives equal bytes."""
    return gzip.compress(content, mtime=0)


def is_packed(content: bytes) -> bool:
    """Return whether the content is gzipped."""
    return content.startswith(_GZIP)
