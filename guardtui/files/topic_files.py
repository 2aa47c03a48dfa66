"""Topic files, YAML, JSON or a table: read safely, and saved so that only what differs changes."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.files import topic_tables
from guardtui.files.atomic import write_atomically
from guardtui.files.problems import ContentError, FileError, decode, from_os_error, read_bytes
from guardtui.files.topic_edits import CannotEditError, new_text
from guardtui.files.topic_layouts import (
    KEYS_REMEDY,
    NotATopicError,
    PromptsGivenError,
    is_json,
    read_topic,
    topics_of,
)

__all__ = ["NotATopicError", "PromptsGivenError", "TopicFile", "load_topic", "save_topic"]

_LARGEST = 1024 * 1024
_OF_PROMPTS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".gz")
_NAMED_AT_MOST = 20  # names in a message
_NAME_CHARACTERS = 60


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
    """A topic and its file; `stamp` is the SHA-256 of `content`, empty for a new file.

    `lines` are the lines (from 1) of `name`, `description`, `examples`, `examples.1` … and
    `intent`, as far as they are known.
    """

    path: Path
    topic: Topic
    stamp: str
    intent_given: bool = True
    content: bytes = b""
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)

    def with_topic(self, topic: Topic) -> TopicFile:
        """Return the same file with another topic."""
        return replace(self, topic=topic)

    def is_unchanged(self) -> bool:
        """Return whether the file on disk has the content that was read."""
        try:
            return hashlib.sha256(read_bytes(self.path)).hexdigest() == self.stamp
        except FileError:
            return False


class SeveralTopicsError(FileError):
    """A file of several topics where one is needed."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        shown = [display_start(name, _NAME_CHARACTERS) or "(no name)" for name in names]
        more = f" and {len(shown) - _NAMED_AT_MOST} more" if len(shown) > _NAMED_AT_MOST else ""
        listed = ", ".join(shown[:_NAMED_AT_MOST])
        example = shlex.quote(f"{path}#{shown[0]}")
        super().__init__(
            path,
            f"it has {len(shown)} topics, and one is needed: {listed}{more}",
            f"take one into a file of its own: guardtui new --from {example}",
        )


def load_topic(path: Path) -> TopicFile:
    """Read the topic of a file. Raises FileError with all problems of the file.

    `SeveralTopicsError` if it has several, `PromptsGivenError` if it is a file of prompts.
    """
    files = load_topics(path)
    if len(files) > 1:
        raise SeveralTopicsError(path, [file.topic.name for file in files])
    return files[0]


def load_topics(path: Path) -> list[TopicFile]:
    """Read all topics of a file, at least one. Raises FileError with all problems of the file.

    A file has one topic, a list of topics, or a list below `topics`; or it is a table with a row
    for each topic.
    """
    if path.suffix.lower() in _OF_PROMPTS and not topic_tables.is_topic_table(path):
        raise PromptsGivenError(path)
    content = read_bytes(path, if_empty=KEYS_REMEDY)
    if len(content) > _LARGEST:
        raise FileError(path, "more than 1 MiB: not a topic file", "name a topic file")
    return _read(path, content)


def _read(path: Path, content: bytes) -> list[TopicFile]:
    """Return the topics in the content of a file. Raises FileError."""
    text = decode(path, content)
    places = topics_of(path, text)
    problems: list[FileError] = []
    topics = [read_topic(path, place, problems) for place in places]
    if problems:
        first = problems[0]
        rest = "".join(f"\n{problem}" for problem in problems[1:])
        raise FileError(path, first.problem, f"{first.remedy}{rest}", first.line)
    stamp = hashlib.sha256(content).hexdigest()
    return [
        TopicFile(path, topic, stamp, given, content, place.lines)
        for place, (topic, given) in zip(places, topics, strict=True)
    ]


def save_topic(
    file: TopicFile, topic: Topic, *, force: bool = False, backup_folder: Path | None = None
) -> TopicFile:
    """Write a definition to its file; unchanged parts stay, and the old file is backed up.

    A file without an intent gets one only if that of the definition changed. Without `force`,
    raises `ChangedOnDiskError` if another program changed the file, and `GoneFromDiskError` if it
    is missing. With `force`, a missing file is created again with all its previous content, and so
    is its folder.

    Raises FileError if the file cannot be written; it is then unchanged.
    """
    path = file.path
    gone = not path.exists()
    if gone and file.stamp and not force:
        raise GoneFromDiskError(path)
    content = b""
    if not gone or file.content:
        try:
            content = file.content if gone else read_bytes(path)
        except ContentError:
            if not force:
                raise
        if not force and hashlib.sha256(content).hexdigest() != file.stamp:
            raise ChangedOnDiskError(path)
    try:
        "".join((topic.name, topic.description, *topic.examples)).encode()
    except UnicodeEncodeError as error:
        raise FileError(
            path, "a text holds half of a character (a lone surrogate)", "remove it"
        ) from error
    keeps_intent = not file.intent_given and topic.intent is file.topic.intent
    data = None
    try:
        data = _changed(path, content, topic, keeps_intent=keeps_intent) if content else None
    except FileError:
        if not force:
            raise
    if data is None and (force or not content):
        if path.suffix.lower() in _OF_PROMPTS:
            data = topic_tables.new_text(topic).encode()
        else:
            data = new_text(topic, is_json=is_json(path)).encode()
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
    saved = _read(path, data)[0]
    return replace(saved, topic=topic)


def _changed(path: Path, content: bytes, topic: Topic, *, keeps_intent: bool) -> bytes | None:
    """Return the content with the new definition; None if it would not read back as that.

    Raises FileError if the content cannot be read.
    """
    before = decode(path, content)
    mark = content[: len(content) - len(before.encode())]
    (place, *others) = topics_of(path, before)
    if others:
        raise SeveralTopicsError(
            path, [str(topic.values.get("name", "")) for topic in (place, *others)]
        )
    problems: list[FileError] = []
    old, given = read_topic(path, place, problems)
    if problems:
        raise problems[0]
    wanted = topic.model_copy(update={"intent": old.intent}) if keeps_intent else topic
    changes = {
        name: getattr(wanted, name)
        for name in Topic.model_fields
        if getattr(wanted, name) != getattr(old, name)
    }
    if not given and not keeps_intent:
        changes["intent"] = wanted.intent
    try:
        data = mark + place.edited(before, changes).encode()
        (after,) = _read(path, data)
    except (FileError, CannotEditError, ValueError):
        return None
    return data if after.topic == wanted else None
