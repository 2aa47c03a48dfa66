"""Edits of the definition: typing, replacement, undo and redo."""

from __future__ import annotations

import time
from dataclasses import replace

from guardtui.app.ports import Author
from guardtui.app.state import EditKind, Store
from guardtui.domain.topic import Topic
from guardtui.session.session import Session


class Editing:
    """Changes the definition of a session and publishes it."""

    def __init__(self, store: Store, session: Session, author: Author) -> None:
        self._store, self._session, self._author = store, session, author
        self.last_typed = 0.0
        """Time of the last typed change, as `time.monotonic`."""

    def type(self, topic: Topic, group: str = "", *, ends_group: bool = False) -> None:
        """Apply a typed edit; consecutive edits of one `group` are undone together."""
        self.last_typed = time.monotonic()
        if self._session.edit(topic, group):
            if ends_group:
                self._session.end_group()
            self._publish(EditKind.TYPED)

    def replace(self, topic: Topic) -> bool:
        """Replace the definition in one undo step; return False if it is unchanged."""
        if not self._session.edit(topic):
            return False
        self.published()
        return True

    def published(self) -> None:
        """Publish a definition that was set in the session directly."""
        self._session.end_group()
        self._publish(EditKind.REPLACED)

    async def finish_typing(self) -> Topic:
        """Return the definition once all typed keys have arrived.

        A key bound to an action can overtake letters typed before it.
        """
        typed = await self._author.finish_typing()
        if typed is not None:
            self.type(*typed)
        return self._session.topic

    def undo(self) -> tuple[str, ...]:
        """Undo the last step; return its edits in words (empty without a step)."""
        return self._stepped(self._session.undo())

    def redo(self) -> tuple[str, ...]:
        """Redo an undone step; return its edits in words (empty without a step)."""
        return self._stepped(self._session.redo())

    def _stepped(self, changes: tuple[str, ...]) -> tuple[str, ...]:
        if changes:
            self._publish(EditKind.STEPPED)
        return changes

    def _publish(self, edit: EditKind) -> None:
        self._store.publish(replace(self._store.state, topic=self._session.topic, edit=edit))
