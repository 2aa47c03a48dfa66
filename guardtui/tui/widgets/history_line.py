"""A line that remembers what was entered: up and down bring back the lines used before."""

from __future__ import annotations

from collections.abc import Sequence

from rich.highlighter import Highlighter
from textual.binding import Binding
from textual.suggester import Suggester

from guardtui.tui.widgets.line_input import LineInput

REMEMBERED = 50


class HistoryLine(LineInput):
    """A line of text with its history; a suggestion stands behind the cursor, → takes it."""

    BINDINGS = [
        Binding("up", "earlier", "Earlier line", show=False),
        Binding("down", "later", "Later line", show=False),
    ]

    def __init__(
        self,
        placeholder: str,
        id: str,  # noqa: A002 - Textual's name for it
        help_pane: str,
        *,
        suggester: Suggester | None = None,
        highlighter: Highlighter | None = None,
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
        """Take these lines, oldest first, for the ones used before."""
        self.lines = tuple(lines)[-REMEMBERED:]
        self._index = len(self.lines)

    def remember(self) -> bool:
        """Put the line into the history, once; return whether that changed it."""
        before, line = self.lines, self.value.strip()
        if line:
            self.use_lines([*(one for one in before if one != line), line])
        self._index = len(self.lines)
        return self.lines != before

    def action_earlier(self) -> None:
        """Show the line used before."""
        line, at = self.value.strip(), self._index
        if at == len(self.lines) or self.lines[at] != line:
            self.remember()  # what stands here is not lost by looking back
            self._index = len(self.lines) - bool(line)
        self._go(-1)

    def action_later(self) -> None:
        """Show the line used after."""
        self._go(1)

    def _go(self, step: int) -> None:
        self._index = max(0, min(len(self.lines), self._index + step))
        self.value = self.lines[self._index] if self._index < len(self.lines) else ""
        self.cursor_position = len(self.value)
