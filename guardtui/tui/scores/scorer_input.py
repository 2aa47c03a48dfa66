"""The input for a scorer expression, with its problem line."""

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
from guardtui.tui.inputs.history_input import HistoryInput
from guardtui.tui.kit.styled_text import themed

EXAMPLES = 'Write a scorer, such as match() or pattern(r"(\\d+)"); F4 lists all of them.'

_PLACEHOLDER = 'a scorer, such as match(), includes(), f1(), pattern(r"(\\d+)"); F4 lists them'
_LABEL = "scorer "


class ScorerInput(Vertical):
    """An expression with its history; errors are pointed at."""

    def __init__(self) -> None:
        super().__init__(id="score-head")
        self.input = HistoryInput(_PLACEHOLDER, "score-expression", "score_line")
        self._label = Static(f" {_LABEL}", id="score-label", markup=False)
        self._problem = Static("", id="score-problem", markup=False)
        self._problem.display = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="score-line"):
            yield self._label
            yield self.input
        yield self._problem

    def mark_focus(self, focused: bool) -> None:
        """Mark the line while it has the focus."""
        self._label.update(f"{'▸' if focused else ' '}{_LABEL}")

    def begin(self, expression: str) -> None:
        """Set the expression without a message."""
        with self.prevent(Input.Changed):
            self.input.value = expression
            self.input.cursor_position = len(expression)

    def write(self, expression: str) -> None:
        """Set the expression, with the cursor at its first argument."""
        self.input.remember()
        self.input.value = expression
        empty = re.search(r'(?<=\()\)$|(?<=")"\)$', expression)
        self.input.cursor_position = empty.start() if empty else len(expression)
        self.input.focus()

    async def parsed(self, text: str) -> Scorer | None:
        """Return the scorer of an expression; None after pointing at its error."""
        if not text.strip():
            self.show_message(EXAMPLES)
            return None
        try:
            scorer = await asyncio.to_thread(parse_scorer, text)
        except ExpressionError as error:
            width = max(1, min(error.end, error.start + 40) - error.start)
            self.show_message(
                f"{error.problem}: {error.remedy}", " " * min(error.start, 60) + "▔" * width
            )
            return None
        self.show_message("")
        return scorer

    def show_message(self, text: str, pointer: str = "") -> None:
        """Show a message below the line; `pointer` marks a part of the line."""
        self._problem.display = bool(text)
        message = display_text(text.replace("\n", " "))
        shown = Text()
        if pointer:
            lead = " " * len(_LABEL) + pointer
            fits = len(lead) + len(message) + 3 < self.size.width
            shown.append(lead + (" " if fits else "\n"), "$text-error")
        shown.append(message, "$text-error" if pointer else "")
        self._problem.update(themed(shown))
