"""The line of a scorer expression, and below it what is wrong or to be known."""

from __future__ import annotations

import asyncio
import re

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from guardtui.domain.text import display_text
from guardtui.scorer.expression import ExpressionError, parse_scorer
from guardtui.scorer.types import Scorer
from guardtui.tui.content import themed
from guardtui.tui.widgets.history_line import HistoryLine

EXAMPLES = 'Write a scorer, such as match() or pattern(r"(\\d+)"); F4 lists all of them.'

_PLACEHOLDER = 'a scorer, such as match(), includes(), f1(), pattern(r"(\\d+)"); F4 lists them'
_LABEL = "scorer "


class ScorerLine(Vertical):
    """An expression with its history; its faults are pointed at."""

    def __init__(self) -> None:
        super().__init__(id="score-head")
        self.input = HistoryLine(_PLACEHOLDER, "score-expression", "score_line")
        self._label = Static(f" {_LABEL}", id="score-label", markup=False)
        self._problem = Static("", id="score-problem", markup=False)
        self._problem.display = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="score-line"):
            yield self._label
            yield self.input
        yield self._problem

    def mark_focus(self, focused: bool) -> None:
        """Show a sign before the line that keys go to."""
        self._label.update(f"{'▸' if focused else ' '}{_LABEL}")

    def begin(self, expression: str) -> None:
        """Put an expression in without the message that it changed."""
        with self.prevent(Input.Changed):
            self.input.value = expression
            self.input.cursor_position = len(expression)

    def write(self, expression: str) -> None:
        """Put an expression in, with the cursor where its arguments are to be written."""
        self.input.remember()
        self.input.value = expression
        empty = re.search(r'(?<=\()\)$|(?<=")"\)$', expression)
        self.input.cursor_position = empty.start() if empty else len(expression)
        self.input.focus()

    async def parsed(self, text: str) -> Scorer | None:
        """Return the scorer of an expression; None after its fault was pointed at."""
        if not text.strip():
            self.say(EXAMPLES)
            return None
        try:
            scorer = await asyncio.to_thread(parse_scorer, text)
        except ExpressionError as error:
            width = max(1, min(error.end, error.start + 40) - error.start)
            self.say(f"{error.problem}: {error.remedy}", " " * min(error.start, 60) + "▔" * width)
            return None
        self.say("")
        return scorer

    def say(self, text: str, pointer: str = "") -> None:
        """Show a message below the line; the pointer stands below what it is about."""
        self._problem.display = bool(text)
        message = display_text(text.replace("\n", " "))
        shown = Text()
        if pointer:
            lead = " " * len(_LABEL) + pointer
            fits = len(lead) + len(message) + 3 < self.size.width
            shown.append(lead + (" " if fits else "\n"), "$text-error")
        shown.append(message, "$text-error" if pointer else "")
        self._problem.update(themed(shown))
