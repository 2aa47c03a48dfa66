"""The line of a scorer expression, with the lines used before; and paths that complete."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from textual.binding import Binding
from textual.suggester import Suggester

from guardtui.domain.text import display_text
from guardtui.tui.widgets.line_input import LineInput

REMEMBERED = 50
PLACEHOLDER = 'a scorer, such as match(), includes(), f1(), pattern(r"(\\d+)"); F4 lists them'


class HistoryLine(LineInput):
    """A line whose up and down keys bring back the lines used before."""

    BINDINGS = [
        Binding("up", "earlier", "Earlier line", show=False),
        Binding("down", "later", "Later line", show=False),
    ]

    def __init__(self, placeholder: str, id: str, help_pane: str) -> None:  # noqa: A002
        super().__init__(placeholder=placeholder, id=id, compact=True)
        self.help_pane = help_pane
        self.lines: tuple[str, ...] = ()
        self._place = 0

    def use_lines(self, lines: Sequence[str]) -> None:
        """Take these lines, oldest first, for the ones used before."""
        self.lines = tuple(lines)[-REMEMBERED:]
        self._place = len(self.lines)

    def remember(self) -> None:
        """Put the line into the history, once."""
        line = self.value.strip()
        if line:
            self.use_lines([*(one for one in self.lines if one != line), line])

    def action_earlier(self) -> None:
        """The line used before."""
        line, at = self.value.strip(), self._place
        if at == len(self.lines) or self.lines[at] != line:
            self.remember()  # what stands here is not lost by looking back
            self._place = len(self.lines) - bool(line)
        self._go(-1)

    def action_later(self) -> None:
        """The line used after."""
        self._go(1)

    def _go(self, step: int) -> None:
        self._place = max(0, min(len(self.lines), self._place + step))
        self.value = self.lines[self._place] if self._place < len(self.lines) else ""
        self.cursor_position = len(self.value)


class PathSuggester(Suggester):
    """The rest of the name of a file or folder; names that draw badly are not offered."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        folder, begun = os.path.split(value)
        if not value:
            return None
        try:
            names = sorted(os.listdir(Path(folder or ".").expanduser()))  # noqa: PTH208
        except (OSError, RuntimeError, ValueError):  # also a home that nobody has
            return None
        for name in names:
            if name.startswith(begun) and name != begun and display_text(name) == name:
                if name.startswith(".") and not begun:
                    continue
                whole = Path(folder or ".").expanduser() / name
                return value + name[len(begun) :] + ("/" if whole.is_dir() else "")
        return None
