"""The parts shared by readers of foreign formats: input, result, and format detection."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import Any, Protocol, cast

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompt_reading import Unlabelled
from guardtui.domain.prompts import FALSE, LISTED, PROMPT_BYTES, SPREADSHEET_TRUE, TRUE
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError, decode, json_problem, read_bytes
from guardtui.files.source_positions import json_lines
from guardtui.files.table_formats import unpack, unpacked_name
from guardtui.files.yaml_documents import load_yaml

FORMATS = {
    "inspect": "guardtui.files.foreign.inspect_samples",
    "promptfoo": "guardtui.files.foreign.promptfoo",
    "openai-guardrails": "guardtui.files.foreign.openai_guardrails",
    "nemo": "guardtui.files.foreign.nemo",
    "table": "guardtui.files.foreign.table",
    "lines": "guardtui.files.foreign.lines",
}
"""Module of each format by name."""

_IF_NO_OTHER = ("table", "lines")
"""Formats that match almost any file: used only if no other format is recognised."""


class ForeignError(GuardtuiError):
    """All problems of the input: the first 20, and the number of the others."""

    exit_code = 2


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

    def leaves_out(self, value: Any) -> bool:
        """Return whether a prompt with this label is left out because it is empty."""
        return self.unlabelled is Unlabelled.LEAVE_OUT and _is_empty(value)

    def label_of(self, value: Any) -> bool | None:
        """Return the label for a value, or None."""
        if _is_empty(value):
            as_false = self.unlabelled is Unlabelled.FALSE
            return False if as_false or (self.true and self.unlabelled is None) else None
        if self.true:
            return _word(value) in {_word(true_value) for true_value in self.true}
        word = _word(value)
        return True if word in TRUE else False if word in FALSE else None

    def expected(self, should_trigger: bool) -> bool:
        """Return the label of a prompt on which a guardrail should or should not trigger."""
        return should_trigger is (self.intent is Intent.BLOCK)

    def not_a_label(self, value: Any) -> str:
        """Return why a value is not a label, and the remedy."""
        if _is_empty(value):
            return (
                "the label is empty: write one, or choose --unlabelled leave-out (without such "
                "prompts) or --unlabelled false"
            )
        text = value if isinstance(value, str) else _word(value)
        shown = repr(text if len(text) <= 40 else f"{text[:39]}…")
        true = quote(str(value)) if _word(value) in SPREADSHEET_TRUE else "VALUE"
        return (
            f"{shown} is not a label: write true or false, or name true values with --true {true}"
        )


def _is_empty(value: Any) -> bool:
    """Return whether a label is missing: null, not a number, or blank."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip().lower()


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


class ForeignInput:
    """A file; read and parsed once for all formats."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        """Store the arguments; with `content`, the path is not read."""
        self.path = path
        self._content = content

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


class FormatReader(Protocol):
    """Interface of the modules of this package."""

    TITLE: str
    """The format in a few words."""

    OPTIONS: tuple[str, ...]
    """Fields of `ImportOptions` that it uses, besides `intent`."""

    def recognises(self, source: ForeignInput) -> bool:
        """Return whether the input is probably in this format. May raise FileError."""
        ...

    def read(
        self, source: ForeignInput, mapped: ImportOptions, problems: Problems
    ) -> ForeignPrompts:
        """Read the prompts; errors of single prompts go to `problems`. Raises FileError."""
        ...


def reader_of(name: str) -> FormatReader:
    """Return the reader of a format."""
    return cast("FormatReader", import_module(FORMATS[name]))


def recognised(source: ForeignInput) -> str:
    """Return the name of the format of the input. Raises ForeignError and FileError."""
    source.content  # noqa: B018 - raises FileError for an unreadable file
    formats = [
        name for name in FORMATS if name not in _IF_NO_OTHER and _recognises(name, source)
    ] or [name for name in _IF_NO_OTHER if _recognises(name, source)]
    if len(formats) == 1:
        return formats[0]
    if formats:
        raise ForeignError(
            f"{source.path}: this could be {' or '.join(formats)}\n"
            f"  choose one with --from {'|'.join(formats)}"
        )
    _require_whole(source)
    names = ", ".join(FORMATS)
    raise ForeignError(
        f"{source.path}: the format is not recognised\n  name it with --from, one of: {names}"
    )


def _require_whole(source: ForeignInput) -> None:
    """Raise FileError for a YAML or JSON file, by extension, that cannot be parsed."""
    if source.ending in (".yaml", ".yml"):
        source.yaml  # noqa: B018 - raises FileError with the place of the error
    elif source.ending == ".co":
        require_colang_1(source.path, source.text)
    elif source.ending == ".json":
        try:
            json.loads(source.text)
        except json.JSONDecodeError as error:
            problem, line = json_problem(error)
            raise FileError(
                source.path, f"invalid JSON: {problem}", "fix the JSON", line
            ) from error
        except (ValueError, RecursionError) as error:
            problem = "this JSON is nested too deeply, or holds a number that cannot be read"
            raise FileError(source.path, problem, "fix the JSON") from error


def require_colang_1(path: Path, text: str) -> None:
    """Raise FileError for a file in Colang 2, which has flows in place of examples."""
    if re.search(r"^(?:flow|import|global)\s|^@\w+", text, re.MULTILINE):
        raise FileError(
            path,
            "this is Colang 2, which has no labelled examples to read",
            "name a file in Colang 1.0 ('define user'), or write the prompts to a CSV",
        )


def _recognises(name: str, source: ForeignInput) -> bool:
    try:
        return reader_of(name).recognises(source)
    except FileError:
        return False


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
        try:
            "".join((row.prompt, *row.extra, *row.extra.values())).encode()
        except UnicodeEncodeError:
            message = "a text holds half of a surrogate pair, which is not a character: remove it"
            problems.add(row.path, message, row.line)
