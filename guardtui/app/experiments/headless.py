"""An experiment on a topic file without a screen: its record, and what comes of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from guardtui.app.experiments.answering import Answering
from guardtui.app.experiments.planning import Design, experiment_rows, recorded
from guardtui.app.experiments.run import ExperimentRun
from guardtui.app.experiments.status import ExperimentStatus
from guardtui.app.scan.record import iteration_of
from guardtui.app.scan.recording import EvaluatedFiles, record_evaluation
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.reports.experiment import ExperimentReport
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.session import Decision, Iteration, Recorder, Session
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore
from guardtui.session.workspace import now


@dataclass(frozen=True, eq=False)
class HeadlessExperiment:
    """An experiment on the definition of a topic file; `by` records what it measures.

    All methods raise StoreError.
    """

    files: EvaluatedFiles
    topic: Topic
    prompts: PromptSet
    answering: Answering
    by: Recorder

    def known(self) -> Evaluation | None:
        """Return the newest recorded evaluation of the definition by this guardrail, or None."""
        if not has_session(self.files.topic):
            return None
        iterations = SessionStore(self.files.topic, reading=True).iterations()
        evaluations = [iteration.evaluation for iteration in iterations]
        return recorded(evaluations, self.topic, self.answering.settings, self.prompts)

    def begun(self, design: Design, known: Evaluation | None, title: str) -> ExperimentRecord:
        """Store a new experiment; `title` is the name of the guardrail, or ""."""
        settings = self.answering.settings if known is None else known.settings
        log = ExperimentLog(SessionStore(self.files.topic))
        return log.add(
            design.record(settings.titled(title)), None if known is None else known.verdicts
        )

    def run_of(self, record: ExperimentRecord) -> ExperimentRun:
        """Return a run of a stored experiment, which records the scan of the definition."""
        files = replace(self.files, template=self.answering.stored_template)

        async def scanned(evaluation: Evaluation) -> None:
            await asyncio.to_thread(record_evaluation, files, evaluation, by=self.by)

        log = ExperimentLog(SessionStore(self.files.topic))
        return ExperimentRun(log, record, self.prompts, self.answering, scanned=scanned)

    def record_better(self, run: ExperimentRun, *, kept: bool) -> Iteration | None:
        """Record the better candidate as an undecided iteration, once; None if none is better.

        `kept` says that its definition was kept.
        """
        best, evaluation = run.status.best, run.best()
        if best is None or evaluation is None:
            return None
        store = SessionStore(self.files.topic)
        iteration = iteration_of(Session(evaluation.topic, store.iterations()), evaluation)
        if iteration is None:
            planned = Iteration(0, now(), Decision.UNDECIDED, evaluation, by=self.by)
            iteration = store.add_iteration(planned)
        if kept:
            ExperimentLog(store).keep(run.record, best + 1)
        return iteration

    def report_of(
        self, run: ExperimentRun, status: ExperimentStatus, *, kept: bool
    ) -> ExperimentReport:
        """Return the report on a run with this status; `kept` says whether its best was kept."""
        return ExperimentReport(
            run.record.topic,
            status.settings,
            tuple((candidate.candidate, candidate.standing) for candidate in status.candidates),
            len(experiment_rows(self.prompts)),
            status.calls,
            status.best,
            status.ending,
            status.stopped,
            kept,
        )
