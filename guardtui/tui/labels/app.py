"""The queue as an app of its own, for a topic that may have no prompt set yet."""

from __future__ import annotations

import asyncio

from guardtui.app.labels.inbox import Inbox
from guardtui.app.labels.labelling import sitting_of_topic
from guardtui.app.labels.logged_verdicts import VerdictSources
from guardtui.app.labels.sitting import Sitting
from guardtui.config import load_config
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report
from guardtui.tui.base_app import BaseApp
from guardtui.tui.labels.screen import LabelScreen
from guardtui.tui.system.terminal import run_in_terminal
from guardtui.tui.textual_compat import crash_of


class LabelApp(BaseApp):
    """Shows the queue of an inbox, and ends with it."""

    def __init__(self, inbox: Inbox, topic: Topic, sources: VerdictSources) -> None:
        super().__init__(load_config())
        self._inbox, self._topic, self._sources = inbox, topic, sources
        self.queue = LabelScreen(topic, self._begin)

    def on_mount(self) -> None:
        super().on_mount()
        self.push_screen(self.queue, lambda _: self.exit(0))

    async def _begin(self, report: Report) -> Sitting:
        return await asyncio.to_thread(
            sitting_of_topic, self._inbox, self._topic, self.config.encoder, report, self._sources
        )


def run_queue(inbox: Inbox, topic: Topic, sources: VerdictSources) -> int:
    """Label prompts until the person leaves; return the number of answers."""
    app = LabelApp(inbox, topic, sources)
    run_in_terminal(app)
    if (error := crash_of(app)) is not None:
        raise error
    return 0 if app.queue.sitting is None else len(app.queue.sitting.given)
