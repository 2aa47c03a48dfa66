"""Fields of forms: a line, a secret, a text of several lines, a value that a button turns."""

from __future__ import annotations

from textual import events
from textual.binding import Binding
from textual.widgets import Button, Input, TextArea


class LineInput(Input):
    """Textual's input types the letter of an Alt combination; here the app's keys work."""

    def on_key(self, event: events.Key) -> None:
        if event.key.startswith("alt+"):
            event.prevent_default()  # the handler of `Input`; what is bound to the key still runs


class SecretInput(LineInput):
    """Masked, and never copied to a clipboard; the dialog that shows it clears it on closing."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as Textual calls it
        super().__init__(password=True, id=id, compact=True)

    def action_copy(self) -> None:
        """Copy nothing: a clipboard is read by other programs."""

    def action_cut(self) -> None:
        """Delete the selection, and copy nothing."""
        self.delete_selection()


class EdgeTextArea(TextArea):
    """Ctrl+Home and Ctrl+End go to the start and the end, with Shift they select up to there."""

    BINDINGS = [
        Binding("ctrl+home", "to_edge(False)", "Start of the text", show=False),
        Binding("ctrl+end", "to_edge(True)", "End of the text", show=False),
        Binding("ctrl+shift+home", "to_edge(False, True)", "Select to the start", show=False),
        Binding("ctrl+shift+end", "to_edge(True, True)", "Select to the end", show=False),
    ]

    def action_to_edge(self, end: bool, select: bool = False) -> None:
        """Go to the start of the whole text, or to its end."""
        self.move_cursor(self.document.end if end else (0, 0), select=select)


class ToggleButton(Button):
    """A button whose label is a value: Enter, Space, → or a click change it."""

    BINDINGS = [Binding("space,right", "press", "Change the value", show=False)]

    def on_mount(self) -> None:
        self.active_effect_duration = 0  # while it lasts, Textual takes no second press
