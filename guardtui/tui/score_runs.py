"""The scorers of one file of outputs: the one that is tried, those pinned, and their metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from guardtui.files.output_files import OutputSet
from guardtui.scorer.aggregate import Reducers
from guardtui.scorer.decorators import MetricSet
from guardtui.scorer.types import Scorer
from guardtui.session.graders import ScoreError
from guardtui.session.score_run import JudgeResult, make_judges, with_standard_errors
from guardtui.tui.score_live import Grading, LiveRun
from guardtui.tui.score_results import ScoreColumn


@dataclass(frozen=True)
class ScoreOptions:
    """How to begin: expressions (the last one is tried, the others pinned) and how to measure."""

    expressions: tuple[str, ...] = ("match()",)
    metrics: MetricSet | None = None
    reducers: Reducers = None
    cluster: str | None = None
    group: str | None = None
    grading: Grading | None = None
    asked: bool = False
    """Whether scorers that ask models may do so at once."""


class ScoreRuns:
    """Runs of scorers over one file. Scoring and measuring happen in threads."""

    def __init__(self, outputs: OutputSet, options: ScoreOptions) -> None:
        self.outputs = outputs
        self.options = options
        self.reducers: Reducers = options.reducers
        self.pinned: list[LiveRun] = []
        self.live: LiveRun | None = None
        """The run of the scorer that is tried."""
        self.shown: LiveRun | None = None
        """The run to show of it: an older one until the new one has rows."""
        self._measuring = asyncio.Lock()

    def __iter__(self) -> Iterator[LiveRun]:
        others = [run for run in (self.shown, self.live) if run is not None]
        return iter(dict.fromkeys([*self.pinned, *others]))

    def known(self, expression: str) -> LiveRun | None:
        """Return the run of an expression, if there is one."""
        return next((run for run in self if run.judge.expression == expression), None)

    def make(self, expression: str, scorer: Scorer) -> LiveRun:
        """Make a run, which `try_out` or `pin` takes; it can call the pinned scorers."""
        options = self.options
        (judge,) = make_judges([(expression.strip(), scorer)], options.metrics)
        judge = replace(judge, metrics=with_standard_errors(judge.metrics, options.cluster))
        pinned = [run.judge.scorer for run in self.pinned]
        return LiveRun(self.outputs, judge, options.grading, options.cluster, pinned)

    def try_out(self, run: LiveRun) -> None:
        """Try this run; the one tried before stops unless it is pinned."""
        before, self.live = self.live, run
        if before is not None and before is not run and before not in self.pinned:
            before.stop()
        self.catch_up()

    def catch_up(self) -> None:
        """Show the run that is tried as soon as it has rows."""
        if self.live is not None and (self.shown is None or self.live.done):
            self.shown = self.live

    def unpin(self, run: LiveRun) -> None:
        """Let go of a pinned run, which stops unless it is the one tried."""
        self.pinned = [one for one in self.pinned if one is not run]
        if run is not self.live and run is not self.shown:
            run.stop()

    def stop(self) -> None:
        """Stop all runs."""
        for run in self:
            run.stop()

    # --- metrics --------------------------------------------------------------------------

    async def measure(self, run: LiveRun) -> None:
        """Measure one run after the other: metrics take all that one processor can."""
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
        """Take other reducers; all runs are to be measured again."""
        self.reducers = reducers
        for run in self:
            run.measured = None
            run.problem = "" if run.done else run.problem

    async def results(self, columns: Sequence[ScoreColumn], group: str | None) -> list[JudgeResult]:
        """Return the metrics of scorers under the names they are shown by. Raises ScoreError."""
        if not columns or not all(column.run.finished for column in columns):
            raise ScoreError("The rows are not all scored yet.")
        return [
            _renamed(await asyncio.to_thread(column.run.measure, self.reducers, group), column.name)
            for column in columns
        ]


def _renamed(result: JudgeResult, name: str) -> JudgeResult:
    scores = result.scores
    return replace(result, scores=replace(scores, judge=replace(scores.judge, name=name)))
