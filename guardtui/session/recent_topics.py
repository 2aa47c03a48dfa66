"""Recently opened topics with their prompts: a short list in the data folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardtui.files.atomic import write_atomically
from guardtui.files.problems import FileError
from guardtui.session.stored_json import read_json
from guardtui.session.topic_places import data_folder, scratch_sample, topics_in

if TYPE_CHECKING:
    from guardtui.session.workspace import Workspace

LONGEST = 20
"""Maximum number of remembered topics."""

_FILE = "recent.json"
_KEYS = ("topic", "prompts", "opened")


@dataclass(frozen=True, slots=True)
class RecentTopic:
    """A topic file and the prompts it was opened with, both absolute; `opened` is ISO 8601 UTC."""

    topic: Path
    prompts: Path
    opened: str = ""

    @property
    def is_there(self) -> bool:
        """Return whether both files still exist."""
        return self.topic.is_file() and self.prompts.is_file()


def recent_topics() -> list[RecentTopic]:
    """Return all remembered topics, last opened first; empty if the list is unreadable."""
    try:
        content = read_json((data_folder() / _FILE).read_text("utf-8"))
        return list(_entries(content))
    except (OSError, ValueError, TypeError):
        return []


def _entries(content: Any) -> Iterator[RecentTopic]:
    for row in content if isinstance(content, list) else []:
        if isinstance(row, dict):
            topic, prompts, opened = (str(row.get(key) or "") for key in _KEYS)
            if topic and prompts and "\0" not in topic + prompts:
                yield RecentTopic(Path(topic), Path(prompts), opened)


def last_opened() -> tuple[Path, Path] | None:
    """Return topic and prompts that were opened last, if both files still exist."""
    latest = next((entry for entry in recent_topics() if entry.is_there), None)
    return None if latest is None else (latest.topic, latest.prompts)


def usual_topic() -> tuple[Path, Path | None]:
    """Return the topic that opens unless one is named, and its prompts if those are known.

    It is the only one of this folder, else the one opened last, else the sample. Raises FileError.
    """
    topics = topics_in(Path.cwd())
    return (topics[0], None) if len(topics) == 1 else last_opened() or scratch_sample()


def remember_opened(workspace: Workspace) -> None:
    """Put this topic first; failures are ignored."""
    topic = workspace.topic_file.path.resolve()
    opened = datetime.now(UTC).isoformat(timespec="seconds")
    entry = RecentTopic(topic, workspace.prompts_path.resolve(), opened)
    _write([entry, *(other for other in recent_topics() if other.topic != topic)][:LONGEST])


def forget_opened(topic: Path) -> None:
    """Remove a topic from the list; its files stay. Failures are ignored."""
    _write([entry for entry in recent_topics() if entry.topic != topic])


def _write(entries: Sequence[RecentTopic]) -> None:
    content = [
        dict(zip(_KEYS, (str(entry.topic), str(entry.prompts), entry.opened), strict=True))
        for entry in entries
    ]
    try:
        folder = data_folder()
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / _FILE, json.dumps(content).encode())
    except (OSError, FileError):
        return
