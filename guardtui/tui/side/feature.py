"""History and categories beside the results of a broad screen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from rich.text import Text

from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.metrics import Metrics, metrics_by_group
from guardtui.session.history import HistoryEntry, recorded_history
from guardtui.tui.history.text import chart_text, entry_line, head_line, history_marks
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

CHART_LINES = 4

_NO_HISTORY = "No iterations yet: Keep and Discard record one each, and so does every scan."


class SideFeature:
    """Updates the side panes while they are visible."""

    follows = ("evaluation", "iterations", "pinned")
    actions: Mapping[str, ActionMethod] = {}

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._drawn: AppState | None = None
        """The state whose history and categories are shown."""

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Update the panes."""
        self.draw()

    def draw(self) -> None:
        """Show the current state if it changed and the panes are visible."""
        if not (self._window.is_running and self._window.panes.broad):
            return
        state, drawn = self._services.state, self._drawn
        self._drawn = state
        if drawn is None or state.evaluation is not drawn.evaluation:
            self._window.start(self._show_categories(state), group="categories", exclusive=True)
        # The iterations of another guardrail have figures that compare with none of these.
        if drawn is None or _history_of(state) != _history_of(drawn):
            self._window.start(self._show_history(), group="side", exclusive=True)

    async def _show_categories(self, state: AppState) -> None:
        evaluation, prompts = state.evaluation, state.evaluated
        column = None if prompts is None else prompts.category_column
        if evaluation is None or prompts is None or column is None:
            self._window.panes.categories.show({})
            return

        def by_category() -> dict[str, Metrics]:
            return metrics_by_group(evaluation.codes, *prompts.groups(column))

        self._window.panes.categories.show(await asyncio.to_thread(by_category))

    async def _show_history(self) -> None:
        iterations = tuple(self._services.session.comparable)
        entries = await asyncio.to_thread(recorded_history, iterations)
        marks = history_marks(self._services.session)
        guardrails = {entry.settings.guardrail.badge() for entry in entries}
        of_one = next(iter(guardrails)) if len(guardrails) == 1 else ""
        panes = self._window.panes
        panes.history.show(
            of_one, lambda width: history_lines(entries, marks, width, of_one=bool(of_one))
        )
        panes.mark_focus()


def _history_of(state: AppState) -> tuple[object, ...]:
    """Return what the history depends on."""
    kind = "" if state.evaluation is None else state.evaluation.settings.kind
    return state.iterations, state.pinned, kind


def history_lines(
    entries: Sequence[HistoryEntry],
    marks: Mapping[str, Sequence[str]],
    width: int,
    *,
    of_one: bool,
) -> Text:
    """Return the chart of coverage and a line for each iteration, newest first."""
    if not entries:
        return Text(_NO_HISTORY, "$text-muted")
    text = Text()
    if len(entries) > 1:
        text.append_text(chart_text(entries, CHART_LINES, width, len(entries) - 1)).append("\n")
    lines = [
        head_line(width, of_one=of_one),
        *(
            entry_line(entry, width, marks=marks.get(entry.name, ()), of_one=of_one)
            for entry in reversed(entries)
        ),
    ]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return text.append_text(Text("\n").join(lines))
