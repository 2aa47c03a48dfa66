"""An input for a line of the filter language, with history, completion and a problem line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.highlighter import Highlighter
from rich.text import Text
from textual.binding import Binding
from textual.suggester import Suggester

from guardtui.domain.row_filter import FilterError, RowFilter
from guardtui.domain.text import display_text
from guardtui.tui.inputs.fields import LineInput
from guardtui.tui.inputs.filter_completion import FilterSuggester, TermHighlighter, Vocabulary
from guardtui.tui.kit.inert import Static

REMEMBERED = 50


class HistoryInput(LineInput):
    """An input with its history; → accepts the suggestion after the cursor."""

    BINDINGS = [
        Binding("up", "earlier", "Earlier line", show=False),
        Binding("down", "later", "Later line", show=False),
    ]

    def __init__(
        self,
        placeholder: str,
        id: str,  # noqa: A002 - Textual's name for it
        help_pane: str,
        suggester: Suggester,
        highlighter: Highlighter,
    ) -> None:
        super().__init__(
            placeholder=placeholder,
            id=id,
            compact=True,
            suggester=suggester,
            highlighter=highlighter,
        )
        self.help_pane = help_pane
        self.lines: tuple[str, ...] = ()
        self._index = 0

    def use_lines(self, lines: Sequence[str]) -> None:
        """Set the history, oldest line first."""
        self.lines = tuple(lines)[-REMEMBERED:]
        self._index = len(self.lines)

    def remember(self) -> bool:
        """Add the line to the history once; return whether the history changed."""
        before, line = self.lines, self.value.strip()
        if line:
            self.use_lines([*(text for text in before if text != line), line])
        self._index = len(self.lines)
        return self.lines != before

    def action_earlier(self) -> None:
        """Show the previous line."""
        line, index = self.value.strip(), self._index
        if index == len(self.lines) or self.lines[index] != line:
            self.remember()  # the current line is not lost by going back
            self._index = len(self.lines) - bool(line)
        self._go(-1)

    def action_later(self) -> None:
        """Show the next line."""
        self._go(1)

    def _go(self, step: int) -> None:
        self._index = max(0, min(len(self.lines), self._index + step))
        self.value = self.lines[self._index] if self._index < len(self.lines) else ""
        self.cursor_position = len(self.value)


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
        self.input = HistoryInput(hint, id, help_pane, self._completion, TermHighlighter(parse))
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
