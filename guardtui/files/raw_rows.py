"""Rows of a prompt file as read, before any validation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.findings import Finding
from guardtui.domain.prompts import HEADER
from guardtui.files.problems import FileError

CELLS_AT_MOST = 200_000_000
"""More cells would take gigabytes of memory, though a small file can have them."""

JSON_CELLS_AT_MOST = CELLS_AT_MOST // 4
"""Values that are objects of Python until the last row is read."""

ERRORS_AT_MOST = 10_000
"""Errors of rows that are collected; the first ones are shown, the others counted."""


@dataclass(frozen=True, eq=False)
class RowLayout:
    """Positions of the rows of a delimited file, header first; offsets after the byte order mark.

    `starts` and `stops` (intp [R + 1]) bound each row without its line feed, but with a carriage
    return before that. `separators` (intp) are those outside of quotes. `columns` are the positions
    of the columns read, of the `width` fields of the header.
    """

    starts: NDArray[np.intp]
    stops: NDArray[np.intp]
    separators: NDArray[np.intp]
    separator: str
    columns: tuple[int, ...]
    width: int


@dataclass(frozen=True, eq=False)
class RawRows:
    """A prompt file as read, before any validation.

    `raw` has the file's columns, all String [N], `lines` (uint32 [N]) the line of each row.
    `unread` are the errors of rows that could not be read and are not in `raw`. `header` describes
    the source of the column names, for messages. `read_only` says whether the format can be read
    but not written.
    """

    raw: pl.DataFrame
    lines: NDArray[np.uint32]
    unread: list[Finding]
    layout: RowLayout | None = None
    header: str = HEADER
    read_only: bool = False


def require_cells(path: Path, columns: int, rows: int, most: int = CELLS_AT_MOST) -> None:
    """Raise FileError for a table with too many cells, or rows without any."""
    if max(columns, 1) * rows > most:
        problem = f"{columns} columns and {rows} rows or more are too many"
        raise FileError(path, problem, "split the file, or write fewer columns")
