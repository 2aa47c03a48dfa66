"""The scorers of one file of outputs, current and pinned, and their metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from guardtui.files.output_files import OutputSet
from guardtui.scorer.aggregate import Reducers
from guardtui.scorer.decorators import MetricSet
from guardtui.scorer.types import Scorer
from guardtui.session.graders import ScoreError
from guardtui.session.score_run import ScorerResult, make_judges, with_standard_errors
from guardtui.tui.scoring.rows import ScoreColumn
from guardtui.tui.scoring.scorer_run import Grading, ScorerRun


@dataclass(frozen=True)
class ScoreOptions:
    """Initial expressions (the last one is current, the others are pinned), metrics and models."""

    expressions: tuple[str, ...] = ("match()",)
    metrics: MetricSet | None = None
    reducers: Reducers = None
    cluster: str | None = None
    group: str | None = None
    grading: Grading | None = None
    asked: bool = False
    """Whether scorers may use models at once."""


class ScoreRuns:
    """Runs of scorers over one file. Scoring and measuring happen in threads."""

    def __init__(self, outputs: OutputSet, options: ScoreOptions) -> None:
        self.outputs = outputs
        self.options = options
        self.reducers: Reducers = options.reducers
        self.pinned: list[ScorerRun] = []
        self.live: ScorerRun | None = None
        """The run of the current scorer."""
        self.shown: ScorerRun | None = None
        """The run that is shown: the previous one until the current one has rows."""
        self._measuring = asyncio.Lock()

    def __iter__(self) -> Iterator[ScorerRun]:
        others = [run for run in (self.shown, self.live) if run is not None]
        return iter(dict.fromkeys([*self.pinned, *others]))

    def known(self, expression: str) -> ScorerRun | None:
        """Return the run of an expression, or None."""
        return next((run for run in self if run.judge.expression == expression), None)

    def make(self, expression: str, scorer: Scorer) -> ScorerRun:
        """Return a new run for `try_out` or `pinned`; it can call the pinned scorers."""
        options = self.options
        (judge,) = make_judges([(expression.strip(), scorer)], options.metrics)
        judge = replace(judge, metrics=with_standard_errors(judge.metrics, options.cluster))
        pinned = [run.judge.scorer for run in self.pinned]
        return ScorerRun(self.outputs, judge, options.grading, options.cluster, pinned)

    def try_out(self, run: ScorerRun) -> None:
        """Make this run current; the previous one stops unless it is pinned."""
        before, self.live = self.live, run
        if before is not None and before is not run and before not in self.pinned:
            before.stop()
        self.catch_up()

    def catch_up(self) -> None:
        """Show the current run as soon as it has rows."""
        if self.live is not None and (self.shown is None or self.live.done):
            self.shown = self.live

    def unpin(self, run: ScorerRun) -> None:
        """Unpin a run, which stops unless it is current."""
        self.pinned = [live for live in self.pinned if live is not run]
        if run is not self.live and run is not self.shown:
            run.stop()

    def stop(self) -> None:
        """Stop all runs."""
        for run in self:
            run.stop()

    # --- metrics --------------------------------------------------------------------------

    async def measure(self, run: ScorerRun) -> None:
        """Measure runs one after the other: metrics use a whole processor."""
        async with self._measuring:
            if run not in list(self) or run.problem or (run.stopped and not run.asks):
                return
            while True:
                reducers = self.reducers
                try:
                    measured = await asyncio.to_thread(run.measure, reducers)
                except ScoreError as error:
                    run.problem = str(error)
                    return
                if reducers is self.reducers:
                    run.measured = measured
                    return

    def reduce_by(self, reducers: Reducers) -> None:
        """Set the reducers; all runs must be measured again."""
        self.reducers = reducers
        for run in self:
            run.measured = None
            run.problem = "" if run.done else run.problem

    async def results(
        self, columns: Sequence[ScoreColumn], group: str | None
    ) -> list[ScorerResult]:
        """Return the metrics of scorers under their displayed names. Raises ScoreError."""
        if not columns or not all(column.run.finished for column in columns):
            raise ScoreError("The rows are not all scored yet.")
        return [
            _renamed(await asyncio.to_thread(column.run.measure, self.reducers, group), column.name)
            for column in columns
        ]


def _renamed(result: ScorerResult, name: str) -> ScorerResult:
    scores = result.scores
    return replace(result, scores=replace(scores, judge=replace(scores.judge, name=name)))
