"""Drafts of near misses and rephrasings, put into the inbox by one key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from guardtui.app.labels.drafts import DRAFTS, NO_DRAFT, DraftMaterial
from guardtui.app.labels.inbox import Inbox
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.services import Services
from guardtui.domain.topic import Topic
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window


class DraftFeature:
    """Drafts prompts by rules."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"draft_near_misses": window.action(self._draft)}

    async def _draft(self) -> None:
        topic = await self._services.editing.finish_typing()
        with problems_shown(self._window):
            told = await asyncio.to_thread(self._drafted, topic)
            self._window.notify(told, seconds=READING_TIME)
        await self._services.sync.take_labels()

    def _drafted(self, topic: Topic) -> str:
        workspace = self._services.workspace
        inbox = Inbox.of_workspace(workspace)
        material = DraftMaterial.of(topic, workspace.topic_file.path, inbox)
        drafts = material.by_rules(DRAFTS)
        return f"{material.told(material.add(drafts))}." if drafts else f"N{NO_DRAFT[1:]}."
