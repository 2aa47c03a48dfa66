"""Keeps the next steps up to date: measured after the preview, once the author stops typing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from guardtui.advice.model_wordings import SuggestionError
from guardtui.advice.proposals import Proposal
from guardtui.advice.search import SearchResult
from guardtui.app.connections import NO_MODEL, Connections
from guardtui.app.editing import Editing
from guardtui.app.label_step import label_need, label_step
from guardtui.app.next_steps import (
    NextStep,
    NextSteps,
    StepKind,
    gain_text,
    missing_prompts,
    next_steps,
)
from guardtui.app.ports import Author, Jobs
from guardtui.app.problems import READING_TIME
from guardtui.app.prompt_survey import PromptSurveys
from guardtui.app.refinement import Measure, RefinementError, Refinements
from guardtui.app.state import AppState, Store
from guardtui.app.suggestions import MeasuredSuggestions, ask_for_wordings
from guardtui.app.wording_writer import WriterError
from guardtui.app.workspace_sync import WorkspaceSync
from guardtui.domain.evaluation import Evaluation, EvaluationKey
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError

PAUSE = 0.5
"""Seconds between a preview and the measurement of edits, which needs a longer pause."""


_GROUP = "next step"


@dataclass(frozen=True, eq=False)
class _Found:
    """Measured edits of an evaluation's definition, and the measure."""

    key: EvaluationKey
    measure: Measure
    result: SearchResult


class NextStepAdvice:
    """Keeps `AppState.next` up to date with the shown evaluation."""

    def __init__(
        self,
        store: Store,
        refinement: Refinements,
        editing: Editing,
        sync: WorkspaceSync,
        surveys: PromptSurveys,
        connections: Connections,
        author: Author,
        jobs: Jobs,
    ) -> None:
        self._store, self._refinement, self._jobs = store, refinement, jobs
        self._editing, self._sync, self._author = editing, sync, author
        self._surveys, self._connections = surveys, connections
        self.pause = PAUSE
        self._found: _Found | None = None
        self._wordings: MeasuredSuggestions | None = None

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Measure edits after each preview of the current definition; an edit cancels that."""
        edited = new.topic != old.topic or new.prompts is not old.prompts
        if edited:
            self._jobs.cancel(_GROUP)
        evaluation = new.evaluation
        if evaluation is None or (evaluation is old.evaluation and not edited):
            return
        if not evaluation.key.same_subject(new.topic, new.prompts.fingerprint):
            return  # a newer preview is on its way
        if evaluation.metrics.open or evaluation.is_of_a_part or not self._refinement.is_ready:
            return  # no additional work during a scan or an embedding
        self._jobs.start(self._follow(evaluation, new.prompts), group=_GROUP, exclusive=True)

    async def _follow(self, evaluation: Evaluation, prompts: PromptSet) -> None:
        topic = evaluation.topic
        if missing_prompts(prompts):
            self._publish(next_steps(topic, prompts, None, None))
            return
        measured = self._found
        if measured is None or measured.key != evaluation.key:
            if self._store.state.next is not None:
                # Steps measured with another guardrail or threshold must not stand beside it.
                self._store.publish(replace(self._store.state, next=None))
            await asyncio.sleep(self.pause)
        try:
            measure = await self._refinement.measure(typing=False)
            # Another scan may have changed the forecast.
            if (
                measured is None
                or measured.key != evaluation.key
                or measured.measure is not measure
            ):
                result = await self._refinement.advised(measure, topic)
                if result is None:
                    return
                measured = self._found = _Found(evaluation.key, measure, result)
        except RefinementError as error:
            self._publish(NextSteps(topic, (), str(error)))
            return
        await self._offer(evaluation, prompts, measured)

    async def _offer(self, evaluation: Evaluation, prompts: PromptSet, measured: _Found) -> None:
        """Publish the steps for an evaluation's definition."""
        state, topic = self._store.state, evaluation.topic
        same = state.evaluation is evaluation
        wordings = self._known_wordings(topic, measured.measure)
        writer = self._connections.options.wording_model
        steps = next_steps(
            topic,
            prompts,
            measured.result,
            state.forecast if same else None,
            () if wordings is None else wordings.advised,
            writer.models[0].name if writer is not None and wordings is None else "",
        )
        steps = steps if wordings is None else replace(steps, notes=wordings.notes)
        if all(step.kind is StepKind.ASK_MODEL for step in steps.steps):
            step = await self._labels(measured.result, evaluation, prompts)
            steps = steps if step is None else replace(steps, steps=(step, *steps.steps))
        self._publish(steps)

    async def _labels(
        self, search: SearchResult, evaluation: Evaluation, prompts: PromptSet
    ) -> NextStep | None:
        """Return the step of labelling prompts, if nothing else helps, or None."""
        need = label_need(search, evaluation)
        if need is None:
            return None
        try:
            survey = await self._surveys.survey(evaluation, prompts, quiet=True)
        except ScannerError:
            return None  # already reported by the preview with the same engine
        return None if survey is None else label_step(need, search, survey)

    # --- wordings of a model --------------------------------------------------------------

    def _known_wordings(self, topic: Topic, measure: Measure) -> MeasuredSuggestions | None:
        """Return the model's wordings for a definition, if measured in the same way, or None."""
        known = self._wordings
        fits = known is not None and known.topic == topic and known.measure is measure
        return known if fits else None

    async def ask_model(self) -> bool:
        """Ask the writer or the judge for wordings, with one call; return whether some are advised.

        They join the steps; otherwise a message says why not.
        """
        options = self._connections.options
        writer = options.wording_model
        if writer is None:
            self._author.notify(NO_MODEL, severity="warning")
            return False
        await self._editing.finish_typing()
        state = self._store.state
        evaluation, prompts = state.evaluation, state.evaluated
        if (
            evaluation is None
            or prompts is None
            or not evaluation.key.same_subject(state.topic, state.prompts.fingerprint)
        ):
            self._author.notify("The definition is not evaluated yet.")
            return False
        try:
            wordings = await ask_for_wordings(
                self._store, self._refinement, writer, evaluation, prompts, fresh=options.fresh
            )
        except (SuggestionError, RefinementError, WriterError) as error:
            self._author.notify(str(error), title="Model", severity="error", seconds=READING_TIME)
            return False
        self._wordings = wordings
        if self._store.state.topic != wordings.topic:
            self._author.notify(
                "The definition was edited meanwhile: Undo goes back to the one that the model's "
                "wordings are for."
            )
            return False
        self._jobs.cancel(_GROUP)
        await self._follow(evaluation, prompts)
        if wordings.advised:
            return True
        best = wordings.proposals[0].gain if wordings.proposals else None
        tried = count_text(len(wordings.proposals), "wording")
        self._author.notify(
            f"No wording of the model helps for certain: {tried} measured"
            + ("" if best is None else f", the best {gain_text(best)}")
            + ".",
            seconds=READING_TIME,
        )
        return False

    # --- applying a step -----------------------------------------------------------------------

    async def take(self, current: Topic, proposal: Proposal) -> None:
        """Apply a proposal for the definition `current` to the editor.

        Prompts that become examples would always match: the author is asked whether to remove them
        from the prompt set.
        """
        message = "The edit is in the editor; Undo takes it back."
        if self._store.state.topic != current:  # changed by another program
            message = f"The definition had changed meanwhile. {message}"
        self._editing.replace(proposal.topic)
        self._author.notify(message)
        await self._sync.offer_to_take_out(current, proposal.topic)

    def _publish(self, steps: NextSteps) -> None:
        state = self._store.state
        if state.topic == steps.topic:
            self._store.publish(replace(state, next=steps))
