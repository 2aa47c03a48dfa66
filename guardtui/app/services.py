"""All services of one workspace, wired together, for screens, commands and tests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from guardtui.advice.judgement import LIKELY, Judgement, judge
from guardtui.app.advice.edit_preview import EditPreviews
from guardtui.app.advice.idea_advice import IdeaAdvice, PromptSurveys
from guardtui.app.advice.mistake_advice import MistakeExplanations
from guardtui.app.advice.next_step import Situation
from guardtui.app.advice.refinement import Refinements
from guardtui.app.advice.wording_trials import WordingTrials
from guardtui.app.airs.deploy import Deployment
from guardtui.app.airs.profile_changes import ProfileChanges
from guardtui.app.airs.remote_topics import RemoteTopics
from guardtui.app.context import Context
from guardtui.app.editing.decisions import Decisions
from guardtui.app.editing.definition_lint import DefinitionLint
from guardtui.app.editing.evaluations import Evaluations, LiveUserMetrics
from guardtui.app.editing.preview import Preview
from guardtui.app.editing.workspace_sync import CompanionTopics, WorkspaceSync
from guardtui.app.experiments.guardrail import ExperimentGuardrails
from guardtui.app.experiments.interrupted import offer_reverts
from guardtui.app.experiments.session_experiments import UNDER_WAY as EXPERIMENT_UNDER_WAY
from guardtui.app.experiments.session_experiments import Experiments
from guardtui.app.guardrails.choosing import Guardrails
from guardtui.app.guardrails.connections import Connections
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.labels.labelling import Labelling
from guardtui.app.ports import Author, Confirm, Jobs
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.reporting import Reporting
from guardtui.app.scan.forecasting import Forecasting
from guardtui.app.scan.record import MeasuredDefinitions, ScanResults
from guardtui.app.scan.run import UNDER_WAY, Scans
from guardtui.app.scan.subject import FigureSubject
from guardtui.app.state import AppState, with_session
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import (
    BUILT_IN,
    FITTED,
    Wanted,
    require_classes,
)
from guardtui.domain.text import display_start
from guardtui.domain.topic import violations
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.own_metrics import OwnMetric
from guardtui.session.session import Decision
from guardtui.session.store import StoreError
from guardtui.session.workspace import Workspace

ELSEWHERE = (
    "Another guardtui has unsaved edits of this topic: they stay there. The second one to save is "
    "asked before a file is overwritten."
)


class Services:
    """The use cases of one workspace, and its state.

    Each new state is passed to the scans first, then to preview and lint.
    """

    def __init__(
        self,
        workspace: Workspace,
        scanner: LocalScanner,
        remote: RemoteOptions,
        metrics: Sequence[OwnMetric],
        author: Author,
        jobs: Jobs,
        *,
        resumed: bool = False,
        threshold: Wanted = None,
    ) -> None:
        """`resumed` says whether a draft was restored before the definition could be edited.

        `threshold` is the requested threshold of the engine, unless `scanner` has one set by hand:
        by default it is fitted to the labels at each definition.
        """
        self._resumed, self._threshold = resumed, threshold
        if threshold != BUILT_IN and scanner.threshold[0] is None:
            scanner.use_threshold(FITTED)
        context = Context.of(workspace, scanner, author, jobs)
        self.workspace, self.session = workspace, workspace.session
        self.author, self.jobs = author, jobs
        self.store, self.engine, self.editing = context.store, context.engine, context.editing
        self.figures = LiveUserMetrics(self._figures_measured)
        self.figures.metrics = metrics
        path = workspace.topic_file.path
        self.connections = Connections(self.store, workspace.store, author, remote, path)
        self.companions = CompanionTopics(context)
        self.sync = WorkspaceSync(context, self.companions)
        self.evaluations = Evaluations(context, self.figures)
        subject = FigureSubject(context, self.connections)
        self.forecasting = Forecasting(context, subject)
        self.lint = DefinitionLint(context)
        results = ScanResults(context, self.connections, subject)
        self.preview = Preview(context, self.evaluations, self.forecasting, results)
        self.changes = ProfileChanges(path)
        self.deployment = Deployment(context, self.connections, self.changes)
        self.scans = Scans(
            context, self.connections, self.deployment, self.forecasting, results, self.preview
        )
        self.refinement = Refinements(context, self.forecasting, subject)
        self.previews = EditPreviews(context, self.sync, self.forecasting, subject)
        self.mistakes = MistakeExplanations(context, self.forecasting, self.previews)
        self.surveys = PromptSurveys(context)
        self.wordings = WordingTrials(context, self.connections, self.refinement)
        self.ideas = IdeaAdvice(
            context,
            self.refinement,
            self.surveys,
            self.connections,
            lambda: self.experiments.next_step,
            self._situation,
        )
        self.measured = MeasuredDefinitions(context)
        self.decisions = Decisions(
            context,
            self.preview,
            self.sync,
            self.scans,
            self.connections,
            self.deployment.restore,
            self.measured,
        )
        self.experiments = Experiments(
            context,
            ExperimentGuardrails(
                context, self.connections, self.changes, results, lambda: self.scans.rate
            ),
            self.wordings,
            self.scans,
            self.preview,
            self.decisions,
            self.sync,
        )
        self.labels = Labelling(context, self.sync)
        self.remote_topics = RemoteTopics(
            context, self.connections, self.changes, lambda: self.guardrail_in_use
        )
        self.guardrails = Guardrails(
            self.connections, self.scans, author, path, lambda: self.guardrail_in_use
        )
        self.reporting = Reporting(context, self.companions, metrics, self.connections)
        for listener in (
            self.scans,
            self.preview,
            self.lint,
            self.ideas,
            self.measured,
        ):
            self.store.subscribe(listener.state_changed, *listener.follows)

    @property
    def state(self) -> AppState:
        """The newest state."""
        return self.store.state

    def judgement(self, state: AppState, evaluation: Evaluation) -> Judgement:
        """Return what the figures of the shown `evaluation` are worth."""
        baseline = self.session.baseline
        return judge(
            evaluation,
            state.comparison,
            None if baseline is None else baseline.number,
            discards=self.session.discards_in_a_row,
            partial=state.partial,
            forecast=state.forecast,
        )

    def _situation(self, evaluation: Evaluation) -> Situation:
        """Return where the author stands with the shown evaluation, for the next step."""
        state, session, guardrails = self.state, self.session, self.experiments.guardrails
        best, better = session.best, None
        if state.forecast is not None:
            better = state.forecast.rates.better
        sure = better is not None and max(better, 1 - better) >= LIKELY
        problems = violations(state.topic)
        return Situation(
            evaluation,
            self.judgement(state, evaluation),
            limits=problems[0].message if problems else "",
            better_edit=self.experiments.better_edit,
            best=None if best is None else best.number,
            is_best=best is not None and best.evaluation.topic == state.topic,
            is_better=state.forecast is None
            and best is not None
            and best.evaluation.topic != state.topic
            and session.is_better(evaluation),
            likely=better > 1 / 2 if better is not None and sure else None,
            is_forecast=state.forecast is not None,
            who=display_start(guardrails.who, 40) if guardrails.is_named else "",
            file=self.workspace.topic_file.path.name,
            has_plateau=session.plateau,
            still_discarded=self._still_discarded(),
        )

    def _still_discarded(self) -> str:
        """Return the guardrail that still has a discarded definition in effect, or ""."""
        connection = self.state.connection
        if connection is None or connection.definition in (None, self.state.topic):
            return ""
        discarded = any(
            iteration.evaluation.topic == connection.definition
            for iteration in self.session.iterations
            if iteration.decision is Decision.DISCARD
        )
        return connection.who if discarded else ""

    @property
    def guardrail_in_use(self) -> bool:
        """Return whether a scan or an experiment is under way."""
        return self.scans.under_way or self.experiments.under_way

    async def open(self) -> None:
        """Start: restore the draft, record the file's definition, show a preview."""
        if note := self.workspace.opening_note:
            self.author.notify(note, seconds=2 * READING_TIME)
        if self._resumed:
            self.author.notify("Your unsaved edits are back; Undo returns to the file.")
        elif self.workspace.draft_offer is not None:
            await self._offer_draft()
        for finding in self.workspace.prompts.left_out:
            self.author.notify(finding.message)
        self.jobs.start(
            offer_reverts(
                self.workspace.store, self.connections.options, self.changes, self.author
            ),
            group="restore",
        )
        self.jobs.start(self.labels.show_audit(), group="audit")
        await self.measured.open()
        with problems_shown(self.author):
            if await asyncio.to_thread(self.workspace.store.edited_elsewhere):
                self.author.notify(ELSEWHERE, severity="warning")
        if self._threshold == FITTED:
            try:
                require_classes(self.workspace.prompts.expected)
            except ValueError as reason:
                self.author.notify(f"The threshold cannot be fitted: {reason}.")
        works = bool(self.session.iterations) or await self._record_file()
        self.preview.begun = True
        if works:
            self.preview.request()

    async def _record_file(self) -> bool:
        """Evaluate and record the topic file's definition; return False if the engine fails."""
        workspace = self.workspace
        evaluation = await self.preview.complete(workspace.topic_file.topic)
        if evaluation is None:
            return False
        with problems_shown(self.author):
            first = not evaluation.metrics.missing
            write = partial(workspace.write, evaluation, Decision.KEEP, first=first)
            self.session.record(await asyncio.to_thread(write))
            self.store.publish(with_session(self.state, workspace))
        return True

    async def _offer_draft(self) -> None:
        question = Confirm(
            "The topic file was changed since you last edited it here.\n"
            "Continue with your unsaved edits?",
            "Continue",
            "Use the file",
        )
        taken = await self.author.ask(question)
        with problems_shown(self.author):
            if taken:
                self.workspace.take_draft()
                self.editing.published()
            elif taken is not None:
                self.workspace.refuse_draft()

    async def let_go(self, name: str) -> bool:
        """Prepare for opening the topic `name`; return whether nothing would be lost.

        A running scan or experiment is stopped if the author agrees; unsaved edits stay as a
        draft, which is offered again when this topic is opened.
        """
        if self.guardrail_in_use:
            what = UNDER_WAY if self.scans.under_way else EXPERIMENT_UNDER_WAY
            question = Confirm(
                f"{what} Stop it and open {name}?\nThe verdicts so far are kept.",
                "Stop and open",
                "Cancel",
            )
            if not await self.author.ask(question):
                return False
            await self.scans.finish()
            await self.experiments.finish()
        await self.editing.finish_typing()
        await self.sync.finish()
        try:
            self.workspace.save_draft(always=True)
            self.workspace.store.close()
        except StoreError as problem:
            text = f"{name} was not opened: your unsaved edits cannot be kept.\n{problem}"
            self.author.notify(text, severity="error", seconds=READING_TIME)
            return False
        return True

    async def close(self) -> None:
        """Finish running changes, and close the caches and the session's file."""
        await self.measured.close()
        await self.sync.finish()
        self.forecasting.close()
        await self.engine.close()
        await self.experiments.finish()
        await self.changes.close()
        await self.scans.close()
        self.workspace.store.close()

    def _figures_measured(self) -> None:
        figures = self.figures.of(self.state.evaluation)
        self.store.publish(replace(self.state, figures=figures))
