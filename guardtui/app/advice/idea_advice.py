"""The ideas, measured once the author stops typing; surveys of prompts, labels as ideas."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from guardtui.advice.candidates import same
from guardtui.advice.folds import LIKELY_FROM
from guardtui.advice.judgement import missing_prompts
from guardtui.advice.prompt_set import Survey, survey
from guardtui.advice.search import SearchResult
from guardtui.app.advice.ideas import (
    Idea,
    IdeaKind,
    Ideas,
    ranked_ideas,
)
from guardtui.app.advice.next_step import Situation, with_next_step
from guardtui.app.advice.refinement import Measure, RefinementError, Refinements
from guardtui.app.advice.wording_trials import MeasuredWordings
from guardtui.app.context import Context
from guardtui.app.experiments.status import ExperimentStatus
from guardtui.app.guardrails.connections import Connections
from guardtui.app.state import AppState
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.evaluation import Evaluation, EvaluationKey
from guardtui.domain.guardrail import ENGINE
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.scanners.base import ScannerError


class PromptSurveys:
    """Surveys prompts with the engine; the newest survey is cached."""

    def __init__(self, context: Context) -> None:
        self._store, self._engine = context.store, context.engine
        self._newest: Survey | None = None

    async def survey(
        self, evaluation: Evaluation, prompts: PromptSet, *, quiet: bool = False
    ) -> Survey | None:
        """Return the survey of these prompts with the outcomes of their evaluation.

        With `quiet` no progress is shown. Raises ScannerError.
        """
        known = self._newest
        if known is None or known.evaluation is not evaluation or known.prompts is not prompts:
            scanner = self._engine.scanner
            step = self._store.step("surveys the prompt set …")
            with contextlib.nullcontext() if quiet else step:
                known = await run_stoppable(
                    lambda stopped: survey(scanner, prompts, evaluation, stopped)
                )
            self._newest = known
        return known


MARKS_AT_MOST = 6
"""Number of prompts that show where labels are most useful."""

_ROUNDED = 10  # labels: the number is an estimate
_SHOWN = 100  # characters of a prompt


_FROM_INBOX = "The queue of the inbox has the prompts most like them first."
_FROM_LOGS = "Prompts like them are in your logs: 'guardtui inbox add TOPIC LOG' takes them in."


@dataclass(frozen=True, slots=True)
class LabelNeed:
    """Standard error of the gain of an edit, and the number of labels that would narrow it.

    `error` is that of the gain on prompts without a part in the choice, for the existing `labels`;
    with `wanted` labels in total, in the same proportion, it would be `LIKELY_FROM`, the least gain
    that makes an edit likely to help.
    """

    labels: int
    error: float
    wanted: int

    @property
    def more(self) -> int:
        """Approximate number of missing labels."""
        return max(_ROUNDED, round((self.wanted - self.labels) / _ROUNDED) * _ROUNDED)

    @property
    def least_gain(self) -> float:
        """Least gain that is told from chance, in hundredths."""
        return math.ceil(100 * self.error) / 100


def label_need(search: SearchResult | None, evaluation: Evaluation) -> LabelNeed | None:
    """Return how many labels would decide about the best guess, or None if something else does.

    Labels are missing if no measured edit is likely to help and the standard error of its gain is
    large. It falls with the square root of the number of labels. A guardrail that has scanned the
    prompts can be asked about another definition instead.
    """
    if search is None or not search.single_edits or evaluation.settings.kind != ENGINE:
        return None
    best = next(iter(search.proposals), None)
    if best is None or best.gain.likely or evaluation.metrics.missing:
        return None
    labels, error = search.before.total, best.gain.standard_error
    if error <= LIKELY_FROM:
        return None
    wanted = labels * (error / LIKELY_FROM) ** 2
    return LabelNeed(labels, error, math.ceil(wanted / _ROUNDED) * _ROUNDED)


def label_step(need: LabelNeed, search: SearchResult, survey: Survey) -> Idea | None:
    """Return the step, with the prompts near which labels are most useful, or None."""
    rows = _where(survey)
    if not rows:
        return None
    prompts, best = survey.prompts, search.proposals[0]
    lines = [
        f"{search.measured} definitions tried on {need.labels} labels"
        f"{f': {best.gain.text}' if best.gain.is_positive else ''}. With so many labels the gain "
        f"of an edit is known to ±{need.error:.3f} (standard error): a smaller one may be chance. "
        f"With twice as many, of the same kinds, it is known to ±{need.error / math.sqrt(2):.3f}."
    ]
    lines.append(
        "Labels teach most beside these prompts, whose verdicts are the least sure. "
        + (_FROM_INBOX if prompts.waiting else _FROM_LOGS)
    )
    lines += [f"· {display_start(str(prompts.prompts[row]), _SHOWN)}" for row in rows]
    step = "Label more prompts whose verdicts are unsure"
    if waiting := len(prompts.waiting):
        step = f"Label prompts ({waiting:,} wait)"
    return Idea(
        IdeaKind.LABEL,
        f"{step}. With {need.labels} labels a gain under {need.least_gain:.2f} may be chance",
        detail="\n".join(lines),
        keys=tuple(prompts.keys[np.array(rows)].tolist()),
        labels=need.more,
    )


def mistake_step(mistakes: int, note: str) -> Idea:
    """Return the step of looking at one mistake after the other; `note` says why no edit is one."""
    return Idea(
        IdeaKind.MISTAKES,
        "Look at a mistake. No edit is sure to help yet",
        detail=(f"{note}. " if note else "")
        + f"For each mistake ({mistakes:,} now) edits that correct it are listed, with what else "
        "they fix and break: a gain on these prompts may be chance.",
    )


def _where(survey: Survey) -> list[int]:
    """Return rows near which labels are useful: suggested ones, then the least certain verdicts.

    Small sets have no suggestions, which need several neighbours.
    """
    rows = [row for suggestion in survey.spots for row in suggestion.rows]
    rows += _least_sure(survey.evaluation)
    return list(dict.fromkeys(rows))[:MARKS_AT_MOST]


def _least_sure(evaluation: Evaluation) -> list[int]:
    """Return rows by the distance of their score to the threshold, the nearest first.

    Empty for a scan without scores. A forecast's score is a probability with threshold 0.5.
    """
    score, threshold = evaluation.verdicts.score, evaluation.settings.threshold
    distance = np.abs(score - np.float32(0.5 if threshold is None else threshold))
    order = np.argsort(distance, kind="stable")[:MARKS_AT_MOST]  # NaN is last
    return [row for row in order.tolist() if not np.isnan(distance[row])]


def needed_labels(ideas: Ideas, evaluation: Evaluation) -> LabelNeed | None:
    """Return `label_need`, or None if one of the ideas is likely to help or tells more."""
    return label_need(ideas.result, evaluation) if _are_unsure(ideas) else None


def with_unsure_steps(ideas: Ideas, evaluation: Evaluation, survey: Survey | None) -> Ideas:
    """Return the ideas, and where no edit is likely to help the steps that tell more.

    Labels come first if some can be given; the `survey` says near which prompts.
    """
    result, need = ideas.result, needed_labels(ideas, evaluation)
    if result is None or not _are_unsure(ideas):
        return ideas
    label = None if need is None or survey is None else label_step(need, result, survey)
    labels = () if label is None else (label,)
    mistakes = evaluation.metrics.fp + evaluation.metrics.fn
    judged = evaluation.settings.kind == ENGINE and result.single_edits
    look = (mistake_step(mistakes, ideas.note),) if mistakes and judged else ()
    waiting = survey is not None and survey.prompts.waiting
    first, last = (labels, ()) if waiting else ((), labels)
    return replace(ideas, ranked=(*first, *ideas.ranked, *look, *last))


def _are_unsure(ideas: Ideas) -> bool:
    likely = any(idea.gain is not None and idea.gain.likely for idea in ideas.ranked)
    return not likely and not ideas.has_check


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

    follows = ("topic", "prompts", "evaluation", "iterations", "experiment", "connection")

    def __init__(
        self,
        context: Context,
        refinement: Refinements,
        surveys: PromptSurveys,
        connections: Connections,
        experiment: Callable[[], str],
        situation: Callable[[Evaluation], Situation],
    ) -> None:
        """`experiment` returns the experiment that could be made, in words, or "".

        `situation` returns where the author stands with the shown evaluation.
        """
        self._store, self._jobs = context.store, context.jobs
        self._editing, self._author = context.editing, context.author
        self._refinement, self._surveys = refinement, surveys
        self._connections, self._experiment = connections, experiment
        self._situation = situation
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
        # The last status of an experiment comes twice: while it ends, and once it has ended.
        ended = new.experiment is not old.experiment and _has_ended(new.experiment)
        applied = new.connection != old.connection
        decided = new.iterations is not old.iterations or ended or applied
        if evaluation is None or (evaluation is old.evaluation and not edited and not decided):
            return
        if not evaluation.key.same_subject(new.topic, new.prompts.fingerprint):
            return  # a newer preview is on its way
        if evaluation.is_of_a_part:
            return  # a newer one is on its way
        if evaluation.metrics.open:
            if new.scan is None or new.scan.progress is None:  # not during a scan
                self._publish(Ideas(new.topic, (), ""))
            return
        if not self._refinement.is_ready:
            return  # no additional work during an embedding
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

    def without_discarded(self, result: SearchResult) -> SearchResult:
        """Return a result without the edits that are offered no longer."""
        left = (each for each in result.proposals if same(each.topic) not in self._discarded)
        return replace(result, proposals=tuple(left))

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
            self._experiment(),
        )
        ideas = ideas if wordings is None else replace(ideas, notes=wordings.notes)
        if evaluation is not None:
            survey = None
            if needed_labels(ideas, evaluation) is not None:
                with contextlib.suppress(ScannerError):  # already reported by the preview
                    survey = await self._surveys.survey(evaluation, prompts, quiet=True)
            ideas = with_unsure_steps(ideas, evaluation, survey)
        self._publish(ideas)

    def _publish(self, ideas: Ideas) -> None:
        state = self._store.state
        if state.topic != ideas.topic:
            return
        evaluation = state.evaluation
        failed = ideas.result is None and bool(ideas.note)  # the note says why
        if evaluation is not None and evaluation.topic == ideas.topic and not failed:
            ideas = with_next_step(ideas, self._situation(evaluation))
        self._store.publish(replace(state, ideas=ideas))


def _has_ended(status: ExperimentStatus | None) -> bool:
    """Return whether no experiment is under way any more, or none is shown."""
    return status is None or status.ending is not None or bool(status.stopped)
