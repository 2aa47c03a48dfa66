"""The loop of an agent on one topic: evaluate, read mistakes, compare, keep or discard.

An agent changes the topic file by a keep or a discard only, under the rules of the app, without its
questions: what the app would ask is refused, and left to the author.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guardtui.advice.measured_rows import TooFewPromptsError
from guardtui.advice.splits import SplitError
from guardtui.app.advice.ideas import Ideas, ranked_ideas
from guardtui.app.advice.refinement import Measure, open_measure
from guardtui.app.agent.answers import TEXTS, Answer, MistakeKind, brief, ideas_data, page_of
from guardtui.app.agent.state import SessionState
from guardtui.app.editing.deciding import plateau_text
from guardtui.app.editing.iteration_decisions import IterationDecisions, unknown_number
from guardtui.app.scan.recording import EvaluatedFiles, record_evaluation
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.comparison import compare
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import BY_HAND, FITTED, SHIPPED
from guardtui.domain.prompt_reading import AS_WRITTEN
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic, describe_changes, violations
from guardtui.files.change_signature import change_signature
from guardtui.files.inputs import agreed_topic, disagreement
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.reports.base import ReportInput
from guardtui.reports.compared import compared_report
from guardtui.reports.history import KIND as HISTORY
from guardtui.reports.history import History, HistoryEntry
from guardtui.reports.json_data import document
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.chosen_thresholds import settings_of_session, wanted_threshold
from guardtui.session.evaluation_refs import of_session
from guardtui.session.series import series_of
from guardtui.session.session import Iteration, Recorder, Session
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore

WRITE = "--allow-write"


class AgentError(GuardtuiError):
    """A request of an agent that is refused; the message has the remedy."""

    exit_code = 2


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


class AgentLoop:
    """Serves one agent; calls that evaluate or change something wait for each other.

    All methods raise GuardtuiError.
    """

    def __init__(
        self, files: AgentFiles, *, encoder: str | None = None, writes: bool = False
    ) -> None:
        """With `writes`, evaluations are recorded and decided on.

        `encoder` is that of the engine, by default the author's, whose threshold is used too.

        Reads both files, so that a fault of them is found before the agent begins.
        """
        self._files, self._writes = files, writes
        remembered = settings_of_session(files.topic).get("encoder")
        usual = remembered if remembered in ENCODERS else ENCODERS[0]
        self._engine = LocalScanner(encoder or usual, FITTED)
        self._one_at_a_time = asyncio.Lock()
        self._read: tuple[object, PromptSet] | None = None
        self._measure: tuple[tuple[object, ...], Measure] | None = None
        self._newest: ReportInput | None = None
        topic, _ = self._inputs()
        self._seen = self._state(topic)[1]

    # --- what the agent asks ----------------------------------------------------------------

    async def evaluate(
        self,
        name: str | None = None,
        description: str | None = None,
        examples: Sequence[str] | None = None,
        intent: str | None = None,
    ) -> Answer:
        """Measure a definition, whose missing fields are those of the topic file."""
        async with self._one_at_a_time:
            own, prompts = await asyncio.to_thread(self._inputs, intent)
            edits = {"name": name, "description": description}
            given: dict[str, Any] = {key: text for key, text in edits.items() if text is not None}
            if examples is not None:
                given["examples"] = tuple(examples)
            topic = own.model_copy(update=given)
            await asyncio.to_thread(self._follow_author)
            evaluation = await self._engine.evaluate(topic, prompts, lambda progress: None)
            report, changes = await asyncio.to_thread(self._recorded, own, evaluation, prompts)
            self._newest = report
            ideas = await self._ideas(topic, prompts)
        warnings = [
            f"AIRS would reject this definition: {broken.message}" for broken in violations(topic)
        ]
        return brief(report, ideas) | _given(warnings=warnings, changes=changes)

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

        return brief(await asyncio.to_thread(compared), None)

    async def ideas(self) -> Answer:
        """Return measured edits of the definition that was evaluated last, or of the topic file."""
        async with self._one_at_a_time:
            own, prompts = await asyncio.to_thread(self._inputs)
            newest = self._newest
            ideas = await self._ideas(own if newest is None else newest.topic, prompts)
        return document("ideas", {}) | ideas_data(ideas) | {"texts": TEXTS}

    async def history(self) -> Answer:
        """Return the iterations, and the topic file's definition."""

        def read() -> Answer:
            topic, _ = self._inputs()
            session, self._seen = self._state(topic)
            return document(HISTORY, History.of(session.iterations)) | {
                "definition": topic.model_dump(mode="json")
            }

        return await asyncio.to_thread(read)

    async def keep(self, iteration: int | None = None) -> Answer:
        """Keep an iteration, by default that of the newest evaluation; writes the topic file."""

        def keep(decisions: IterationDecisions, chosen: Iteration) -> Answer:
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

    # --- files ------------------------------------------------------------------------------

    def _inputs(self, intent: str | None = None) -> tuple[Topic, PromptSet]:
        """Read the topic file, and the prompts if they have changed."""
        file = load_topic(self._files.topic)
        if intent is not None:
            file = replace(
                file.with_topic(file.topic.model_copy(update={"intent": Intent(intent)})),
                intent_given=True,
            )
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

    def _follow_author(self) -> None:
        """Use the threshold that the author has chosen for the engine."""
        settings = settings_of_session(self._files.topic)
        wanted = wanted_threshold(settings)
        if isinstance(wanted, float) and settings.get("encoder") == self._engine.encoder_name:
            self._engine.use_threshold(wanted, str(settings.get("threshold_source", BY_HAND)))
        else:
            self._engine.use_threshold(None if wanted == SHIPPED else FITTED)

    # --- evaluations ------------------------------------------------------------------------

    def _recorded(
        self, own: Topic, evaluation: Evaluation, prompts: PromptSet
    ) -> tuple[ReportInput, tuple[str, ...]]:
        """Record an evaluation if that is allowed; return its report and what others changed."""
        files = EvaluatedFiles(self._files.topic, self._files.prompts, AS_WRITTEN)
        number = None
        if self._writes:
            recorded, _ = record_evaluation(
                files, evaluation, by=Recorder.AGENT, is_own=evaluation.topic == own
            )
            number = recorded.number
        session, state = self._state(own)
        before = self._seen
        if number is not None and number not in before.marks:
            before = replace(before, marks={**before.marks, number: state.marks[number]})
        changes = state.changes(before)
        self._seen = state
        session.shown = evaluation.settings
        iteration = None if number is None else session.iteration(number)
        return self._report(session, evaluation, prompts, iteration), changes

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
            series=series_of(session.iterations, session.best),
            changes=describe_changes(before.topic, evaluation.topic) if before else (),
            name="" if iteration is None else str(iteration.number),
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

        return await run_stoppable(work)

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
                newer = [HistoryEntry.of(session.iteration(one)) for one in state.newer(before)]
                changes = state.changes(before) or ("an iteration was removed",)
                raise OutdatedError(
                    changes,
                    document(HISTORY, History(tuple(newer)))
                    | {"definition": state.definition.model_dump(mode="json")},
                )
            newest = self._newest
            if number is None and newest is not None and newest.name:
                return decide(decisions, decisions.chosen(int(newest.name)))
            return decide(decisions, decisions.chosen(number))

        async with self._one_at_a_time:
            return await _whole(work)

    def _decided(self, decisions: IterationDecisions, decided: Iteration) -> Answer:
        session, definition = decisions.session, decisions.definition
        self._seen = SessionState(session.marks, session.pinned, definition)
        plateau = plateau_text(session)
        return (
            document(HISTORY, History.of([decided]))
            | {"definition": definition.model_dump(mode="json")}
            | _given(warnings=[plateau] if plateau else [])
        )


async def _whole(work: Callable[[], Answer]) -> Answer:
    """Run what writes in a thread, to its end even if the agent cancels the call."""
    task: Awaitable[Answer] = asyncio.ensure_future(asyncio.to_thread(work))
    return await asyncio.shield(task)


def _given(**members: Sequence[str]) -> Answer:
    """Return the members that are not empty."""
    return {name: list(value) for name, value in members.items() if value}
