"""Prompts in logs of any size: text, tables, chats, spans, with the verdicts that a log has.

Recognised are the user's messages of chats and of LiteLLM's logs (`messages`), of OpenTelemetry
spans (`gen_ai.input.messages`, flat or as OTLP), the scan contents of airs-cli (`scan_contents`),
and a column `prompt`. Lines are read one at a time.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from guardtui.domain.inbox import Production
from guardtui.domain.prompts import FALSE, TRUE
from guardtui.domain.text import display_start
from guardtui.files.chats import looks_like_chat, user_texts
from guardtui.files.output_tables import read_table
from guardtui.files.problems import SIZE_LIMIT, ContentError, FileError, from_os_error
from guardtui.files.prompt_rows import STANDARD_INPUT
from guardtui.files.source_positions import json_items
from guardtui.files.table_formats import TableFormat, detect_format, detect_separator, unpacked_name

SPANS = "gen_ai.input.messages"
"""Attribute of the chat in OpenTelemetry's conventions for generative AI."""

_CHATS = (SPANS, "messages")
_CONTENTS = "scan_contents"
_PROMPT = "prompt"
_START = 1 << 16
_LONGEST_LINE = 64 << 20
_DEPTH = 12
_KEYS_SHOWN = 300
_JSON_LINES = (".jsonl", ".ndjson")
_GZIP = b"\x1f\x8b"
_NAME_IT = "name the column of the prompts with --prompt-column"
_BLOCKED = ("guardrail_intervened", "blocked")
"""Values of `guardrail_status` in LiteLLM's logs; of a passed prompt it is "success"."""


@dataclass(frozen=True, slots=True)
class LoggedPrompt:
    """A text of a user in a log; `origin` is the name of the file with the line.

    `production` is what guardrails said of it. Or a `draft`, which no user wrote; `origin` is how
    it was made, `split` that of its source.
    """

    text: str
    origin: str
    production: tuple[Production, ...] = ()
    draft: bool = False
    split: str = ""


class PromptLog:
    """The prompts of one log, read while they are iterated over, once.

    `column` is that of the prompts (names of nested objects separated by dots), "" to recognise it.
    Afterwards `without_text` is the number of entries without a text of a user, `labelled` that of
    entries with a label, which is not read, and `unfinished` says whether the last line was
    incomplete, as in a log that is being written, and left out.
    """

    def __init__(self, path: Path, column: str = "") -> None:
        self.path = STANDARD_INPUT if str(path) == "-" else path
        self.without_text = 0
        self.labelled = 0
        self.unfinished = False
        self._column = column
        self._keys: dict[str, None] = {}

    def __iter__(self) -> Iterator[LoggedPrompt]:
        """Yield the prompts. Raises FileError with the line, also if there is no text at all."""
        found = False
        try:
            with _opened(self.path) as file:
                for line, value in self._entries(file):
                    for prompt in self._prompts(line, value):
                        found = True
                        yield prompt
        except OSError as error:
            raise from_os_error(self.path, error) from error
        except (EOFError, zlib.error) as error:
            problem = "the gzip file is damaged or truncated"
            raise FileError(self.path, problem, "copy the file again") from error
        if not found:
            raise self._no_text()

    def _no_text(self) -> FileError:
        if not self.without_text:
            return FileError(self.path, "there are no prompts in it", "name a log with prompts")
        keys = display_start(", ".join(self._keys), _KEYS_SHOWN)
        names = f" (its columns: {keys})" if keys else ""
        if self._column:
            problem = f"no text in {self._column!r:.60}{names}"
            return FileError(self.path, problem, "name another column with --prompt-column")
        return FileError(self.path, f"no text of a user was found{names}", _NAME_IT)

    # --- entries --------------------------------------------------------------------------

    def _entries(self, file: BinaryIO) -> Iterator[tuple[int, object]]:
        """Yield the line and value of each entry: a text, or what JSON or a table has."""
        start = file.read(_START)
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ContentError(self.path, "the file is UTF-16", "save it as UTF-8")
        whole = io.BufferedReader(_Chained(start, file))
        kind = detect_format(self.path, start)
        if start.startswith(b"PAR1"):
            kind = TableFormat.PARQUET
        if kind in (TableFormat.PARQUET, TableFormat.WORKBOOK):
            yield from self._table(whole)
        elif kind is not TableFormat.DELIMITED:
            yield from self._json(whole)
        elif unpacked_name(self.path).suffix.lower() in (".csv", ".tsv"):
            yield from self._delimited(whole, start)
        else:
            for line, text in self._lines(whole):
                if text.strip():
                    yield line, text.strip()

    def _lines(self, file: BinaryIO) -> Iterator[tuple[int, str]]:
        """Yield the number and text of each line, with its line feed."""
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            if len(line) == _LONGEST_LINE:
                raise FileError(self.path, "a line of more than 64 MiB", "split it", number)
            if b"\0" in line:
                problem = "not a text file: it contains a NUL byte"
                raise FileError(self.path, problem, "name a text file", number)
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                problem = f"not UTF-8: byte 0x{line[error.start]:02x}"
                raise FileError(self.path, problem, "save it as UTF-8", number) from error

    def _json(self, file: BinaryIO) -> Iterator[tuple[int, object]]:
        """Yield the values of lines of JSON, or the elements of one document."""
        lines = self._lines(file)
        first = next(((number, text) for number, text in lines if text.strip()), None)
        if first is None:
            return
        number, text = first
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            if unpacked_name(self.path).suffix.lower() in _JSON_LINES:
                raise self._not_json(number) from error
            yield from self._document(text, lines)
            return
        yield from _parts(number, value)
        for number, text in lines:
            if not text.strip():
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                if text.endswith("\n"):
                    raise self._not_json(number) from error
                self.unfinished = True
                return
            yield from _parts(number, value)

    def _not_json(self, line: int) -> FileError:
        return FileError(self.path, "this line is not JSON", "correct or remove it", line)

    def _document(
        self, first: str, lines: Iterable[tuple[int, str]]
    ) -> Iterator[tuple[int, object]]:
        parts, size = [first], 0
        for _, text in lines:
            parts.append(text)
            size += len(text)
            if size > SIZE_LIMIT:
                problem = f"one JSON document of more than {SIZE_LIMIT / 1024**3:.3g} GiB"
                raise FileError(self.path, problem, "write an object in each line (JSON Lines)")
        text = "".join(parts)
        try:
            if text.lstrip().startswith("["):
                for line, value in json_items(text):
                    yield from _parts(line, value)
            else:
                yield from _parts(1, json.loads(text))
        except (ValueError, RecursionError) as error:
            line = 1 + text.count("\n", 0, getattr(error, "pos", 0))
            problem, remedy = "the JSON breaks off or is damaged", "write or copy it again"
            raise FileError(self.path, problem, remedy, line) from error

    def _delimited(self, file: BinaryIO, start: bytes) -> Iterator[tuple[int, object]]:
        csv.field_size_limit(_LONGEST_LINE)
        wanted = self._column or _PROMPT
        separator = detect_separator(self.path, start, (wanted.strip().lower(),))
        rows = csv.reader((text for _, text in self._lines(file)), delimiter=separator, strict=True)
        line = 1
        try:
            header = [name.strip() for name in next(rows, [])]
            line = rows.line_num + 1
            for row in rows:
                if len(row) > len(header):
                    problem = f"{len(row)} fields where the header has {len(header)}"
                    raise FileError(self.path, problem, "put texts with commas in quotes", line)
                if row:
                    yield line, dict(zip(header, row, strict=False))
                line = rows.line_num + 1
        except csv.Error as error:
            remedy = 'put texts in quotes and double those inside: "say ""hi"""'
            raise FileError(self.path, f"not valid CSV: {error}", remedy, line) from error

    def _table(self, file: BinaryIO) -> Iterator[tuple[int, object]]:
        content = file.read(SIZE_LIMIT + 1)
        if len(content) > SIZE_LIMIT:
            problem = f"more than the {SIZE_LIMIT / 1024**3:.3g} GiB allowed in this format"
            raise FileError(self.path, problem, "split it, or write JSON Lines")
        columns, lines, errors = read_table(self.path, content, ())
        for error in errors[:1]:
            raise FileError(self.path, error.message, "correct it first", *error.lines[:1])
        for index, line in enumerate(lines):
            yield line, {name: values[index] for name, values in columns.items()}

    # --- texts ----------------------------------------------------------------------------

    def _prompts(self, line: int, value: object) -> Iterator[LoggedPrompt]:
        """Yield the texts of users in an entry, each once."""
        origin = f"{self.path.name}:{line}"
        if isinstance(value, dict) and len(self._keys) < _KEYS_SHOWN:
            self._keys |= dict.fromkeys(map(str, value))
        self.labelled += isinstance(value, dict) and value.get("expected") not in (None, "")
        texts: dict[str, tuple[Production, ...]] = {}
        for text, said in self._texts(value, (), _DEPTH):
            if text.strip():
                texts[text] = (*texts.get(text, ()), *said)
        self.without_text += not texts
        for text, production in texts.items():
            yield LoggedPrompt(text, origin, production)

    def _texts(
        self, value: object, production: tuple[Production, ...], depth: int
    ) -> Iterator[tuple[str, tuple[Production, ...]]]:
        """Yield texts with what a guardrail said of them, from an entry or a part of it."""
        if isinstance(value, str) and depth == _DEPTH and not self._column:
            yield value, ()
        elif looks_like_chat(value) and not self._column:
            yield from _said(user_texts(value) or [], production)
        elif isinstance(value, dict):
            value = _with_attributes(value)
            production = _production(value) or production
            texts = self._own_texts(value)
            if texts is not None:
                yield from _said(texts, production)
            elif depth:
                for part in value.values():
                    yield from self._texts(part, production, depth - 1)
        elif isinstance(value, list) and depth:
            for part in value:
                if not isinstance(part, str):
                    yield from self._texts(part, production, depth - 1)

    def _own_texts(self, value: Mapping[str, Any]) -> list[str] | None:
        """Return the texts that an object has itself, or None."""
        if self._column:
            found = _at(value, self._column)
            return None if found is None else user_texts(found) or []
        for name in _CHATS:
            if value.get(name) is not None and (texts := user_texts(value[name])) is not None:
                return texts
        contents = value.get(_CONTENTS)
        prompt = _at(contents if isinstance(contents, dict) else value, _PROMPT)
        return None if prompt is None else user_texts(prompt)


def _opened(path: Path) -> BinaryIO:
    """Open a file, a pipe or standard input, unpacked. Raises OSError and FileError."""
    if path is STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.closed:
            raise FileError(path, "it is closed", "pipe a file into the command")
        file: BinaryIO = sys.stdin.buffer
    else:
        try:
            mode = path.stat().st_mode
        except ValueError as error:  # a NUL in the name
            raise FileError(repr(str(path)), "not a valid file name") from error
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISDIR(mode)):
            raise FileError(path, "not a regular file", "name a regular file")
        file = path.open("rb")
    start = file.read(2)
    whole = io.BufferedReader(_Chained(start, file))
    return gzip.GzipFile(fileobj=whole) if start == _GZIP else whole  # type: ignore[return-value]


class _Chained(io.RawIOBase):
    """A start that was read already, and the file that it was read from."""

    def __init__(self, start: bytes, file: BinaryIO) -> None:
        self._start, self._file = start, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._start[: len(buffer)] or self._file.read(len(buffer))
        self._start = self._start[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if self._file is not sys.stdin.buffer:
            self._file.close()
        super().close()


def _parts(line: int, value: object) -> Iterator[tuple[int, object]]:
    """Yield the entries of a value: the elements of a list, unless it is a chat."""
    if isinstance(value, list) and not looks_like_chat(value):
        for part in value:
            yield line, part
    else:
        yield line, value


def _said(
    texts: list[str], production: tuple[Production, ...]
) -> Iterator[tuple[str, tuple[Production, ...]]]:
    """Yield the texts of a chat: what guardrails said then is about the last one."""
    yield from ((text, ()) for text in texts[:-1])
    yield from ((text, production) for text in texts[-1:])


def _at(value: Mapping[str, Any], name: str) -> object:
    """Return the value of a key, ignoring case, or of keys separated by dots; None if missing."""
    if name in value:
        return value[name]
    for key, inner in value.items():
        if key.strip().lower() == name.strip().lower():
            return inner
    first, _, rest = name.partition(".")
    inner = value.get(first)
    return _at(inner, rest) if rest and isinstance(inner, dict) else None


def _with_attributes(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the attributes of a span, as OTLP or a plain object writes them."""
    attributes = value.get("attributes")
    if isinstance(attributes, dict):
        return value | attributes
    if not isinstance(attributes, list):
        return value
    pairs = [
        pair for pair in attributes if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    ]
    return value | {pair["key"]: _any_value(pair.get("value")) for pair in pairs}


def _any_value(value: object) -> object:
    """Return a value of OTLP (`AnyValue`) as plain JSON."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "arrayValue" and isinstance(inner, dict):
        return [_any_value(item) for item in inner.get("values") or ()]
    if kind == "kvlistValue" and isinstance(inner, dict):
        pairs = [pair for pair in inner.get("values") or () if isinstance(pair, dict)]
        return {str(pair.get("key")): _any_value(pair.get("value")) for pair in pairs}
    return inner if kind.endswith("Value") else value


def _production(value: Mapping[str, Any]) -> tuple[Production, ...]:
    """Return what guardrails said, if an object of LiteLLM, AIRS or guardtui's own keys has it."""
    if (by_airs := _by_airs(value)) is not None:
        return (by_airs,)
    metadata = value.get("metadata")
    for part in (value, metadata if isinstance(metadata, dict) else {}):
        information = part.get("guardrail_information")
        calls = information if isinstance(information, list) else [information]
        said = [_by_litellm(call) for call in calls if isinstance(call, dict)]
        if known := tuple(verdict for verdict in said if verdict is not None):
            return known
    word = str(value.get("triggered", "")).strip().lower()
    if word in (*TRUE, *FALSE):
        names = (value.get("guardrail"), value.get("definition"))
        guardrail, definition = (name if isinstance(name, str) else "" for name in names)
        return (Production(word in TRUE, guardrail, definition),)
    return ()


def _by_airs(value: Mapping[str, Any]) -> Production | None:
    """Return the verdict on topics of a scan result of AIRS; its revision is the definition.

    A scan that failed or timed out has none.
    """
    detected = value.get("prompt_detected")
    violation = detected.get("topic_violation") if isinstance(detected, dict) else None
    if (
        not isinstance(violation, bool)
        or value.get("error") is True
        or value.get("timeout") is True
    ):
        return None
    profile, revision = value.get("profile_name"), value.get("profile_id")
    topics = _at(value, "prompt_detection_details.topic_guardrails_details.blocked_topics")
    return Production(
        violation,
        f"airs:{profile}" if isinstance(profile, str) and profile else "airs",
        revision.lower() if isinstance(revision, str) else "",
        tuple(map(str, topics)) if violation and isinstance(topics, list) else (),
    )


def _by_litellm(call: Mapping[str, Any]) -> Production | None:
    """Return the verdict of one call of a guardrail on a prompt.

    What one said of the answer (`post_call`) is none. Where a guardrail is a profile of AIRS, only
    its verdict on topics counts.
    """
    status, response = call.get("guardrail_status"), call.get("guardrail_response")
    if call.get("guardrail_mode") == "post_call" or status not in ("success", *_BLOCKED):
        return None
    name = str(call.get("guardrail_name") or "")
    if isinstance(response, dict) and "prompt_detected" in response:
        by_airs = _by_airs(response)
        return None if by_airs is None else replace(by_airs, guardrail=name or by_airs.guardrail)
    return Production(status in _BLOCKED, name)
