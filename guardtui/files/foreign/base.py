"""What readers of other tools' formats share: their input, their answer, and finding the reader."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompts import FALSE, LISTED, PROMPT_BYTES, TRUE
from guardtui.domain.topic import Intent
from guardtui.files.json_places import json_lines, load_yaml
from guardtui.files.problems import FileError, decode, read_bytes
from guardtui.files.table_formats import unpack, unpacked_name

FORMATS = {
    "inspect": "guardtui.files.foreign.inspect_samples",
    "promptfoo": "guardtui.files.foreign.promptfoo",
    "openai-guardrails": "guardtui.files.foreign.openai_guardrails",
    "nemo": "guardtui.files.foreign.nemo",
    "table": "guardtui.files.foreign.table",
    "lines": "guardtui.files.foreign.lines",
}
"""Module of each format by its name."""

_IF_NO_OTHER = ("table", "lines")
"""Formats that much else would pass for: they are taken when no other one is recognised."""


class ForeignError(GuardtuiError):
    """What is wrong with the input, all of it: the first 20 problems and a count of the rest."""


class Problems:
    """Collects what is wrong, each with file and line."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, path: Path, message: str, line: int | None = None) -> None:
        where = str(path) if line is None else f"{path}:{line}"
        self._found.append(f"{where}: {message}")

    def raise_any(self) -> None:
        """Raise ForeignError when there is any problem."""
        if not self._found:
            return
        more = len(self._found) - LISTED
        shown = self._found[:LISTED] + ([f"… and {more} problems more"] if more > 0 else [])
        raise ForeignError("\n".join(shown))


@dataclass(frozen=True, slots=True)
class Mapped:
    """How the author says the input is to be understood; what is empty is found out.

    `true` are the values that mean that a prompt belongs to the topic (any other one: that it does
    not); `label` holds for every prompt; `intent` is that of the new set.
    """

    prompt_column: str = ""
    expected_column: str = ""
    true: tuple[str, ...] = ()
    guardrail: str = ""
    label: bool | None = None
    intent: Intent = Intent.BLOCK

    def label_of(self, value: Any) -> bool | None:
        """A value as a label; None for what is none."""
        if self.true:
            if value is None or value == "":
                return None
            return _word(value) in {_word(one) for one in self.true}
        word = _word(value)
        return True if word in TRUE else False if word in FALSE else None

    def expected(self, should_trigger: bool) -> bool:
        """The label of a prompt on which a guardrail should fire or not."""
        return should_trigger is (self.intent is Intent.BLOCK)

    def not_a_label(self, value: Any) -> str:
        """Why a value is no label, and what to do."""
        shown = _shown(value)
        if value is None or value == "":
            return "the label is empty: write one"
        return f"{shown} is no label: write true or false, or say what is true with --true VALUE"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip().lower()


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else _word(value)
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled prompt, where it stands, and what else is told of it."""

    path: Path
    line: int
    prompt: str
    expected: bool
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read; `intent` where the input tells it, `notes` for what the author should know."""

    rows: Sequence[Row]
    intent: Intent | None = None
    notes: Sequence[str] = ()


class Source:
    """A file, or a folder of files; read and parsed once, however many formats look at it."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        """With `content` the path is not read."""
        self.path = path
        self._content = content

    @cached_property
    def is_folder(self) -> bool:
        return self._content is None and self.path.is_dir()

    @cached_property
    def content(self) -> bytes:
        """What the file holds, unpacked. Raises FileError."""
        if self._content is None:
            content = read_bytes(self.path, pipes=True, if_empty="name a file with prompts")
        elif self._content.strip(b"\xef\xbb\xbf \t\r\n"):
            content = self._content
        else:
            raise FileError(self.path, "the file is empty", "name a file with prompts")
        return unpack(self.path, content)

    @cached_property
    def text(self) -> str:
        """Raises FileError."""
        return decode(self.path, self.content)

    @property
    def ending(self) -> str:
        return unpacked_name(self.path).suffix.lower()

    @cached_property
    def first_object(self) -> dict[str, Any]:
        """The object that the first line holds, as JSON Lines have it; {} when it holds none."""
        _, value = next(json_lines(self.text), (0, None))
        return value if isinstance(value, dict) else {}

    @property
    def looks_like_json(self) -> bool:
        return self.text.lstrip()[:1] in ("{", "[")

    @cached_property
    def yaml(self) -> Any:
        """The document, JSON or YAML, with lines where it is YAML too. Raises FileError."""
        try:
            return load_yaml(self.path, self.text)
        except FileError:
            if not self.looks_like_json:
                raise
            # JSON may be indented by tabs, which YAML forbids.
            with contextlib.suppress(ValueError, RecursionError):
                return json.loads(self.text)
            raise


class Reader(Protocol):
    """A module of this package."""

    TITLE: str
    """The format in a few words."""

    OPTIONS: tuple[str, ...]
    """Fields of `Mapped` that it can use, besides `intent`."""

    def recognises(self, source: Source) -> bool:
        """Whether this is likely meant for it; may raise FileError for what it cannot read."""
        ...

    def read(self, source: Source, mapped: Mapped, problems: Problems) -> Reading:
        """The prompts; what is wrong with single ones goes to `problems`. Raises FileError."""
        ...


def reader_of(name: str) -> Reader:
    """The reader of a format."""
    return cast("Reader", import_module(FORMATS[name]))


def recognised(source: Source) -> str:
    """The name of the one format that the input has. Raises ForeignError and FileError."""
    if not source.is_folder:
        source.content  # noqa: B018 - what cannot be read is told as it is
    found = [
        name for name in FORMATS if name not in _IF_NO_OTHER and _recognises(name, source)
    ] or [name for name in _IF_NO_OTHER if _recognises(name, source)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ForeignError(
            f"{source.path}: this could be {' or '.join(found)}\n"
            f"  say which with --from {'|'.join(found)}"
        )
    _require_whole(source)
    names = ", ".join(FORMATS)
    raise ForeignError(
        f"{source.path}: the format is not recognised\n  say it with --from, one of: {names}"
    )


def _require_whole(source: Source) -> None:
    """Raise FileError for JSON or YAML, told by the ending, that cannot be read at all."""
    if source.ending in (".yaml", ".yml"):
        source.yaml  # noqa: B018 - half a file tells where it breaks off
    elif source.ending == ".json":
        try:
            json.loads(source.text)
        except json.JSONDecodeError as error:
            problem = f"this is no JSON: {error.msg} (column {error.colno})"
            raise FileError(source.path, problem, "mend it", error.lineno) from error
        except (ValueError, RecursionError) as error:
            problem = "this JSON is nested too deeply, or holds a number that cannot be read"
            raise FileError(source.path, problem, "mend it") from error


def _recognises(name: str, source: Source) -> bool:
    try:
        return reader_of(name).recognises(source)
    except FileError:
        return False


def check_rows(rows: Sequence[Row], problems: Problems, *, as_text: bool) -> None:
    """Add a problem for each row that no prompt set can hold; `as_text` for CSV and TSV."""
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
            message = "a text holds half of a surrogate pair, which is no character: remove it"
            problems.add(row.path, message, row.line)
