"""Companion topics: files of further topics of the same profile, measured with one under test."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guardtui.domain.topic import Topic
from guardtui.files.change_signature import Signature, change_signature
from guardtui.files.problems import FileError
from guardtui.files.profile_files import ProfileTopics, is_profile, load_profile, same_file

SETTING = "companions"
"""Key of the companions' paths in a session's settings."""


@dataclass(frozen=True, slots=True)
class Companion:
    """A topic file as read: its topic, or its problem.

    `path` is as stored: relative to the folder of the session's topic file if possible. `profile`
    is the path of the profile file that lists the topic file, as stored, or "".
    """

    path: str
    location: Path
    topic: Topic | None
    problem: FileError | None = None
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Companions:
    """The companion topics of one topic file, as read.

    `paths` are those of topic files and profile files, as stored. `closed` is the default that a
    profile file states: whether what no topic matches is stopped. `signatures` are of all files
    read.
    """

    topic_path: Path
    paths: tuple[str, ...] = ()
    files: tuple[Companion, ...] = ()
    closed: bool | None = None
    signatures: Mapping[Path, Signature] = field(default_factory=dict)

    @property
    def locations(self) -> tuple[Path, ...]:
        """All files that were read, profile files included."""
        return tuple(self.signatures)

    @property
    def topics(self) -> tuple[Topic, ...]:
        """Topics of all usable files, in order."""
        return tuple(file.topic for file in self.files if file.topic is not None)

    @property
    def problems(self) -> tuple[FileError, ...]:
        """Problems of the unusable files."""
        return tuple(file.problem for file in self.files if file.problem is not None)

    @property
    def changed(self) -> bool:
        """Return whether any file changed since it was read; cheap, for polling."""
        return any(
            change_signature(path) != signature for path, signature in self.signatures.items()
        )


ALONE = Companions(Path())
"""No companions."""


def kept_path(topic_path: Path, path: Path) -> str:
    """Return a path as stored: relative to the topic file's folder, so both can move together."""
    folder, target = topic_path.absolute().parent, path.absolute()
    try:
        return Path(os.path.relpath(target, folder)).as_posix()
    except ValueError:  # on another drive
        return str(target)


def load_companions(topic_path: Path, paths: Sequence[str], own: Topic | None = None) -> Companions:
    """Read the files; an unusable file has a problem and no topic, and nothing is raised.

    `paths` are relative to the topic file's folder, or absolute. A profile file stands for the
    topic files that it lists, without that of the topic under test. A file without an intent takes
    that of `own`, the topic under test. No file may have its name, or be the same file.
    """
    topics = ProfileTopics()
    topics.reserve(topic_path, None if own is None else own.name)
    paths = tuple(dict.fromkeys(paths))
    files: list[Companion] = []
    signatures: dict[Path, Signature] = {}
    closed: bool | None = None

    def read(path: str, location: Path, profile: str = "") -> None:
        signatures[location] = change_signature(location)
        try:
            file = topics.read(location)
        except FileError as error:
            files.append(Companion(path, location, None, error, profile))
            return
        topic = file.topic
        if not file.intent_given and own is not None:
            topic = topic.model_copy(update={"intent": own.intent})
        files.append(Companion(path, location, topic, None, profile))

    for path in paths:
        location = topic_path.parent / path
        if not is_profile(location):
            read(path, location)
            continue
        signatures[location] = change_signature(location)
        try:
            profile = load_profile(location)
        except FileError as error:
            files.append(Companion(path, location, None, error, path))
            continue
        closed = profile.closed if closed is None else closed
        for entry in profile.topics:
            if not same_file(entry.topic, topic_path):
                read(kept_path(topic_path, entry.topic), entry.topic, path)
    return Companions(topic_path, paths, tuple(files), closed, signatures)


def read_paths(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths in a session's settings; invalid ones are skipped."""
    paths = settings.get(SETTING)
    if not isinstance(paths, list):
        return ()
    return tuple(path for path in paths if isinstance(path, str) and path)


def write_paths(paths: Sequence[str]) -> dict[str, Any]:
    """Return the paths as a part of a session's settings."""
    return {SETTING: list(paths)}
