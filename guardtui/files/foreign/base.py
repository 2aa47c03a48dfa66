"""The parts shared by readers of foreign formats: input, options, and the mapping of columns."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.prompt_reading import Unlabelled
from guardtui.domain.prompts import FALSE, LISTED, PROMPT_BYTES, SPREADSHEET_TRUE, TRUE
from guardtui.domain.topic import Intent
from guardtui.files.chats import last_user_text, looks_like_chat, read_chat
from guardtui.files.json_rows import holds_lone_surrogate
from guardtui.files.problems import FileError, decode, read_bytes
from guardtui.files.source_positions import json_lines, text_of
from guardtui.files.table_formats import unpack, unpacked_name
from guardtui.files.yaml_documents import load_yaml


class ForeignError(GuardtuiError):
    """All problems of the input: the first 20, and the number of the others."""


class Problems:
    """Collects problems, each with file and line."""

    def __init__(self) -> None:
        self._found: list[tuple[str, int, str]] = []

    def add(self, path: Path, message: str, line: int | None = None) -> None:
        location = str(path) if line is None else f"{path}:{line}"
        self._found.append((str(path), line or 0, f"{location}: {message}"))

    def raise_any(self) -> None:
        """Raise ForeignError if there is any problem."""
        if not self._found:
            return
        more = len(self._found) - LISTED
        # Sorted by place; those of one place stay in their order.
        found = sorted(self._found, key=lambda problem: problem[:2])
        shown = [text for _, _, text in found[:LISTED]] + (
            [f"… and {more} problems more"] if more > 0 else []
        )
        raise ForeignError("\n".join(shown))


class ForeignInput:
    """A file; read and parsed once for all formats. Its problems are collected."""

    def __init__(
        self, path: Path, content: bytes | None = None, problems: Problems | None = None
    ) -> None:
        """Store the arguments; with `content`, the path is not read."""
        self.path = path
        self._content = content
        self._problems = Problems() if problems is None else problems

    def report(self, message: str, line: int | None = None) -> None:
        """Add a problem to those of all inputs."""
        self._problems.add(self.path, message, line)

    @cached_property
    def content(self) -> bytes:
        """The unpacked content of the file. Raises FileError."""
        if self._content is None:
            content = read_bytes(self.path, pipes=True, if_empty="name a file with prompts")
        elif self._content.strip(b"\xef\xbb\xbf \t\r\n"):
            content = self._content
        else:
            raise FileError(self.path, "the file is empty", "name a file with prompts")
        return unpack(self.path, content)

    @cached_property
    def text(self) -> str:
        """The decoded content. Raises FileError."""
        return decode(self.path, self.content)

    @property
    def ending(self) -> str:
        return unpacked_name(self.path).suffix.lower()

    @cached_property
    def first_object(self) -> dict[str, Any]:
        """The JSON object in the first line, as in JSON Lines, or {}."""
        _, value = next(json_lines(self.text), (0, None))
        return value if isinstance(value, dict) else {}

    @property
    def looks_like_json(self) -> bool:
        return self.text.lstrip()[:1] in ("{", "[")

    @cached_property
    def yaml(self) -> Any:
        """The document, JSON or YAML, with line numbers if it is valid YAML. Raises FileError."""
        try:
            return load_yaml(self.path, self.text)
        except FileError:
            if not self.looks_like_json:
                raise
            # JSON may be indented with tabs, which YAML forbids.
            with contextlib.suppress(ValueError, RecursionError):
                return json.loads(self.text)
            raise


# --- options ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How the author wants the input to be read; empty fields are detected.

    `true` are the values that mean that a prompt belongs to the topic (all others mean that it does
    not). `label` applies to every prompt. `intent` is that of the new set. `unlabelled` says what a
    prompt with an empty label is: by default an error, or false if there are values in `true`.
    `sheet` is that of a workbook.
    """

    prompt_column: str = ""
    expected_column: str = ""
    true: tuple[str, ...] = ()
    guardrail: str = ""
    label: bool | None = None
    intent: Intent = Intent.BLOCK
    unlabelled: Unlabelled | None = None
    sheet: str = ""

    def label_of(self, value: Any) -> bool | None:
        """Return the label for a value, or None."""
        if _is_empty(value):
            as_false = self.unlabelled is Unlabelled.FALSE
            return False if as_false or (self.true and self.unlabelled is None) else None
        word = _word(value)
        if self.true:
            return word in map(_word, self.true)
        return True if word in TRUE else False if word in FALSE else None

    def expected(self, should_trigger: bool) -> bool:
        """Return the label of a prompt on which a guardrail should or should not trigger."""
        return should_trigger is (self.intent is Intent.BLOCK)


def _is_empty(value: Any) -> bool:
    """Return whether a label is missing: null, not a number, or blank."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip().lower()


def _not_a_label(value: Any) -> str:
    """Return why a value is not a label, and the remedy."""
    if _is_empty(value):
        return (
            "the label is empty: write one, or choose --unlabelled leave-out (without such "
            "prompts) or --unlabelled false"
        )
    text = value if isinstance(value, str) else _word(value)
    shown = repr(text if len(text) <= 40 else f"{text[:39]}…")
    true = quote(str(value)) if _word(value) in SPREADSHEET_TRUE else "VALUE"
    return f"{shown} is not a label: write true or false, or name true values with --true {true}"


# --- rows ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of an input: its prompt, its label, and further values as columns.

    A prompt is a text, or a conversation, whose last message of the user is taken. `expected` is
    the label if the format decides it; otherwise it is read from the value `label`. The names of
    both are for messages, and for the column of a conversation.
    """

    line: int
    prompt: Any
    label: Any = None
    expected: bool | None = None
    prompt_name: str = "prompt"
    label_name: str = "label"
    columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """One labelled prompt, with its location and further columns."""

    path: Path
    line: int
    prompt: str
    expected: bool
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignPrompts:
    """The prompts that were read; `intent` if the input has one, `notes` for the author."""

    rows: Sequence[ForeignRow]
    intent: Intent | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """A foreign format: `title` in a few words, and the fields of `ImportOptions` that it uses.

    `recognises` returns whether an input is probably in this format; it may raise FileError. `read`
    reads the prompts, reports errors of single prompts to the input, and raises FileError.
    """

    title: str
    options: tuple[str, ...]
    recognises: Callable[[ForeignInput], bool]
    read: Callable[[ForeignInput, ImportOptions], ForeignPrompts]


def mapped(
    source: ForeignInput,
    entries: Iterable[Entry],
    options: ImportOptions,
    intent: Intent | None = None,
    notes: Sequence[str] = (),
) -> ForeignPrompts:
    """Return a row for each entry; entries without a label are left out if that is wanted.

    Problems of entries are reported; `notes` follow those on the rows.
    """
    rows: list[ForeignRow] = []
    left_out = several = 0
    for entry in entries:
        label = entry.expected if options.label is None else options.label
        if label is None:
            label = options.label_of(entry.label)
        if label is None and options.unlabelled is Unlabelled.LEAVE_OUT and _is_empty(entry.label):
            left_out += 1
            continue
        try:
            if label is None:
                raise ValueError(f"{entry.label_name}: {_not_a_label(entry.label)}")
            prompt, conversation = _prompt(entry)
        except ValueError as error:
            source.report(str(error), entry.line)
            continue
        several += bool(conversation)
        columns = {name: text_of(value) for name, value in entry.columns.items()} | conversation
        rows.append(ForeignRow(source.path, entry.line, prompt, label, columns))
    told = []
    if left_out:
        verbs = ("has no label and is", "have no label and are")[left_out != 1]
        told.append(f"{count_text(left_out, 'prompt')} {verbs} left out")
    if several:
        verb = "has" if several == 1 else "have"
        messages = "several messages: the user's last one is the prompt"
        told.append(f"{count_text(several, 'row')} {verb} {messages}")
    return ForeignPrompts(rows, intent, [*told, *notes])


def _prompt(entry: Entry) -> tuple[str, dict[str, str]]:
    """Return the prompt, and its conversation as a column if it has several messages.

    Raises ValueError.
    """
    value, name = entry.prompt, entry.prompt_name
    if isinstance(value, dict) or (isinstance(value, list) and not looks_like_chat(value)):
        kind = "an object" if isinstance(value, dict) else "a list without roles"
        raise ValueError(f"{name}: this is {kind}, neither a text nor a list of messages")
    if not isinstance(value, list):
        return text_of(value), {}
    try:
        prompt = last_user_text(read_chat(value))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return prompt, {name: text_of(value)} if len(value) > 1 else {}


def check_rows(rows: Sequence[ForeignRow], problems: Problems, *, as_text: bool) -> None:
    """Add a problem for each row that no prompt set can contain; `as_text` for CSV and TSV."""
    for row in rows:
        if not row.prompt.strip():
            problems.add(row.path, "the prompt is empty: write one, or remove it", row.line)
        elif len(row.prompt.encode("utf-8", "replace")) > PROMPT_BYTES:
            problems.add(row.path, "the prompt has more than 1 MiB", row.line)
        elif as_text and "\0" in row.prompt:
            message = "the prompt holds a NUL, which CSV cannot: convert with --to jsonl"
            problems.add(row.path, message, row.line)
        if holds_lone_surrogate("".join((row.prompt, *row.extra, *row.extra.values()))):
            message = "a text holds half of a surrogate pair, which is not a character: remove it"
            problems.add(row.path, message, row.line)
