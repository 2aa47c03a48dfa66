"""The best idea in one line below the definition, always visible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from guardtui.tui.kit.styled_text import themed

if TYPE_CHECKING:
    from guardtui.app.advice.ideas import Idea, Ideas

_LABEL = "Next  "
_READABLE = 40  # columns of the step for which longer keys give way to shorter ones
_LEAST = 20  # least columns of the step; for these its keys and its gain give way


class NextLine(Widget, can_focus=False):
    """Draws the best idea with its figures and its keys."""

    DEFAULT_CSS = "NextLine { height: 1; padding: 0 2; background: $boost; }"

    class Chosen(Message):
        """The line was clicked."""

    def __init__(self) -> None:
        super().__init__(id="next")
        self._ideas: Ideas | None = None
        self._keys: tuple[str, ...] = ()
        self._pending = ""

    def show(
        self,
        ideas: Ideas | None,
        keys: tuple[str, ...],
        pending: str = "",
    ) -> None:
        """Show these ideas; `pending` is shown if there are none.

        One of `keys` is shown after the step: the longest that leaves the step readable.
        Old ideas do not apply to a new definition: `pending` is shown until new ones are measured.
        """
        shown = (ideas, keys, pending)
        if shown != (self._ideas, self._keys, self._pending):
            self._ideas, self._keys, self._pending = shown
            self.refresh()

    @property
    def text(self) -> str:
        """The text of the line, uncut."""
        return self._pending if self._ideas is None else self._ideas.next_step

    def render(self) -> Content:
        return themed(self._line(self.size.width))

    def _line(self, width: int) -> Text:
        line = Text(_LABEL, no_wrap=True)
        line.stylize("bold $text-accent")
        best = None if self._ideas is None else self._ideas.best
        if best is None:
            line.append(self.text, "$text-muted")
            line.truncate(width, overflow="ellipsis")
            return line
        room = width - cell_len(_LABEL)
        gain = self._fitting_figures(best, room)
        room -= cell_len(gain)
        keys = self._fitting_keys(room, cell_len(best.text))
        room -= cell_len(keys)
        step = Text(best.text)
        step.truncate(max(room, 1), overflow="ellipsis")
        line.append(step.plain)
        line.append(gain, "bold $text-success" if best.gain and best.gain.likely else "bold")
        gap = width - cell_len(line.plain) - cell_len(keys)
        return line.append(" " * max(gap, 0)).append(keys, "$text-muted")

    @staticmethod
    def _fitting_figures(idea: Idea, room: int) -> str:
        """Return the figures of an edit, without their intervals if the step is cut for them."""
        proposal = idea.proposal
        if proposal is None:
            return ""
        step = min(cell_len(idea.text), _READABLE)
        for figures, least in ((proposal.figures, step), (proposal.short_figures, _LEAST)):
            if room - cell_len(figures) - 2 >= least:
                return f"  {figures}"
        return ""

    def _fitting_keys(self, room: int, step: int) -> str:
        """Return the keys to show in `room` columns beside a step of `step` columns, or ""."""
        for keys in sorted(self._keys, key=cell_len, reverse=True):
            if room - cell_len(keys) - 2 >= min(step, _READABLE):
                return f"  {keys}"
        shortest = min(self._keys, key=cell_len, default="")
        return f"  {shortest}" if room - cell_len(shortest) - 2 >= _LEAST else ""

    def on_click(self, event: Click) -> None:
        event.stop()
        self.post_message(self.Chosen())
