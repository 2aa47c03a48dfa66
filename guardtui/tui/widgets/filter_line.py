"""A line of the filter language with completion, and below it what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.text import Text
from textual.widgets import Static

from guardtui.domain.filter_language import FilterError, RowFilter
from guardtui.domain.text import display_text
from guardtui.tui.widgets.filter_completion import Completion, Meaning, Vocabulary
from guardtui.tui.widgets.history_line import HistoryLine


class FilterLine:
    """Two widgets that belong together; both are hidden at first.

    `parse` understands a line, and raises FilterError.
    """

    def __init__(
        self,
        hint: str,
        id: str,  # noqa: A002 - Textual's name for it
        help_pane: str,
        parse: Callable[[str], RowFilter[Any]],
    ) -> None:
        self._completion = Completion()
        self.input = HistoryLine(
            hint, id, help_pane, suggester=self._completion, highlighter=Meaning(parse)
        )
        self.problem = Static("", id=f"{id}-problem", markup=False)
        self.texts: tuple[str, ...] = ()
        """What the last line that was understood looks for as text."""
        self._parse = parse
        self.hide()

    def complete_from(self, vocabulary: Vocabulary) -> None:
        """Complete lines from these words, fields and columns from now on."""
        self._completion.vocabulary = vocabulary

    def enter(self) -> None:
        """Show the line and give it the focus."""
        self.input.display = True
        self.input.focus()

    def hide(self) -> None:
        """Take both out of sight."""
        self.input.display = self.problem.display = False

    def write(self, line: str) -> None:
        """Put a line in without the message that it changed; it is seen unless it is empty."""
        with self.input.prevent(HistoryLine.Changed):
            self.input.value = line
        self.input.display = bool(line)

    def understood(self) -> bool:
        """Read the line; where it makes no sense, point at its fault and return False."""
        try:
            self.texts = self._parse(self.input.value).texts
        except FilterError as error:
            pointer = " " * error.start + "▔" * max(1, error.end - error.start)
            self.problem.update(Text(f"{pointer} {display_text(str(error))}"))
            self.problem.display = True
            return False
        self.problem.display = False
        return True
