"""The workspace on the main screen: decisions, drafts, files."""

from __future__ import annotations

from collections.abc import Mapping

from guardtui.app.problems import problems_shown
from guardtui.app.services import Services
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

DRAFT_EVERY = 2.0
WATCH_EVERY = 0.5
"""Seconds between two looks at the files, so that what a command does is seen within a second."""


class WorkspaceFeature:
    """Saves the definition and drafts, and watches the files for other programs."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._looking = self._learning = False
        self.actions: Mapping[str, ActionMethod] = {
            "save": window.action(services.sync.save, group="decide"),
            "keep": window.action(services.decisions.keep, group="decide"),
            "discard": window.action(services.decisions.discard, group="decide"),
            "pin_baseline": services.decisions.turn_pin,
        }

    def mounted(self) -> None:
        """Restore the settings of the session, and begin to save drafts and to watch files."""
        self._window.panes.results.refusal = self._services.workspace.prompts_refusal
        with problems_shown(self._window):
            settings = self._services.workspace.store.settings()
            self._window.panes.results.restore(settings)
        self._services.companions.restore()
        self._window.every(DRAFT_EVERY, self._services.sync.save_draft)
        self._window.every(WATCH_EVERY, self._watch)
        self._window.every(WATCH_EVERY, self._learn)

    def _watch(self) -> None:
        # Not below a question, nor while the last look is running: a cancelled look would have
        # consumed the change without showing it.
        if self._window.in_front and not self._looking:
            self._looking = True
            self._window.start(self._look(), group="watch")

    def _learn(self) -> None:
        if not self._learning:
            self._learning = True
            self._window.start(self._learn_once(), group="learn")

    async def _learn_once(self) -> None:
        try:
            await self._services.decisions.learn()
        finally:
            self._learning = False

    async def _look(self) -> None:
        try:
            await self._services.sync.look()
        finally:
            self._looking = False
