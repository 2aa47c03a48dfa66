"""What the panes tell the screen; values travel in the message, no widget is asked for them."""

from __future__ import annotations

from typing import Any

from textual.message import Message

from guardtui.domain.prompt_edit import PromptEdit
from guardtui.domain.topic import Topic
from guardtui.session.views import SavedView
from guardtui.session.workspace import Workspace
from guardtui.tui.results import View


class TopicEdited(Message):
    """The author changed the definition. `group` names edits that are undone together."""

    def __init__(self, topic: Topic, group: str, *, ends_group: bool) -> None:
        self.topic = topic
        self.group = group
        self.ends_group = ends_group
        super().__init__()


class ViewChanged(Message):
    """The author asked to see other rows, or in another order."""

    def __init__(self, view: View) -> None:
        self.view = view
        super().__init__()


class ExampleWanted(Message):
    """The author wants a prompt among the examples."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        super().__init__()


class PromptEditWanted(Message):
    """The author wants prompts relabelled, added, duplicated or removed."""

    def __init__(self, edit: PromptEdit) -> None:
        self.edit = edit
        super().__init__()


class PromptUndoWanted(Message):
    """The author wants the last edit of the prompts taken back."""


class SettingsWanted(Message):
    """A pane wants these settings remembered in the session; others there stay as they are."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        """Only the newest counts: a key held down must not queue up writes to the disk."""
        return (
            isinstance(message, SettingsWanted) and message.settings.keys() == self.settings.keys()
        )


class ViewSaved(Message):
    """A view is to be saved in the session, in place of one of the same name."""

    def __init__(self, view: SavedView) -> None:
        self.view = view
        super().__init__()


class ViewRemoved(Message):
    """A saved view is to be removed from the session."""

    def __init__(self, view_name: str) -> None:
        self.view_name = view_name
        super().__init__()


class DetailLeft(Message):
    """The author has read the detail and wants to go on in the results."""


class TopicChosen(Message):
    """The author opened another topic, and the current one has been let go of."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        super().__init__()
