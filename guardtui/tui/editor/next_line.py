"""The best idea in one line below the definition, always visible."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual.content import Content
from textual.events import Click
from textual.widget import Widget

from guardtui.tui.kit.styled_text import themed
from guardtui.tui.registry.actions import NEXT, bindings

if TYPE_CHECKING:
    from guardtui.app.advice.ideas import Idea, Ideas

_LABEL = "Next  "
_READABLE = 40  # columns of the step for which longer keys give way to shorter ones
_LEAST = 20  # least columns of the step; for these its keys and its gain give way


LOADING = "loading the engine, a quick stand-in for your guardrail …"
_TURNS = "-\\|/"
_TURN = 0.25  # seconds


class NextLine(Widget, can_focus=False):
    """Draws the best idea with its figures and its keys; focused, it opens the ideas.

    It can have the focus once `use_actions` was called.
    """

    DEFAULT_CSS = "NextLine { height: 1; padding: 0 2; background: $boost; }"
    BINDINGS = bindings(NEXT)
    help_pane = "next"

    def __init__(self) -> None:
        super().__init__(id="next")
        self._ideas: Ideas | None = None
        self._keys: tuple[str, ...] = ()
        self._pending = LOADING
        self._open: Callable[[], object] = lambda: None
        self._preview: Callable[[], object] = lambda: None
        self.auto_refresh = _TURN

    def use_actions(self, opened: Callable[[], object], preview: Callable[[], object]) -> None:
        """Call these to open the ideas, and to preview the one that is shown."""
        self._open, self._preview = opened, preview
        self.can_focus = True

    def action_open_ideas(self) -> None:
        self._open()

    def action_preview_idea(self) -> None:
        self._preview()

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
            # Something moves while the author waits.
            self.auto_refresh = None if ideas is not None or not pending else _TURN
            self.refresh()

    @property
    def text(self) -> str:
        """The text of the line, uncut."""
        return self._pending if self._ideas is None else self._ideas.next_step

    def render(self) -> Content:
        return themed(self._line(self.size.width))

    def _line(self, width: int) -> Text:
        line = Text("▸ " if self.has_focus else "", no_wrap=True).append(_LABEL)
        line.stylize("bold $text-accent")
        best = None if self._ideas is None else self._ideas.best
        if best is None:
            if self.auto_refresh is not None and self.app.animation_level != "none":
                line.append(f"{_TURNS[int(time.monotonic() / _TURN) % len(_TURNS)]} ", "bold")
            line.append(self.text, "$text-muted")
            line.truncate(width, overflow="ellipsis")
            return line
        room = width - line.cell_len
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
        self._open()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()
