"""The topics in AIRS on the main screen: the list with its keys, and reverting an apply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from textual.screen import Screen

from guardtui.app.connections import Connections
from guardtui.app.ports import Author, Jobs
from guardtui.app.remote_topics import RemoteTopics, Show
from guardtui.app.state import ScanStatus, Store
from guardtui.domain.errors import GuardtuiError
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.models import CustomTopic
from guardtui.tui.airs.dialogs import RemoteTopicsDialog

_OPENING = "dialog"
_CHANGING = "remote"
"""Groups of jobs. A second change does not cancel one that waits for an answer."""


class AirsTopicsFeature:
    """Shows the topics of the tenant, and changes them one at a time.

    Progress is shown in the list, or in the scan line after the list is closed.
    """

    def __init__(
        self,
        screen: Screen[Any],
        store: Store,
        connections: Connections,
        topics: RemoteTopics,
        author: Author,
        jobs: Jobs,
    ) -> None:
        self._screen, self._store, self._connections = screen, store, connections
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
        self._jobs.start(self._revert(), group=_OPENING, exclusive=True)

    async def _show_topics(self) -> None:
        connection = await self._managing()
        if connection is None:
            return
        dialog = RemoteTopicsDialog(
            connection.title,
            lambda: self._topics.here,
            lambda: self._topics.read(connection),
            lambda name, topic: self._act(connection, dialog, name, topic),
        )
        self._screen.app.push_screen(dialog)

    async def _revert(self) -> None:
        connection = await self._managing()
        if connection is not None:
            self._change(None, lambda show: self._topics.revert(connection, show))

    async def _managing(self) -> AirsConnection | None:
        try:
            return await self._topics.managing()
        except GuardtuiError as error:
            self._show_step("")
            self._connections.warn(str(error), error=True)
            return None

    def _act(
        self,
        connection: AirsConnection,
        dialog: RemoteTopicsDialog,
        name: str,
        topic: CustomTopic | None,
    ) -> None:
        """Run the action of a key of the list."""
        topics = self._topics
        if name == "apply":
            self._change(dialog, lambda show: topics.apply(connection, show))
        elif name == "create":
            self._change(dialog, lambda show: topics.create(connection, dialog.listing, show))
        elif name == "revert":
            self._change(dialog, lambda show: topics.revert(connection, show))
        elif topic is None:
            dialog.show_status("There is no topic to choose.")
        elif name == "delete":
            self._change(dialog, lambda show: topics.delete(connection, topic, show))
        else:
            self._jobs.start(self._take_over(dialog, topic), group=_CHANGING)

    async def _take_over(self, dialog: RemoteTopicsDialog, topic: CustomTopic) -> None:
        listing = dialog.listing
        intent = None if listing is None else listing.intent(topic)
        if await self._topics.take_over(topic, intent, dialog.show_status):
            dialog.action_close()

    # --- a change -------------------------------------------------------------------------

    def _change(
        self, dialog: RemoteTopicsDialog | None, change: Callable[[Show], Awaitable[str]]
    ) -> None:
        if refusal := self._topics.refusal:
            self._report(dialog, refusal, problem=True)
        else:
            self._jobs.start(self._changed(dialog, change), group=_CHANGING)

    async def _changed(
        self, dialog: RemoteTopicsDialog | None, change: Callable[[Show], Awaitable[str]]
    ) -> None:
        """Make a change, report it, and load the list again."""

        def show(text: str, *, problem: bool = False) -> None:
            if dialog is not None and not dialog.is_left:
                dialog.show_status(text, problem=problem)
            else:
                self._show_step(text)

        done, problem = "", False
        try:
            done = await change(show)
        except GuardtuiError as error:
            done, problem = str(error), True
        if done and dialog is not None and not dialog.is_left:
            # Load again after a failure too: part of the change may have been made.
            dialog.load(done, problem=problem)
            self._show_step("")
        else:
            self._report(dialog, done, problem=problem)

    def _report(
        self, dialog: RemoteTopicsDialog | None, text: str, *, problem: bool = False
    ) -> None:
        if dialog is not None and not dialog.is_left:
            dialog.show_status(text, problem=problem)
        elif text and problem:
            self._connections.warn(text, error=True)
        elif text:
            self._author.notify(text, title="AIRS", seconds=10)
        self._show_step("")

    def _show_step(self, text: str) -> None:
        if not self._topics.is_scanning:
            self._store.show_scan(ScanStatus(text) if text else None)
