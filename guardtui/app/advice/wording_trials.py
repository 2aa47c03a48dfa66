"""Trials of wordings: the author's own and a writer model's, measured like other edits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from guardtui.advice.candidates import Candidate
from guardtui.advice.model_answers import SuggestionError
from guardtui.advice.model_wordings import Shown, shown_mistakes
from guardtui.advice.objective import Rows, Stopped
from guardtui.advice.proposals import Proposal, propose_wordings
from guardtui.app.advice.refinement import Measure, Refinements
from guardtui.app.advice.wordings import WrittenWordings, typed_wordings, wording_call
from guardtui.app.advice.writer_call import WriterCall, WriterError
from guardtui.app.context import Context
from guardtui.app.experiments.planning import experiment_rows
from guardtui.app.guardrails.choice import BEFORE, with_writer
from guardtui.app.guardrails.connections import Connections
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.ports import ChooseAnswer, Question
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.session_keys import model_account, why_no_keyring

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

    `tried_on` is the guardrail of an experiment with them, "" if they are ideas. `offered` is the
    initial answer, with the origins of its writer and of the writer's key. `no_keyring` is why a
    key cannot be stored, `problem` why the last answer was invalid; each may be "".
    """

    offered: WordingRequest = WordingRequest()
    origin: str = ""
    key_origin: str = ""
    no_keyring: str = ""
    problem: str = ""
    tried_on: str = ""


# --- a trial ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeasuredWordings:
    """Wordings of `topic` as proposals by `measure`, by descending lower bound.

    `notes` say how they were measured, and which wordings were invalid.
    """

    topic: Topic
    proposals: tuple[Proposal, ...]
    notes: tuple[str, ...]
    measure: Measure

    def serves(self, topic: Topic, measure: Measure) -> bool:
        """Return whether they can stand beside edits of a definition by this measure."""
        return self.topic == topic and self.measure is measure

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
    call: WriterCall[WrittenWordings] | None = None
    written: WrittenWordings | None = None
    notes: tuple[str, ...] = ()

    async def write(self) -> None:
        """Make the call; a failed or cancelled one leaves a note."""
        call = self.call
        if call is None:
            return
        self.notes = (f"{call.writer.title}: cancelled",)
        try:
            written = await call.written()
        except WriterError as error:
            self.notes = (str(error),)
            return
        self.written = written
        self.notes = tuple(f"{call.writer.title}: {problem}" for problem in written.invalid)

    @property
    def given(self) -> tuple[Candidate, ...]:
        """Typed wordings, then those of the writer."""
        return (*self.typed, *(self.written.wordings if self.written else ()))


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

    async def begin(self, tried_on: str = "") -> WordingDraft | None:
        """Ask the author for own wordings and a writer; None if dismissed.

        They are for an experiment on the guardrail `tried_on`, or ideas. The author also agrees to
        a call to the writer, which is not made yet. Raises RefinementError, ScannerError and
        StoreError.
        """
        topic = await self._editing.finish_typing()
        prompts = self._workspace.prompts
        if tried_on:
            rows = experiment_rows(prompts)
        else:
            rows = (await self._refinement.measure()).rows.chosen_on
        request = await self._ask(tried_on)
        if request is None:
            return None
        typed = tuple(typed_wordings(request.text, topic, "as typed"))
        draft = WordingDraft(topic, prompts, rows, self._connections.options.fresh, typed)
        if request.writer and not await self._add_call(draft):
            return None
        return draft

    async def _ask(self, tried_on: str) -> WordingRequest | None:
        """Ask until the writer is valid, and use it; None if dismissed. Raises StoreError."""
        question = await self._question(tried_on)
        while (answer := await self._author.ask(question)) is not None:
            request = replace(answer, writer=answer.writer.strip(), key=answer.key.strip())
            self._declined = not request.writer
            try:
                if request.writer:
                    await self._use(request)
            except (GuardtuiError, ValueError) as error:
                question = replace(
                    question, offered=request, origin="", key_origin="", problem=str(error)
                )
            else:
                return request
        return None

    async def _question(self, tried_on: str) -> TypeWordings:
        connections = self._connections
        if self._declined:
            return TypeWordings(
                tried_on=tried_on, no_keyring=await asyncio.to_thread(why_no_keyring)
            )
        question = await asyncio.to_thread(
            offered, connections.options, connections.remembered_writer
        )
        return replace(question, tried_on=tried_on)

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
        call = await asyncio.to_thread(wording_call, writer, draft.topic, shown, fresh=draft.fresh)
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
        shown = None if draft.written is None else draft.written.shown
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


def offered(options: RemoteOptions, remembered: str) -> TypeWordings:
    """Return the question with the writer in use, or else the remembered one, and its key.

    Blocks, since it reads the keyring.
    """
    origin = "in use" if options.wording_model is not None else BEFORE
    if options.wording_model is None and remembered:
        try:
            options = with_writer(options, remembered)
        except (GuardtuiError, ValueError):  # reported when it is used
            request = WordingRequest(writer=remembered)
            return TypeWordings(request, BEFORE, no_keyring=why_no_keyring())
    writer = options.wording_model
    if writer is None:
        return TypeWordings(no_keyring=why_no_keyring())
    model = writer.models[0]
    key_origin = ""
    if model.key is not None:
        key_origin = model.key_variable or options.keys.origin(model_account(model)) or "in use"
    request = WordingRequest(writer=model.full)
    return TypeWordings(request, origin, key_origin, why_no_keyring())
