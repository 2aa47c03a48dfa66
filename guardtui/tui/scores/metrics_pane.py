"""The metrics of all scorers, a line for each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from guardtui.tui.kit.styled_text import themed
from guardtui.tui.scoring.metrics_text import metric_lines
from guardtui.tui.scoring.rows import ScoreColumn
from guardtui.tui.scoring.scorer_run import ScorerRun


class ScoreMetricsPane(VerticalScroll):
    """Draws lines again only if they changed: `show` is called ten times a second."""

    help_pane = "score_metrics"

    def __init__(self) -> None:
        super().__init__(id="score-metrics")
        self._text = Static("", id="score-metrics-text", markup=False)
        self._drawn: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, columns: Sequence[ScoreColumn], tried: ScorerRun | None) -> None:
        """Show scorers, the last first; `tried` is the run of the line."""
        state = [
            (
                id(scorer),
                scorer.run.done,
                scorer.run.finished,
                scorer.run.problem,
                id(scorer.run.measured),
            )
            for scorer in columns
        ]
        if (key := (state, tried)) == self._drawn:
            return
        self._drawn = key
        lines = [metric_lines(column, column.run is tried) for column in reversed(columns)]
        self._text.update(themed(Text("\n").join(lines)))
