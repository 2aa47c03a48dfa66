"""The metrics of all scorers, a line for each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from guardtui.tui.content import themed
from guardtui.tui.score_live import LiveRun
from guardtui.tui.score_metrics import metric_lines
from guardtui.tui.score_results import ScoreColumn


class ScoreMetricsPane(VerticalScroll):
    """Draws lines again only when there is something new: it is asked ten times a second."""

    help_pane = "score_metrics"

    def __init__(self) -> None:
        super().__init__(id="score-metrics")
        self._text = Static("", id="score-metrics-text", markup=False)
        self._drawn: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, columns: Sequence[ScoreColumn], tried: LiveRun | None) -> None:
        """Show scorers, the last first; `tried` is the run of the line."""
        state = [
            (id(one), one.run.done, one.run.finished, one.run.problem, id(one.run.measured))
            for one in columns
        ]
        if (key := (state, tried)) == self._drawn:
            return
        self._drawn = key
        lines = [metric_lines(one, one.run is tried) for one in reversed(columns)]
        self._text.update(themed(Text("\n").join(lines)))
