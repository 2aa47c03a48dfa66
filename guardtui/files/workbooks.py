"""Excel workbooks (.xlsx), read by Polars with the engine of the extra `excel`."""

from __future__ import annotations

import io
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.files.problems import SIZE_LIMIT, ContentError, FileError
from guardtui.files.trial_read import WORKBOOK, survives

_AS_CSV = "save the sheet as CSV (UTF-8)"


def read_workbook(path: Path, content: bytes) -> tuple[pl.DataFrame, NDArray[np.uint32]]:
    """Return the first sheet of a workbook, all columns String [N], and the row numbers.

    The first row that is not empty is the header. Numbers and booleans become texts as in CSV;
    formula cells have their last result. Raises FileError.
    """
    if find_spec("fastexcel") is None:
        raise FileError(
            path,
            "this is an Excel workbook, which needs an extra that is not installed",
            f"pip install 'guardtui[excel]', or {_AS_CSV}",
        )
    _check_size(path, content)
    if not survives(WORKBOOK, content):
        raise _damaged(path)
    try:
        sheet = pl.read_excel(
            io.BytesIO(content),
            engine="calamine",
            has_header=False,
            drop_empty_rows=False,
            drop_empty_cols=False,
            raise_if_empty=False,
            read_options={"dtypes": "string", "skip_rows": 0},
        )
    except Exception as error:  # the engine raises many kinds
        raise _damaged(path) from error
    return _below_header(path, sheet)


def _below_header(path: Path, sheet: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.uint32]]:
    sheet = sheet.cast(pl.String)
    filled = np.zeros(sheet.height, bool)
    for column in sheet:
        filled |= (column.fill_null("").str.strip_chars() != "").to_numpy()
    rows = np.flatnonzero(filled)
    if not len(rows):
        raise ContentError(path, "the first sheet is empty", "put the rows into the first sheet")
    header = [str(name or "").strip() for name in sheet.row(int(rows[0]))]
    body = sheet[rows[1:]]
    named = {}
    for name, column in zip(header, body, strict=True):
        if not name and column.null_count() == len(column):
            continue
        if not name or name in named:
            problem = f"two columns are called {name!r:.60}" if name else "a column has no name"
            raise FileError(path, problem, "give each column of the sheet its own name")
        named[name] = column
    return pl.DataFrame(named), (rows[1:] + 1).astype(np.uint32)


def _check_size(path: Path, content: bytes) -> None:
    """Raise FileError if the content is not a zip archive, or unpacks to more than allowed."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except Exception as error:  # zipfile raises many kinds for damaged archives
        raise _damaged(path) from error
    if size > SIZE_LIMIT:
        problem = f"it unpacks to {size / 1024**3:.1f} GiB, more than the 1 GiB allowed"
        raise FileError(path, problem, "split the file")


def _damaged(path: Path) -> FileError:
    return FileError(
        path, "not an Excel workbook (.xlsx), or a damaged one", f"copy it again, or {_AS_CSV}"
    )
