"""Trials of many wordings on the decision model of a session."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace

from guardtui.advice.candidates import Candidate
from guardtui.advice.model_objective import CHOSEN_ON, WordingSweep, sweep_wordings
from guardtui.advice.model_wordings import Shown, SuggestionError, shown_mistakes
from guardtui.advice.proposals import Proposal
from guardtui.advice.splits import Split, SplitError, split_prompts
from guardtui.app.connections import Connections
from guardtui.app.editing import Editing
from guardtui.app.engine import Engine
from guardtui.app.ports import Author, ChooseAnswer, Question
from guardtui.app.problems import READING_TIME
from guardtui.app.scan import Scans
from guardtui.app.state import Store
from guardtui.app.stoppable import run_stoppable
from guardtui.app.wording_requests import WordingRequests
from guardtui.app.wording_sources import (
    WORDINGS,
    gather_wordings,
    questions_about,
    shortlist,
    typed_wordings,
)
from guardtui.app.wording_writer import WriterError, WritingCall
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report
from guardtui.scanners.decision.many import ManyPlan
from guardtui.scanners.decision.options import DecisionOptions
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.verdict_cache import SqliteVerdicts
from guardtui.session.workspace import Workspace

NO_DECISION_MODEL = "No decision model is named: start with --scanner decision --model URL#NAME."

_ASK = "ask"


class WordingRunError(GuardtuiError):
    """Wordings cannot be tried; the message is for the author."""


@dataclass(frozen=True, eq=False)
class WordingPlan(Question[bool]):
    """Question whether to try these wordings of a topic, the first of which is the topic itself.

    `cost` is the cost in words; `notes` say why a writer has no wordings, or fewer.
    """

    topic: Topic
    wordings: tuple[Candidate, ...]
    cost: str
    notes: tuple[str, ...]


@dataclass(eq=False)
class WordingDraft:
    """A trial before its plan: typed wordings, and the call to a writer if the author agreed.

    `notes` say why the writer has no wordings, or fewer.
    """

    options: DecisionOptions
    fresh: bool
    topic: Topic
    prompts: PromptSet
    split: Split
    typed: tuple[Candidate, ...]
    call: WritingCall | None = None
    written: tuple[Candidate, ...] = ()
    notes: tuple[str, ...] = ()

    async def write(self) -> None:
        """Make the call; a failed or cancelled one leaves a note."""
        call = self.call
        if call is None:
            return
        self.notes = (f"{call.writer.title}: cancelled",)
        try:
            written = await call.wordings()
        except WriterError as error:
            self.notes = (str(error),)
            return
        self.written = written.wordings
        self.notes = tuple(f"{call.writer.title}: {problem}" for problem in written.invalid)


@dataclass(frozen=True, eq=False)
class WordingRun:
    """An agreed trial of wordings, with its plan."""

    options: DecisionOptions
    fresh: bool
    topic: Topic
    prompts: PromptSet
    split: Split
    wordings: tuple[Candidate, ...]
    plan: ManyPlan

    async def run(self, report: Report) -> WordingSweep:
        """Make the requests and choose; a cancelled run keeps its answers. Raises ScannerError."""
        with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
            scanner = self.options.scanner(cache, fresh=self.fresh)
            questions = questions_about(
                scanner, self.wordings, self.prompts, self.options.questions_at_once
            )
            answers = await questions.run(report)
            settings = replace(scanner.settings, threshold=None, threshold_source="")
        return await asyncio.to_thread(
            sweep_wordings,
            self.wordings,
            answers.probabilities,
            self.prompts,
            self.split,
            settings,
        )


class WordingRuns:
    """Prepares runs for the current definition, and applies their results."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        engine: Engine,
        editing: Editing,
        connections: Connections,
        scans: Scans,
        author: Author,
    ) -> None:
        self._store, self._workspace, self._engine = store, workspace, engine
        self._editing, self._connections, self._author = editing, connections, author
        self._scans = scans
        self._requests = WordingRequests(connections, author)

    @property
    def refusal(self) -> str:
        """Why no wordings can be tried, or ""."""
        return NO_DECISION_MODEL if self._connections.options.decision is None else ""

    async def begin(self) -> WordingDraft | None:
        """Ask the author for own wordings and a writer; None if dismissed.

        The author also agrees to a call to the writer, which is not made yet. Raises
        WordingRunError, ScannerError and StoreError.
        """
        options = self._connections.options.decision
        if options is None:
            raise WordingRunError(NO_DECISION_MODEL)
        topic = await self._editing.finish_typing()
        prompts = self._workspace.prompts
        try:
            split = split_prompts(prompts, CHOSEN_ON)
        except SplitError as error:
            raise WordingRunError(str(error)) from error
        request = await self._requests.ask(WORDINGS - 1)
        if request is None:
            return None
        typed = tuple(typed_wordings(request.text, topic, "as typed"))
        fresh = self._connections.options.fresh
        draft = WordingDraft(options, fresh, topic, prompts, split, typed)
        if request.writer and not await self._add_call(draft):
            return None
        return draft

    async def _add_call(self, draft: WordingDraft) -> bool:
        """Add a call to the writer if it is possible and the author agrees; False if dismissed."""
        writer = self._connections.options.wording_model
        assert writer is not None  # noqa: S101 - it was requested
        try:
            with self._store.step("looks for mistakes …"):
                shown = await self._mistakes(draft)
        except SuggestionError as error:
            draft.notes = (f"{writer.title} was not asked: {error}",)
            return True
        call = await asyncio.to_thread(WritingCall, writer, draft.topic, shown, fresh=draft.fresh)
        answer: str | None = _ASK
        if not call.is_cached:
            answer = await self._author.ask(
                ChooseAnswer(
                    f"Ask {writer.title} for wordings?\nIt is sent {call.sent_text}: "
                    f"{call.cost_text}.",
                    (("a", _ASK, "Ask it"), ("w", "without", "Without it")),
                )
            )
        if answer == _ASK:
            draft.call = call
        return answer is not None

    async def _mistakes(self, draft: WordingDraft) -> Shown:
        """Return mistakes on the prompts to choose on, by the shown evaluation or the engine.

        Raises SuggestionError and ScannerError.
        """
        topic, prompts, engine = draft.topic, draft.prompts, self._engine.scanner
        shown = self._store.state.evaluation
        if (
            shown is not None
            and shown.key.same_subject(topic, prompts.fingerprint)
            and not shown.is_of_a_part
            and not shown.metrics.open
        ):
            return shown_mistakes(shown, prompts, draft.split.search_rows)
        measured = await run_stoppable(
            lambda stopped: engine.evaluate_now(topic, prompts, stopped=stopped)
        )
        assert measured is not None  # noqa: S101 - only a cancelled task stops it
        return shown_mistakes(measured, prompts, draft.split.search_rows)

    async def prepare(self, draft: WordingDraft) -> WordingRun | None:
        """Search other wordings and ask whether to try all of them; None if the author declines.

        Raises WordingRunError and ScannerError.
        """
        options, topic, prompts = draft.options, draft.topic, draft.prompts
        engine, given = self._engine.scanner, len(draft.typed) + len(draft.written)
        with self._store.step("searches for wordings …"):
            edits = await run_stoppable(
                lambda stopped: shortlist(
                    engine, topic, prompts, draft.split, WORDINGS - 1 - given, stopped=stopped
                )
            )
            wordings = gather_wordings(topic, draft.typed, draft.written, edits, WORDINGS)
            if len(wordings) < 2:
                reason = "; ".join(draft.notes) or "see the ⚠ below the fields"
                raise WordingRunError(f"No other wordings to try: {reason}.")

            def planned() -> ManyPlan:
                # An SQLite connection belongs to one thread.
                with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
                    scanner = options.scanner(cache, fresh=draft.fresh)
                    at_once = options.questions_at_once
                    return questions_about(scanner, wordings, prompts, at_once).plan()

            plan = await asyncio.to_thread(planned)
        run = WordingRun(options, draft.fresh, topic, prompts, draft.split, tuple(wordings), plan)
        if plan.requests:
            question = WordingPlan(topic, run.wordings, _cost_text(draft, run), draft.notes)
            return run if await self._author.ask(question) else None
        for note in draft.notes:
            self._author.notify(note, title="Wordings", severity="warning", seconds=READING_TIME)
        return run

    def apply(self, chosen: Proposal, sweep: WordingSweep) -> None:
        """Make a wording the definition, and set its threshold for the model that answered.

        The threshold is stored in the session.
        """
        self._editing.replace(chosen.topic)
        self._scans.use_threshold_of(sweep.settings.guardrail, chosen.threshold)


def _cost_text(draft: WordingDraft, run: WordingRun) -> str:
    """Return the number of wordings by origin, and requests, tokens and cost."""
    plan, options = run.plan, run.options
    typed, written = (
        sum(wording in some for wording in run.wordings) for some in (draft.typed, draft.written)
    )
    counts = {"typed": typed}
    if draft.call is not None:
        counts[f"written by {draft.call.writer.title}"] = written
    counts["searched"] = len(run.wordings) - 1 - typed - written
    origins = [f"{count} {origin}" for origin, count in counts.items() if count]
    text = (
        f"Try {len(run.wordings)} wordings on {options.title}: the definition, "
        f"{', '.join(origins)}.\n{count_text(plan.requests, 'request')} for "
        f"{count_text(len(run.prompts), 'prompt')}, about {plan.tokens:,} tokens"
    )
    if options.prices is not None and (cost := options.prices.of(plan.tokens, 0)):
        text += f" for {cost:.4g}"
    if plan.known:
        text += f"; {plan.known:,} answers are known"
    return f"{text}."
