"""An input for a line of the filter language, with completion and a problem line."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text

from guardtui.domain.row_filter import FilterError, RowFilter
from guardtui.domain.text import display_text
from guardtui.tui.inputs.filter_completion import FilterSuggester, TermHighlighter, Vocabulary
from guardtui.tui.inputs.history_input import HistoryInput
from guardtui.tui.kit.inert import Static


class FilterInput:
    """An input and its problem line; both are hidden at first.

    `parse` parses a line, and raises FilterError.
    """

    def __init__(
        self,
        hint: str,
        id: str,  # noqa: A002 - Textual's name for it
        help_pane: str,
        parse: Callable[[str], RowFilter],
    ) -> None:
        self._completion = FilterSuggester()
        self.input = HistoryInput(
            hint, id, help_pane, suggester=self._completion, highlighter=TermHighlighter(parse)
        )
        self.problem = Static("", id=f"{id}-problem")
        self.texts: tuple[str, ...] = ()
        """Texts that the last valid line searches."""
        self._parse = parse
        self.hide()

    def complete_from(self, vocabulary: Vocabulary) -> None:
        """Set the words, fields and columns that complete a line."""
        self._completion.vocabulary = vocabulary

    def enter(self) -> None:
        """Show the line and give it the focus."""
        self.input.display = True
        self.input.focus()

    def hide(self) -> None:
        """Hide both."""
        self.input.display = self.problem.display = False

    def write(self, line: str) -> None:
        """Set the line without a message; an empty line is hidden."""
        with self.input.prevent(HistoryInput.Changed):
            self.input.value = line
        self.input.display = bool(line)

    def understood(self) -> bool:
        """Parse the line; return False for an invalid one, after pointing at the error."""
        try:
            self.texts = self._parse(self.input.value).texts
        except FilterError as error:
            pointer = " " * error.start + "▔" * max(1, error.end - error.start)
            self.problem.update(Text(f"{pointer} {display_text(str(error))}"))
            self.problem.display = True
            return False
        self.problem.display = False
        return True
