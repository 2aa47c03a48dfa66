"""An input with a history: up and down bring back earlier lines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.highlighter import Highlighter
from textual.binding import Binding
from textual.suggester import Suggester

from guardtui.tui.inputs.fields import LineInput

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
