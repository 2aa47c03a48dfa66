"""Other topics of the profile: their files beside a session's, and a scanner that heeds them."""

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
"""Key of their paths among a session's settings."""

AT_MOST = 20
"""Topics that one profile can hold, with the one under test."""

_NAME_CHARACTERS = 60

_Signature = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class Companion:
    """One topic file as it was when it was read: its topic, or the problem it has.

    `path` is as kept: relative to the folder of the session's topic file where that is possible.
    """

    path: str
    location: Path
    topic: Topic | None
    problem: FileError | None = None
    signature: _Signature = None


@dataclass(frozen=True, slots=True)
class Companions:
    """The files of all companions of one topic file, as they were when they were read."""

    topic_path: Path
    files: tuple[Companion, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths as they are kept, those with a problem among them."""
        return tuple(one.path for one in self.files)

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics of all files that can be used, in their order."""
        return tuple(one.topic for one in self.files if one.topic is not None)

    @property
    def problems(self) -> tuple[FileError, ...]:
        """What is wrong with the others."""
        return tuple(one.problem for one in self.files if one.problem is not None)

    @property
    def changed(self) -> bool:
        """Whether a file is another than when it was read; cheap, to be asked often."""
        return any(_signature(one.location) != one.signature for one in self.files)


def kept_path(topic_path: Path, path: Path) -> str:
    """How a path is kept: relative to the topic file's folder, so that both can move together."""
    folder, target = topic_path.absolute().parent, path.absolute()
    try:
        return Path(os.path.relpath(target, folder)).as_posix()
    except ValueError:  # on another drive
        return str(target)


def load_companions(topic_path: Path, paths: Sequence[str], own: Topic | None = None) -> Companions:
    """Read the files; what cannot be used has a problem and no topic, and nothing is raised.

    `paths` are relative to the topic file's folder, or absolute. A file without an intent takes
    that of `own`, the topic under test; none may have its name, or be its file.
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
    """The paths that a session's settings hold; those that are no texts are left out."""
    found = settings.get(SETTING)
    if not isinstance(found, list):
        return ()
    return tuple(one for one in found if isinstance(one, str) and one)


def write_paths(paths: Sequence[str]) -> dict[str, Any]:
    """The paths as a part of a session's settings."""
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
    """Equal for two names of one file."""
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
    """A live scanner whose verdicts are those of a profile that holds further topics.

    These are scanned once for a prompt set, by the scanner within, and their verdicts kept: while
    the definition is edited, only this one is scanned. Scores are those of the definition.
    """

    def __init__(self, inner: Scanner, companions: Sequence[Topic] = ()) -> None:
        self.inner = inner
        self.companions = tuple(companions)
        self._kept: list[tuple[Topic, Verdicts]] = []
        self._kept_for: tuple[ScannerSettings, NDArray[np.uint64]] | None = None

    def use(self, companions: Sequence[Topic]) -> None:
        """Measure the topic together with these from the next scan on."""
        self.companions = tuple(companions)

    @property
    def live(self) -> bool:
        return self.inner.live

    @property
    def settings(self) -> ScannerSettings:
        inner = self.inner.settings
        if not self.companions:
            return inner
        # In the order of names: another order is no other profile.
        names = sorted(
            f"{display_start(one.name, _NAME_CHARACTERS)} ({one.intent}, {one.fingerprint[:8]})"
            for one in self.companions
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
        known = await self._verdicts(companions, prompts, report)
        own = await self.inner.scan(topic, prompts, report)
        return combine(topic, own, known)

    async def _verdicts(
        self, companions: Sequence[Topic], prompts: PromptSet, report: Report
    ) -> list[tuple[Topic, Verdicts]]:
        if not companions:
            return []
        # The definition is scanned last, so that the scanner within stays at it.
        settings, kept_for = self.inner.settings, self._kept_for
        if (
            kept_for is None
            or kept_for[0] != settings
            or not np.array_equal(kept_for[1], prompts.keys)
        ):
            self._kept, self._kept_for = [], (settings, prompts.keys)
        kept = self._kept
        kept[:] = [(topic, verdicts) for topic, verdicts in kept if topic in companions]
        found = []
        for topic in companions:
            verdicts = next((one for known, one in kept if known == topic), None)
            if verdicts is None:
                verdicts = await self.inner.scan(topic, prompts, report)
                kept.append((topic, verdicts))
            found.append((topic, verdicts))
        return found
