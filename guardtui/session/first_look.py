"""The definition of a topic as its author left it, before its prompts are read."""

from __future__ import annotations

from pathlib import Path

from guardtui.domain.topic import Intent, Topic
from guardtui.files.topic_files import load_topic
from guardtui.session.session_file import has_session
from guardtui.session.store import Draft, SessionStore


class FirstLook:
    """A topic file, and the unsaved edits of it with which the author goes on.

    `topic` is what to draw, until a `Workspace` is open: that reads prompts, and takes the draft
    over. `unsaved` is what could not be kept, or None.
    """

    def __init__(self, path: Path) -> None:
        """Raises FileError and StoreError, as `Workspace.open` does."""
        self.path = path
        file = load_topic(path)
        self._file = file.topic
        self.unsaved: Topic | None = None
        # A file without an intent has that of the prompts.
        intents = [file.topic.intent] if file.intent_given else list(Intent)
        bases = [file.topic.model_copy(update={"intent": intent}).fingerprint for intent in intents]
        drafts = SessionStore(path, reading=True).abandoned_drafts() if has_session(path) else []
        draft = next((draft for draft in drafts if draft.topic != file.topic), None)
        self._draft = draft if draft is not None and draft.base in bases else None
        self._kept = self.topic = file.topic if self._draft is None else self._draft.topic

    @property
    def drafted(self) -> bool:
        """Return whether edits of the file are kept as a draft."""
        return self.unsaved is None and self._kept != self._file

    def keep(self, typed: Topic, *, always: bool = False) -> None:
        """Keep what was typed as a draft. Raises StoreError; it is then `unsaved`."""
        if typed == self._kept:
            return
        self.unsaved = typed
        store = SessionStore(self.path)
        store.save_draft(Draft(typed, self._file.fingerprint))
        store.close()
        self.unsaved, self._kept = None, typed
        if self._draft is not None:
            store.drop_draft(self._draft)
