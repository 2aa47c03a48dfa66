"""Experiments of a session: planned with the author, run beside the editing, and kept."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from guardtui.advice.candidates import CandidateKind
from guardtui.advice.experiment import Ending
from guardtui.app.advice.wording_trials import WordingTrials
from guardtui.app.context import Context
from guardtui.app.editing.decisions import Decisions
from guardtui.app.editing.preview import Preview
from guardtui.app.editing.workspace_sync import WorkspaceSync
from guardtui.app.experiments.guardrail import AskedGuardrail, ExperimentGuardrails
from guardtui.app.experiments.planning import (
    Calls,
    Design,
    design_of,
    experiment_step,
    gathered,
    recorded,
    require_labels,
)
from guardtui.app.experiments.run import ExperimentRun
from guardtui.app.experiments.status import ExperimentPlan, ExperimentStatus
from guardtui.app.ports import ChooseAnswer, Confirm, Job
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.scan.record import iteration_of, record
from guardtui.app.scan.run import UNDER_WAY as SCAN_UNDER_WAY
from guardtui.app.scan.run import Scans
from guardtui.app.state import with_session
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import calls_text, count_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.session.experiments import ExperimentLog, ExperimentRecord

UNDER_WAY = "An experiment is under way."
NO_EXPERIMENT = "No experiment is under way."

_WHO = "Experiment"

_Planned: TypeAlias = "tuple[ExperimentRecord, PromptSet, AskedGuardrail, int, Evaluation | None]"
"""An experiment in the log, its prompts, its guardrail, its limit of calls, and a known scan."""

_WORDINGS = (CandidateKind.TYPED, CandidateKind.REWORD)


class Experiments:
    """Experiments of one workspace, one at a time; editing goes on meanwhile.

    An experiment is of the definition and the prompts that it began with. State changes on the
    event loop only. During an experiment the display calls `poll`.
    """

    def __init__(
        self,
        context: Context,
        guardrails: ExperimentGuardrails,
        wordings: WordingTrials,
        scans: Scans,
        preview: Preview,
        decisions: Decisions,
        sync: WorkspaceSync,
    ) -> None:
        self._store, self._workspace, self._engine = (
            context.store,
            context.workspace,
            context.engine,
        )
        self._editing, self._author, self._jobs = context.editing, context.author, context.jobs
        self.guardrails = guardrails
        """The source of an experiment's guardrail."""
        self._wordings, self._scans, self._preview = wordings, scans, preview
        self._decisions, self._sync = decisions, sync
        self._log = ExperimentLog(context.workspace.store)
        self._one_at_a_time = asyncio.Lock()
        self._job: Job | None = None
        self._run: ExperimentRun | None = None
        self._newest: ExperimentStatus | None = None
        self._estimated: tuple[object, str] = (None, "")

    # --- queries --------------------------------------------------------------------------

    @property
    def under_way(self) -> bool:
        """Return whether an experiment was started (with its questions) and has not ended."""
        job = self._job
        return job is not None and not job.is_finished and not job.is_cancelled

    @property
    def running(self) -> bool:
        """Return whether the guardrail is being asked."""
        return self.under_way and self._run is not None

    @property
    def found_better(self) -> bool:
        """Return whether an edit can be kept."""
        status = self._store.state.experiment
        return not self.under_way and status is not None and status.best is not None

    @property
    def better_edit(self) -> str:
        """The better edit of the current definition and its least gain, in words, or ""."""
        status, state = self._store.state.experiment, self._store.state
        if self.under_way or status is None or status.best is None or status.topic != state.topic:
            return ""
        low = status.candidates[status.best].standing.low or 0.0
        who = display_start(status.settings.guardrail.badge(), 40)
        return f"by at least {low:.3f} on {who}"

    @property
    def next_step(self) -> str:
        """An experiment as a next step in words, without a request; "" if none makes sense."""
        status, state = self._store.state.experiment, self._store.state
        if self.under_way or not self.guardrails.is_named:
            return ""
        if status is not None and status.stopped and status.topic == state.topic:
            who = display_start(status.settings.guardrail.badge(), 40)
            return f"Go on with the experiment on {who}. {made_text(status)}"
        who, settings = self.guardrails.planned
        key = (state.topic, state.prompts, who, len(state.iterations), self.under_way, status)
        if self._estimated[0] != key:
            if self._has_found_nothing(state.topic, state.prompts):
                self._estimated = key, ""
                return ""
            known = None
            if settings is not None:
                scans = [iteration.evaluation for iteration in self._workspace.session.iterations]
                known = recorded(scans, state.topic, settings, state.prompts)
            self._estimated = key, experiment_step(state.prompts, display_start(who, 40), known)
        return self._estimated[1]

    async def unfinished(self) -> str:
        """Return in words that this definition has an unfinished experiment, or "".

        Raises StoreError.
        """
        topic, prompts = self._workspace.session.topic, self._workspace.prompts
        record = await asyncio.to_thread(self._unfinished, topic, prompts, of_any=True)
        if record is None:
            return ""
        who = guardrail_text(record.settings)
        return (
            f"An experiment on {who} is unfinished: {count_text(record.calls, 'call')} made, "
            f"{count_text(len(record.candidates), 'candidate')}."
        )

    def _unfinished(
        self, topic: Topic, prompts: PromptSet, *, of_any: bool = False
    ) -> ExperimentRecord | None:
        """Return the newest unfinished one of definition and prompts, by this guardrail or any."""
        for found in reversed(self._log.experiments()):
            same = found.topic == topic and found.prompt_set == prompts.fingerprint
            if same and not found.ending and (of_any or self.guardrails.made(found)):
                return found
        return None

    def _has_found_nothing(self, topic: Topic, prompts: PromptSet) -> bool:
        """Return whether this guardrail has shown that none of the engine's edits is better."""
        return any(
            made.topic == topic
            and made.prompt_set == prompts.fingerprint
            and made.ending in (Ending.NOT_BETTER.name, Ending.HOPELESS.name)
            and not any(details.get("kind") in _WORDINGS for _, details in made.candidates)
            and self.guardrails.made(made)
            for made in self._log.experiments()
        )

    # --- actions of the author ------------------------------------------------------------

    def begin(self) -> None:
        """Plan an experiment with the author and run it; an unfinished one is offered first."""
        if self.under_way:
            self._author.notify(UNDER_WAY)
        elif self._scans.under_way:
            self._author.notify(SCAN_UNDER_WAY)
        else:
            self._job = self._jobs.start(self._begin(), group="experiment")

    def pause(self) -> None:
        """Pause the experiment, or resume it."""
        if self._run is None or not self.running:
            self._author.notify(NO_EXPERIMENT)
            return
        held = not self._run.status.held
        self._run.hold(held)
        self.poll()
        self._author.notify(
            "Paused: no more requests are sent." if held else "The experiment continues."
        )

    def stop(self) -> None:
        """Ask whether to stop the experiment; verdicts so far are kept."""
        if not self.under_way:
            self._author.notify(NO_EXPERIMENT)
        elif not self.running:
            self._cancel()
        else:
            self._jobs.start(self._stop(), group="experiment stop", exclusive=True)

    async def _stop(self) -> None:
        question = Confirm(
            "Stop the experiment?\nThe verdicts so far are kept; it can go on later.",
            "Stop it",
            "Cancel",
        )
        if await self._author.ask(question):
            self._cancel()

    def _cancel(self) -> None:
        if self._job is not None and self.under_way:
            self._job.cancel()

    async def finish(self) -> None:
        """Stop the experiment, and wait until the guardrail is as it was."""
        self._cancel()
        async with self._one_at_a_time:
            pass

    async def keep(self) -> bool:
        """Make the better edit the definition, and record it as kept; return whether it was.

        The edit of the definition can be undone.
        """
        run = self._run
        better = None if run is None else run.best()
        if run is None or better is None or not self.found_better:
            self._author.notify("No edit is shown to be better.")
            return False
        before = await self._editing.finish_typing()
        if before not in (run.record.topic, better.topic):
            question = Confirm(
                "The experiment was of the definition before your edits.\n"
                "Replace the definition as it is now? Undo brings it back.",
                "Replace",
                "Cancel",
            )
            if not await self._author.ask(question):
                return False
        with problems_shown(self._author):
            self._editing.replace(better.topic)
            await self._decisions.keep_measured(better)
            best = run.status.best
            assert best is not None  # noqa: S101 - it is better
            await asyncio.to_thread(self._log.keep, run.record, best + 1)
            self._show(None)
            await self._sync.offer_to_take_out(before, better.topic)
            return True
        return False

    # --- progress -------------------------------------------------------------------------

    def poll(self) -> None:
        """Publish the newest status of the experiment; a scan replaces one that found nothing."""
        newest = self._newest
        if newest is not None and newest.best is None and self._scans.under_way:
            newest = None
            self._show(None)
        if newest is not None and newest is not self._store.state.experiment:
            self._show(newest)

    def _take(self, status: ExperimentStatus) -> None:
        self._newest = status

    def _show(self, status: ExperimentStatus | None) -> None:
        self._newest = status
        self._store.publish(replace(self._store.state, experiment=status))

    # --- one experiment -------------------------------------------------------------------

    async def _begin(self) -> None:
        async with self._one_at_a_time:  # waits for the end of a cancelled one
            self._run = None
            self._show(None)
            try:
                planned = await self._planned()
                if planned is not None:
                    await self._make(*planned)
            except GuardtuiError as error:
                self._failed(str(error))
            except asyncio.CancelledError:
                self._failed("stopped", quiet=True)
                raise
            finally:
                self._store.show_scan(None)

    def _failed(self, problem: str, *, quiet: bool = False) -> None:
        """Show why the experiment has not come to its end."""
        if self._run is not None:
            self._show(replace(self._run.status, stopped=problem.partition("\n")[0]))
            self._preview.request()
        if not quiet:
            self._author.notify(problem, title=_WHO, severity="error", seconds=READING_TIME)

    async def _planned(self) -> _Planned | None:
        """Return the experiment that the author agreed to, or None. Raises GuardtuiError."""
        topic = await self._editing.finish_typing()
        prompts = self._workspace.prompts  # they may be changed during a question
        resumed = await asyncio.to_thread(self._unfinished, topic, prompts)
        if resumed is not None:
            answer = await self._author.ask(_resume_question(resumed))
            if answer is None:
                return None
            resumed = resumed if answer == "resume" else None
        if resumed is None:
            require_labels(topic, prompts)
        with self._store.step("reads the guardrail …", who=self._who):
            asked = await self.guardrails.asked(topic, prompts, resumed)
        if asked is None:
            return None
        if resumed is None:
            return await self._new(asked)
        design = design_of(resumed, prompts)
        columns = await asyncio.to_thread(self._log.verdicts, resumed)
        of_definition = columns.pop(0, None)
        answered = None
        if of_definition is not None:
            answered = resumed.evaluation(0, of_definition.verdicts())
        made = sum(int(np.count_nonzero(~column.not_asked)) for column in columns.values())
        limit = await self._limit(design, asked, answered, (), made)
        known = self._known(design, asked)
        if limit is None:
            return None
        return resumed, prompts, asked, resumed.calls + limit, known

    @property
    def _who(self) -> str:
        return display_start(self.guardrails.who, 40)

    async def _new(self, asked: AskedGuardrail) -> _Planned | None:
        draft = await self._wordings.begin(tried_on=asked.who)
        if draft is None:
            return None
        if draft.call is not None:
            with self._store.step("writes wordings …", who=draft.call.writer.title):
                await draft.write()
        topic, prompts, engine = draft.topic, draft.prompts, self._engine.scanner
        # A prompt that the writer was shown cannot tell how good its wording is.
        found = draft.written
        written = () if found is None else found.wordings
        left_out = () if found is None else found.shown.left_out
        given = (
            *draft.typed,
            *(replace(candidate, sources=(*candidate.sources, *left_out)) for candidate in written),
        )
        with self._store.step("chooses edits to try …"):
            candidates = await run_stoppable(
                lambda stopped: gathered(topic, prompts, given, engine, stopped=stopped)
            )
        design = Design(prompts, topic, candidates)
        known = self._known(design, asked)
        limit = await self._limit(design, asked, known, draft.notes)
        if limit is None:
            return None

        def added() -> ExperimentRecord:
            settings = asked.settings
            if known is not None:  # it names the model that answered
                settings = known.settings.titled(settings.guardrail.title)
            planned = design.within(limit, known).record(settings)
            return self._log.add(planned, None if known is None else known.verdicts)

        return await asyncio.to_thread(added), prompts, asked, limit, known

    def _known(self, design: Design, asked: AskedGuardrail) -> Evaluation | None:
        """Return the newest recorded scan of the definition by the guardrail."""
        evaluations = [iteration.evaluation for iteration in self._workspace.session.iterations]
        return recorded(evaluations, design.topic, asked.settings, design.prompts)

    async def _limit(
        self,
        design: Design,
        asked: AskedGuardrail,
        known: Evaluation | None,
        notes: tuple[str, ...],
        made: int = 0,
    ) -> int | None:
        """Ask the author for the limit of further calls; `made` are those about candidates."""

        def plan() -> ExperimentPlan:
            cached = None  # what a resumed one has made is in the cache too
            if not made:
                cached = asked.answering.cached(design.definitions, design.prompts)
            calls = _left(design.calls(known, cached), made)
            return ExperimentPlan(
                design.topic,
                design.candidates,
                asked.who,
                *calls,
                recorded=0 if known is None else known.metrics.total,
                cost=asked.cost(calls[0]),
                duration=asked.duration(len(design.candidates), calls[0]),
                changes="\n".join(asked.changes),
                notes=notes,
            )

        return await self._author.ask(await asyncio.to_thread(plan))

    async def _make(
        self,
        planned: ExperimentRecord,
        prompts: PromptSet,
        asked: AskedGuardrail,
        limit: int,
        known: Evaluation | None,
    ) -> None:
        async def scanned(evaluation: Evaluation) -> None:
            """Record the scan of the definition, unless it was complete before.

            The log keeps one of prompts that were changed meanwhile.
            """
            if self._workspace.prompts.fingerprint != evaluation.prompt_set:
                return
            if iteration_of(self._workspace.session, evaluation) is None and (
                known is None or known.metrics.missing
            ):
                if known is not None:  # its usage and topics stay
                    merged = known.verdicts.completed(evaluation.verdicts)
                    evaluation = replace(evaluation, verdicts=merged)
                await record(self._workspace, evaluation, known)
                self._store.publish(with_session(self._store.state, self._workspace))
                self._preview.request()

        template = asked.answering.stored_template
        if template is not None:
            await asyncio.to_thread(self._workspace.store.keep_template, *template)
        self._run = run = ExperimentRun(
            self._log, planned, prompts, asked.answering, show=self._take, scanned=scanned
        )
        status = await run.run(limit)
        self._show(status)
        self._preview.request()
        self._author.notify(
            f"{self._who}: {ended_text(status)}",
            severity="information" if status.ending is Ending.BETTER else "warning",
            seconds=READING_TIME,
        )


def _left(calls: Calls, made: int) -> tuple[int, int]:
    """Return the expected and the largest number of calls, without those that are `made`."""
    return max(1, calls.expected - made), max(1, calls.most - made)


def _resume_question(found: ExperimentRecord) -> ChooseAnswer:
    return ChooseAnswer(
        f"An experiment of this definition is unfinished: "
        f"{count_text(len(found.candidates), 'candidate')}, "
        f"{count_text(found.calls, 'call')} made.",
        (("g", "resume", "Go on"), ("w", "new", "A new one")),
    )


def made_text(status: ExperimentStatus) -> str:
    """Return the calls made, expected, and the most, in words."""
    if status.ending is not None:
        return f"{status.calls:,} calls"
    return f"{status.calls:,} of {calls_text(status.expected, status.most)}"


def ended_text(status: ExperimentStatus) -> str:
    """Return how an experiment ended, as a sentence."""
    tried = f"of {count_text(len(status.candidates), 'candidate')} in {made_text(status)}"
    if status.ending is Ending.BETTER and status.best is not None:
        low = status.candidates[status.best].standing.low or 0.0
        count = sum(candidate.standing.is_better for candidate in status.candidates)
        better = "1 edit is" if count == 1 else f"{count} edits are"
        best = "" if count == 1 else "the best "
        gain = f"{best}by at least {low:.3f} coverage on these prompts"
        return f"{better} shown to be better, {gain}, {tried}."
    if status.ending is not None:
        return f"{status.ending.value} {tried}; nothing is to be kept."
    return f"{status.stopped}; it can go on ({made_text(status)})."
