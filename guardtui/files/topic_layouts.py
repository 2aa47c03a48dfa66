"""Positions of topics in a file: as its whole content, in a list, or in the rows of a table."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardtui.domain.topic import Intent, Topic
from guardtui.files.problems import FileError, json_error
from guardtui.files.source_tree import Node, json_tree, yaml_tree
from guardtui.files.topic_edits import CannotEditError, edited
from guardtui.files.topic_tables import ENDINGS, read_table, with_topic
from guardtui.files.yaml_documents import load_yaml, repeated_key

KEYS_REMEDY = "write name, description, examples and intent, each with a colon"
_NO_KEYS_REMEDY = "write name, description, examples and intent"
_JSON_REMEDY = (
    "write keys and texts in double quotes, a comma between entries and none after the last; "
    "is the file truncated?"
)
_SPELLINGS = {
    "name": ("name", "topic_name", "topicName"),
    "description": ("description",),
    "examples": ("examples",),
    "intent": ("intent",),
}
"""Names of the fields, the usual one first."""

_LISTS = ("topics", "custom_topics")
"""Keys of a list of topics."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_HALF = "holds half of a character (a lone surrogate)"


class NotATopicError(FileError):
    """A file that was read, and has none of the keys of a topic."""


class PromptsGivenError(NotATopicError):
    """A file of prompts in place of a topic file."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            "a file of prompts, not a topic file",
            "name the topic file; 'guardtui FILE', or New topic in the app, makes one for these "
            "prompts",
        )


@dataclass(frozen=True)
class TopicPlace:
    """A topic within a file: the given fields with their lines, as far as they are known.

    `title` names the topic in messages about a file of several, and is "" in one of its own.
    `edited` returns the text of the file with some fields replaced; it raises FileError and
    CannotEditError.
    """

    values: Mapping[str, Any]
    lines: Mapping[str, int]
    edited: Callable[[str, Mapping[str, Any]], str]
    title: str = ""


def topics_of(path: Path, text: str) -> list[TopicPlace]:
    """Return the topics in the text of a file, at least one. Raises FileError."""
    if path.suffix.lower() in ENDINGS:
        return _in_table(path, text)
    document = _parse(path, text)
    try:
        tree = json_tree(text) if is_json(path) else yaml_tree(text)
    except Exception:  # noqa: BLE001 - ruamel raises many kinds; then no place is known
        tree = None
    listed, nodes, first = _listed(document, tree)
    if listed is None:
        if not isinstance(document, Mapping):
            raise FileError(path, "not a mapping of keys to texts", KEYS_REMEDY, 1)
        if not _fields(document):
            raise NotATopicError(path, "not a topic: it has none of its keys", _NO_KEYS_REMEDY)
        return [_in_mapping(path, text, document, tree, tree)]
    if isinstance(first, Mapping) and "prompt" in {str(key).casefold() for key in first}:
        raise PromptsGivenError(path)
    if not any(isinstance(entry, Mapping) and _fields(entry) for entry in listed):
        raise NotATopicError(path, "its list has no topics", _NO_KEYS_REMEDY)
    places = []
    for number, entry in enumerate(listed, start=1):
        node = nodes[number - 1] if len(nodes) == len(listed) else None
        if not isinstance(entry, Mapping) or not _fields(entry):
            problem = f"entry {number} of its list is not a topic: it has none of its keys"
            line = None if node is None else _line_of(text, node.start)
            raise FileError(path, problem, _NO_KEYS_REMEDY, line)
        title = f"topic {number}: " if len(listed) > 1 else ""
        places.append(_in_mapping(path, text, entry, node, tree, title))
    return places


def read_topic(path: Path, place: TopicPlace, problems: list[FileError]) -> tuple[Topic, bool]:
    """Return a topic, and whether it has an intent; add all its problems."""
    values, before = place.values, len(problems)

    def add_problem(field: str, problem: str, remedy: str) -> None:
        line = place.lines.get(field, place.lines.get(field.partition(".")[0]))
        problems.append(FileError(path, f"{place.title}{problem}", remedy, line))

    def check_text(field: str, label: str, value: object) -> None:
        if not isinstance(value, str):
            kind, remedy = _kind_of(value)
            add_problem(field, f"{label} is {kind}, not text", remedy)
        elif _LONE_SURROGATE.search(value):
            add_problem(field, f"{label} {_HALF}", "remove it")

    for field in ("name", "description"):
        if values.get(field) is not None:
            check_text(field, field, values[field])
    examples = values.get("examples")
    if examples is not None and not isinstance(examples, list):
        kind = _kind_of(examples)[0]
        remedy = "write one example a line, each after a dash"
        add_problem("examples", f"examples is {kind}, not a list", remedy)
        examples = None
    for number, example in enumerate(examples or (), start=1):
        check_text(f"examples.{number}", f"example {number}", example)
    intent = values.get("intent")
    word = str(intent).strip().lower() if isinstance(intent, str | bool | int | float) else ""
    if intent is not None and word not in list(Intent):
        shown = repr(str(intent)[:40]) if word else _kind_of(intent)[0]
        add_problem("intent", f"intent is {shown}", "write block or allow")
    if len(problems) > before:
        return Topic(), False
    topic = Topic(
        name=str(values.get("name") or ""),
        description=str(values.get("description") or ""),
        examples=tuple(map(str, examples or ())),
        intent=Intent(word) if intent is not None else Intent.BLOCK,
    )
    return topic, intent is not None


def is_json(path: Path) -> bool:
    """Return whether a topic file is JSON, by its name."""
    return path.suffix.lower() == ".json"


def _kind_of(value: object) -> tuple[str, str]:
    """Return what a value is in plain words, and what to do if it should be a text."""
    quotes = "put it in quotes"
    if value is None:
        return "nothing", "write a text, or remove the line"
    if isinstance(value, str):
        return "a text", quotes
    if isinstance(value, bool):
        return "true or false", quotes
    if isinstance(value, int | float):
        return "a number", quotes
    if isinstance(value, datetime.date | datetime.time):
        return "a date", quotes
    if isinstance(value, Mapping):
        return "a mapping", f"{quotes}: a colon before a blank makes it a mapping"
    if isinstance(value, AbstractSet):
        return "a set", "write it as a text"
    if isinstance(value, list):
        return "a list", f"write a text; {quotes} if it starts with a bracket"
    if isinstance(value, bytes):
        return "binary data", "write it as a text"
    return "a value with a tag", "omit the tag (!…)"


def _fields(entry: Mapping[Any, Any]) -> dict[str, str]:
    """Return the fields of a topic that a mapping has, with its own names of them."""
    found = {}
    for field, names in _SPELLINGS.items():
        name = next((name for name in names if name in entry), None)
        if name is not None:
            found[field] = name
    return {} if set(found) <= {"intent"} else found


def _listed(
    document: object, tree: Node | None
) -> tuple[Sequence[Any] | None, Sequence[Node], object]:
    """Return the entries of a list of topics with their nodes, and the first; None for no list."""
    entries: object = document
    node = tree
    if isinstance(document, Mapping):
        key = next((name for name in _LISTS if isinstance(document.get(name), list)), None)
        if key is None or "description" in document or "examples" in document:
            return None, (), None
        entries = document[key]
        member = tree.member(key) if tree is not None else None
        node = member[1] if member else None
    if not isinstance(entries, list) or not any(isinstance(entry, Mapping) for entry in entries):
        return None, (), None
    nodes = node.items if node is not None and node.kind == "list" else ()
    return entries, nodes, next(entry for entry in entries if isinstance(entry, Mapping))


def _in_mapping(
    path: Path,
    text: str,
    entry: Mapping[Any, Any],
    node: Node | None,
    tree: Node | None,
    title: str = "",
) -> TopicPlace:
    keys = _fields(entry)
    values = {field: entry[name] for field, name in keys.items()}
    lines: dict[str, int] = {}
    if node is not None and node.kind == "mapping":
        _refuse_repeated_keys(path, text, node)
        for field, name in keys.items():
            member = node.member(name)
            if member is None:
                continue
            lines[field] = _line_of(text, member[0].start)
            if field == "examples" and member[1].kind == "list":
                for number, item in enumerate(member[1].items, start=1):
                    lines[f"examples.{number}"] = _line_of(text, item.start)

    def replaced(before: str, changes: Mapping[str, Any]) -> str:
        if node is None or tree is None:
            raise CannotEditError
        return edited(before, tree, node, keys, changes, is_json=is_json(path))

    return TopicPlace(values, lines, replaced, title)


def _in_table(path: Path, text: str) -> list[TopicPlace]:
    rows = read_table(path, text)

    def replaced(before: str, changes: Mapping[str, Any]) -> str:
        return with_topic(path, before, changes)

    return [TopicPlace(row.values, dict.fromkeys(_SPELLINGS, row.line), replaced) for row in rows]


def _refuse_repeated_keys(path: Path, text: str, node: Node) -> None:
    """Raise FileError if a key is given twice; readers of JSON take the last one."""
    known: dict[str, Node] = {}
    for key in node.keys:
        if key.value in known:
            first = _line_of(text, known[key.value].start)
            raise repeated_key(path, key.value, first, _line_of(text, key.start))
        known[key.value] = key


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


# --- parsing ------------------------------------------------------------------------------


def _parse(path: Path, text: str) -> Any:
    """Return the content of a file. Raises FileError with line and remedy."""
    if is_json(path):
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise json_error(path, error, _JSON_REMEDY) from error
    loaded = load_yaml(path, text)
    if loaded is None:
        raise FileError(path, "the file contains only comments", KEYS_REMEDY)
    return loaded
