"""The record of scans: as iterations, found again; and definitions measured at pauses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from guardtui.app.context import Context
from guardtui.app.guardrails.connections import Connections
from guardtui.app.problems import problems_shown
from guardtui.app.scan.subject import FigureSubject
from guardtui.app.state import AppState
from guardtui.domain.comparison import answers_for, carried_over, verdicts_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.domain.guardrail import DECISION, REMOTE, Guardrail, ScannerSettings
from guardtui.domain.operating_point import BY_HAND, at_threshold
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import VerdictColumns, is_answered
from guardtui.reports.base import usage_text
from guardtui.session.chosen_thresholds import read_decision_threshold, write_decision_threshold
from guardtui.session.evaluator import RemoteEvaluator
from guardtui.session.history import (
    MEASURED_AT_MOST,
    Figures,
    MeasuredDefinition,
    add_measured,
    read_measured,
)
from guardtui.session.report_reader import has_iterations
from guardtui.session.session import Decision, Iteration, Recorder, Session, is_first_complete
from guardtui.session.store import SessionStore, StoreError
from guardtui.session.workspace import Workspace, now

if TYPE_CHECKING:
    from guardtui.forecast.forecaster import Forecast

PAUSE = 3.0
"""Seconds without an edit after which a measured definition is recorded.

Previews occur between letters already; here the author stopped to look, however slowly they type.
"""

LEAST_SHARE = 1 / 3
"""Minimum share of the prompts with a verdict for rates of them all.

With fewer the intervals of an estimate are too narrow.
"""

_GROUP = "measured"
_WRITING = "measured file"


def iteration_of(session: Session, evaluation: Evaluation) -> Iteration | None:
    """Return the newest iteration with these verdicts and this key, or None."""
    for iteration in reversed(session.iterations):
        recorded = iteration.evaluation
        if recorded is evaluation or recorded.equals(evaluation):
            return iteration
    return None


def iteration_behind(session: Session, scan: Evaluation) -> Iteration | None:
    """Return the newest iteration that a scan is of, or None.

    Its verdicts may be carried over to prompts and labels that were changed since.
    """
    known = iteration_of(session, scan)
    if known is not None or scan.settings.kind not in REMOTE:
        return known
    for iteration in reversed(session.iterations):
        recorded = iteration.evaluation
        same = (recorded.topic, recorded.settings) == (scan.topic, scan.settings)
        if same and np.array_equal(answers_for(recorded, scan.keys), scan.verdicts.triggered):
            return iteration
    return None


def logged_of(iterations: Sequence[Iteration], scan: Evaluation) -> Iteration | None:
    """Return the iteration of verdicts of production that a scan agrees with, or None.

    That is the newest one of its guardrail and definition on which nobody has decided, if it has
    verdicts on prompts of the scan.
    """
    answers = scan.verdicts.triggered
    for iteration in reversed(iterations):
        logged = iteration.evaluation
        if (
            iteration.by is Recorder.LOG
            and iteration.decision is Decision.UNDECIDED
            and logged.topic == scan.topic
            and logged.settings.guardrail == scan.settings.guardrail
        ):
            then = answers_for(logged, scan.keys)
            both = is_answered(then) & is_answered(answers)
            agrees = np.array_equal(then[both], answers[both])
            return iteration if is_answered(then).any() and agrees else None
    return None


def is_within(logged: Evaluation, scan: Evaluation) -> bool:
    """Return whether a scan is about all prompts that a log has verdicts on.

    It completes their iteration then; else it is another one, and no verdict is lost.
    """
    shared = np.count_nonzero(is_answered(answers_for(logged, scan.keys)))
    return bool(shared == logged.metrics.total)


def logged_part(
    iterations: Sequence[Iteration], guardrail: Guardrail, topic: Topic, prompts: PromptSet
) -> Evaluation | None:
    """Return what a guardrail said in production of these prompts by a definition, or None.

    A scan asks only the others.
    """
    nothing = VerdictColumns(len(prompts)).verdicts()
    empty = Evaluation(
        topic,
        ScannerSettings(guardrail),
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        nothing,
    )
    known = logged_of(iterations, empty)
    if known is None:
        return None
    return replace(empty, verdicts=verdicts_for(known.evaluation, prompts.keys))


def logged_in_session(
    path: Path, guardrail: Guardrail, topic: Topic, prompts: PromptSet
) -> tuple[Evaluation, NDArray[np.intp]] | None:
    """Return `logged_part` by the session of a topic file, and the other rows (intp), or None.

    Raises StoreError.
    """
    if not has_iterations(path):
        return None
    iterations = SessionStore(path, reading=True).iterations()
    logged = logged_part(iterations, guardrail, topic, prompts)
    if logged is None:
        return None
    return logged, np.flatnonzero(~is_answered(logged.verdicts.triggered))


def recorded_as(session: Session, evaluation: Evaluation) -> Iteration | None:
    """Return the iteration that a remote scan or a preview is, or None.

    A preview is the last iteration or the last kept one: after a discard it is that again.
    """
    if evaluation.settings.kind in REMOTE:
        return iteration_behind(session, evaluation)
    if evaluation.is_of_a_part:
        return None
    kept = [each for each in session.iterations if each.decision is Decision.KEEP]
    newest = (*session.iterations[-1:], *kept[-1:])
    return next((each for each in newest if each.evaluation.key == evaluation.key), None)


async def record(
    workspace: Workspace,
    evaluation: Evaluation,
    onto: Evaluation | None = None,
    forecast: ForecastBefore | None = None,
) -> Iteration:
    """Record a scan in the session; with `onto`, complete the iteration of that scan.

    `forecast` was made before the scan; a completed iteration keeps its own. The first complete
    scan of the topic file's definition is kept, others are undecided. Raises StoreError.
    """
    session, by = workspace.session, workspace.by
    known = iteration_of(session, onto) if onto is not None else None
    if known is None and onto is not None:
        logged = logged_of(session.iterations, onto)
        if logged is not None and is_within(logged.evaluation, evaluation):
            known = logged
        elif logged is not None:
            by = logged.by.completed
    first = evaluation.topic == workspace.topic_file.topic
    if known is None:
        first = first and is_first_complete(evaluation, session.iterations)
        decision = Decision.KEEP if first else Decision.UNDECIDED
        write = partial(workspace.write, evaluation, decision, forecast, by, first=first)
    else:
        completed = replace(known, evaluation=evaluation, by=known.by.completed)
        write = partial(workspace.write_completed, completed, first=first)
    iteration = await asyncio.to_thread(write)
    session.record(iteration)
    return iteration


def recorded_text(iteration: Iteration) -> str:
    """Return in words how many prompts a recorded scan covers, and the usage of a judge."""
    metrics = iteration.evaluation.metrics
    used = usage_text(iteration.evaluation.verdicts.used)
    used = f" ({used})" if used else ""
    if not metrics.missing:
        return f"#{iteration.number}: {count_text(metrics.prompts, 'prompt')} scanned{used}"
    text = f"#{iteration.number}: {metrics.total} of {metrics.prompts} prompts have a verdict"
    if metrics.open:
        text += f", {metrics.open} open"
    if metrics.errors:
        text += f", {metrics.errors} failed"
    return text + used


# --- scans found again -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prediction:
    """Expected verdicts of a definition on a prompt set: Triggered codes, int8 [N]."""

    topic: Topic
    prompt_set: str
    triggered: NDArray[np.int8]


class ScanResults:
    """Finds the scan that belongs to the current definition, prompts and guardrail."""

    def __init__(self, context: Context, connections: Connections, subject: FigureSubject) -> None:
        self._workspace, self._session = context.workspace, context.session
        self._connections, self._author = connections, context.author
        self.subject = subject
        """The guardrail that the figures are about."""
        self.threshold = DecisionThreshold(context.workspace.store)
        """Threshold of the decision model used by scans."""
        self.evaluator: RemoteEvaluator | None = None
        """Evaluator of the newest scan, which may be under way, or None."""
        self._carried: tuple[str, dict[Evaluation, Evaluation]] = ("", {})
        self.prediction: Prediction | None = None
        """Verdicts expected of the newest scan, or None."""

    @property
    def scanning(self) -> bool:
        """Return whether a scan is running or paused."""
        return self.evaluator is not None and self.evaluator.busy

    def so_far(self) -> Evaluation | None:
        """Return the evaluation of the verdicts so far, or None."""
        return self.evaluator.so_far() if self.evaluator is not None and self.scanning else None

    def is_current(self, evaluation: Evaluation) -> bool:
        """Return whether this is a remote scan of the current definition and prompts."""
        return evaluation.settings.kind in REMOTE and evaluation.key.same_subject(
            self._session.topic, self._workspace.prompts.fingerprint
        )

    def standing(self) -> Evaluation | None:
        """Return the current scan; None without one, or where the engine is wanted."""
        return None if self.subject.engine_only else self.current()

    def current(self) -> Evaluation | None:
        """Return what the guardrail said of the current definition and prompts, or None.

        That is the scan under way, or the newest of those that asked most of the prompts. A scan of
        other prompts is carried over to those of now, if it asked enough of them. What a log has is
        no scan before it is complete.
        """
        prompts = self._workspace.prompts
        for scan in (self.so_far(), self.subject.newest):
            if scan is None or not self._connections.follows(scan.settings):
                continue
            if self.is_current(scan):
                return self.at_chosen_threshold(scan)
        found, most = None, 0.0
        for recorded, by in self._scans():
            scan = self._carried_over(recorded)
            if by is Recorder.LOG and scan.metrics.missing:
                continue
            asked = scan.metrics.prompts - scan.metrics.open
            if asked > most and (scan is recorded or asked >= LEAST_SHARE * len(prompts)):
                found, most = scan, asked
        return None if found is None else self.at_chosen_threshold(found)

    def _scans(self) -> Iterator[tuple[Evaluation, Recorder]]:
        """Yield the scans of the current definition by the guardrail, the newest first."""
        settings, topic, newest = self.subject.settings, self._session.topic, self.subject.newest
        if settings is None:
            return
        if newest is not None and newest.topic == topic:
            yield newest, Recorder.APP
        for iteration in reversed(self._session.iterations):
            recorded = iteration.evaluation
            if recorded.topic == topic and recorded.settings.guardrail == settings.guardrail:
                yield recorded, iteration.by

    def _carried_over(self, recorded: Evaluation) -> Evaluation:
        """Return an evaluation on the prompts of now; the same object until they change."""
        prompts = self._workspace.prompts
        if self._carried[0] != prompts.fingerprint:
            self._carried = prompts.fingerprint, {}
        known = self._carried[1]
        if recorded not in known:
            known[recorded] = carried_over(recorded, prompts)
        return known[recorded]

    def at_chosen_threshold(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation at the threshold chosen for its scanner."""
        with problems_shown(self._author):
            return self.threshold.applied(evaluation)
        return evaluation

    def last(self) -> Evaluation | None:
        """Return the newest scan by the connected guardrail, of any definition."""
        name, follows = self._connections.asked_name, self._connections.follows
        for iteration in reversed(self._session.iterations):
            settings = iteration.evaluation.settings
            if settings.kind == name and follows(settings):
                return iteration.evaluation
        newest = self.subject.newest
        return newest if newest is not None and follows(newest.settings) else None

    def predicted(self, evaluation: Evaluation) -> NDArray[np.int8] | None:
        """Return the expected verdicts of a scan, int8 [N], or None."""
        prediction = self.prediction
        if prediction is None or evaluation.settings.kind not in REMOTE:
            return None
        fits = evaluation.key.same_subject(prediction.topic, prediction.prompt_set)
        return prediction.triggered if fits else None

    def decided(self) -> Evaluation | None:
        """Return the shown scan if it is by a decision model, whose threshold can change."""
        scan = self.standing()
        return scan if scan is not None and scan.settings.kind == DECISION else None

    def keep_partial(self) -> Evaluation | None:
        """Keep and return the verdicts of an incomplete scan, or None."""
        evaluation = self.evaluator.so_far() if self.evaluator is not None else None
        if evaluation is None or not evaluation.metrics.total:
            return None
        known = self.current()
        if known is None or evaluation.metrics.missing <= known.metrics.missing:
            self.subject.newest = evaluation
        return evaluation


class DecisionThreshold:
    """Sets the threshold at which probabilities become verdicts, without requests."""

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions
        self._chosen: dict[Guardrail, float | None] = {}
        self._applied: tuple[Evaluation, Evaluation] | None = None

    def chosen(self, guardrail: Guardrail) -> float | None:
        """Return the threshold set by hand for a model in this session, or None for the recorded.

        Raises StoreError.
        """
        if guardrail not in self._chosen:
            settings = self._sessions.settings()
            self._chosen[guardrail] = read_decision_threshold(settings, guardrail)
        return self._chosen[guardrail]

    def applied(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation at the chosen threshold, if a decision model made it in one epoch.

        The same evaluation and threshold give the same object. Raises StoreError.
        """
        settings = evaluation.settings
        if settings.kind != DECISION or evaluation.verdicts.repeats is not None:
            return evaluation
        threshold = self.chosen(settings.guardrail)
        chosen = threshold, BY_HAND
        if threshold is None or chosen == (settings.threshold, settings.threshold_source):
            return evaluation
        if self._applied is not None and self._applied[0] is evaluation:
            now = self._applied[1].settings
            if chosen == (now.threshold, now.threshold_source):
                return self._applied[1]
        applied = at_threshold(evaluation, threshold, BY_HAND)
        self._applied = evaluation, applied
        return applied

    def use(self, chosen: float | None, guardrail: Guardrail) -> None:
        """Use a threshold until the app ends, unless `keep` stores it."""
        self._chosen[guardrail] = chosen

    def keep(self, guardrail: Guardrail) -> None:
        """Store the threshold in the session. Raises StoreError."""
        chosen = self.chosen(guardrail)
        self._sessions.update_settings(write_decision_threshold(chosen, guardrail))


# --- definitions measured while editing ---------------------------------------------------


class MeasuredDefinitions:
    """Records each definition that was measured at a pause in typing, for the history.

    It is recorded after the pause and written in a thread, so that typing never waits.
    """

    follows = ("topic", "prompts", "evaluation")

    def __init__(self, context: Context) -> None:
        self._workspace, self._author, self._jobs = context.workspace, context.author, context.jobs
        self.pause = PAUSE
        self._known: list[MeasuredDefinition] = []
        self._pending: MeasuredDefinition | None = None
        self._unwritten: list[MeasuredDefinition] = []
        self._one_at_a_time = asyncio.Lock()
        self._problem = ""

    async def open(self) -> None:
        """Read the definitions of earlier runs."""
        try:
            self._known = await asyncio.to_thread(read_measured, self._workspace.store)
        except StoreError as problem:
            self._author.notify(f"Earlier edits cannot be read: {problem}", severity="error")

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Wait for a pause after each measured definition; an edit cancels that."""
        edited = new.topic != old.topic or new.prompts is not old.prompts
        if edited:
            self._pending = None
            self._jobs.cancel(_GROUP)
        evaluation = new.evaluation
        if evaluation is None or (evaluation is old.evaluation and not edited):
            return
        if not evaluation.key.same_subject(new.topic, new.prompts.fingerprint):
            return  # a newer preview is on its way
        figures = None if evaluation.metrics.open else _figures(evaluation, new.forecast)
        if figures is None:
            return  # a part of the prompts, or of a scan
        self._pending = MeasuredDefinition(
            now(), evaluation.topic, evaluation.settings, evaluation.prompt_set, figures
        )
        self._jobs.start(self._after_pause(), group=_GROUP, exclusive=True)

    async def discard(self, evaluation: Evaluation, forecast: Forecast) -> None:
        """Record a definition as discarded, with the figures of its forecast that are shown."""
        figures = _figures(evaluation, forecast)
        if figures is not None:
            self._jobs.cancel(_GROUP)
            self._pending = MeasuredDefinition(
                now(),
                evaluation.topic,
                evaluation.settings,
                evaluation.prompt_set,
                figures,
                Decision.DISCARD,
            )
            self._record()
            await self._write()

    async def _after_pause(self) -> None:
        await asyncio.sleep(self.pause)
        self._record()
        self._jobs.start(self._write(), group=_WRITING)  # the next key does not cancel this

    def _record(self) -> None:
        """Record the last measured definition."""
        measured, self._pending = self._pending, None
        if measured is None:
            return
        if self._known and measured == replace(self._known[0], created=measured.created):
            return  # nothing but the time is new
        others = [other for other in self._known if other.topic != measured.topic]
        self._known = [measured, *others][:MEASURED_AT_MOST]
        self._unwritten.append(measured)

    async def _write(self) -> None:
        """Write new definitions; notify the author of the first failure."""
        async with self._one_at_a_time:
            while self._unwritten:
                try:
                    await asyncio.to_thread(add_measured, self._workspace.store, self._unwritten[0])
                except StoreError as problem:
                    if str(problem) != self._problem:
                        self._problem = str(problem)
                        text = f"Measured edits are not kept on disk: {problem}"
                        self._author.notify(text, severity="error")
                    return
                self._problem = ""
                del self._unwritten[0]

    async def close(self) -> None:
        """Record and write the last measured definition."""
        self._record()
        await self._write()

    def listed(self) -> list[MeasuredDefinition]:
        """Return the measured definitions, newest first, the last one included."""
        self._jobs.cancel(_GROUP)
        self._record()
        self._jobs.start(self._write(), group=_WRITING)
        return list(self._known)


def _figures(evaluation: Evaluation, forecast: Forecast | None) -> Figures | None:
    """Return the shown rates of an evaluation; None if a class has no prompts."""
    metrics = evaluation.metrics
    if forecast is None:
        rates = (metrics.coverage, metrics.true_positive_rate, metrics.true_negative_rate)
    else:
        expected = (forecast.rates.coverage, forecast.rates.tpr, forecast.rates.tnr)
        coverage, tpr, tnr = (None if other is None else other.value for other in expected)
        rates = (coverage, tpr, tnr)
    coverage, tpr, tnr = rates
    if coverage is None or tpr is None or tnr is None:
        return None
    return Figures(coverage, tpr, tnr, metrics.prompts)
