"""A text field of several lines whose keys reach the start and the end of the text."""

from __future__ import annotations

from textual.binding import Binding
from textual.widgets import TextArea


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
