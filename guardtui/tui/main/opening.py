"""The topic of the main screen: its definition at once, the rest when it is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from guardtui.app.guardrails.remote import RemoteOptions
    from guardtui.domain.errors import GuardtuiError
    from guardtui.domain.operating_point import Wanted
    from guardtui.domain.topic import Topic
    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.session.first_look import FirstLook
    from guardtui.session.own_metrics import OwnMetric
    from guardtui.session.workspace import Workspace


@dataclass(frozen=True)
class Opened:
    """An open topic, and what its services are made of.

    `metrics` are shown beside the built-in rates. `threshold` is the requested one of the engine.
    `resumed` says whether a draft was restored.
    """

    workspace: Workspace
    scanner: LocalScanner
    remote: RemoteOptions
    metrics: Sequence[OwnMetric] = ()
    threshold: Wanted = None
    resumed: bool = False

    @property
    def topic(self) -> Topic:
        """The definition as it is edited."""
        return self.workspace.session.topic

    @property
    def path(self) -> Path:
        """The topic file."""
        return self.workspace.topic_file.path

    @property
    def unsaved(self) -> Topic | None:
        """The definition if it is stored nowhere, else None."""
        return None if self.workspace.draft_is_safe else self.topic

    def keep(self, typed: Topic, *, always: bool = False) -> None:
        """Keep what was typed as a draft, as `Workspace.save_draft`. Raises StoreError."""
        self.workspace.session.edit(typed)
        self.workspace.save_draft(always=always)


class Opening:
    """A topic that is being opened; `now` is what is known of it.

    `problem` is why it cannot be opened, if that was found after the first frame.
    """

    def __init__(self, now: FirstLook | Opened, opens: Callable[[], Opened] | None = None) -> None:
        """`opens` opens it, in a thread; it raises GuardtuiError if a file cannot be used."""
        self.now, self._opens = now, opens
        self.problem: GuardtuiError | None = None

    @classmethod
    def of(cls, opened: Opened) -> Opening:
        """Return a topic that is open, with the draft of its author."""
        opening = cls(opened)
        opening.use(opened)
        return opening

    @property
    def opened(self) -> Opened | None:
        """What was opened, or None as long as it is not."""
        return self.now if isinstance(self.now, Opened) else None

    def read(self) -> Opened:
        """Read all of it; may run in a worker. Raises GuardtuiError."""
        if isinstance(self.now, Opened):
            return self.now
        assert self._opens is not None  # noqa: S101 - it comes with a first look
        return self._opens()

    def use(self, opened: Opened) -> Opened:
        """Go on with what was read, and with the draft of the author."""
        resumed = opened.resumed or opened.workspace.resume_draft()
        self.now = replace(opened, resumed=resumed)
        return self.now
