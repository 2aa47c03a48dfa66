"""Switching to another topic: a known one, one by its path, or a new one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from guardtui.app.editing.new_topic import paths_of, write_new_topic
from guardtui.app.editing.topic_from_prompts import start_topic
from guardtui.app.editing.topic_opening import known_topics, open_topic
from guardtui.app.services import Services
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.session.recent_topics import forget_opened
from guardtui.session.workspace import Workspace
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.messages import SwitchTopic
from guardtui.tui.topics.new_topic import NewTopicDialog
from guardtui.tui.topics.open_topic import OpenTopicDialog


class TopicsFeature:
    """Asks for a topic to open; the app then switches to it."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "open_topic": window.action(self.open),
            "new_topic": window.action(self.new),
        }

    async def open(self) -> None:
        """Ask for a topic: a recent one, one of this folder, or another one by its path."""
        topics = await asyncio.to_thread(known_topics, Path.cwd(), self._path)
        start = f"{self._folder}{os.sep}"
        dialog = OpenTopicDialog(topics, self._opened, forget_opened, start)
        result = await self._window.show(dialog)
        if isinstance(result, str):
            self._window.perform(result)
        else:
            await self._go_to(result)

    async def new(self) -> None:
        """Ask for a new topic, write its files, and open it."""
        await self._go_to(await self._window.show(NewTopicDialog(self._made, str(self._folder))))

    @property
    def _path(self) -> Path:
        return self._services.workspace.topic_file.path

    @property
    def _folder(self) -> Path:
        return self._path.absolute().parent

    def _opened(self, path: Path, prompts: Path | None) -> Workspace:
        return open_topic(path, prompts, self._services.workspace)

    def _made(self, folder: Path, topic: Topic, prompts: Path | None) -> Workspace:
        folder = folder.expanduser()
        if not folder.is_dir():
            raise FileError(folder, "no such folder", "create it, or name another one")
        if prompts is not None:
            path = paths_of(folder, topic.name)[0]
            return start_topic(prompts.expanduser(), path, topic, None)
        topic_path, prompts_path = write_new_topic(folder, topic)
        return open_topic(topic_path, prompts_path, self._services.workspace)

    async def _go_to(self, workspace: Workspace | None) -> None:
        if workspace is None:
            return
        if await self._services.let_go(workspace.topic_file.path.name):
            self._window.app.post_message(SwitchTopic(workspace))
