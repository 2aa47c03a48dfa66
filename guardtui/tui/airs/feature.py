"""The topics in AIRS on the main screen: viewed and copied, and changes with their progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from guardtui.app.airs.remote_topics import Change
from guardtui.app.services import Services
from guardtui.app.state import ScanStatus
from guardtui.domain.errors import GuardtuiError
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window


class AirsTopicsFeature:
    """Shows the topics of the tenant, and changes them one at a time."""

    def __init__(self, services: Services, window: Window) -> None:
        self._store, self._connections = services.store, services.connections
        self._topics, self._window = services.remote_topics, window
        self.actions: Mapping[str, ActionMethod] = {
            "remote_topics": window.action(self._show_topics),
            "apply_remote": lambda: self._start(self._apply),
            "revert_remote": lambda: self._start(self._revert),
        }

    def _start(self, change: Change) -> None:
        # A second change does not cancel one that waits for an answer.
        self._window.start(self._changed(change), group="remote")

    async def _show_topics(self) -> None:
        change: Change | None = None
        try:
            connection = await self._topics.managing()
            if connection is not None:
                change = await self._topics.choose(connection, self._show_step)
        except GuardtuiError as error:
            self._connections.warn(str(error), error=True)
        self._show_step("")
        if change is not None:
            self._start(change)

    async def _apply(self, show: Callable[[str], None]) -> str:
        connection = await self._topics.managing()
        return "" if connection is None else await self._topics.apply(connection, show)

    async def _revert(self, show: Callable[[str], None]) -> str:
        connection = await self._topics.managing()
        return "" if connection is None else await self._topics.revert(connection, show)

    async def _changed(self, change: Change) -> None:
        """Make a change with its steps in the line of the scan, and report it."""
        if refusal := self._topics.refusal:
            self._connections.warn(refusal, error=True)
            return
        try:
            done = await change(self._show_step)
        except GuardtuiError as error:
            self._connections.warn(str(error), error=True)
        else:
            if done:
                self._window.notify(done, title="AIRS", seconds=10)
        self._show_step("")

    def _show_step(self, text: str) -> None:
        if not self._topics.is_scanning:
            self._store.show_scan(ScanStatus(text) if text else None)
