"""Keeps the ideas up to date: measured after the preview, once the author stops typing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from guardtui.advice.candidates import same
from guardtui.advice.proposals import Proposal
from guardtui.advice.search import SearchResult
from guardtui.app.connections import Connections
from guardtui.app.context import Context
from guardtui.app.ideas import Idea, IdeaKind, Ideas, missing_prompts, ranked_ideas
from guardtui.app.label_step import label_need, label_step
from guardtui.app.prompt_survey import PromptSurveys
from guardtui.app.refinement import Measure, RefinementError, Refinements
from guardtui.app.scan.run import Scans
from guardtui.app.state import AppState
from guardtui.app.wording_trials import MeasuredWordings
from guardtui.app.workspace_sync import WorkspaceSync
from guardtui.domain.evaluation import Evaluation, EvaluationKey
from guardtui.domain.figures import threshold_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError

PAUSE = 0.5
"""Seconds between a preview and the measurement of edits, which needs a longer pause."""


_GROUP = "ideas"


@dataclass(frozen=True, eq=False)
class _Found:
    """Measured edits of a definition and the measure, for an evaluation if there was one."""

    key: EvaluationKey | None
    measure: Measure
    result: SearchResult

    def serves(self, evaluation: Evaluation) -> bool:
        """Return whether these are edits of the definition as it is evaluated here."""
        return self.result.topic == evaluation.topic and self.key in (None, evaluation.key)


class IdeaAdvice:
    """Keeps `AppState.ideas` up to date with the shown evaluation."""

    def __init__(
        self,
        context: Context,
        refinement: Refinements,
        sync: WorkspaceSync,
        surveys: PromptSurveys,
        connections: Connections,
        scans: Scans,
    ) -> None:
        self._store, self._jobs = context.store, context.jobs
        self._editing, self._author = context.editing, context.author
        self._refinement, self._sync, self._surveys = refinement, sync, surveys
        self._connections, self._scans = connections, scans
        self.pause = PAUSE
        self._found: _Found | None = None
        self._wordings: MeasuredWordings | None = None
        self._discarded: set[tuple[str, tuple[str, ...]]] = set()

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
            self._publish(ranked_ideas(topic, prompts, None, None))
            return
        found = self._found
        if found is None or not found.serves(evaluation):
            if self._store.state.ideas is not None:
                # Ideas measured with another guardrail or threshold must not stand beside it.
                self._store.publish(replace(self._store.state, ideas=None))
            await asyncio.sleep(self.pause)
        try:
            measure = await self._refinement.measure(typing=False)
            # Another scan may have changed the forecast.
            if found is None or not found.serves(evaluation) or found.measure is not measure:
                result = await self._refinement.advised(measure, topic)
                if result is None:
                    return
                found = self._found = _Found(evaluation.key, measure, result)
        except RefinementError as error:
            self._publish(Ideas(topic, (), str(error)))
            return
        await self._offer(found, prompts)

    async def current(self) -> Ideas:
        """Return the ideas for the current definition, measured now if they are not yet.

        Raises RefinementError.
        """
        while True:
            topic = await self._editing.finish_typing()
            state = self._store.state
            if state.ideas is not None and state.ideas.topic == topic:
                return state.ideas
            if missing_prompts(state.prompts):
                return ranked_ideas(topic, state.prompts, None, None)
            with self._store.step("measures edits …"):
                measure = await self._refinement.measure()
                result = await self._refinement.advised(measure, topic)
            if result is not None:
                await self.use(measure, result)

    async def use(self, measure: Measure, result: SearchResult) -> None:
        """Offer the result of a measurement or a search in place of what is known."""
        state = self._store.state
        evaluation = state.evaluation
        shown = evaluation is not None and evaluation.key.same_subject(
            result.topic, state.prompts.fingerprint
        )
        key = evaluation.key if evaluation is not None and shown else None
        self._found = _Found(key, measure, result)
        self._jobs.cancel(_GROUP)
        await self._offer(self._found, state.prompts)

    async def add(self, wordings: MeasuredWordings) -> None:
        """Offer measured wordings beside the known ideas."""
        self._wordings = wordings
        if self._store.state.topic != wordings.topic:
            self._author.notify(
                "The definition was edited meanwhile: Undo goes back to the one that the wordings "
                "are for."
            )
        elif self._found is not None and self._found.result.topic == wordings.topic:
            await self._offer(self._found, self._store.state.prompts)

    async def discard(self, idea: Idea) -> None:
        """Offer an edit no longer, until the app ends."""
        if idea.proposal is None:
            return
        self._discarded.add(same(idea.proposal.topic))
        if self._found is not None:
            await self._offer(self._found, self._store.state.prompts)

    async def _offer(self, found: _Found, prompts: PromptSet) -> None:
        """Publish the ideas for the definition that was measured."""
        state, topic = self._store.state, found.result.topic
        evaluation = state.evaluation
        if evaluation is None or not evaluation.key.same_subject(topic, prompts.fingerprint):
            evaluation = None
        known = self._wordings
        wordings = known if known is not None and known.serves(topic, found.measure) else None
        writer = self._connections.options.wording_model
        ideas = ranked_ideas(
            topic,
            prompts,
            found.result,
            state.forecast if evaluation is not None else None,
            () if wordings is None else wordings.proposals,
            writer.models[0].name if writer is not None and wordings is None else "",
            frozenset(self._discarded),
        )
        ideas = ideas if wordings is None else replace(ideas, notes=wordings.notes)
        if evaluation is not None and all(idea.kind is IdeaKind.WORDINGS for idea in ideas.ranked):
            idea = await self._labels(found.result, evaluation, prompts)
            ideas = ideas if idea is None else replace(ideas, ranked=(idea, *ideas.ranked))
        self._publish(ideas)

    async def _labels(
        self, search: SearchResult, evaluation: Evaluation, prompts: PromptSet
    ) -> Idea | None:
        """Return the idea of labelling prompts, if nothing else helps, or None."""
        need = label_need(search, evaluation)
        if need is None:
            return None
        try:
            survey = await self._surveys.survey(evaluation, prompts, quiet=True)
        except ScannerError:
            return None  # already reported by the preview with the same engine
        return None if survey is None else label_step(need, search, survey)

    # --- applying an idea ---------------------------------------------------------------------

    async def take(self, current: Topic, proposal: Proposal) -> None:
        """Apply a proposal for the definition `current` to the editor.

        A wording of a decision model brings its threshold, which is stored in the session. Prompts
        that become examples would always match: the author is asked whether to remove them from the
        prompt set.
        """
        message = "The edit is in the editor; Undo takes it back."
        known = self._wordings
        asked = None if known is None else known.guardrail
        if proposal.threshold is not None and asked is not None:
            self._scans.use_threshold_of(asked, proposal.threshold)
            message += f" The threshold is {threshold_text(proposal.threshold)}."
        if self._store.state.topic != current:  # changed by another program
            message = f"The definition had changed meanwhile. {message}"
        self._editing.replace(proposal.topic)
        self._author.notify(message)
        await self._sync.offer_to_take_out(current, proposal.topic)

    def _publish(self, ideas: Ideas) -> None:
        state = self._store.state
        if state.topic == ideas.topic:
            self._store.publish(replace(state, ideas=ideas))
