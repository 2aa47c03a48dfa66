"""Companion topics: further topics of the same profile, and a scanner that includes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.profile import combine
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.files.problems import FileError
from guardtui.files.topic_files import load_topic
from guardtui.scanners.base import Report, Scanner

SETTING = "companions"
"""Key of the companions' paths in a session's settings."""

AT_MOST = 20
"""Maximum number of topics in a profile, including the one under test."""

_NAME_CHARACTERS = 60

_Signature = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class Companion:
    """A topic file as read: its topic, or its problem.

    `path` is as stored: relative to the folder of the session's topic file if possible.
    """

    path: str
    location: Path
    topic: Topic | None
    problem: FileError | None = None
    signature: _Signature = None


@dataclass(frozen=True, slots=True)
class Companions:
    """The companion files of one topic file, as read."""

    topic_path: Path
    files: tuple[Companion, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths as stored, including files with a problem."""
        return tuple(file.path for file in self.files)

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
        """Whether any file changed since it was read; cheap, for polling."""
        return any(_signature(file.location) != file.signature for file in self.files)


def kept_path(topic_path: Path, path: Path) -> str:
    """Return a path as stored: relative to the topic file's folder, so both can move together."""
    folder, target = topic_path.absolute().parent, path.absolute()
    try:
        return Path(os.path.relpath(target, folder)).as_posix()
    except ValueError:  # on another drive
        return str(target)


def load_companions(topic_path: Path, paths: Sequence[str], own: Topic | None = None) -> Companions:
    """Read the files; an unusable file has a problem and no topic, and nothing is raised.

    `paths` are relative to the topic file's folder, or absolute. A file without an intent takes
    that of `own`, the topic under test. No file may have its name, or be the same file.
    """
    files: list[Companion] = []
    folder, taken = topic_path.parent, [own.name] if own is not None else []
    seen = {_identity(topic_path)}
    for path in dict.fromkeys(paths):
        location = folder / path
        signature = _signature(location)
        topic, problem = None, None
        try:
            file = load_topic(location)
            topic = file.topic
            if not file.intent_given and own is not None:
                topic = topic.model_copy(update={"intent": own.intent})
            _require_other(location, topic, seen, taken, len(files))
            seen.add(_identity(location))
            taken.append(topic.name)
        except FileError as error:
            topic, problem = None, error
        files.append(Companion(path, location, topic, problem, signature))
    return Companions(topic_path, tuple(files))


def read_paths(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths in a session's settings; invalid ones are skipped."""
    paths = settings.get(SETTING)
    if not isinstance(paths, list):
        return ()
    return tuple(path for path in paths if isinstance(path, str) and path)


def write_paths(paths: Sequence[str]) -> dict[str, Any]:
    """Return the paths as a part of a session's settings."""
    return {SETTING: list(paths)}


def _require_other(
    location: Path, topic: Topic, seen: set[object], taken: Sequence[str], before: int
) -> None:
    if _identity(location) in seen:
        raise FileError(location, "this file is measured already", "name another topic file")
    if topic.name in taken:
        name = display_start(topic.name, _NAME_CHARACTERS)
        raise FileError(
            location,
            f"another topic is called {name!r} already",
            "a profile tells its topics by their names: give this one another name",
        )
    if before >= AT_MOST - 1:
        raise FileError(location, f"a profile holds {AT_MOST} topics", "leave this one out")


def _identity(path: Path) -> object:
    """Return an identity that is equal for two names of one file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return str(path)
    return status.st_dev, status.st_ino


def _signature(path: Path) -> _Signature:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class WithCompanions:
    """A live scanner that measures a topic together with further topics of its profile.

    The further topics are scanned once per prompt set by the inner scanner, and their verdicts are
    cached: while the definition is edited, only that is scanned. Scores are those of the
    definition.
    """

    def __init__(self, inner: Scanner, companions: Sequence[Topic] = ()) -> None:
        self.inner = inner
        self.companions = tuple(companions)
        self._kept: list[tuple[Topic, Verdicts]] = []
        self._kept_for: tuple[ScannerSettings, NDArray[np.uint64]] | None = None

    def use(self, companions: Sequence[Topic]) -> None:
        """Set the companions for the next scan."""
        self.companions = tuple(companions)

    @property
    def live(self) -> bool:
        return self.inner.live

    @property
    def settings(self) -> ScannerSettings:
        inner = self.inner.settings
        if not self.companions:
            return inner
        # Sorted by name: the order does not make another profile.
        names = sorted(
            f"{display_start(companion.name, _NAME_CHARACTERS)} "
            f"({companion.intent}, {companion.fingerprint[:8]})"
            for companion in self.companions
        )
        return ScannerSettings(
            inner.name,
            f"{inner.identity}, together with {', '.join(names)}",
            inner.threshold,
            inner.threshold_source,
            inner.revision,
        )

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        companions = self.companions
        others = await self._verdicts(companions, prompts, report)
        own = await self.inner.scan(topic, prompts, report)
        return combine(topic, own, others)

    async def _verdicts(
        self, companions: Sequence[Topic], prompts: PromptSet, report: Report
    ) -> list[tuple[Topic, Verdicts]]:
        if not companions:
            return []
        # The definition is scanned last, so that the inner scanner ends with it.
        settings, kept_for = self.inner.settings, self._kept_for
        if (
            kept_for is None
            or kept_for[0] != settings
            or not np.array_equal(kept_for[1], prompts.keys)
        ):
            self._kept, self._kept_for = [], (settings, prompts.keys)
        cached = self._kept
        cached[:] = [(topic, verdicts) for topic, verdicts in cached if topic in companions]
        verdicts_of_all = []
        for topic in companions:
            verdicts = next(
                (
                    cached_verdicts
                    for cached_topic, cached_verdicts in cached
                    if cached_topic == topic
                ),
                None,
            )
            if verdicts is None:
                verdicts = await self.inner.scan(topic, prompts, report)
                cached.append((topic, verdicts))
            verdicts_of_all.append((topic, verdicts))
        return verdicts_of_all
