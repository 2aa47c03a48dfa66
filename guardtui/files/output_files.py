"""Outputs of a model with their targets, for scoring: tables, and logs of inspect_ai."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from guardtui.domain.figures import count_text
from guardtui.domain.findings import Finding, Severity
from guardtui.domain.prompts import LISTED, PromptSetError
from guardtui.files.chats import (
    EXAMPLE,
    ChatMessage,
    last_of_user,
    looks_like_chat,
    read_chat,
    read_question,
)
from guardtui.files.inspect_logs import InspectLog, is_inspect_log, read_inspect_log
from guardtui.files.output_tables import Columns, read_table, row_error
from guardtui.files.problems import read_bytes
from guardtui.files.table_formats import TableFormat, detect_format, unpack

REQUIRED = ("input", "target", "output")
KNOWN = (*REQUIRED, "id", "choices", "epoch")
"""Columns with a meaning; all others are metadata."""

MESSAGES = "messages"
"""Name of a column of conversations; it stays part of the metadata."""

_IF_EMPTY = "write the columns input, target and output"
_ARRAY = "a JSON array of texts"
_LARGEST_EPOCH = 2**31


class OutputFileError(PromptSetError):
    """An output file that cannot be used; `findings` are the first 20 of `total` errors."""


@dataclass(frozen=True, eq=False)
class OutputSet:
    """Rows of outputs as columns; every list has one entry per row.

    `lines` are the lines on which rows begin (rows of a Parquet file, from 1). `ids` are texts, the
    row's number if the file has none. `epochs` count from 1. `choices` are empty for rows without.
    `metadata` are the other columns by their names in the file: texts and None from CSV, any value
    from JSON or Parquet.

    `input_messages` and `messages` are empty if the file has no conversations. Otherwise they have
    one conversation per row, empty for rows without: the input, and the whole conversation up to
    the output. For an input that is a conversation, `inputs` has the last message of the user.
    """

    source: str
    lines: Sequence[int]
    inputs: Sequence[str]
    targets: Sequence[tuple[str, ...]]
    outputs: Sequence[str]
    ids: Sequence[str]
    epochs: Sequence[int]
    choices: Sequence[tuple[str, ...]]
    metadata: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    input_messages: Sequence[tuple[ChatMessage, ...]] = ()
    messages: Sequence[tuple[ChatMessage, ...]] = ()

    def __len__(self) -> int:
        return len(self.outputs)

    @cached_property
    def most_epochs(self) -> int:
        """The largest number of rows of one sample; 0 without rows."""
        return max(Counter(self.ids).values(), default=0)

    @cached_property
    def samples(self) -> int:
        """Number of distinct samples, regardless of epochs."""
        return len(set(self.ids))

    def metadata_of(self, row: int) -> dict[str, Any]:
        """Return the metadata of one row as a new dict."""
        return {name: values[row] for name, values in self.metadata.items()}

    def column(self, name: str) -> tuple[str, Sequence[Any]] | None:
        """Return a column's name as in the file, and its values; None if missing.

        This includes `id`, `input` and `epoch`. Case matters only if two names differ by nothing
        else.
        """
        own: dict[str, Sequence[Any]] = {
            "id": self.ids, "input": self.inputs, "epoch": self.epochs,
        }  # fmt: skip
        columns = {**own, **self.metadata}
        if name in columns:
            return name, columns[name]
        wanted = name.strip().lower()
        return next(((key, columns[key]) for key in columns if key.lower() == wanted), None)

    def location(self, row: int) -> str:
        """Return the location of a row, for messages."""
        return f"{self.source}:{self.lines[row]}"


def load_outputs(path: Path) -> OutputSet:
    """Read and check outputs; the file extension gives the format, CSV by default.

    A log of inspect_ai is recognised by its content. Raises FileError if the file cannot be read,
    and OutputFileError with all errors of its rows together.
    """
    return parse_outputs(path, read_bytes(path, pipes=True, if_empty=_IF_EMPTY))


def parse_outputs(path: Path, content: bytes) -> OutputSet:
    """Parse outputs as `load_outputs`, from the content of a file called `path`."""
    content = unpack(path, content)
    if path.suffix.lower() == ".eval" or is_inspect_log(path, content):
        return _logged(path, read_inspect_log(path, content))
    columns, lines, errors = read_table(path, content, REQUIRED)
    delimited = detect_format(path, content) in (TableFormat.DELIMITED, TableFormat.WORKBOOK)
    return _Checked(path, columns, lines, errors, delimited=delimited).output_set()


# --- logs of inspect_ai -----------------------------------------------------------------------


def _logged(path: Path, log: InspectLog) -> OutputSet:
    """Return the samples of a log of inspect_ai; a finding counts those without an output."""
    columns: Columns = {name: [] for name in KNOWN}
    metadata: list[Mapping[str, Any]] = []
    lines: list[int] = []
    errors: list[Finding] = []
    unanswered: list[int] = []
    failed = 0
    input_chats: list[tuple[ChatMessage, ...]] = []
    messages: list[tuple[ChatMessage, ...]] = []
    for sample in log.samples:
        line = sample.line or sample.number
        output = sample.output()
        try:
            text, input_chat = sample.question()
            chat = sample.messages()
        except ValueError as error:
            errors.append(row_error("input", f"{sample.location} {error}", line))
            continue
        if output is None:
            unanswered.append(line)
            failed += bool(sample.error())
            output = ""
        input_chats.append(input_chat)
        messages.append(chat)
        target, choices = sample.value.get("target"), sample.value.get("choices")
        values = (text, sample.text(target) if isinstance(target, str) else target, output)
        row = (*values, str(sample.value["id"]), choices, sample.value["epoch"])
        for name, value in zip(KNOWN, row, strict=True):
            columns[name].append(value)
        more = sample.value.get("metadata")
        metadata.append(more if isinstance(more, dict) else {})
        lines.append(line)
    for name in dict.fromkeys(name for entry in metadata for name in entry):
        # Metadata with the name of a column that has a meaning get a prefix.
        taken = name.lower() in (*KNOWN, MESSAGES) or not name.strip()
        columns[f"metadata.{name}" if taken else name] = [entry.get(name) for entry in metadata]
    outputs = _Checked(path, columns, lines, errors, delimited=False).output_set()
    findings = list(outputs.findings)
    if unanswered:
        verbs = "has no output and is" if len(unanswered) == 1 else "have no output and are"
        samples = count_text(len(unanswered), "sample")
        message = f"{samples} {verbs} scored as an empty one, as inspect_ai does"
        if failed:
            message += f"; {failed} of them ended with an error"
        findings.append(Finding(Severity.WARNING, "no-output", message, tuple(unanswered[:LISTED])))
    if log.status != "success":
        message = f"the status of the log is {_shown(log.status)}: it may lack samples"
        findings.append(Finding(Severity.WARNING, "status", message))
    return replace(outputs, findings=tuple(findings), input_messages=input_chats, messages=messages)


# --- meaning of the columns -------------------------------------------------------------------


class _Checked:
    """Reads the columns that have a meaning and collects their errors."""

    def __init__(
        self,
        path: Path,
        columns: Columns,
        lines: list[int],
        errors: list[Finding],
        *,
        delimited: bool,
    ) -> None:
        self.path = path
        self.lines = lines
        self.errors = errors
        self.delimited = delimited
        self.columns: dict[str, list[Any]] = {}
        self.metadata: Columns = {}
        # An unreadable line may contain the missing column.
        self.whole = not errors
        for name, values in columns.items():
            meaning = name.lower() if name.lower() in KNOWN else None
            if meaning is None:
                self.metadata[name] = values
            elif meaning in self.columns:
                message = f"two columns are named {meaning}: rename one of them"
                self.errors.append(row_error("column", message))
            else:
                self.columns[meaning] = values

    def output_set(self) -> OutputSet:
        count = len(self.lines)
        missing = [name for name in REQUIRED if name not in self.columns]
        if missing and (self.whole or self.columns):
            self.errors.append(
                row_error("column", _missing(missing, [*self.columns, *self.metadata]))
            )
        if not missing and not count and not self.errors:
            self.errors.append(row_error("empty", "no rows below the header: add outputs"))
        input_messages = self._input_messages()
        inputs = self._texts("input")
        outputs = self._texts("output")
        messages = self._messages(outputs)
        targets = self._several("target")
        choices = self._several("choices") if "choices" in self.columns else [()] * count
        epochs = self._epochs()
        ids = self._ids(epochs)
        if self.errors:
            self.errors.sort(key=lambda finding: finding.lines[:1])
            raise OutputFileError(str(self.path), self.errors[:LISTED], len(self.errors))
        return OutputSet(
            source=str(self.path),
            lines=self.lines,
            inputs=inputs,
            targets=targets,
            outputs=outputs,
            ids=ids,
            epochs=epochs if epochs is not None else [1] * count,
            choices=choices,
            metadata=self.metadata,
            findings=tuple(self._doubtful(targets)),
            input_messages=input_messages,
            messages=messages,
        )

    def _input_messages(self) -> list[tuple[ChatMessage, ...]]:
        """Return the inputs that are conversations, and replace each by its text in the column."""
        values = list(self.columns.get("input", []))
        chats: dict[int, tuple[ChatMessage, ...]] = {}
        for row, (line, value) in enumerate(zip(self.lines, values, strict=False)):
            decoded = _decoded(value) if self.delimited else value
            if isinstance(value, list) or looks_like_chat(decoded):
                chats[row] = self._chat("input", decoded, line, read_question)
                last = last_of_user(chats[row])
                values[row] = "" if last is None else last.text
        if not chats:
            return []
        self.columns["input"] = values
        return [chats.get(row, ()) for row in range(len(values))]

    def _messages(self, outputs: Sequence[str]) -> list[tuple[ChatMessage, ...]]:
        """Return the conversations of the column `messages`; empty if it contains anything else.

        If the last message is not the assistant's, the output is appended.
        """
        column = next((item for item in self.metadata if item.lower() == MESSAGES), None)
        values = [] if column is None else [_decoded(item) for item in self.metadata[column]]
        if not any(isinstance(item, list) or _begins_list(item) for item in values):
            return []
        chats: list[tuple[ChatMessage, ...]] = []
        for line, value, output in zip(self.lines, values, outputs, strict=False):
            chat = () if value is None or value == "" else self._chat(MESSAGES, value, line)
            if chat and chat[-1].role != "assistant":
                chat = (*chat, ChatMessage("assistant", output))
            chats.append(chat)
        return chats

    def _chat(
        self,
        name: str,
        value: object,
        line: int,
        read: Callable[[object], tuple[ChatMessage, ...]] = read_chat,
    ) -> tuple[ChatMessage, ...]:
        try:
            return read(value)
        except ValueError as error:
            message = f"{name}: {error}: write {EXAMPLE}"
            self.errors.append(row_error(name, message, line))
            return ()

    def _texts(self, name: str) -> list[str]:
        values = self.columns.get(name, [])
        texts: list[str] = []
        for line, value in zip(self.lines, values, strict=False):
            if isinstance(value, list | dict):
                kind = "an array" if isinstance(value, list) else "an object"
                message = f"the {name} is not text but {kind}: write it as one text"
                self.errors.append(row_error(name, message, line))
                value = None
            texts.append(value if isinstance(value, str) else _text(value))
        return texts

    def _several(self, name: str) -> list[tuple[str, ...]]:
        """Return one text or several per row; a missing target is one empty text."""
        parsed: list[tuple[str, ...]] = []
        nothing = ("",) if name == "target" else ()
        for line, value in zip(self.lines, self.columns.get(name, []), strict=False):
            if value is None or value == "":
                parsed.append(nothing)
            elif isinstance(value, str) and not (self.delimited and value.lstrip()[:1] == "["):
                parsed.append((value,))
            else:
                texts, problem = _texts_of(value)
                if problem:
                    self.errors.append(row_error(name, f"the {name} {problem}", line))
                parsed.append(texts)
        return parsed

    def _epochs(self) -> list[int] | None:
        values = self.columns.get("epoch")
        if values is None:
            return None
        if "id" not in self.columns:
            message = "epochs need ids: add the column id, equal for all rows of a sample"
            self.errors.append(row_error("epoch", message))
        epochs: list[int] = []
        for line, value in zip(self.lines, values, strict=True):
            number = _whole(value)
            if number is None or not 0 < number < _LARGEST_EPOCH:
                shown = "empty" if value is None or value == "" else _shown(value)
                message = f"the epoch is {shown}: write a whole number from 1 on"
                self.errors.append(row_error("epoch", message, line))
                number = -line  # no epoch of any other row
            epochs.append(number)
        return epochs

    def _ids(self, epochs: list[int] | None) -> list[str]:
        values = self.columns.get("id")
        if values is None:
            return [str(number) for number in range(1, len(self.lines) + 1)]
        ids: list[str] = []
        first: dict[tuple[str, int], int] = {}
        for row, (line, value) in enumerate(zip(self.lines, values, strict=True)):
            if isinstance(value, list | dict):
                self.errors.append(row_error("id", "the id is neither text nor number", line))
                value = f"\0{row}"
            name = _text(value).strip()
            if not name:
                self.errors.append(row_error("id", "the id is empty: give the row one", line))
                name = f"\0{row}"
            before = first.setdefault((name, 1 if epochs is None else epochs[row]), line)
            if before != line:
                message = f"the id {_shown(name)} is already on line {before}: "
                if epochs is None:
                    message += "change it, or number the epochs of one sample (column epoch)"
                else:
                    message += f"with the same epoch, {epochs[row]}: fix one of them"
                self.errors.append(row_error("id", message, line))
            ids.append(name)
        return ids

    def _doubtful(self, targets: list[tuple[str, ...]]) -> Iterator[Finding]:
        empty = [
            line
            for line, texts in zip(self.lines, targets, strict=True)
            if not texts or not all(map(str.strip, texts))
        ]
        if empty:
            verb = "has" if len(empty) == 1 else "have"
            rows = f"{count_text(len(empty), 'row')} {verb}"
            message = f"{rows} an empty target, which match() and includes() find in every output"
            yield Finding(Severity.WARNING, "target", message, tuple(empty[:LISTED]))


def _missing(missing: Sequence[str], present: Sequence[str]) -> str:
    columns = ", ".join(missing)
    noun, verb, add = ("column", "is", "it") if len(missing) == 1 else ("columns", "are", "them")
    shown = ", ".join(map(_shown, present[:LISTED])) or "none"
    return f"the {noun} {columns} {verb} missing (existing: {shown}): add {add} to the header"


def _texts_of(value: Any) -> tuple[tuple[str, ...], str]:
    """Return the texts of an array or a single value, and its problem or ""."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            problem = f"begins with a bracket but is not a {_ARRAY[2:]}"
            return (), f'{problem}: write ["one", "two"], or ["[one]"] for one text'
    if isinstance(value, dict):
        return (), f"is an object: write a text or {_ARRAY}"
    if not isinstance(value, list):
        return (_text(value),), ""
    for item in value:
        if item is None or isinstance(item, list | dict):
            return (), f"holds {_shown(item)}, which is not text: write {_ARRAY}"
    return tuple(map(_text, value)), ""


def _begins_list(value: object) -> bool:
    return isinstance(value, str) and value.lstrip()[:1] == "["


def _decoded(value: Any) -> Any:
    """Return the decoded value of a text that is a JSON array; other values unchanged."""
    if not _begins_list(value):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _text(value: Any) -> str:
    """Return a single value as JSON writes it, "" if missing."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, int):
        return value
    text = str(value).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,10}", text) else None


def _shown(value: Any) -> str:
    text = _text(value) if value is not None else "null"
    return repr(text if len(text) <= 40 else f"{text[:39]}…")
