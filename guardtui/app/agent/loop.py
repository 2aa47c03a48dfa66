"""The loop of an agent on one topic: evaluate, read mistakes, compare, keep or discard.

An agent changes the topic file by a keep or a discard only, under the rules of the app, without its
questions: what the app would ask is refused, and left to the author.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from guardtui.advice.candidates import Candidate
from guardtui.advice.experiment import ALPHA
from guardtui.app.advice.wordings import typed_wording
from guardtui.app.agent.errors import WRITE, AgentError
from guardtui.app.agent.guardrail import CallBudget, loop_guardrail
from guardtui.app.agent.state import SessionState
from guardtui.app.briefing import with_ideas
from guardtui.app.editing.deciding import plateau_text
from guardtui.app.editing.iteration_decisions import IterationDecisions, unknown_number
from guardtui.app.experiments.headless import HeadlessExperiment
from guardtui.app.experiments.planning import Design, gathered
from guardtui.app.guardrails.named import ENGINE, NamedGuardrail
from guardtui.app.scan.recorded_forecast import recorded_forecast_before
from guardtui.app.scan.recording import EvaluatedFiles, record_evaluation
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.domain.operating_point import FITTED
from guardtui.domain.prompt_reading import Reading
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import TOTAL_BYTES, Topic, line_breaks, total_bytes, violations
from guardtui.files.change_signature import change_signature
from guardtui.files.inputs import agreed_topic, disagreement
from guardtui.files.json_rows import holds_lone_surrogate
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.reports.base import PageRequest, ReportInput
from guardtui.reports.brief import brief
from guardtui.reports.compared import compared_report
from guardtui.reports.experiment import ExperimentReport, by_gain
from guardtui.reports.history import KIND as HISTORY
from guardtui.reports.history import History
from guardtui.reports.json_data import document
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.chosen_thresholds import settings_of_session
from guardtui.session.evaluation_refs import of_session
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.prompt_file import usual_reading
from guardtui.session.session import Decision, Iteration, Recorder, Session
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore, StoreError

Answer: TypeAlias = dict[str, Any]
"""A JSON document."""

MistakeKind: TypeAlias = Literal["fp", "fn", "broke", "fixed"]

_LARGEST = 10 * TOTAL_BYTES
"""Bytes of a definition that is measured: one beyond the limits by mistake may be, but each call of
a model has all of it."""

_CANDIDATES = 10
"""Candidates of an experiment in its answer."""


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
    """The files of a loop: a topic and its prompts, which are read as they were last by default."""

    topic: Path
    prompts: Path
    reading: Reading | None = None

    @property
    def prompt_reading(self) -> Reading:
        """How the prompts are read."""
        return self.reading or usual_reading(self.topic, self.prompts)


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
        topic = _edited(own, given, "evaluate")

        def so_far(evaluation: Evaluation) -> None:
            with contextlib.suppress(StoreError):  # the verdicts are cached
                self._record(self._titled(evaluation), None)

        measured = await self._guardrail.evaluate(own, topic, prompts, so_far)
        report, more = await asyncio.to_thread(
            self._recorded, own, self._titled(measured.evaluation), prompts
        )
        self._newest = report
        warnings = [*measured.warnings, *more.pop("warnings", ())]
        return brief(report) | _given(warnings=warnings) | more | self._calls

    async def mistakes(
        self, kind: MistakeKind, page: int = 1, iteration: int | None = None
    ) -> Answer:
        """Return a page of the prompts of one kind, by default of the newest evaluation."""
        report = self._newest
        if iteration is not None:
            report = await asyncio.to_thread(self._report_of, iteration)
        if report is None:
            raise AgentError("nothing was evaluated yet\n  call evaluate, or name an iteration")
        return brief(replace(report, page=PageRequest(kind, page)))

    async def compare(self, a: int, b: int) -> Answer:
        """Compare iteration `b` with `a` as its baseline."""
        topic = self._files.topic

        def compared() -> ReportInput:
            before, after = (of_session(topic, str(number)) for number in (a, b))
            return replace(compared_report(before, after), iteration=b)

        return brief(await asyncio.to_thread(compared))

    async def ideas(self) -> Answer:
        """Return measured edits of the definition that was evaluated last, or of the topic file."""

        async def measured() -> Answer:
            report = self._newest
            if report is None:
                own, prompts = await asyncio.to_thread(self._inputs)
                evaluation = await self._engine.evaluate(own, prompts, lambda progress: None)
                session, _ = await asyncio.to_thread(self._state, own)
                report = await asyncio.to_thread(
                    self._report, session, evaluation, prompts, None, ideas=True
                )
            known = brief(report)
            return document("ideas", {name: known[name] for name in ("ideas", "no_ideas", "texts")})

        return await self._apart(measured())

    async def history(self, newest: int = 20) -> Answer:
        """Return the newest iterations, how many there are, and the topic file's definition."""

        def read() -> Answer:
            topic, _ = self._inputs()
            session, self._seen = self._state(topic)
            path = self._files.topic
            experiments: Sequence[ExperimentRecord] = ()
            if has_session(path):
                experiments = ExperimentLog(SessionStore(path, reading=True)).experiments()
            history = History.of(session.iterations[-newest:], session, experiments[-newest:])
            return document(HISTORY, history) | {
                "recorded": len(session.iterations),
                "definition": topic.model_dump(mode="json"),
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
            decisions.require_no_gain(chosen)
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
        reading = self._files.prompt_reading
        key = change_signature(path), file.topic.intent, reading
        if self._read is None or self._read[0] != key:
            self._read = key, load_prompts(path, file.topic.intent, reading)
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

    def _record(self, evaluation: Evaluation, forecast: ForecastBefore | None) -> int | None:
        """Record an evaluation if that is allowed; return its number."""
        if not self._writes or not evaluation.metrics.total:
            return None
        files = EvaluatedFiles(
            self._files.topic,
            self._files.prompts,
            self._files.prompt_reading,
            self._guardrail.template,
        )
        recorded, _ = record_evaluation(files, evaluation, forecast, Recorder.AGENT)
        return recorded.number

    def _recorded(
        self, own: Topic, evaluation: Evaluation, prompts: PromptSet
    ) -> tuple[ReportInput, Answer]:
        """Record an evaluation if that is allowed.

        Returns its report, and members of the answer: what others changed, and why it could not be
        recorded, though it may have been paid for.
        """
        number, problems = None, []
        forecast = None
        if self._writes and self._guardrail.is_remote:
            # This scan is not in the session yet, so this is the forecast before it.
            forecast = recorded_forecast_before(
                self._files.topic, evaluation, prompts, self._engine
            )
        try:
            number = self._record(evaluation, forecast)
        except StoreError as problem:
            problems = [f"not recorded: {problem}"]
        session, changes = self._looked(own, number)
        session.shown = evaluation.settings
        iteration = None if number is None else session.iteration(number)
        report = self._report(session, evaluation, prompts, iteration, ideas=True)
        return report, _given(warnings=problems, changes=changes)

    def _looked(self, own: Topic, number: int | None = None) -> tuple[Session, tuple[str, ...]]:
        """Return the session, and what others changed in it since the agent's last look.

        `number` is the iteration that was recorded or completed for the agent.
        """
        session, state = self._state(own)
        before = self._seen
        new = [
            iteration for iteration in session.iterations if iteration.number not in before.marks
        ]
        mine = {iteration.number for iteration in new if iteration.by is Recorder.AGENT} | {number}
        known = {key: mark for key, mark in state.marks.items() if key in mine}
        self._seen = state
        return session, state.changes(replace(before, marks={**before.marks, **known}))

    def _report(
        self,
        session: Session,
        evaluation: Evaluation,
        prompts: PromptSet | None,
        iteration: Iteration | None,
        *,
        ideas: bool = False,
    ) -> ReportInput:
        baseline = session.baseline if iteration is None else session.baseline_of(iteration)
        before = None if baseline is None else baseline.evaluation
        report = ReportInput(
            topic=evaluation.topic,
            evaluation=evaluation,
            prompts=prompts,
            baseline=before,
            comparison=None if before is None else compare(before, evaluation),
            baseline_number=None if baseline is None else baseline.number,
            iteration=None if iteration is None else iteration.number,
            by=None if iteration is None else iteration.by,
        )
        return with_ideas(report, self._files.topic, session, self._engine) if ideas else report

    def _report_of(self, number: int) -> ReportInput:
        topic, prompts = self._inputs()
        session, _ = self._state(topic)
        try:
            iteration = session.iteration(number)
        except KeyError:
            raise unknown_number(self._files.topic, number, session.iterations) from None
        session.shown = iteration.evaluation.settings
        return self._report(session, iteration.evaluation, prompts, iteration)

    # --- experiments ------------------------------------------------------------------------

    async def _experiment(self, wordings: Sequence[Wording]) -> Answer:
        own, prompts = await asyncio.to_thread(self._inputs)
        told: list[str] = []
        if self._guardrail.is_remote and not self._writes:
            raise AgentError(
                "not begun: an experiment is stored in the session as it goes\n"
                f"  the author allows that when the server is started: {WRITE}"
            )
        answering = await self._guardrail.answering(own, told.append)
        who = self._named.title
        self._budget.require(1, who)
        files = EvaluatedFiles(self._files.topic, self._files.prompts, self._files.prompt_reading)
        experiment = HeadlessExperiment(files, own, prompts, answering, Recorder.AGENT)
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
            self._budget.made += run.calls - record.calls + answering.probes
        better = await asyncio.to_thread(experiment.record_better, run, kept=False)
        report = experiment.report_of(run, status, kept=False)
        _, changes = await asyncio.to_thread(self._looked, own)
        answer = _experiment_answer(report, better)
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
                newer = [session.iteration(changed) for changed in state.newer(before)]
                changes = state.changes(before) or ("an iteration was removed",)
                raise OutdatedError(
                    changes,
                    document(HISTORY, History.of(newer, session))
                    | {"definition": state.definition.model_dump(mode="json")},
                )
            chosen, newest = number, self._newest
            if chosen is None and newest is not None:
                chosen = newest.iteration
                if chosen is None:  # not the topic file's own instead
                    raise AgentError(
                        "not decided: the newest evaluation is not recorded\n"
                        "  evaluate again, or name an iteration"
                    )
            return decide(decisions, decisions.chosen(chosen))

        return await self._apart(asyncio.to_thread(work), stops=False)

    async def _apart(self, work: Coroutine[Any, Any, Answer], *, stops: bool = True) -> Answer:
        """Run one call at a time in a task of its own; cancelling the caller `stops` it, once.

        The caller need not stay until it has ended: a guardrail is put back meanwhile.
        """

        async def alone() -> Answer:
            try:
                async with self._one_at_a_time:
                    return await work
            finally:
                work.close()  # if it was cancelled before its turn

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
        warnings = filter(None, (plateau_text(session), self._guardrail.kept_by(definition)))
        return (
            document(HISTORY, History.of([decided], session))
            | {"definition": definition.model_dump(mode="json")}
            | _given(warnings=list(warnings))
        )


def _experiment_answer(report: ExperimentReport, better: Iteration | None) -> Answer:
    """Return the result of an experiment; `better` is the iteration of a better candidate."""
    tried = [
        {
            "name": name,
            "origin": candidate.origin,
            "verdicts": known.answers,
            "gain": known.gain,
            "low": known.low,
        }
        for _, name, candidate, known in by_gain(report)[:_CANDIDATES]
    ]
    data = {
        "better": better is not None,
        "iteration": None if better is None else better.number,
        "definition": None if better is None else better.evaluation.topic,
        "ending": None if report.ending is None else str(report.ending),
        "stopped": report.stopped or None,
        "calls": report.calls,
        "confidence": 1 - ALPHA,
        "candidates_tried": len(report.candidates),
        "candidates": tried,
    }
    return document("experiment-brief", data)


def _typed(own: Topic, wording: Wording, number: int) -> Candidate:
    """Return a wording to try. Raises AgentError if it exceeds the limits."""
    edits: dict[str, Any] = {"description": wording.description}
    if wording.examples is not None:
        edits["examples"] = wording.examples
    topic = _edited(own, edits, f"wording {number}")
    if broken := violations(topic):
        raise AgentError(f"wording {number}: {broken[0].message}\n  shorten or correct it")
    return typed_wording(topic, f"wording {number} of an agent")


def _edited(own: Topic, edits: Mapping[str, Any], what: str) -> Topic:
    """Return an edited definition. Raises AgentError if no topic file could have it."""
    topic = own.model_copy(update=edits)
    if topic == own:
        return own
    texts = (topic.name, topic.description, *topic.examples)
    if any(map(holds_lone_surrogate, texts)):
        raise AgentError(
            f"{what}: a text holds half of a surrogate pair, which is not a character\n  remove it"
        )
    if broken := line_breaks(topic):
        raise AgentError(f"{what}: {broken[0].message}\n  the app edits it in one line")
    if (used := total_bytes(topic)) > _LARGEST:
        raise AgentError(f"{what}: {used:,} bytes together\n  at most {_LARGEST:,} are measured")
    return topic


def _given(**members: Sequence[str]) -> Answer:
    """Return the members that are not empty."""
    return {name: list(value) for name, value in members.items() if value}
