"""History and categories beside the results, on a screen that is broad enough."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from rich.text import Text

from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.metrics import metrics_by_group
from guardtui.session.history import Entry, recorded_history
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.screens.history_text import chart_text, entry_line, head_line

CHART_LINES = 4

_NO_HISTORY = "No iterations yet: Keep and Discard record one each, and so does every scan."


class Side:
    """Keeps the panes of a broad screen up to date; where they are not in sight it does nothing."""

    actions: Mapping[str, ActionMethod] = {}

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._drawn: AppState | None = None
        """The state whose history and categories are shown."""

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Show what the panes are about, where it changed."""
        self.draw()

    def draw(self) -> None:
        """Show the state of now, unless it is shown already or the panes are not in sight."""
        if not (self._window.is_running and self._window.panes.broad):
            return
        state, drawn = self._services.state, self._drawn
        self._drawn = state
        if drawn is None or state.evaluation is not drawn.evaluation:
            self._show_categories(state)
        if drawn is None or (state.iterations, state.pinned) != (drawn.iterations, drawn.pinned):
            self._window.start(self._show_history(state), group="side", exclusive=True)

    def _show_categories(self, state: AppState) -> None:
        evaluation, prompts = state.evaluation, state.evaluated
        column = None if prompts is None else prompts.category_column
        if evaluation is None or prompts is None or column is None:
            self._window.panes.categories.show({})
            return
        groups, names = prompts.groups(column)
        self._window.panes.categories.show(metrics_by_group(evaluation.codes, groups, names))

    async def _show_history(self, state: AppState) -> None:
        entries = await asyncio.to_thread(recorded_history, state.iterations)
        session = self._services.session
        marks: dict[str, list[str]] = {}
        for word, iteration in (("best", session.best), ("baseline", session.baseline)):
            if iteration is not None:
                marks.setdefault(f"#{iteration.number}", []).append(word)
        self._window.panes.history.show(lambda width: history_lines(entries, marks, width))


def history_lines(entries: Sequence[Entry], marks: Mapping[str, Sequence[str]], width: int) -> Text:
    """The chart of coverage and a line for each iteration, newest first."""
    if not entries:
        return Text(_NO_HISTORY, "$text-muted")
    text = Text()
    if len(entries) > 1:
        text.append_text(chart_text(entries, CHART_LINES, width, len(entries) - 1)).append("\n")
    lines = [
        head_line(width),
        *(
            entry_line(entry, width, marked=False, marks=marks.get(entry.name, ()))
            for entry in reversed(entries)
        ),
    ]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return text.append_text(Text("\n").join(lines))
