"""Rows of a prompt file as read, before any validation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.prompts import HEADER, Finding


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
