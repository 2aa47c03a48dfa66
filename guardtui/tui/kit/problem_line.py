"""The line of a dialog that says what is wrong with its fields."""

from __future__ import annotations

from rich.text import Text

from guardtui.domain.text import display_text
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.styled_text import themed

_MUTED = "$text-muted"


class ProblemLine(Static):
    """A problem, or a note in a muted colour; any text is made inert."""

    def __init__(self) -> None:
        super().__init__("", id="problem")

    def show(self, problem: str) -> None:
        """Show a problem; it may have several lines."""
        self.update(Text(f"! {display_text(problem, newlines=True)}"))

    def show_note(self, note: str) -> None:
        """Show a note that is not a problem."""
        self.update(themed(Text(display_text(note), _MUTED)))

    def clear(self) -> None:
        """Remove what is shown."""
        self.update("")
