"""An experiment on a topic file without a screen: its record, and what comes of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from guardtui.app.experiments.answering import Answering
from guardtui.app.experiments.planning import Design, recorded
from guardtui.app.experiments.run import ExperimentRun
from guardtui.app.experiments.status import ExperimentStatus
from guardtui.app.scan.recording import EvaluatedFiles, record_evaluation
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompt_reading import AS_WRITTEN
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.reports.experiment import ExperimentReport
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.session import Decision, Iteration, Recorder
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore
from guardtui.session.workspace import now


@dataclass(frozen=True, eq=False)
class HeadlessExperiment:
    """An experiment on the definition of a topic file; `by` records what it measures.

    All methods raise StoreError.
    """

    path: Path
    topic: Topic
    prompts: PromptSet
    answering: Answering
    by: Recorder

    def known(self) -> Evaluation | None:
        """Return the newest recorded evaluation of the definition by this guardrail, or None."""
        if not has_session(self.path):
            return None
        iterations = SessionStore(self.path, reading=True).iterations()
        evaluations = [iteration.evaluation for iteration in iterations]
        return recorded(evaluations, self.topic, self.answering.settings, self.prompts.fingerprint)

    def begun(self, design: Design, known: Evaluation | None, title: str) -> ExperimentRecord:
        """Store a new experiment; `title` is the name of the guardrail, or ""."""
        settings = self.answering.settings if known is None else known.settings
        log = ExperimentLog(SessionStore(self.path))
        return log.add(
            design.record(settings.titled(title)), None if known is None else known.verdicts
        )

    def run_of(self, record: ExperimentRecord) -> ExperimentRun:
        """Return a run of a stored experiment, which records the scan of the definition."""
        files = EvaluatedFiles(self.path, None, AS_WRITTEN)

        async def scanned(evaluation: Evaluation) -> None:
            await asyncio.to_thread(record_evaluation, files, evaluation, by=self.by)

        log = ExperimentLog(SessionStore(self.path))
        return ExperimentRun(log, record, self.prompts, self.answering, scanned=scanned)

    def record_proven(self, run: ExperimentRun) -> Iteration | None:
        """Record the proven candidate as an undecided iteration; None if none is proven."""
        best, evaluation = run.status.best, run.best()
        if best is None or evaluation is None:
            return None
        store = SessionStore(self.path)
        iteration = Iteration(0, now(), Decision.UNDECIDED, evaluation, by=self.by)
        recorded_one = store.add_iteration(iteration)
        ExperimentLog(store).keep(run.record, best + 1)
        return recorded_one


def report_of(run: ExperimentRun, status: ExperimentStatus, *, kept: bool) -> ExperimentReport:
    """Return the report on a run with this status; `kept` says whether its best was kept."""
    return ExperimentReport(
        run.record.topic,
        status.settings,
        tuple((one.candidate, one.standing) for one in status.candidates),
        len(run.record.keys),
        status.calls,
        status.best,
        status.ending,
        status.stopped,
        kept,
    )
