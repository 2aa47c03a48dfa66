"""Messages from panes to the main screen; they carry values, no widgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.message import Message

if TYPE_CHECKING:
    from guardtui.domain.topic import Topic
    from guardtui.session.workspace import Workspace
    from guardtui.tui.results.model import ResultsView


class TopicEdited(Message):
    """The author changed the definition. `group` names edits that are undone together."""

    def __init__(self, topic: Topic, group: str, *, ends_group: bool) -> None:
        self.topic = topic
        self.group = group
        self.ends_group = ends_group
        super().__init__()


class ResultsViewChanged(Message):
    """The author wants to see other rows, or another order."""

    def __init__(self, view: ResultsView) -> None:
        self.view = view
        super().__init__()


class SaveSettings(Message):
    """Save these settings in the session; its other settings are not changed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        """Keep only the newest: a key held down must not queue writes to the disk."""
        return isinstance(message, SaveSettings) and message.settings.keys() == self.settings.keys()


class CloseDetail(Message):
    """Return from the detail to the results."""


class SwitchTopic(Message):
    """Switch to another topic; the current one has been released."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        super().__init__()
