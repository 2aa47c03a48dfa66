"""Excel workbooks (.xlsx), read by Polars with the engine of the extra `excel`."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

from guardtui.files.delimited import named_columns
from guardtui.files.problems import ContentError, FileError
from guardtui.files.raw_rows import RawRows
from guardtui.files.trial_read import WORKBOOK, survives

_AS_CSV = "save the sheet as CSV (UTF-8)"
_UNPACKED = 256 * 1024**2
"""A million rows have about this many bytes of XML, which take ten times as much memory."""

_SEARCHED = 20
"""Number of rows that are searched for a header below a title."""


def read_workbook(path: Path, content: bytes, sheet: str, needed: Collection[str]) -> RawRows:
    """Return the rows of a sheet (by default the first), with the numbers of its rows.

    The first row that is not empty is the header, `needed` are names of columns in lower case.
    Numbers and booleans become texts as in CSV; formula cells have their last result. Raises
    FileError.
    """
    if find_spec("fastexcel") is None:
        raise FileError(
            path,
            "this is an Excel workbook, which needs an extra that is not installed",
            f"pip install 'guardtui[excel]', or {_AS_CSV}",
        )
    _check_size(path, content)
    if sheet and sheet not in (names := _sheets(content)):
        shown = ", ".join(names) or "none that can be read"
        raise FileError(path, f"no sheet is called {sheet!r:.60}", f"existing: {shown:.300}")
    if not survives(WORKBOOK, content, sheet):
        raise _damaged(path)
    try:
        table = pl.read_excel(
            io.BytesIO(content),
            engine="calamine",
            sheet_name=sheet or None,
            has_header=False,
            drop_empty_rows=False,
            drop_empty_cols=False,
            raise_if_empty=False,
            read_options={"dtypes": "string", "skip_rows": 0},
        )
    except Exception as error:  # the engine raises many kinds
        raise _damaged(path) from error
    return _below_header(path, content, table.cast(pl.String), sheet, needed)


def require_no_sheet(path: Path, sheet: str) -> None:
    """Raise FileError if a sheet is named for a file that is not a workbook."""
    if sheet:
        raise FileError(path, "--sheet is for Excel workbooks, and this is not one", "omit --sheet")


def _below_header(
    path: Path, content: bytes, table: pl.DataFrame, sheet: str, needed: Collection[str]
) -> RawRows:
    which = f"the sheet {sheet!r:.60}" if sheet else "the first sheet"
    filled = np.zeros(table.height, bool)
    for column in table:
        filled |= (column.fill_null("").str.strip_chars() != "").to_numpy()
    rows = np.flatnonzero(filled)
    if not len(rows):
        raise ContentError(path, f"{which} is empty", "name another one with --sheet NAME")
    header = [str(name or "").strip() for name in table.row(int(rows[0]))]
    _require_header(path, table, rows[:_SEARCHED].tolist(), needed)
    body = table[rows[1:]]
    positions = named_columns(path, header, body, _letters)
    named = {name: body.to_series(position) for name, position in positions.items()}
    _require_results(path, content, sheet, named, positions, needed)
    lines = (rows[1:] + 1).astype(np.uint32)
    return RawRows(pl.DataFrame(named), lines, [], header=which, read_only=True)


def _require_header(
    path: Path, table: pl.DataFrame, rows: list[int], needed: Collection[str]
) -> None:
    """Raise FileError if the first row is a title, and one below it the header."""
    for row in rows:
        if set(needed) <= {str(name or "").strip().lower() for name in table.row(row)}:
            if row == rows[0]:
                return
            problem = f"row {rows[0] + 1} does not look like a header, row {row + 1} does"
            raise FileError(path, problem, f"delete what is above row {row + 1}")


def _require_results(
    path: Path,
    content: bytes,
    sheet: str,
    named: Mapping[str, pl.Series],
    positions: Mapping[str, int],
    needed: Collection[str],
) -> None:
    """Raise FileError if a needed column has empty cells because formulas have no result."""
    suspects = [
        _letters(positions[name])
        for name, column in named.items()
        if name.lower() in needed and (column.fill_null("") == "").any()
    ]
    if not suspects:
        return
    # A cell with a type has a result, if only an empty text.
    columns = "|".join(suspects).encode()
    without = re.compile(
        rb'<c (?![^>]*\bt=)[^>]*?\br="((?:' + columns + rb')\d+)"[^>]*>\s*'
        rb"<f\b[^>]*?(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>"
    )
    if cell := without.search(_sheet_text(content, sheet)):
        problem = f"the cell {cell[1].decode()} is a formula without a result"
        remedy = f"open the workbook in Excel or LibreOffice and save it, or {_AS_CSV}"
        raise FileError(path, problem, remedy)


def _letters(position: int) -> str:
    """Return the name of a column, such as AB, from its position (from 0)."""
    letters = ""
    while position >= 0:
        position, last = divmod(position, 26)
        letters = chr(ord("A") + last) + letters
        position -= 1
    return letters


# --- the archive --------------------------------------------------------------------------------


def _sheets(content: bytes) -> dict[str, str]:
    """Return the part of each sheet by its name, in order; {} if that cannot be read."""
    import xml.etree.ElementTree as ElementTree

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            book = ElementTree.fromstring(archive.read("xl/workbook.xml"))  # noqa: S314
            links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))  # noqa: S314
    except Exception:  # noqa: BLE001 - many kinds for damaged archives
        return {}
    targets = {link.get("Id"): link.get("Target", "") for link in links}
    found = {}
    for element in book.iter():
        if element.tag.rpartition("}")[2] == "sheet":
            link = next((value for key, value in element.items() if key.endswith("}id")), None)
            target = targets.get(link, "")
            part = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
            found[element.get("name", "")] = part
    return found


def _sheet_text(content: bytes, sheet: str) -> bytes:
    """Return the XML of a sheet, by default of the first; b"" if that cannot be read."""
    sheets = _sheets(content)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return archive.read(sheets[sheet or next(iter(sheets))])
    except Exception:  # noqa: BLE001 - many kinds for damaged archives
        return b""


def _check_size(path: Path, content: bytes) -> None:
    """Raise FileError if the content is not a zip archive, or unpacks to more than allowed."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except Exception as error:  # zipfile raises many kinds for damaged archives
        raise _damaged(path) from error
    if size > _UNPACKED:
        problem = f"it unpacks to {size >> 20} MiB, more than the {_UNPACKED >> 20} MiB allowed"
        raise FileError(path, problem, f"split it, or {_AS_CSV}")


def _damaged(path: Path) -> FileError:
    return FileError(
        path,
        "not an Excel workbook (.xlsx), a damaged one, or one that needs too much memory",
        f"copy it again, or {_AS_CSV}",
    )
