"""The topics of a profile: profile files, which list topic files, and reading those files.

A profile file is a YAML list of topic files with their prompt sets, relative to the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardtui.domain.profile import MOST_TOPICS
from guardtui.domain.text import display_start
from guardtui.files.problems import FileError, decode, read_bytes
from guardtui.files.topic_files import TopicFile, load_topic
from guardtui.files.yaml_documents import line_of, load_yaml, start_of

_LARGEST = 1024 * 1024
_KEYS = ("name", "default", "prompts", "topics")
_ENTRY_KEYS = ("topic", "prompts")
_REMEDY = "write topics: and below it a line for each, as in  - tax.yaml"
_NAME_CHARACTERS = 60
_TOPICS = re.compile(r"^topics\s*:", re.MULTILINE)
_DEFINITION = re.compile(r"^[ -]*(?:description|examples)\s*:", re.MULTILINE)
"""A key that no profile file has: the topics are defined in the file itself."""


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """A topic file of a profile, with its prompt file if named; `line` counts from 1."""

    topic: Path
    prompts: Path | None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """Content of a profile file; `closed` is None if it names no default.

    `prompts` is a prompt set that all topics share, by its column `topic`.
    """

    path: Path
    topics: tuple[ProfileEntry, ...]
    name: str = ""
    closed: bool | None = None
    prompts: Path | None = None


def is_profile(path: Path) -> bool:
    """Return whether a file is a profile file; False for a topic file or an unreadable file."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return False
    try:
        text = decode(path, read_bytes(path, limit=_LARGEST))
        return bool(_TOPICS.search(text)) and not _DEFINITION.search(text)
    except FileError:
        return False


def load_profile(path: Path) -> ProfileFile:
    """Read a profile file. Raises FileError naming the line."""
    text = decode(path, read_bytes(path, if_empty=_REMEDY, limit=_LARGEST))
    document: Any = load_yaml(path, text)
    if not isinstance(document, Mapping):
        raise FileError(path, "not a mapping of keys", _REMEDY, 1)
    for key in document:
        if key not in _KEYS:
            allowed = ", ".join(_KEYS)
            raise FileError(
                path,
                f"unknown key {str(key)[:40]!r}",
                f"known are {allowed}",
                line_of(document, key),
            )
    entries = document.get("topics")
    if not isinstance(entries, list) or not entries:
        raise FileError(path, "topics is not a list", _REMEDY, line_of(document, "topics"))
    default = document.get("default")
    if default not in (None, "allow", "block"):
        raise FileError(
            path,
            f"default is {start_of(default)!r}",
            "write allow or block: what happens to a prompt that no topic matches",
            line_of(document, "default"),
        )
    name = document.get("name")
    if name is not None and not isinstance(name, str):
        raise FileError(path, "name is not text", "put it in quotes", line_of(document, "name"))
    return ProfileFile(
        path,
        tuple(_entry(path, entries, index) for index in range(len(entries))),
        name or "",
        None if default is None else default == "block",
        _path(path, document.get("prompts"), line_of(document, "prompts")),
    )


def files_of(path: Path) -> tuple[Path, ...]:
    """Return a file, followed by the topic files that it lists if it is a profile file."""
    try:
        return (path, *(entry.topic for entry in load_profile(path).topics))
    except FileError:
        return (path,)


class ProfileTopics:
    """Reads the topic files of one profile: each once, with different names, and not too many."""

    def __init__(self) -> None:
        self._files: set[object] = set()
        self._names: dict[str, Path] = {}

    def reserve(self, path: Path, name: str | None = None) -> None:
        """Add a topic that is known already; its name may still be unknown."""
        self._files.add(_identity(path))
        if name is not None:
            self._names[name] = path

    def read(self, path: Path) -> TopicFile:
        """Read another topic file. Raises FileError, also if it cannot be part of the profile."""
        file = load_topic(path)
        name = file.topic.name
        if _identity(path) in self._files:
            raise FileError(
                path, "this topic file is in the profile already", "list each topic file once"
            )
        if name in self._names:
            raise FileError(
                path,
                f"another topic is called {display_start(name, _NAME_CHARACTERS)!r} already: "
                f"{self._names[name]}",
                "the names of a profile's topics must differ: rename one of them",
            )
        if len(self._files) >= MOST_TOPICS:
            raise FileError(path, f"a profile has at most {MOST_TOPICS} topics", "remove this one")
        self.reserve(path, name)
        return file


def same_file(path: Path, other: Path) -> bool:
    """Return whether two paths name one file."""
    return _identity(path) == _identity(other)


def _identity(path: Path) -> object:
    """Return an identity that is equal for two names of one file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return str(path)
    return status.st_dev, status.st_ino


def _entry(path: Path, entries: Any, index: int) -> ProfileEntry:
    entry = entries[index]
    line = line_of(entries, index)
    if isinstance(entry, Mapping):
        for key in entry:
            if key not in _ENTRY_KEYS:
                remedy = "an entry has the keys topic and prompts"
                raise FileError(path, f"unknown key {start_of(key)!r}", remedy, line)
        prompts = _path(path, entry.get("prompts"), line)
        entry = entry.get("topic")
    else:
        prompts = None
    topic = _path(path, entry, line)
    if topic is None:
        raise FileError(path, "this entry names no topic file", _REMEDY, line)
    return ProfileEntry(topic, prompts, line)


def _path(path: Path, value: object, line: int | None) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise FileError(path, "not a valid file name", "write the path of a file", line)
    return path.parent / value
