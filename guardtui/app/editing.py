"""Edits of the definition: typed, replaced as a whole, undone and redone."""

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
        """When a key last changed the definition, as `time.monotonic`."""

    def type(self, topic: Topic, group: str = "", *, ends_group: bool = False) -> None:
        """Take over what was typed; edits of one `group` in a row are undone together."""
        self.last_typed = time.monotonic()
        if self._session.edit(topic, group):
            if ends_group:
                self._session.end_group()
            self._publish(EditKind.TYPED)

    def replace(self, topic: Topic) -> bool:
        """Make this the definition, as one step; False when it is already."""
        if not self._session.edit(topic):
            return False
        self.published()
        return True

    def published(self) -> None:
        """Publish a definition that the session was given by other means."""
        self._session.end_group()
        self._publish(EditKind.REPLACED)

    async def finish_typing(self) -> Topic:
        """Return the definition once keys that are still on their way have arrived.

        A key bound to an action overtakes the letters typed before it.
        """
        typed = await self._author.finish_typing()
        if typed is not None:
            self.type(*typed)
        return self._session.topic

    def undo(self) -> tuple[str, ...]:
        """Undo the last step; return what that changed, in words (empty without a step)."""
        return self._stepped(self._session.undo())

    def redo(self) -> tuple[str, ...]:
        """Redo what was undone; return what that changed, in words (empty without a step)."""
        return self._stepped(self._session.redo())

    def _stepped(self, changes: tuple[str, ...]) -> tuple[str, ...]:
        if changes:
            self._publish(EditKind.STEPPED)
        return changes

    def _publish(self, edit: EditKind) -> None:
        self._store.publish(replace(self._store.state, topic=self._session.topic, edit=edit))
