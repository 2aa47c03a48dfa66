"""The best idea in a line below the definition, always visible; two where there is room."""

from __future__ import annotations

import textwrap
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
_MUTED = "$text-muted"


LOADING = "loading the engine, a quick approximation of your guardrail …"
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
        head = Text("▸ " if self.has_focus else "", no_wrap=True).append(_LABEL)
        head.stylize("bold $text-accent")
        if self._ideas is None and self.auto_refresh and self.app.animation_level != "none":
            head.append(f"{_TURNS[int(time.monotonic() / _TURN) % len(_TURNS)]} ", "bold")
        lines = self._in_rows if self.size.height > 1 else self._in_a_row
        return themed(head.append_text(lines(self.size.width - head.cell_len)))

    def _in_a_row(self, room: int) -> Text:
        """Return the step, its figures and its keys in so many columns."""
        best, width = self._best, room
        if best is None:
            return self._muted(room)
        figures = self._fitting_figures(best, room)
        room -= cell_len(figures)
        keys = self._fitting_keys(room, cell_len(best.text))
        room -= cell_len(keys)
        step = Text(_within(best, room))
        step.truncate(max(room, 1), overflow="ellipsis")
        step.append(figures, _figures_style(best))
        return step.append(" " * max(width - step.cell_len - cell_len(keys), 0) + keys, _MUTED)

    def _in_rows(self, room: int) -> Text:
        """Return the step in a row, and its figures or its end in another one, with the keys."""
        best = self._best
        if best is None:
            return self._muted(room)
        keys = max(self._keys, key=cell_len, default="")
        left = room - cell_len(keys) - 2
        step, *others = textwrap.wrap(best.text, room)
        end = Text(" ".join(others))
        if best.proposal is not None or end.cell_len > left:
            step, edit = _within(best, room), best.proposal
            figures = () if edit is None else (edit.figures, edit.short_figures)
            fitting = (text for text in figures if cell_len(text) <= left)
            end = Text(next(fitting, ""), _figures_style(best))
        line = Text(step)
        line.truncate(room, overflow="ellipsis")
        line.append("\n" + " " * (self.size.width - room)).append_text(end)
        return line.append(" " * (room - end.cell_len - cell_len(keys)) + keys, _MUTED)

    def _muted(self, room: int) -> Text:
        """Return why there is no step."""
        text = self.text if cell_len(self.text) <= room else self.text.partition(". ")[0]
        line = Text(text, _MUTED)
        line.truncate(max(room, 1), overflow="ellipsis")
        return line

    @property
    def _best(self) -> Idea | None:
        return None if self._ideas is None else self._ideas.best

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


def _within(idea: Idea, columns: int) -> str:
    """Return as many sentences of a step as fit, at least the first; an edit in short."""
    if cell_len(idea.text) <= columns:
        return idea.text
    if idea.proposal is not None:
        return idea.short or idea.text
    text, *others = idea.text.split(". ")
    for sentence in others:
        if cell_len(f"{text}. {sentence}") > columns:
            break
        text = f"{text}. {sentence}"
    return text


def _figures_style(idea: Idea) -> str:
    return "bold $text-success" if idea.gain and idea.gain.likely else "bold"
