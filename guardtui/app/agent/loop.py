"""The loop of an agent on one topic: evaluate, read mistakes, compare, keep or discard.

An agent changes the topic file by a keep or a discard only, under the rules of the app, without its
questions: what the app would ask is refused, and left to the author.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guardtui.advice.candidates import Candidate
from guardtui.advice.measured_rows import TooFewPromptsError
from guardtui.advice.splits import SplitError
from guardtui.app.advice.ideas import Ideas, ranked_ideas
from guardtui.app.advice.refinement import Measure, open_measure
from guardtui.app.advice.wordings import typed_wording
from guardtui.app.agent.answers import (
    Answer,
    MistakeKind,
    brief_answer,
    experiment_answer,
    ideas_data,
    page_of,
)
from guardtui.app.agent.errors import WRITE, AgentError
from guardtui.app.agent.guardrail import CallBudget, loop_guardrail
from guardtui.app.agent.state import SessionState
from guardtui.app.editing.deciding import plateau_text
from guardtui.app.editing.iteration_decisions import IterationDecisions, unknown_number
from guardtui.app.experiments.headless import HeadlessExperiment, report_of
from guardtui.app.experiments.planning import Design, gathered
from guardtui.app.guardrails.named import ENGINE, NamedGuardrail
from guardtui.app.scan.recorded_forecast import recorded_forecast_before
from guardtui.app.scan.recording import EvaluatedFiles, record_evaluation
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.domain.operating_point import FITTED
from guardtui.domain.prompt_reading import AS_WRITTEN
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, violations
from guardtui.files.change_signature import change_signature
from guardtui.files.inputs import agreed_topic, disagreement
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.reports.base import ReportInput
from guardtui.reports.brief import TEXTS
from guardtui.reports.compared import compared_report
from guardtui.reports.history import KIND as HISTORY
from guardtui.reports.history import History
from guardtui.reports.json_data import document
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.chosen_thresholds import settings_of_session
from guardtui.session.evaluation_refs import of_session
from guardtui.session.experiments import ExperimentLog
from guardtui.session.session import Decision, Iteration, Recorder, Session
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore


class OutdatedError(AgentError):
    """A decision that was prepared on an older state of the session.

    `changes` are sentences; `answer` is the newer state for the agent.
    """

    def __init__(self, changes: Sequence[str], answer: Answer) -> None:
        self.answer = answer
        super().__init__(
            f"not decided: the session has changed since your last evaluation or look at the "
            f"history: {'; '.join(changes)}\n"
            "  consider that, and decide again: this answer has the newer state"
        )


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """The files of a loop: a topic and its prompts."""

    topic: Path
    prompts: Path


@dataclass(frozen=True, slots=True)
class Wording:
    """A description to try in an experiment, with examples unless they are the file's."""

    description: str
    examples: tuple[str, ...] | None = None


class AgentLoop:
    """Serves one agent; calls that evaluate or change something wait for each other.

    A cancelled call stops soon, and what it was paid for is kept. All methods raise GuardtuiError.
    """

    def __init__(
        self,
        files: AgentFiles,
        guardrail: NamedGuardrail = ENGINE,
        *,
        encoder: str | None = None,
        writes: bool = False,
        calls: int = 0,
    ) -> None:
        """With `writes`, evaluations are recorded and decided on; `calls` may be made in all.

        `encoder` is that of the engine, by default the author's, whose threshold is used too. Reads
        the files and settings, so that a fault of them is found before the agent begins.
        """
        self._files, self._writes = files, writes
        self._budget = CallBudget(calls)
        self._under_way: set[asyncio.Task[Answer]] = set()
        remembered = settings_of_session(files.topic).get("encoder")
        usual = remembered if remembered in ENCODERS else ENCODERS[0]
        self._engine = LocalScanner(encoder or usual, FITTED)
        self._one_at_a_time = asyncio.Lock()
        self._read: tuple[object, PromptSet] | None = None
        self._measure: tuple[tuple[object, ...], Measure] | None = None
        self._ideas_of: tuple[tuple[object, ...], Ideas | str] | None = None
        self._newest: ReportInput | None = None
        self._named = guardrail
        self._guardrail = loop_guardrail(
            guardrail, files.topic, self._engine, self._budget, writes=writes
        )
        topic, _ = self._inputs()
        self._seen = self._state(topic)[1]

    async def close(self) -> None:
        """Stop what is under way, and wait until it has ended."""
        for task in self._under_way:
            task.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way)
        await self._guardrail.close()

    # --- what the agent asks ----------------------------------------------------------------

    async def evaluate(
        self,
        name: str | None = None,
        description: str | None = None,
        examples: Sequence[str] | None = None,
        intent: str | None = None,
    ) -> Answer:
        """Measure a definition, whose missing fields are those of the topic file."""
        edits: dict[str, Any] = {"name": name, "description": description}
        if examples is not None:
            edits["examples"] = tuple(examples)
        given = {key: value for key, value in edits.items() if value is not None}
        return await self._apart(self._evaluate(given, intent))

    async def _evaluate(self, given: Mapping[str, Any], intent: str | None) -> Answer:
        own, prompts = await asyncio.to_thread(self._inputs)
        if intent not in (None, prompts.intent):
            raise AgentError(
                f"intent: the prompts are for a topic to {prompts.intent}\n"
                f"  omit it: the author changes it, in {self._files.topic}"
            )
        topic = own.model_copy(update=given)

        def so_far(evaluation: Evaluation) -> None:
            self._record(own, self._titled(evaluation), None)

        measured = await self._guardrail.evaluate(own, topic, prompts, so_far)
        report, changes = await asyncio.to_thread(
            self._recorded, own, self._titled(measured.evaluation), prompts
        )
        self._newest = report
        ideas = await self._ideas(topic, prompts)
        warnings = [
            *measured.warnings,
            *(f"AIRS would reject this definition: {one.message}" for one in violations(topic)),
        ]
        return (
            brief_answer(report, ideas) | _given(warnings=warnings, changes=changes) | self._calls
        )

    async def mistakes(
        self, kind: MistakeKind, page: int = 1, iteration: int | None = None
    ) -> Answer:
        """Return a page of the prompts of one kind, by default of the newest evaluation."""
        report = self._newest
        if iteration is not None:
            report = await asyncio.to_thread(self._report_of, iteration)
        if report is None:
            raise AgentError("nothing was evaluated yet\n  call evaluate, or name an iteration")
        return page_of(report, kind, page)

    async def compare(self, a: int, b: int) -> Answer:
        """Compare iteration `b` with `a` as its baseline."""
        topic = self._files.topic

        def compared() -> ReportInput:
            return compared_report(of_session(topic, str(a)), of_session(topic, str(b)))

        return brief_answer(await asyncio.to_thread(compared), None)

    async def ideas(self) -> Answer:
        """Return measured edits of the definition that was evaluated last, or of the topic file."""

        async def measured() -> Answer:
            own, prompts = await asyncio.to_thread(self._inputs)
            newest = self._newest
            ideas = await self._ideas(own if newest is None else newest.topic, prompts)
            return document("ideas", {}) | ideas_data(ideas) | {"texts": TEXTS}

        return await self._apart(measured())

    async def history(self) -> Answer:
        """Return the iterations, and the topic file's definition."""

        def read() -> Answer:
            topic, _ = self._inputs()
            session, self._seen = self._state(topic)
            path = self._files.topic
            store = SessionStore(path, reading=True) if has_session(path) else None
            experiments = [] if store is None else ExperimentLog(store).experiments()
            return document(HISTORY, History.of(session.iterations, session, experiments)) | {
                "definition": topic.model_dump(mode="json")
            }

        return await asyncio.to_thread(read)

    async def keep(self, iteration: int | None = None) -> Answer:
        """Keep an iteration, by default that of the newest evaluation; writes the topic file."""

        def keep(decisions: IterationDecisions, chosen: Iteration) -> Answer:
            if chosen.decision is Decision.KEEP:
                raise AgentError(
                    f"#{chosen.number} is kept already\n  only the author restores an earlier one"
                )
            decisions.require_progress(chosen)
            if decisions.overwrites:
                raise AgentError(
                    "not kept: the topic file has a definition that no iteration has, and it would "
                    "be overwritten\n  evaluate without arguments records it"
                )
            return self._decided(decisions, decisions.keep(chosen))

        return await self._decide(iteration, keep)

    async def discard(self, iteration: int | None = None) -> Answer:
        """Discard an iteration, by default that of the newest evaluation."""

        def discard(decisions: IterationDecisions, chosen: Iteration) -> Answer:
            decisions.restored_by_discarding(chosen)
            if objection := decisions.against_discarding(chosen):
                raise AgentError(
                    f"not discarded: {objection}\n"
                    "  leave it undecided: the author decides, or more labelled prompts"
                )
            discarded, _ = decisions.discard(chosen)
            return self._decided(decisions, discarded)

        return await self._decide(iteration, discard)

    async def experiment(self, wordings: Sequence[Wording] = ()) -> Answer:
        """Try wordings of the topic file's definition on the guardrail, or edits of the engine."""
        return await self._apart(self._experiment(wordings))

    # --- files ------------------------------------------------------------------------------

    def _inputs(self) -> tuple[Topic, PromptSet]:
        """Read the topic file, and the prompts if they have changed."""
        file = load_topic(self._files.topic)
        path = self._files.prompts
        key = change_signature(path), file.topic.intent
        if self._read is None or self._read[0] != key:
            self._read = key, load_prompts(path, file.topic.intent)
        prompts = self._read[1]
        topic = agreed_topic(file, prompts)
        if topic is None:
            raise disagreement(file, prompts)
        return topic, prompts

    def _state(self, topic: Topic) -> tuple[Session, SessionState]:
        """Return the session as it is on disk, and its state."""
        path = self._files.topic
        iterations: Sequence[Iteration] = ()
        pinned = None
        if has_session(path):
            store = SessionStore(path, reading=True)
            iterations, pinned = store.iterations(), store.pinned()
        prompts = None if self._read is None else self._read[1]
        session = Session(topic, iterations, pinned, prompts)
        return session, SessionState(session.marks, pinned, topic)

    # --- evaluations ------------------------------------------------------------------------

    def _titled(self, evaluation: Evaluation) -> Evaluation:
        return replace(evaluation, settings=evaluation.settings.titled(self._named.name))

    @property
    def _calls(self) -> Answer:
        """How many calls are left, of a guardrail that they are counted of."""
        return {"calls_left": self._budget.left} if self._guardrail.is_remote else {}

    def _record(
        self, own: Topic, evaluation: Evaluation, forecast: ForecastBefore | None
    ) -> int | None:
        """Record an evaluation if that is allowed; return its number."""
        if not self._writes or not evaluation.metrics.total:
            return None
        files = EvaluatedFiles(
            self._files.topic, self._files.prompts, AS_WRITTEN, self._guardrail.template
        )
        recorded, _ = record_evaluation(
            files, evaluation, forecast, Recorder.AGENT, is_own=evaluation.topic == own
        )
        return recorded.number

    def _recorded(
        self, own: Topic, evaluation: Evaluation, prompts: PromptSet
    ) -> tuple[ReportInput, tuple[str, ...]]:
        """Record an evaluation if that is allowed; return its report and what others changed."""
        forecast = None
        if self._writes and self._guardrail.is_remote:
            # This scan is not in the session yet, so this is the forecast before it.
            forecast = recorded_forecast_before(
                self._files.topic, evaluation, prompts, self._engine
            )
        number = self._record(own, evaluation, forecast)
        session, changes = self._looked(own, number)
        session.shown = evaluation.settings
        iteration = None if number is None else session.iteration(number)
        return self._report(session, evaluation, prompts, iteration), changes

    def _looked(self, own: Topic, number: int | None = None) -> tuple[Session, tuple[str, ...]]:
        """Return the session, and what others changed in it since the agent's last look.

        `number` is the iteration that was recorded or completed for the agent.
        """
        session, state = self._state(own)
        before = self._seen
        new = [one for one in session.iterations if one.number not in before.marks]
        mine = {one.number for one in new if one.by is Recorder.AGENT} | {number}
        known = {one: mark for one, mark in state.marks.items() if one in mine}
        self._seen = state
        return session, state.changes(replace(before, marks={**before.marks, **known}))

    def _report(
        self,
        session: Session,
        evaluation: Evaluation,
        prompts: PromptSet | None,
        iteration: Iteration | None,
    ) -> ReportInput:
        baseline = session.baseline if iteration is None else session.baseline_of(iteration)
        before = None if baseline is None else baseline.evaluation
        return ReportInput(
            topic=evaluation.topic,
            evaluation=evaluation,
            prompts=prompts,
            baseline=before,
            comparison=None if before is None else compare(before, evaluation),
            baseline_number=None if baseline is None else baseline.number,
            iteration=None if iteration is None else iteration.number,
        )

    def _report_of(self, number: int) -> ReportInput:
        topic, prompts = self._inputs()
        session, _ = self._state(topic)
        try:
            iteration = session.iteration(number)
        except KeyError:
            raise unknown_number(self._files.topic, number, session.iterations) from None
        session.shown = iteration.evaluation.settings
        return self._report(session, iteration.evaluation, prompts, iteration)

    async def _ideas(self, topic: Topic, prompts: PromptSet) -> Ideas | str:
        """Return measured edits, or why there are none."""

        def work(stopped: Callable[[], bool]) -> Ideas | str:
            known = self._measure
            subject = prompts, self._engine.threshold
            if known is None or known[0] != subject:
                try:
                    measure = open_measure(self._engine, prompts, stopped=stopped)
                except (SplitError, TooFewPromptsError) as problem:
                    return str(problem)
                if measure is None:
                    return "stopped"
                self._measure = known = subject, measure
            return ranked_ideas(topic, prompts, known[1].advised(topic, stopped), None)

        known = self._ideas_of
        if known is None or known[0] != (topic, prompts, self._engine.threshold):
            ideas = await run_stoppable(work)
            self._ideas_of = known = (topic, prompts, self._engine.threshold), ideas
        return known[1]

    # --- experiments ------------------------------------------------------------------------

    async def _experiment(self, wordings: Sequence[Wording]) -> Answer:
        own, prompts = await asyncio.to_thread(self._inputs)
        told: list[str] = []
        answering = self._guardrail.answering(own, told.append)
        if not self._writes:
            raise AgentError(
                "not begun: an experiment is stored in the session as it goes\n"
                f"  the author allows that when the server is started: {WRITE}"
            )
        who = self._named.title
        self._budget.require(1, who)
        experiment = HeadlessExperiment(self._files.topic, own, prompts, answering, Recorder.AGENT)
        typed = [_typed(own, wording, number) for number, wording in enumerate(wordings, start=1)]

        def planned(stopped: Callable[[], bool]) -> tuple[Evaluation | None, Design]:
            known = experiment.known()
            candidates = gathered(own, prompts, typed, self._engine, stopped=stopped)
            design = Design(prompts, own, candidates).within(self._budget.left, known)
            return known, design

        known, design = await run_stoppable(planned)
        self._budget.require(design.calls(known).least, who)
        record = await asyncio.to_thread(experiment.begun, design, known, self._named.name)
        run = experiment.run_of(record)
        try:
            status = await run.run(record.calls + self._budget.left)
        finally:
            self._budget.made += run.calls - record.calls
        proven = await asyncio.to_thread(experiment.record_proven, run)
        report = report_of(run, status, kept=proven is not None)
        _, changes = await asyncio.to_thread(self._looked, own)
        answer = experiment_answer(report, proven)
        return answer | _given(warnings=told, changes=changes) | self._calls

    # --- decisions --------------------------------------------------------------------------

    async def _decide(
        self, number: int | None, decide: Callable[[IterationDecisions, Iteration], Answer]
    ) -> Answer:
        """Decide on an iteration, unless the session is not as the agent knows it."""
        if not self._writes:
            raise AgentError(
                f"this server only reads\n  the author starts it with {WRITE} to let you decide"
            )

        def work() -> Answer:
            decisions = IterationDecisions(
                self._files.topic, self._files.prompts, by=Recorder.AGENT
            )
            session = decisions.session
            state = SessionState(session.marks, session.pinned, decisions.definition)
            if state != self._seen:
                before, self._seen = self._seen, state
                newer = map(session.iteration, state.newer(before))
                changes = state.changes(before) or ("an iteration was removed",)
                raise OutdatedError(
                    changes,
                    document(HISTORY, History.of(newer, session))
                    | {"definition": state.definition.model_dump(mode="json")},
                )
            newest = self._newest
            chosen = newest.iteration if number is None and newest is not None else number
            return decide(decisions, decisions.chosen(chosen))

        return await self._apart(asyncio.to_thread(work), stops=False)

    async def _apart(self, work: Coroutine[Any, Any, Answer], *, stops: bool = True) -> Answer:
        """Run one call at a time in a task of its own; cancelling the caller `stops` it, once.

        The caller need not stay until it has ended: a guardrail is put back meanwhile.
        """

        async def alone() -> Answer:
            async with self._one_at_a_time:
                return await work

        task = asyncio.create_task(alone())
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if stops:
                task.cancel()
            raise

    def _ended(self, task: asyncio.Task[Answer]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # the caller may be gone

    def _decided(self, decisions: IterationDecisions, decided: Iteration) -> Answer:
        session, definition = decisions.session, decisions.definition
        self._seen = SessionState(session.marks, session.pinned, definition)
        plateau = plateau_text(session)
        return (
            document(HISTORY, History.of([decided], session))
            | {"definition": definition.model_dump(mode="json")}
            | _given(warnings=[plateau] if plateau else [])
        )


def _typed(own: Topic, wording: Wording, number: int) -> Candidate:
    """Return a wording to try. Raises AgentError if it exceeds the limits."""
    edits: dict[str, Any] = {"description": wording.description}
    if wording.examples is not None:
        edits["examples"] = wording.examples
    topic = own.model_copy(update=edits)
    if broken := violations(topic):
        raise AgentError(f"wording {number}: {broken[0].message}\n  shorten or correct it")
    return typed_wording(topic, f"wording {number} of an agent")


def _given(**members: Sequence[str]) -> Answer:
    """Return the members that are not empty."""
    return {name: list(value) for name, value in members.items() if value}
