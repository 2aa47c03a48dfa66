"""A button whose label is a value that it changes."""

from textual.binding import Binding
from textual.widgets import Button


class ToggleButton(Button):
    """Enter, Space, → or a click change the value."""

    BINDINGS = [Binding("space,right", "press", "Change the value", show=False)]

    def on_mount(self) -> None:
        self.active_effect_duration = 0  # while it lasts, Textual takes no second press
