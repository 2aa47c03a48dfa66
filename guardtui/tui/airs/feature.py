"""The topics in AIRS on the main screen: viewed and copied, and changes with their progress."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from guardtui.app.airs.remote_topics import Change, RemoteTopics
from guardtui.app.guardrails.connections import Connections
from guardtui.app.ports import Author, Jobs
from guardtui.app.state import ScanStatus, Store
from guardtui.domain.errors import GuardtuiError

_OPENING = "dialog"
_CHANGING = "remote"
"""Groups of jobs. A second change does not cancel one that waits for an answer."""


class AirsTopicsFeature:
    """Shows the topics of the tenant, and changes them one at a time."""

    def __init__(
        self,
        store: Store,
        connections: Connections,
        topics: RemoteTopics,
        author: Author,
        jobs: Jobs,
    ) -> None:
        self._store, self._connections = store, connections
        self._topics, self._author, self._jobs = topics, author, jobs

    @property
    def actions(self) -> Mapping[str, Callable[..., Awaitable[None] | None]]:
        """Actions of the registry."""
        return {"remote_topics": self.show_topics, "revert_remote": self.revert}

    def show_topics(self) -> None:
        """List the topics of the tenant."""
        self._jobs.start(self._show_topics(), group=_OPENING, exclusive=True)

    def revert(self) -> None:
        """Revert the newest apply of this session."""
        self._jobs.start(self._changed(self._revert), group=_CHANGING)

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
            self._jobs.start(self._changed(change), group=_CHANGING)

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
                self._author.notify(done, title="AIRS", seconds=10)
        self._show_step("")

    def _show_step(self, text: str) -> None:
        if not self._topics.is_scanning:
            self._store.show_scan(ScanStatus(text) if text else None)
