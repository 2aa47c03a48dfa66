"""Topic files, YAML or JSON: read safely, written with comments, order and unknown keys kept."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from guardtui.domain.topic import Intent, Topic
from guardtui.files.atomic import write_atomically
from guardtui.files.problems import (
    ContentError,
    FileError,
    decode,
    from_os_error,
    json_problem,
    read_bytes,
)
from guardtui.files.yaml_documents import line_of, load_yaml, start_of

_LARGEST = 1024 * 1024
_KEYS_REMEDY = "write name, description, examples and intent, each with a colon"
_JSON_REMEDY = (
    "write keys and texts in double quotes, a comma between entries and none after the last; "
    "is the file truncated?"
)
_OF_PROMPTS = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")
_KEYS = ("name", "description", "examples", "intent")


class ChangedOnDiskError(FileError):
    """Another program changed the file since it was read."""

    can_force = True

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            "the file was changed by another program since it was opened",
            "save again to overwrite it, or open it again",
        )


class GoneFromDiskError(FileError):
    """The file was deleted or moved since it was read."""

    can_force = True

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            "the file is missing: it was deleted or moved since it was opened",
            "save again to create it again with all its content",
        )


@dataclass(frozen=True, slots=True)
class TopicFile:
    """A topic and its file; `stamp` is the SHA-256 of `content`, empty for a new file."""

    path: Path
    topic: Topic
    stamp: str
    intent_given: bool = True
    content: bytes = b""

    def with_topic(self, topic: Topic) -> TopicFile:
        """Return the same file with another topic."""
        return replace(self, topic=topic)


class NotATopicError(FileError):
    """A file that was read, and has none of the keys of a topic."""


def load_topic(path: Path) -> TopicFile:
    """Read a topic file. Raises FileError with all problems of the file."""
    content = read_bytes(path, if_empty=_KEYS_REMEDY)
    if len(content) > _LARGEST:
        raise FileError(path, "more than 1 MiB: not a topic file", "name a topic file")
    if path.suffix.lower() in _OF_PROMPTS:
        raise FileError(
            path,
            "a file of prompts, not a topic file",
            "name the topic file (YAML); prompts are named beside it (--prompts)",
        )
    text = decode(path, content)
    topic, intent_given = _topic_of(path, _parse(path, text), text)
    return TopicFile(path, topic, hashlib.sha256(content).hexdigest(), intent_given, content)


def save_topic(
    file: TopicFile, topic: Topic, *, force: bool = False, backup_folder: Path | None = None
) -> TopicFile:
    """Write a definition to its file; unchanged parts stay, and the old file is backed up.

    Without `force`, raises `ChangedOnDiskError` if another program changed the file, and
    `GoneFromDiskError` if it is missing. With `force`, a missing file is created again with all its
    previous content, and so is its folder.

    Raises FileError if the file cannot be written; it is then unchanged.
    """
    path = file.path
    document: MutableMapping[str, Any] = {}
    old, before = Topic(), ""
    gone = not path.exists()
    if gone and file.stamp and not force:
        raise GoneFromDiskError(path)
    if not gone or file.content:
        try:
            content = file.content if gone else read_bytes(path)
        except ContentError:
            if not force:
                raise
            content = b""
        if not force and hashlib.sha256(content).hexdigest() != file.stamp:
            raise ChangedOnDiskError(path)
        try:
            before = decode(path, content)
            document = _parse(path, before)
            old, _ = _topic_of(path, document, before)
        except FileError:
            if not force:
                raise
            document, old, before = {}, Topic(), ""
    try:
        "".join((topic.name, topic.description, *topic.examples)).encode()
    except UnicodeEncodeError as error:
        raise FileError(
            path, "a text holds half of a character (a lone surrogate)", "remove it"
        ) from error
    data = _changed(path, document, old, topic, before)
    if data is None and force:
        data = _changed(path, {}, Topic(), topic, "")
    if data is None:
        raise ContentError(
            path,
            "its other content cannot be kept with this definition",
            "fix the file by hand, or overwrite it",
        )
    if gone and force:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_os_error(path.parent, error) from error
    write_atomically(path, data, backup_folder=backup_folder)
    return TopicFile(path, topic, hashlib.sha256(data).hexdigest(), content=data)


def _changed(
    path: Path, document: MutableMapping[str, Any], old: Topic, new: Topic, before: str
) -> bytes | None:
    """Return the file with the new definition; None if it would not read back as that."""
    try:
        _change(document, old, new)
        data = _dump(path, document, before)
        after = data.decode()
        same = _topic_of(path, _parse(path, after), after)[0] == new
    except FileError:
        return None
    return data if same else None


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_HALF = "holds half of a character (a lone surrogate)"


def _is_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"


_DASH = re.compile(r"^( *)- ", re.MULTILINE)


def _yaml(text: str = "") -> YAML:
    """Return a YAML reader and writer that keeps the list indent of `text`, if given."""
    yaml = YAML(typ="rt")
    if text:
        dash = _DASH.search(text)
        offset = len(dash[1]) if dash else 0
        yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    yaml.preserve_quotes = True
    yaml.width = 4 * _LARGEST  # a folded text would lose blanks
    yaml.allow_unicode = True
    return yaml


def _parse(path: Path, text: str) -> MutableMapping[str, Any]:
    loaded = _json(path, text) if _is_json(path) else load_yaml(path, text, yaml=_yaml())
    if loaded is None and not _is_json(path):
        raise FileError(path, "the file contains only comments", _KEYS_REMEDY)
    if not isinstance(loaded, MutableMapping):
        raise FileError(path, "not a mapping of keys to texts", _KEYS_REMEDY, 1)
    return loaded


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem, line = json_problem(error)
        raise FileError(path, f"invalid JSON: {problem}", _JSON_REMEDY, line) from error
    except RecursionError as error:
        raise FileError(path, "this JSON is nested too deeply", _KEYS_REMEDY) from error
    except ValueError as error:  # a number of thousands of digits
        problem = "this JSON contains an unreadable value"
        raise FileError(path, problem, "put long numbers in quotes") from error


def _line(document: MutableMapping[str, Any], key: str, text: str) -> int | None:
    """Return the line of a top-level key of the document with this text."""
    if key not in document:
        return None
    if hasattr(document, "lc"):
        return line_of(document, key)
    return _json_key_lines(text).get(key)


def _json_key_lines(text: str) -> dict[str, int]:
    """Return the line of each key of a JSON object with a valid text."""
    decoder, blanks = json.JSONDecoder(), re.compile(r"[\s:,]*")

    def skip(position: int) -> int:
        match = blanks.match(text, position)
        return match.end() if match else position

    lines: dict[str, int] = {}
    position = skip(text.index("{") + 1)
    while text[position : position + 1] == '"':
        key, end = decoder.raw_decode(text, position)
        lines[key] = text.count("\n", 0, position) + 1
        _, end = decoder.raw_decode(text, skip(end))
        position = skip(end)
    return lines


def _topic_of(path: Path, document: MutableMapping[str, Any], text: str) -> tuple[Topic, bool]:
    """Return the topic of a parsed file, and whether the file contains an intent."""
    problems: list[FileError] = []

    def add_problem(key: str, problem: str, remedy: str) -> None:
        problems.append(FileError(path, problem, remedy, _line(document, key, text)))

    texts = {}
    for key in ("name", "description"):
        value = document.get(key, "")
        if value is not None and not isinstance(value, str):
            add_problem(key, f"{key} is not text but {type(value).__name__}", "put it in quotes")
        texts[key] = str(value or "")
        if _LONE_SURROGATE.search(texts[key]):
            add_problem(key, f"{key} {_HALF}", "remove it")
    examples = document.get("examples") or []
    if not isinstance(examples, list):
        add_problem(
            "examples", "examples is not a list", "write one example a line, each after a dash"
        )
        examples = []
    for number, example in enumerate(examples, start=1):
        if not isinstance(example, str):
            kind = type(example).__name__
            add_problem("examples", f"example {number} is not text but {kind}", "put it in quotes")
        elif _LONE_SURROGATE.search(example):
            add_problem("examples", f"example {number} {_HALF}", "remove it")
    intent = document.get("intent")
    if intent is not None and start_of(intent).strip().lower() not in list(Intent):
        add_problem("intent", f"intent is {start_of(intent)!r}", "write block or allow")
    if not problems and not any(key in document for key in ("name", "description", "examples")):
        remedy = "write name, description, examples and intent"
        problems.append(NotATopicError(path, "not a topic: it has none of its keys", remedy))
    if len(problems) == 1:
        raise problems[0]
    if problems:
        first = problems[0]
        rest = "\n".join(map(str, problems[1:]))
        raise FileError(path, first.problem, f"{first.remedy}\n{rest}", first.line)
    topic = Topic(
        name=texts["name"],
        description=texts["description"],
        examples=tuple(map(str, examples)),
        intent=Intent(str(intent).strip().lower()) if intent is not None else Intent.BLOCK,
    )
    return topic, intent is not None


def _change(document: MutableMapping[str, Any], old: Topic, new: Topic) -> None:
    """Set the values of the document that differ, and leave everything else unchanged."""
    for key in ("name", "description"):
        if getattr(old, key) != getattr(new, key) or key not in document:
            document[key] = _scalar(getattr(new, key))
    if old.examples != new.examples or "examples" not in document:
        old_examples = document.get("examples")
        if isinstance(old_examples, CommentedSeq) and new.examples:
            for index, text in enumerate(new.examples):
                if index >= len(old_examples):
                    old_examples.append(_scalar(text))
                elif str(old_examples[index]) != text:
                    old_examples[index] = _scalar(text)
            while len(old_examples) > len(new.examples):
                old_examples.pop()
        else:
            if not new.examples and hasattr(document, "ca"):
                # A comment between the key and an empty list would part the two.
                document.ca.items.pop("examples", None)
            document["examples"] = [_scalar(text) for text in new.examples]
    if old.intent is not new.intent or "intent" not in document:
        document["intent"] = new.intent.value


def _scalar(text: str) -> str:
    """Return a text that YAML can represent: odd characters need double quotes."""
    return text if text.isprintable() else DoubleQuotedScalarString(text)


def _dump(path: Path, document: MutableMapping[str, Any], before: str) -> bytes:
    try:
        if _is_json(path):
            return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()
        stream = io.BytesIO()
        _yaml(before).dump(document, stream)
        return stream.getvalue()
    except (UnicodeEncodeError, YAMLError) as error:
        raise FileError(
            path, "a text holds characters that UTF-8 cannot carry", "remove them"
        ) from error
