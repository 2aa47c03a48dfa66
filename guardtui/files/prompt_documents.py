"""Prompt files as bytes: rows are relabelled, removed, duplicated or added, the rest stays."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from json.decoder import JSONDecoder
from pathlib import Path
from shlex import quote
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.prompts import FALSE, TRUE, PromptSet, unlabelled_rows
from guardtui.files.parquet import as_text, parquet_bytes, parquet_notes, parse_parquet
from guardtui.files.problems import FileError
from guardtui.files.prompt_rows import split_mark
from guardtui.files.raw_rows import RawRows, RowLayout
from guardtui.files.table_formats import TableFormat, detect_format

Rows: TypeAlias = "NDArray[np.intp]"
"""Indices of rows of a prompt set, ascending."""

Label: TypeAlias = bool | Literal["empty"] | None
"""A label to write; "empty" takes the one that is there away, None leaves it."""

_OPPOSITES = tuple(zip(TRUE, FALSE, strict=True))
_OPPOSITE = {word: other for pair in _OPPOSITES for word, other in (pair, pair[::-1])}
_LABEL = re.compile(rf'("?\s*)({"|".join(map(re.escape, _OPPOSITE))})(\s*"?)', re.IGNORECASE)
_NEEDS_QUOTES = re.compile(r'["\r\n]|^\s|\s$')


def column_of(raw: pl.DataFrame, name: str) -> str:
    """Return the file's name of a required column. Raises KeyError."""
    for column in raw.columns:
        if column.strip().lower() == name:
            return column
    raise KeyError(name)


def opposite(cell: str) -> str:
    """Return the inverted label in its cell's spelling: `TRUE` gives `FALSE`, `" yes"` `" no"`.

    Blanks and quotes around it are kept. Mixed case becomes lower case. Raises ValueError if the
    cell is not a label.
    """
    match = _LABEL.fullmatch(cell)
    if match is None:
        raise ValueError(f"{cell!r} is not a label")
    before, word, after = match.groups()
    other = _OPPOSITE[word.lower()]
    if word.isupper():
        other = other.upper()
    elif word.istitle():
        other = other.title()
    return f"{before}{other}{after}"


def document_of(
    path: Path, content: bytes, rows: RawRows, prompts: PromptSet, places: Rows
) -> PromptDocument:
    """Return the file with this unpacked content; `rows` and `prompts` were read from it.

    `places` (intp [N]) are the indices in `rows` of the prompts; the other rows are left as they
    are. Raises FileError for a read-only format.
    """
    if rows.read_only:
        raise read_only_error(path)
    raw = rows.raw[places]
    kind = detect_format(path, content)
    if kind is TableFormat.PARQUET:
        return _Parquet(path, content, raw, prompts, places)
    if rows.layout is not None:
        return _Delimited(path, content, raw, prompts, places, rows.layout)
    if kind is TableFormat.JSON_ARRAY:
        return _JsonArray(path, content, raw, prompts, places)
    return _JsonLines(path, content, raw, prompts, places)


def read_only_error(path: Path) -> FileError:
    """Return why a prompt file in a read-only format cannot be edited."""
    name, new = quote(path.name), quote(f"{path.stem}.csv")
    return FileError(
        path,
        "prompts in an Excel workbook, or within one JSON object, cannot be edited",
        f"make a CSV of it and open that: guardtui convert {name} -o {new}",
    )


class PromptDocument(ABC):
    """A prompt file whose rows can be changed; each method returns the file's new content.

    `raw` are the rows of the prompts, `places` (intp [N]) their indices among all rows of the file.
    """

    def __init__(
        self, path: Path, content: bytes, raw: pl.DataFrame, prompts: PromptSet, places: Rows
    ) -> None:
        self.path, self.content, self.raw, self.prompts = path, content, raw, prompts
        self.places = places
        self.prompt, self.expected = (column_of(raw, name) for name in ("prompt", "expected"))
        self.intent = column_of(raw, "intent") if prompts.intent_given else None

    def model(self, expected: bool) -> int:
        """Return the last row with this label; a new row copies its spelling.

        If every such label is empty, it is the last row with the other one, then any; -1 without
        rows.
        """
        given = ~unlabelled_rows(self.raw[self.expected])
        for rows in (given & (self.prompts.expected == expected), given):
            if rows.any():
                return int(np.flatnonzero(rows)[-1])
        return self.raw.height - 1

    def spelling(self, expected: bool) -> str:
        """Return a label as text, spelled as in the file."""
        model = self.model(expected)
        spelled = "" if model < 0 else str(self.raw[self.expected][model] or "").strip()
        if not spelled:
            return "true" if expected else "false"
        return spelled if self.prompts.expected[model] == expected else opposite(spelled)

    def spelled(self, row: int, cell: str, label: Label) -> str:
        """Return the cell of a row's label as text, for a label to write."""
        if label is None:
            return cell
        if label == "empty":
            return ""
        if not cell.strip(' "'):
            return self.spelling(label)
        return cell if self.prompts.expected[row] == label else opposite(cell)

    @abstractmethod
    def labelled(self, labels: Mapping[int, Label]) -> bytes:
        """Write labels of rows, by ascending row."""

    @abstractmethod
    def rewritten(self, row: int, values: dict[str, str], label: Label) -> bytes:
        """Set values of a row, by the file's own column names, and its label."""

    def as_read(self, name: str, text: str) -> str:
        """Return the text that is read back after this one was written to a cell of a column."""
        return text

    @abstractmethod
    def removed(self, rows: Rows) -> bytes:
        """Remove the rows."""

    @abstractmethod
    def stored(self, row: int) -> bytes:
        """Return the form in which the file has a row, for `inserted`."""

    @abstractmethod
    def inserted(self, rows: Sequence[tuple[int, bytes]]) -> bytes:
        """Insert `stored` rows, each behind a row (-1: before the first), by ascending row."""

    def duplicated(self, rows: Rows) -> bytes:
        """Insert a copy of each row after it."""
        return self.inserted([(row, self.stored(row)) for row in rows.tolist()])

    @abstractmethod
    def added(self, prompts: Sequence[tuple[str, bool]], others: dict[str, str]) -> bytes:
        """Append a row for each prompt with its label; `others` are values of further columns.

        They are by the file's own column names, and the same in each row.
        """


class _Text(PromptDocument):
    """A file of rows in one or several lines each; its bytes are cut and joined again.

    `starts` and `stops` (intp [N], offsets in `body`) bound the rows without their line feeds.
    """

    starts: NDArray[np.intp]
    stops: NDArray[np.intp]

    @cached_property
    def mark_and_body(self) -> tuple[bytes, bytes]:
        return split_mark(self.content)

    @property
    def body(self) -> bytes:
        return self.mark_and_body[1]

    def splice(self, changes: Iterable[tuple[int, int, bytes]]) -> bytes:
        """Return the content with pieces replaced; start and stop in `body`, ascending."""
        mark, body = self.mark_and_body
        view = memoryview(body)
        pieces: list[bytes | memoryview] = [mark]
        copied = 0
        for start, stop, new in changes:
            pieces += (view[copied:start], new)
            copied = stop
        pieces.append(view[copied:])
        return b"".join(pieces)

    def line_end(self) -> bytes:
        """Return the line end of the last row that has one."""
        body = self.body
        if not len(self.stops):
            return b"\r\n" if b"\r\n" in body else b"\n"
        stop = int(self.stops[-1])
        feed = stop if stop < len(body) else max(int(self.starts[-1]) - 1, 0)
        return b"\r\n" if body[max(feed - 1, 0) : feed + 1] == b"\r\n" else b"\n"

    def removed(self, rows: Rows) -> bytes:
        body = self.body
        starts, stops = self.starts[rows].tolist(), self.stops[rows].tolist()
        result = self.splice((a, b + 1, b"") for a, b in zip(starts, stops, strict=True))
        if stops and stops[-1] == len(body):  # keep the file without a final line end
            result = result.removesuffix(b"\n").removesuffix(b"\r")
        return result

    def stored(self, row: int) -> bytes:
        return self.body[self.starts[row] : self.stops[row]].removesuffix(b"\r")

    def inserted(self, rows: Sequence[tuple[int, bytes]]) -> bytes:
        end = self.line_end()
        changes = []
        for row, stored in rows:
            at = int(self.starts[0] if row < 0 else self.stops[row] + 1)
            if at <= len(self.body):
                changes.append((at, at, stored + end))
            else:  # behind a last row without a line end
                changes.append((at - 1, at - 1, end + stored))
        return self.splice(changes)

    def behind(self, rows: Sequence[str]) -> bytes:
        """Return the content with more rows at the end."""
        end = self.line_end()
        # A file without rows has a header.
        stop = int(self.stops[-1]) if len(self.stops) else len(self.body.rstrip(b"\r\n"))
        new = end.join(row.encode() for row in rows)
        if stop < len(self.body):
            stop = self.body.index(b"\n", stop) + 1
            return self.splice([(stop, stop, new + end)])
        return self.splice([(stop, stop, end + new)])

    def labelled(self, labels: Mapping[int, Label]) -> bytes:
        return self.splice(
            change for row, label in labels.items() for change in self.changes(row, {}, label)
        )

    def rewritten(self, row: int, values: dict[str, str], label: Label) -> bytes:
        return self.splice(self.changes(row, values, label))

    @abstractmethod
    def changes(
        self, row: int, values: dict[str, str], label: Label
    ) -> list[tuple[int, int, bytes]]:
        """Return the pieces to replace for `rewritten`: start and stop in `body`, ascending."""


class _Delimited(_Text):
    def __init__(
        self,
        path: Path,
        content: bytes,
        raw: pl.DataFrame,
        prompts: PromptSet,
        places: Rows,
        layout: RowLayout,
    ) -> None:
        super().__init__(path, content, raw, prompts, places)
        self.starts, self.stops = layout.starts[1:][places], layout.stops[1:][places]
        self._separator, self._width = layout.separator, layout.width
        self._separators = layout.separators
        self._positions = dict(zip(raw.columns, layout.columns, strict=True))

    def _cells(self, row: int) -> list[tuple[int, int]]:
        """Return start and stop of the cells of a row; there may be fewer than columns."""
        start, stop = int(self.starts[row]), int(self.stops[row])
        # A carriage return before the line feed is not part of the cell.
        stop -= self.body[start:stop].endswith(b"\r")
        inside = slice(*np.searchsorted(self._separators, (start, stop)))
        edges = self._separators[inside].tolist()
        return list(zip([start, *(edge + 1 for edge in edges)], [*edges, stop], strict=True))

    def changes(
        self, row: int, values: dict[str, str], label: Label
    ) -> list[tuple[int, int, bytes]]:
        changes = []
        cells = self._cells(row)
        missing = [""] * (self._width - len(cells))
        for name, position in self._positions.items():
            if position >= len(cells):
                text = values.get(name, "")
                if name == self.expected:
                    text = self.spelled(row, text, label)
                missing[position - len(cells)] = _field(text, self._separator)
            elif name in values or (label is not None and name == self.expected):
                start, stop = cells[position]
                cell = self.body[start:stop].decode()
                if name in values:
                    # A cell in quotes stays in quotes.
                    new = _field(values[name], self._separator, always=cell.startswith('"'))
                else:
                    new = self.spelled(row, cell, label)
                changes.append((start, stop, new.encode()))
        if any(missing):
            end = cells[-1][1]
            changes.append((end, end, "".join(self._separator + cell for cell in missing).encode()))
        return changes

    def added(self, prompts: Sequence[tuple[str, bool]], others: dict[str, str]) -> bytes:
        return self.behind([self._new(prompt, expected, others) for prompt, expected in prompts])

    def _new(self, prompt: str, expected: bool, others: dict[str, str]) -> str:
        values = {**others, self.prompt: prompt, self.expected: self.spelling(expected)}
        if self.intent is not None:
            model = self.model(expected)
            intent = self.raw[self.intent][model] if model >= 0 else ""
            values[self.intent] = str(intent or self.prompts.intent).strip()
        fields = [""] * self._width
        for name, position in self._positions.items():
            fields[position] = _field(values.get(name, ""), self._separator)
        return self._separator.join(fields)


def _field(text: str, separator: str, *, always: bool = False) -> str:
    """Return a field in the form of RFC 4180, quoted if necessary or `always`."""
    if always or separator in text or _NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


_DECODER = JSONDecoder()
_BLANKS = re.compile(r"[ \t\r\n]*")


def _past_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _members(line: str) -> dict[str, tuple[int, int]]:
    """Return start and stop of each member's value in the text of one JSON object.

    Of several members with one name the last counts, as for the reader. Raises ValueError.
    """
    bounds: dict[str, tuple[int, int]] = {}
    position = line.index("{")
    while line[position] != "}":  # at a comma or the opening brace
        key, position = _DECODER.raw_decode(line, _past_blanks(line, position + 1))
        start = _past_blanks(line, _past_blanks(line, position) + 1)
        _, stop = _DECODER.raw_decode(line, start)
        bounds[key] = start, stop
        position = _past_blanks(line, stop)
    return bounds


class _JsonLines(_Text):
    def __init__(
        self, path: Path, content: bytes, raw: pl.DataFrame, prompts: PromptSet, places: Rows
    ) -> None:
        super().__init__(path, content, raw, prompts, places)
        self.starts, self.stops = self._bounds()

    def _bounds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return start and stop of each row in the body, intp [N]."""
        feeds = np.flatnonzero(np.frombuffer(self.body, np.uint8) == ord("\n"))
        lines = self.prompts.frame["line"].to_numpy().astype(np.intp) - 1
        starts = np.concatenate(([0], feeds + 1))[lines]
        return starts, np.concatenate((feeds, [len(self.body)]))[lines]

    def _line(self, row: int) -> str:
        return self.body[self.starts[row] : self.stops[row]].decode()

    def changes(
        self, row: int, values: dict[str, str], label: Label
    ) -> list[tuple[int, int, bytes]]:
        line = self._line(row)
        members = _members(line)
        cells = [
            (*members[name], _value_like(line[slice(*members[name])], text))
            for name, text in values.items()
            if name in members
        ]
        missing: dict[str, Any] = {
            name: text for name, text in values.items() if name not in members
        }
        if label is not None and self.expected in members:
            start, stop = members[self.expected]
            value = line[start:stop]
            if label == "empty":
                new = "null"
            elif value == "null" or not value.strip('" '):
                new = json.dumps(self._label(label), ensure_ascii=False)
            else:
                same = self.prompts.expected[row] == label
                new = value if same else _opposite_value(value)
            cells.append((start, stop, new))
        elif label is not None and label != "empty":
            missing[self.expected] = self._label(label)
        if missing:
            # Append after the last member, in the style of the others.
            end = max(stop for _, stop in members.values())
            compact = line.strip() == _dump(json.loads(line), compact=True)
            new = _dump(missing, compact=compact)[1:-1]
            cells.append((end, end, f"{',' if compact else ', '}{new}"))
        for start, stop, new in sorted(cells, reverse=True):
            line = line[:start] + new + line[stop:]
        return [(int(self.starts[row]), int(self.stops[row]), line.encode())]

    def _label(self, expected: bool) -> Any:
        """Return a label as in the last row with it, as a JSON value."""
        model = self.model(expected)
        value = json.loads(self._line(model)).get(self.expected)
        if value is None or value == "":
            return expected
        if self.prompts.expected[model] == expected:
            return value
        return json.loads(_opposite_value(json.dumps(value)))

    def added(self, prompts: Sequence[tuple[str, bool]], others: dict[str, str]) -> bytes:
        return self.behind([self._new(prompt, expected, others) for prompt, expected in prompts])

    def _new(self, prompt: str, expected: bool, others: dict[str, str]) -> str:
        # In the style of the last row with its label.
        line = self._line(self.model(expected))
        model: dict[str, Any] = json.loads(line)
        values: dict[str, Any] = {self.prompt: prompt, self.expected: self._label(expected)}
        if self.intent is not None:
            values[self.intent] = model.get(self.intent, "")
        values |= others
        row = {name: values[name] for name in model if name in values} | values
        return _dump(row, compact=line.strip() == _dump(model, compact=True))


class _JsonArray(_JsonLines):
    """An array of at least two objects; the text between two of them is kept."""

    def _bounds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        starts, stops = self._elements
        return starts[self.places], stops[self.places]

    @cached_property
    def _elements(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return start and stop of all elements in the body, intp [R]."""
        text = self.body.decode()
        bounds: list[tuple[int, int]] = []
        position = text.index("[")
        while text[position] != "]":  # at a comma or the opening bracket
            start = _past_blanks(text, position + 1)
            _, stop = _DECODER.raw_decode(text, start)
            bounds.append((start, stop))
            position = _past_blanks(text, stop)
        # A UTF-8 character begins at each byte that is not a continuation byte.
        data = np.frombuffer(self.body, np.uint8)
        begins = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))
        starts, stops = begins[np.array(bounds, np.intp)].T
        return starts, stops

    def _separator(self, index: int) -> bytes:
        """Return the text before an element; for the first one, that before the second."""
        starts, stops = self._elements
        index = max(index, 1)
        return self.body[stops[index - 1] : starts[index]]

    def removed(self, rows: Rows) -> bytes:
        starts, stops = self._elements
        gone = self.places[rows].tolist()
        first = next(index for index, place in enumerate([*gone, -1]) if index != place)
        changes = [(int(starts[0]), int(starts[first]), b"")]
        changes += [(int(stops[index - 1]), int(stops[index]), b"") for index in gone[first:]]
        return self.splice(changes)

    def inserted(self, rows: Sequence[tuple[int, bytes]]) -> bytes:
        starts, stops = self._elements
        changes = []
        for row, stored in rows:
            if row < 0:
                at, new = int(starts[0]), stored + self._separator(0)
            else:
                index = int(self.places[row])
                at, new = int(stops[index]), self._separator(index) + stored
            changes.append((at, at, new))
        return self.splice(changes)

    def behind(self, rows: Sequence[str]) -> bytes:
        _, stops = self._elements
        stop, separator = int(stops[-1]), self._separator(len(stops) - 1)
        new = b"".join(separator + row.encode() for row in rows)
        return self.splice([(stop, stop, new)])


def _dump(row: dict[str, Any], *, compact: bool) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":") if compact else (", ", ": "))


def _value_like(value: str, text: str) -> str:
    """Return a text as JSON, replacing `value`: numbers and lists keep their type if possible."""
    if value != "null" and not value.startswith('"'):
        try:
            parsed = json.loads(text)
            same = json.dumps(parsed, allow_nan=False) == text
            same = same and parsed is not None and not isinstance(parsed, str)
        except (ValueError, RecursionError):
            same = False
        if same:
            return text
    return json.dumps(text, ensure_ascii=False)


def _opposite_value(value: str) -> str:
    """Return the inverse of a label in JSON: true, 1, "yes"."""
    try:
        return opposite(value)
    except ValueError:  # a string with escapes in it
        return json.dumps(opposite(json.loads(value)), ensure_ascii=False)


class _Parquet(PromptDocument):
    @cached_property
    def frame(self) -> pl.DataFrame:
        return parse_parquet(self.path, self.content)

    def _written(self, frame: pl.DataFrame) -> bytes:
        # Polars writes its own schema; the other metadata belong to the user and are kept.
        return parquet_bytes(frame, parquet_notes(self.content))

    def _as_stored(self, name: str, values: list[str | None]) -> pl.Series:
        """Return texts in the type of a column; "" becomes null unless the column is text."""
        kind = self.frame.schema[name]
        if kind == pl.String:
            return pl.Series(name, values, dtype=kind)
        filled = pl.Series(name, [value or None for value in values], dtype=pl.String)
        try:
            if kind == pl.Boolean:
                return filled.str.to_lowercase().replace_strict(
                    {"true": True, "false": False}, return_dtype=kind
                )
            if isinstance(kind, pl.Date | pl.Datetime | pl.Time):
                return filled.str.strptime(kind)
            return filled.cast(kind)
        except pl.exceptions.PolarsError as error:
            shown = ", ".join(dict.fromkeys(repr(value)[:40] for value in filled))
            raise FileError(
                self.path,
                f"the column {name} holds {kind}, which {shown[:80]} is not",
                "nothing was written",
            ) from error

    def labelled(self, labels: Mapping[int, Label]) -> bytes:
        words = self.frame[self.expected].cast(pl.String).to_list()
        for row, label in labels.items():
            place = int(self.places[row])
            words[place] = self.spelled(row, words[place] or "", label)
        return self._written(self.frame.with_columns(self._as_stored(self.expected, words)))

    def rewritten(self, row: int, values: dict[str, str], label: Label) -> bytes:
        frame, place = self.frame, int(self.places[row])
        if label is not None:
            spelled = self.spelled(row, self.raw[self.expected][row] or "", label)
            values = {**values, self.expected: spelled}
        changed = frame[place].with_columns(
            self._as_stored(name, [text]) for name, text in values.items()
        )
        return self._written(pl.concat([frame[:place], changed, frame[place + 1 :]]))

    def as_read(self, name: str, text: str) -> str:
        stored = self._as_stored(name, [text]).alias(name)
        return as_text(pl.DataFrame([stored]))[name][0] or ""

    def removed(self, rows: Rows) -> bytes:
        remaining = np.ones(self.frame.height, bool)
        remaining[self.places[rows]] = False
        return self._written(self.frame.filter(pl.Series(remaining)))

    def stored(self, row: int) -> bytes:
        return parquet_bytes(self.frame[int(self.places[row])])

    def inserted(self, rows: Sequence[tuple[int, bytes]]) -> bytes:
        frame, pieces, copied = self.frame, list[pl.DataFrame](), 0
        for row, stored in rows:
            stop = int(self.places[row]) + 1 if row >= 0 else int(self.places[0])
            pieces += (frame[copied:stop], parse_parquet(self.path, stored))
            copied = stop
        try:
            return self._written(pl.concat([*pieces, frame[copied:]]))
        except pl.exceptions.PolarsError as error:
            raise FileError(
                self.path, "its columns have other names or types now", "nothing was written"
            ) from error

    def duplicated(self, rows: Rows) -> bytes:
        counts = np.ones(self.frame.height, np.intp)
        counts[self.places[rows]] = 2
        return self._written(self.frame[np.repeat(np.arange(self.frame.height), counts)])

    def added(self, prompts: Sequence[tuple[str, bool]], others: dict[str, str]) -> bytes:
        new: list[dict[str, str | None]] = []
        for prompt, expected in prompts:
            spelled = self.spelling(expected)
            new.append({**others, self.prompt: prompt, self.expected: spelled})
            if self.intent is not None:
                model = self.model(expected)
                intent = self.raw[self.intent][model] if model >= 0 else None
                new[-1][self.intent] = intent or self.prompts.intent
        columns = [
            self._as_stored(name, [row.get(name) for row in new]) for name in self.frame.columns
        ]
        return self._written(pl.concat([self.frame, pl.DataFrame(columns)]))
