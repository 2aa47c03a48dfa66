"""Tables of delimited text: CSV according to RFC 4180, and what spreadsheets make of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.figures import count_text
from guardtui.domain.findings import Finding, Severity
from guardtui.domain.prompts import HEADER
from guardtui.domain.text import display_start
from guardtui.files.problems import ContentError, FileError
from guardtui.files.raw_rows import (
    CELLS_AT_MOST,
    ERRORS_AT_MOST,
    RawRows,
    RowLayout,
    require_cells,
)
from guardtui.files.table_formats import (
    SEPARATORS,
    declared_separator,
    detect_separator,
    header_fields,
)

IF_EMPTY = "guardtui sample prints an example"
_QUOTE, _NEWLINE, _RETURN, _TAB = ord('"'), ord("\n"), ord("\r"), ord("\t")
_NAMED = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_TITLE_LINES = 20
"""Number of lines at the start that are searched for a header below a title."""


def read_delimited(path: Path, content: bytes, needed: Collection[str]) -> RawRows:
    """Return the rows of a text without byte order mark, with errors for rows of wrong length.

    `needed` are column names in lower case, as in `read_rows`. The structure is derived from the
    bytes; polars reads the values. In a table separated by tabs a quote is an ordinary character
    unless a pair of them encloses a field: Google Sheets writes such files without quoting. A line
    `sep=;`, rows without any content, and columns without name and content are ignored; a missing
    cell at the end of a row is empty unless its column is needed. Raises FileError.
    """
    if not content:
        raise ContentError(path, "the file is empty", IF_EMPTY)
    separator = detect_separator(path, content, needed)
    data = np.frombuffer(content, np.uint8)
    signs = sum(np.count_nonzero(data == sign) for sign in (_QUOTE, _NEWLINE, ord(separator)))
    if signs > CELLS_AT_MOST:
        problem = f"{signs} quotes, delimiters and line ends are too many"
        raise FileError(path, problem, "split the file")
    newlines = np.flatnonzero(data == _NEWLINE)
    quotes, literal = _structure(path, data, newlines, separator)
    body = content.rstrip(b"\r\n")
    if b"\n" not in body and b"\r" in body:
        problem = "its lines end with carriage returns only"
        raise FileError(path, problem, "save it with line feeds, as programs do since 2001")
    # A line feed ends a row if an even number of quotes precedes it.
    ends = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    starts = np.concatenate(([0], ends + 1))
    stops = np.concatenate((ends, [len(data)]))
    separators = np.flatnonzero(data == ord(separator))
    separators = separators[np.searchsorted(quotes, separators) % 2 == 0]
    filled = _filled(content, data, starts, stops, separator)
    filled[starts < declared_separator(content)[1]] = False
    if not filled.any():
        raise ContentError(path, "the file is empty", IF_EMPTY)
    starts, stops = starts[filled], stops[filled]
    lines = np.searchsorted(newlines, starts) + 1
    first = np.searchsorted(separators, starts)
    fields = np.searchsorted(separators, stops) - first + 1
    width = int(fields[0])
    require_cells(path, width, len(fields))
    names = [
        name.strip().lower() for name in header_fields(content[starts[0] : stops[0]], separator)
    ]
    _require_header(path, content, names, needed, lines, fields)
    # Rows that are too long are cut where only blank fields follow.
    bounds = stops.copy()
    required = max((index for index, name in enumerate(names, 1) if name in needed), default=0)
    fits = (fields >= required) & (fields <= width)
    for row in np.flatnonzero(fields > width).tolist():
        bounds[row] = separators[first[row] + width - 1]
        fits[row] = not content[bounds[row] : stops[row]].strip(f"{separator} \r".encode())
    unread = [
        _ragged(int(line), int(count), names, needed, separator)
        for line, count in zip(
            lines[~fits][:ERRORS_AT_MOST], fields[~fits][:ERRORS_AT_MOST], strict=True
        )
    ]
    starts, stops, bounds, lines = (part[fits] for part in (starts, stops, bounds, lines))
    added = _quotes_to_add(data, literal, separators, ends)
    frame = _values(path, content, added, starts, bounds, width - fields[fits], separator)
    header_cells, frame = [(name or "").strip() for name in frame.row(0)], frame.slice(1)
    columns = named_columns(path, header_cells, frame, line=int(lines[0]))
    frame = pl.DataFrame({name: frame.to_series(place) for name, place in columns.items()})
    layout = RowLayout(starts, stops, separators, separator, tuple(columns.values()), width)
    kind = _NAMED.get(separator, "sign")
    header = HEADER if separator == "," else f"the header, separated by {kind}s,"
    return RawRows(frame, lines[1:].astype(np.uint32), unread, layout, header)


def end_of_rows(content: bytes, separator: str) -> int:
    """Return how many bytes of a part of a file hold whole rows; quoted line feeds end none."""
    end = content.rfind(b"\n")
    if separator == "\t":
        return _end_of_unquoted(content)
    inside = content.count(b'"', 0, end) % 2
    while end >= 0 and inside:
        before = content.rfind(b"\n", 0, end)
        inside = (inside + content.count(b'"', before + 1, end)) % 2
        end = before
    return end + 1


def _end_of_unquoted(content: bytes) -> int:
    data = np.frombuffer(content, np.uint8)
    quotes, newlines = np.flatnonzero(data == _QUOTE), np.flatnonzero(data == _NEWLINE)
    enclosing, _ = _enclosing(data, quotes, newlines)
    ends = newlines[np.searchsorted(enclosing, newlines) % 2 == 0]
    # The last odd number of quotes in a row may begin a field that ends in the next part.
    runs = quotes[np.flatnonzero(np.diff(quotes, prepend=-2) > 1)]
    lengths = np.diff(np.append(np.searchsorted(quotes, runs), len(quotes)))
    odd = runs[lengths % 2 == 1]
    if len(odd) and (odd[-1] == 0 or data[odd[-1] - 1] in (_TAB, _NEWLINE)):
        ends = ends[ends < odd[-1]]
    return int(ends[-1]) + 1 if len(ends) else 0


# --- quotes -------------------------------------------------------------------------------------


def _structure(
    path: Path, data: NDArray[np.uint8], newlines: NDArray[np.intp], separator: str
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the quotes that are part of the structure, and those that are text.

    An odd number of the former (intp, ascending) precedes every position inside of quotes.
    """
    quotes = np.flatnonzero(data == _QUOTE)
    if ord(separator) != _TAB:
        _check_quotes(path, data, quotes, ord(separator))
        return quotes, quotes[:0]
    return _enclosing(data, quotes, newlines)


def _enclosing(
    data: NDArray[np.uint8], quotes: NDArray[np.intp], newlines: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the quotes that enclose whole fields separated by tabs, and the others.

    Quotes inside are doubled, so a field ends at the last of the next odd number of quotes in a
    row. Two quotes in different lines enclose nothing if each line has the fields of the header.
    """
    if not len(quotes):
        return quotes, quotes
    begins = np.flatnonzero(np.diff(quotes, prepend=-2) > 1)
    starts = quotes[begins]
    lengths = np.diff(begins, append=len(quotes))
    lasts = starts + lengths - 1
    padded = np.concatenate(([_NEWLINE], data, [_NEWLINE]))
    at_start = np.isin(padded[starts], (_TAB, _NEWLINE))
    odd = np.flatnonzero(lengths % 2)
    following = np.append(odd, -1)[np.searchsorted(odd, np.arange(len(starts)), side="right")]
    closing = np.where(lengths % 2, following, np.arange(len(starts)))
    closes = lasts[closing]
    fits = at_start & (closing >= 0) & np.isin(padded[closes + 2], (_TAB, _NEWLINE, _RETURN))
    # Count the lines so far whose number of tabs differs from that of the header.
    tabs = np.diff(np.searchsorted(np.flatnonzero(data == _TAB), [0, *newlines, len(data)]))
    header = tabs[np.argmax(tabs > 0)]
    uneven = np.concatenate(([0], np.cumsum(tabs != header)))
    opens: list[int] = []
    ends: list[int] = []
    for start, stop in zip(starts[fits].tolist(), closes[fits].tolist(), strict=True):
        if ends and start <= ends[-1]:
            continue
        line, last = np.searchsorted(newlines, (start, stop))
        if line == last or uneven[last + 1] > uneven[line]:
            opens.append(start)
            ends.append(stop)
    bounds = np.array([opens, ends], np.intp)
    inside = np.searchsorted(bounds[0], quotes, "right") > np.searchsorted(bounds[1], quotes)
    return bounds.T.ravel(), quotes[~inside]


def _quotes_to_add(
    data: NDArray[np.uint8],
    literal: NDArray[np.intp],
    separators: NDArray[np.intp],
    ends: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Return where to insert quotes (intp, ascending), so that literal ones are as in RFC 4180.

    They are doubled, and their fields are enclosed.
    """
    if not len(literal):
        return literal
    edges = np.sort(np.concatenate((separators, ends)))
    fields = np.unique(np.searchsorted(edges, literal))
    starts = np.concatenate(([-1], edges))[fields] + 1
    stops = np.concatenate((edges, [len(data)]))[fields]
    stops = stops - (data[stops - 1] == _RETURN)
    return np.sort(np.concatenate((literal, starts, stops)))


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


# --- rows ---------------------------------------------------------------------------------------


def _filled(
    content: bytes,
    data: NDArray[np.uint8],
    starts: NDArray[np.intp],
    stops: NDArray[np.intp],
    separator: str,
) -> NDArray[np.bool_]:
    """Return which rows have a cell that is not blank, bool [R]."""
    blank = [*b" \t\n\r\v\f", ord(separator)]
    last = len(data) - 1

    def held(signs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = np.logical_or.reduceat(signs[data], np.minimum(starts, last))
        return found & (starts <= last)

    signs = np.ones(256, bool)
    signs[[*blank, _QUOTE]] = False
    filled = held(signs)
    quoted = held(np.arange(256) == _QUOTE) & ~filled
    for row in np.flatnonzero(quoted).tolist():
        text = content[starts[row] : stops[row]].decode("utf-8", "replace")
        cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
        filled[row] = bool("".join(cells).strip())
    return filled


def _values(
    path: Path,
    content: bytes,
    added: NDArray[np.intp],
    starts: NDArray[np.intp],
    stops: NDArray[np.intp],
    missing: NDArray[np.intp],
    separator: str,
) -> pl.DataFrame:
    """Return the cells of rows, all String [R], by positions as names.

    `added` are positions of quotes to insert first. `missing` cells (intp [R]) are appended.
    """
    if len(added):
        content = np.insert(np.frombuffer(content, np.uint8), added, _QUOTE).tobytes()
        starts = starts + np.searchsorted(added, starts)
        stops = stops + np.searchsorted(added, stops, side="right")
    short = missing > 0
    if short.any() or (starts[1:] != stops[:-1] + 1).any():
        pieces = [
            content[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
        ]
        for row in np.flatnonzero(short).tolist():
            pieces[row] = pieces[row].removesuffix(b"\r") + separator.encode() * missing[row]
        content = b"\n".join(pieces)
    else:
        content = content[starts[0] : stops[-1] + 1]
    try:
        frame = pl.read_csv(
            io.BytesIO(content), has_header=False, infer_schema=False, separator=separator
        )
    except pl.exceptions.PolarsError as error:
        raise FileError(path, "not valid CSV", "write it with a CSV writer") from error
    if frame.height != len(starts):
        raise FileError(
            path,
            f"{len(starts)} rows were counted and {frame.height} read",
            "write it with a CSV writer: line feeds, quotes doubled",
        )
    return frame


def _ragged(
    line: int, count: int, names: Sequence[str], needed: Collection[str], separator: str
) -> Finding:
    """Return the error for a row whose number of fields differs from the header."""
    kind = _NAMED.get(separator, "separator")
    message = f"{count_text(count, 'field')} where the header has {len(names)}"
    if count > len(names):
        message += f": a text that holds a {kind} needs quotes"
    else:
        lacking = " and ".join(name for name in names[count:] if name in needed)
        message += f", so {lacking} is missing: is there a {kind} too few, or a line break?"
    return Finding(Severity.ERROR, "ragged", message, (line,))


# --- the header ---------------------------------------------------------------------------------


def _require_header(
    path: Path,
    content: bytes,
    names: Sequence[str],
    needed: Collection[str],
    lines: NDArray[np.intp],
    fields: NDArray[np.intp],
) -> None:
    """Raise FileError if the first row looks like a title above the header."""
    if set(needed) <= set(names):
        return
    first = int(lines[0])
    problem = f"line {first} does not look like a header"
    start = content[: 1 << 20].decode("utf-8", "replace").split("\n")
    for number, line in enumerate(start[first : first + _TITLE_LINES], first + 1):
        for separator in SEPARATORS:
            if set(needed) <= {name.strip().lower() for name in line.strip().split(separator)}:
                below = f"{problem}, line {number} does"
                raise FileError(path, below, f"delete what is above line {number}", first)
    others = fields[1:]
    if len(others) and fields[0] < others.min():
        problem += f": it has {fields[0]} of the {others[0]} fields below"
        raise FileError(path, problem, "begin the file with the names of the columns", first)


def named_columns(
    path: Path,
    names: Sequence[str],
    body: pl.DataFrame,
    place: Callable[[int], str] = lambda position: str(position + 1),
    line: int | None = None,
) -> dict[str, int]:
    """Return the position (from 0) of each column of a table by its name.

    A column without a name is called by its position, or left out if all its cells (String [N]) are
    blank. `place` names a position in the error for two columns of one name. Raises FileError.
    """
    positions: dict[str, int] = {}
    for position, (name, column) in enumerate(zip(names, body, strict=True)):
        if name in positions:
            places = f"{place(positions[name])} and {place(position)}"
            problem = f"two columns are called {display_start(name, 60)!r}: {places}"
            raise FileError(path, problem, "rename or remove one of the two", line)
        if not name:
            if (column.fill_null("").str.strip_chars() == "").all():
                continue
            name = f"column {position + 1}"
            while name in names:
                name += " (unnamed)"
        positions[name] = position
    return positions
