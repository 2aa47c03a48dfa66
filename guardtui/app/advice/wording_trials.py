"""Trials of wordings: the author's own and a writer model's, measured like other edits."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace

from guardtui.advice.candidates import Candidate
from guardtui.advice.model_objective import CHOSEN_ON, ERROR, WordingSweep, sweep_wordings
from guardtui.advice.model_wordings import Shown, SuggestionError, shown_mistakes
from guardtui.advice.objective import Rows, Stopped
from guardtui.advice.proposals import Proposal, propose_wordings
from guardtui.advice.splits import Split, SplitError, split_prompts
from guardtui.app.advice.refinement import Measure, Refinements
from guardtui.app.advice.wordings import (
    WORDINGS,
    WriterError,
    WritingCall,
    gather_wordings,
    questions_about,
    shortlist,
    typed_wordings,
)
from guardtui.app.context import Context
from guardtui.app.guardrails.choice import BEFORE, with_writer
from guardtui.app.guardrails.connections import Connections
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.ports import ChooseAnswer, Question
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import Guardrail, guardrail_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import cache_folder
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.many import ManyAnswers, ManyPlan
from guardtui.scanners.session_keys import model_account, why_no_keyring
from guardtui.session.caches import SqliteVerdicts

_ASK = "ask"


class WordingError(GuardtuiError):
    """Wordings cannot be tried; the message is for the author."""


# --- questions to the author --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WordingRequest:
    """The author's descriptions, one a line, and a writer as URL#name; each may be "".

    `key` was typed for the writer ("" for the configured one); `keep` stores it in the keyring.
    """

    text: str = ""
    writer: str = ""
    key: str = field(default="", repr=False)
    keep: bool = False


@dataclass(frozen=True, slots=True)
class TypeWordings(Question[WordingRequest]):
    """A question for the author's own descriptions, and the language model that writes more.

    `others` is the maximum number of further wordings on a decision model, 0 without one. `offered`
    is the initial answer, with the origins of its writer and of the writer's key. `no_keyring` is
    why a key cannot be stored, `problem` why the last answer was invalid; each may be "".
    """

    others: int
    offered: WordingRequest = WordingRequest()
    origin: str = ""
    key_origin: str = ""
    no_keyring: str = ""
    problem: str = ""


@dataclass(frozen=True, eq=False)
class WordingPlan(Question[bool]):
    """Question whether to try these wordings of a topic, the first of which is the topic itself.

    `cost` is the cost in words; `notes` say why a writer has no wordings, or fewer.
    """

    topic: Topic
    wordings: tuple[Candidate, ...]
    cost: str
    notes: tuple[str, ...]


# --- a trial ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeasuredWordings:
    """Wordings of `topic` as proposals, by descending lower bound.

    They are measured by `measure`, or without one by the decision model `guardrail`. `notes`
    say how, and which wordings were invalid.
    """

    topic: Topic
    proposals: tuple[Proposal, ...]
    notes: tuple[str, ...]
    measure: Measure | None = None
    guardrail: Guardrail | None = None

    def serves(self, topic: Topic, measure: Measure) -> bool:
        """Return whether they can stand beside edits of a definition by this measure."""
        return self.topic == topic and self.measure in (None, measure)

    @property
    def advised(self) -> tuple[Proposal, ...]:
        """Proposals that are good enough to show."""
        return tuple(proposal for proposal in self.proposals if proposal.is_advised)


@dataclass(eq=False)
class WordingDraft:
    """A trial before its plan: typed wordings, and the call to a writer if the author agreed.

    Wordings are chosen on `rows`. `notes` say why the writer has no wordings, or fewer.
    """

    topic: Topic
    prompts: PromptSet
    rows: Rows
    fresh: bool = False
    typed: tuple[Candidate, ...] = ()
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

    @property
    def given(self) -> tuple[Candidate, ...]:
        """Typed wordings, then those of the writer."""
        return (*self.typed, *self.written)


@dataclass(frozen=True, eq=False)
class ModelTrial:
    """A trial of wordings on a decision model, the current one first, with its plan."""

    options: DecisionOptions
    draft: WordingDraft
    split: Split
    wordings: tuple[Candidate, ...]
    plan: ManyPlan

    async def run(self, report: Report) -> tuple[WordingSweep, ManyAnswers]:
        """Make the requests and choose; a cancelled run keeps its answers. Raises ScannerError."""
        prompts = self.draft.prompts
        with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
            scanner = self.options.scanner(cache, fresh=self.draft.fresh)
            at_once = self.options.questions_at_once
            questions = questions_about(scanner, self.wordings, prompts, at_once)
            answers = await questions.run(report)
            # Each wording has the threshold that was fitted to it.
            settings = replace(scanner.settings, threshold=None, threshold_source="")
        found = await asyncio.to_thread(
            sweep_wordings, self.wordings, answers.probabilities, prompts, self.split, settings
        )
        return found, answers


async def planned_trial(
    options: DecisionOptions,
    draft: WordingDraft,
    split: Split,
    engine: LocalScanner,
    count: int = WORDINGS,
    report: Report = lambda progress: None,
) -> ModelTrial:
    """Search other wordings, up to `count` in all, and plan the requests about them.

    Raises WordingError if there are no others, and ScannerError.
    """
    topic, prompts = draft.topic, draft.prompts
    rest = count - 1 - len(draft.given)
    edits = await run_stoppable(
        lambda stopped: shortlist(engine, topic, prompts, split, rest, report, stopped)
    )
    wordings = gather_wordings(topic, draft.typed, draft.written, edits, count)
    if len(wordings) < 2:
        reason = "; ".join(draft.notes) or "type some, or name a writer"
        raise WordingError(f"No other wordings to try: {reason}.")

    def plan() -> ManyPlan:
        # An SQLite connection belongs to one thread.
        with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
            scanner = options.scanner(cache, fresh=draft.fresh)
            return questions_about(scanner, wordings, prompts, options.questions_at_once).plan()

    return ModelTrial(options, draft, split, tuple(wordings), await asyncio.to_thread(plan))


def mistakes_note(shown: Shown) -> str:
    """Return which prompts count in no figure, since a writer was shown some."""
    return (
        f"The model was shown {shown.count} of {count_text(shown.mistakes, 'mistake')}; these, and "
        "as large a share of the right verdicts, count in no figure of the wordings."
    )


# --- in the app ---------------------------------------------------------------------------


class WordingTrials:
    """Tries wordings of the current definition, and asks the author for them."""

    def __init__(self, context: Context, connections: Connections, refinement: Refinements) -> None:
        self._store, self._workspace, self._engine = (
            context.store,
            context.workspace,
            context.engine,
        )
        self._editing, self._author = context.editing, context.author
        self._connections, self._refinement = connections, refinement
        self._declined = False

    async def begin(self) -> WordingDraft | None:
        """Ask the author for own wordings and a writer; None if dismissed.

        The author also agrees to a call to the writer, which is not made yet. Raises WordingError,
        RefinementError, ScannerError and StoreError.
        """
        options = self._model
        topic = await self._editing.finish_typing()
        prompts = self._workspace.prompts
        if options is None:
            rows = (await self._refinement.measure()).rows.chosen_on
        else:
            rows = self._split(prompts).search_rows
        request = await self._ask(0 if options is None else WORDINGS - 1)
        if request is None:
            return None
        typed = tuple(typed_wordings(request.text, topic, "as typed"))
        draft = WordingDraft(topic, prompts, rows, self._connections.options.fresh, typed)
        if request.writer and not await self._add_call(draft):
            return None
        return draft

    @staticmethod
    def _split(prompts: PromptSet) -> Split:
        try:
            return split_prompts(prompts, CHOSEN_ON)
        except SplitError as error:
            raise WordingError(str(error)) from error

    async def _ask(self, others: int) -> WordingRequest | None:
        """Ask until the writer is valid, and use it; None if dismissed. Raises StoreError."""
        question = await self._question(others)
        while (answer := await self._author.ask(question)) is not None:
            request = replace(answer, writer=answer.writer.strip(), key=answer.key.strip())
            self._declined = not request.writer
            try:
                if request.writer:
                    await self._use(request)
            except (GuardtuiError, ValueError) as error:
                question = TypeWordings(
                    others, request, no_keyring=question.no_keyring, problem=str(error)
                )
            else:
                return request
        return None

    async def _question(self, others: int) -> TypeWordings:
        connections = self._connections
        if self._declined:
            return TypeWordings(others, no_keyring=await asyncio.to_thread(why_no_keyring))
        return await asyncio.to_thread(
            offered, others, connections.options, connections.remembered_writer
        )

    async def _use(self, request: WordingRequest) -> None:
        """Use the writer, and store its typed key if requested; the key comes first."""
        connections = self._connections
        options = await asyncio.to_thread(
            with_writer, connections.options, request.writer, request.key
        )
        model = options.wording_model
        assert model is not None  # noqa: S101 - `with_writer` sets it
        if request.keep and request.key:
            account = model_account(model.models[0])
            await asyncio.to_thread(options.keys.keep, account)
        connections.use_writer(options)

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
            return shown_mistakes(shown, prompts, draft.rows)
        measured = await run_stoppable(
            lambda stopped: engine.evaluate_now(topic, prompts, stopped=stopped)
        )
        assert measured is not None  # noqa: S101 - only a cancelled task stops it
        return shown_mistakes(measured, prompts, draft.rows)

    async def measured(self, draft: WordingDraft) -> MeasuredWordings:
        """Measure the given wordings as other edits are measured.

        Raises WordingError if there are none, and RefinementError.
        """
        if not draft.given:
            reason = "; ".join(draft.notes) or "type a description, or name a writer"
            raise WordingError(f"No wordings to measure: {reason}.")
        measure = await self._refinement.measure()
        shown = draft.call.shown if draft.call is not None and draft.written else None
        left_out = () if shown is None else shown.left_out
        objective, held_out = measure.objective, measure.rows.held_out

        def propose(stopped: Stopped) -> tuple[Proposal, ...] | None:
            found = propose_wordings(
                objective, draft.topic, draft.given, held_out, left_out, stopped
            )
            return found and measure.with_forecasts(draft.topic, found, stopped)

        with self._store.step("measures the wordings …"):
            proposals = await self._refinement.run(measure, propose)
        proposals = proposals or ()
        notes = [] if shown is None else [mistakes_note(shown)]
        tried = f"{count_text(len(proposals), 'wording')} measured"
        if proposals and not any(proposal.is_advised for proposal in proposals):
            best = proposals[0].gain.text
            notes.append(f"No wording is likely to help: {tried}, {best}.")
        return MeasuredWordings(draft.topic, proposals, (*notes, *draft.notes), measure)

    @property
    def on_model(self) -> bool:
        """Whether wordings are tried on a decision model."""
        return self._model is not None

    @property
    def _model(self) -> DecisionOptions | None:
        """The decision model, or None."""
        model = self._connections.options.model
        return model if isinstance(model, DecisionOptions) else None

    async def prepare(self, draft: WordingDraft) -> ModelTrial | None:
        """Plan a trial on the decision model, and ask for it; None if the author declines.

        Raises WordingError and ScannerError.
        """
        options = self._model
        assert options is not None  # noqa: S101 - see `on_model`
        with self._store.step("searches for wordings …"):
            split = self._split(draft.prompts)
            trial = await planned_trial(options, draft, split, self._engine.scanner)
        if trial.plan.requests:
            question = WordingPlan(draft.topic, trial.wordings, _cost_text(trial), draft.notes)
            return trial if await self._author.ask(question) else None
        return trial

    async def run(self, trial: ModelTrial, report: Report) -> MeasuredWordings:
        """Run a planned trial; a cancelled one keeps its answers. Raises ScannerError."""
        sweep, _ = await trial.run(report)
        notes = (*trial.draft.notes, *sweep_notes(sweep))
        topic, guardrail = trial.draft.topic, sweep.settings.guardrail
        return MeasuredWordings(topic, sweep.finalists, notes, guardrail=guardrail)


def offered(others: int, options: RemoteOptions, remembered: str) -> TypeWordings:
    """Return the question with the writer in use, or else the remembered one, and its key.

    Blocks, since it reads the keyring.
    """
    origin = "in use" if options.wording_model is not None else BEFORE
    if options.wording_model is None and remembered:
        try:
            options = with_writer(options, remembered)
        except (GuardtuiError, ValueError):  # reported when it is used
            request = WordingRequest(writer=remembered)
            return TypeWordings(others, request, BEFORE, no_keyring=why_no_keyring())
    writer = options.wording_model
    if writer is None:
        return TypeWordings(others, no_keyring=why_no_keyring())
    model = writer.models[0]
    key_origin = ""
    if model.key is not None:
        key_origin = model.key_variable or options.keys.origin(model_account(model)) or "in use"
    request = WordingRequest(writer=model.full)
    return TypeWordings(others, request, origin, key_origin, why_no_keyring())


def sweep_notes(sweep: WordingSweep) -> list[str]:
    """Return how wordings were measured on a decision model, and why none is advised."""
    split = sweep.split
    tried = f"{len(sweep.wordings) + 1} wordings tried on {guardrail_text(sweep.settings)}"
    notes = [
        f"{tried}: chosen on {len(split.search_rows)} prompts, reported on "
        f"{len(split.report_rows)} ({split.source}). The chance that a lower bound of theirs is "
        f"too high is {ERROR:.0%} for all together.",
        *split.notes,
    ]
    if not sweep.finalists:
        notes.insert(0, "No wording is better on the prompts to choose on.")
    elif sweep.best is None:
        best = sweep.finalists[0].gain.interval_text
        notes.insert(
            0,
            "No wording is shown to be better on prompts that had no part in the choice: the best "
            f"gains {best}.",
        )
    if sweep.missing:
        notes.append(f"{sweep.missing} answers are missing and count in no figure: try again.")
    return notes


def _cost_text(trial: ModelTrial) -> str:
    """Return the number of wordings by origin, and requests, tokens and cost."""
    plan, options, draft = trial.plan, trial.options, trial.draft
    typed, written = (
        sum(wording in some for wording in trial.wordings) for some in (draft.typed, draft.written)
    )
    counts = {"typed": typed}
    if draft.call is not None:
        counts[f"written by {draft.call.writer.title}"] = written
    counts["searched"] = len(trial.wordings) - 1 - typed - written
    origins = [f"{count} {origin}" for origin, count in counts.items() if count]
    text = (
        f"Try {len(trial.wordings)} wordings on {options.title}: the definition, "
        f"{', '.join(origins)}.\n{count_text(plan.requests, 'request')} for "
        f"{count_text(len(draft.prompts), 'prompt')}, about {plan.tokens:,} tokens"
    )
    if options.calls.prices is not None and (cost := options.calls.prices.of(plan.tokens, 0)):
        text += f" for {cost:.4g}"
    if plan.known:
        text += f"; {plan.known:,} answers are known"
    return f"{text}."
