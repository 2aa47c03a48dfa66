"""Scans by a remote guardrail: plan, deployment, requests and recording."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from guardtui.app.connections import Connections
from guardtui.app.decision_threshold import Chosen, DecisionThreshold
from guardtui.app.deploy import Deployment
from guardtui.app.editing import Editing
from guardtui.app.engine import Engine
from guardtui.app.flip_check import FlipCheck, FlipStatus
from guardtui.app.flip_scan import FlipScans, FlipStart
from guardtui.app.forecasting import Forecasting
from guardtui.app.ports import Author, Job, Jobs
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.recorded_forecast import forecast_before
from guardtui.app.recording import record, recorded_text
from guardtui.app.remote import REMOTE, ModelOptions
from guardtui.app.scan_plan import (
    MakeScanner,
    Prediction,
    ScanChoice,
    ScanEstimate,
    ScanPlan,
    ScanRequest,
    estimate_scan,
)
from guardtui.app.state import AppState, ScanStatus, StopReason, Store, with_session
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation, ScannerSettings
from guardtui.domain.guardrail import DECISION
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, violations
from guardtui.domain.verdicts import Usage, is_answered
from guardtui.forecast.forecaster import Forecast
from guardtui.scanners.airs.connection import ActiveRevision, AirsConnection
from guardtui.scanners.airs.lifecycle import Plan
from guardtui.scanners.base import Progress, RemoteScanner, VerdictCache
from guardtui.scanners.decision.scanner import DecisionScanner
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.evaluator import RemoteEvaluator
from guardtui.session.judge_templates import keep_template
from guardtui.session.verdict_cache import SqliteVerdicts
from guardtui.session.workspace import Workspace

SHOW_EVERY = 0.25
"""Seconds between two evaluations of a running scan."""

NO_SCAN = "No scan is under way."
UNDER_WAY = "A scan is under way."

_NAMES = {
    "judge": ("a judge", "the judge"),
    "decision": ("a decision model", "the decision model"),
}
"""Display names of models, by the name of their scanner."""
_SO_FAR = "so-far"
_NOT_WHOLE = "The other prompts stay open: keeping the definition needs a full scan."


@dataclass(frozen=True, eq=False)
class _Subject:
    """Definition and prompts of a scan."""

    topic: Topic
    prompts: PromptSet


@dataclass(frozen=True, eq=False)
class _Run:
    """An agreed scan: `rows` (intp [k]) in order, `onto` an earlier scan.

    A `check` chooses the rows itself, in rounds.
    """

    make: MakeScanner
    rows: NDArray[np.intp]
    onto: Evaluation | None
    check: FlipCheck | None = None
    forecast: Forecast | None = None


class Scans:
    """Remote scans of one workspace, one at a time; an edit of the definition cancels them.

    State changes on the event loop only. During a scan the display calls `poll`.
    """

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        engine: Engine,
        editing: Editing,
        connections: Connections,
        deployment: Deployment,
        author: Author,
        jobs: Jobs,
        forecasting: Forecasting,
        *,
        show: Callable[[Evaluation], Awaitable[None]],
        refresh: Callable[[], None],
    ) -> None:
        """`show` publishes an evaluation, `refresh` requests a new preview."""
        self._store, self._workspace = store, workspace
        self._session = workspace.session
        self._engine, self._editing = engine, editing
        self._connections, self._deployment = connections, deployment
        self._author, self._jobs = author, jobs
        self._forecasting = forecasting
        self._flips = FlipScans(forecasting, connections)
        self.threshold = DecisionThreshold(workspace.store)
        """Threshold of the decision model used by scans."""
        self._show, self._refresh = show, refresh
        self.show_every = SHOW_EVERY
        self._one_at_a_time = asyncio.Lock()
        self._job: Job | None = None
        self._subject: _Subject | None = None
        self._stopped_by = StopReason.AUTHOR
        self._evaluator: RemoteEvaluator | None = None
        self._check: FlipCheck | None = None
        self._result: Evaluation | None = None
        self._prediction: Prediction | None = None
        self._prefers_preview = False
        self._rate: float | None = None
        self._shown_at = 0.0
        self._shown: Progress | None = None
        self._cache: SqliteVerdicts | None = None

    # --- queries ---------------------------------------------------------------------------

    @property
    def scanning(self) -> bool:
        """Whether a scan makes requests, or is paused."""
        return self._evaluator is not None and self._evaluator.busy

    @property
    def under_way(self) -> bool:
        """Whether a scan was started (with its questions and deployment) and not cancelled."""
        job = self._job
        return job is not None and not job.is_finished and not job.is_cancelled

    @property
    def held(self) -> bool:
        """Whether the scan is paused."""
        return self._evaluator is not None and self._evaluator.held

    def so_far(self) -> Evaluation | None:
        """Return the evaluation of the verdicts so far, or None."""
        return self._evaluator.so_far() if self._evaluator is not None and self.scanning else None

    def is_current(self, evaluation: Evaluation) -> bool:
        """Return whether this is a remote scan of the current definition and prompts."""
        return evaluation.settings.name in REMOTE and evaluation.key.same_subject(
            self._session.topic, self._workspace.prompts.fingerprint
        )

    def standing_scan(self) -> Evaluation | None:
        """Return the newest current scan; None without one, or if the preview is preferred."""
        return None if self._prefers_preview else self._current_scan()

    def _current_scan(self) -> Evaluation | None:
        recorded = (iteration.evaluation for iteration in reversed(self._session.iterations))
        for evaluation in (self.so_far(), self._result, *recorded):
            if evaluation is None or not self._connections.follows(evaluation.settings):
                continue
            if self.is_current(evaluation):
                return self._at_chosen_threshold(evaluation)
        return None

    def _at_chosen_threshold(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation at the threshold chosen for its scanner."""
        with problems_shown(self._author):
            return self.threshold.applied(evaluation)
        return evaluation

    def last_scan(self) -> Evaluation | None:
        """Return the newest scan by the connected guardrail, of any definition."""
        name, follows = self._connections.asked_name, self._connections.follows
        for iteration in reversed(self._session.iterations):
            settings = iteration.evaluation.settings
            if settings.name == name and follows(settings):
                return iteration.evaluation
        newest = self._result
        return newest if newest is not None and follows(newest.settings) else None

    def predicted_verdicts(self, evaluation: Evaluation) -> NDArray[np.int8] | None:
        """Return the expected verdicts of a scan, int8 [N], or None."""
        prediction = self._prediction
        if prediction is None or evaluation.settings.name not in REMOTE:
            return None
        fits = evaluation.key.same_subject(prediction.topic, prediction.prompt_set)
        return prediction.triggered if fits else None

    # --- actions of the author ------------------------------------------------------------

    def scan(self) -> None:
        """Scan the definition; ask first, unless the author agreed to the plan before."""
        self._start(ScanRequest())

    def scan_options(self) -> None:
        """Show the plan of a scan, and scan as chosen."""
        self._start(ScanRequest(ask=True))

    def scan_missing(self) -> None:
        """Scan the prompts that have no verdict yet."""
        if refusal := self.missing_refusal:
            self._author.notify(refusal)
        else:
            self._start(ScanRequest(missing=True))

    @property
    def missing_refusal(self) -> str:
        """Why missing prompts cannot be scanned, or ""."""
        scan = self.standing_scan()
        if self.under_way:
            return UNDER_WAY
        if scan is None or scan.settings.name != self._connections.asked_name:
            return "This definition has not been scanned yet."
        return "" if scan.metrics.missing else "Every prompt has a verdict."

    def check_flips(self) -> None:
        """Scan the prompts in doubt until coverage is as precise as the author wants."""
        scan = self._current_scan()
        if (
            not self.under_way
            and scan is not None
            and scan.settings.name == self._connections.asked_name
            and not scan.metrics.missing
        ):
            self._author.notify("Every prompt has a verdict, so none is in doubt.")
            return
        self._start(ScanRequest(flips=True))

    def pause(self) -> None:
        """Pause the scan, or resume it."""
        evaluator = self._evaluator
        if evaluator is None or not evaluator.busy:
            self._author.notify(NO_SCAN)
            return
        evaluator.hold(not evaluator.held)
        self._author.notify(
            "Paused: no more requests are sent." if evaluator.held else "The scan continues."
        )

    def stop(self) -> None:
        """Cancel the scan; the verdicts that have arrived are kept."""
        if self._job is not None and self.under_way:
            self._job.cancel()
        else:
            self._author.notify(NO_SCAN)

    async def finish(self) -> None:
        """Cancel the scan and wait for its end; the verdicts that have arrived are kept."""
        if self._job is not None and self.under_way:
            self._job.cancel()
        async with self._one_at_a_time:
            pass

    def guardrail_changed(self) -> None:
        """Show the results of the newly chosen guardrail."""
        self._prefers_preview = False
        self._store.show_scan(None)
        self._refresh()

    def swap_preview(self) -> None:
        """Switch between the scan or forecast and the engine's preview."""
        if self._current_scan() is None:
            self._swap_forecast()
            return
        self._prefers_preview = not self._prefers_preview
        shown = "the embedded engine's preview" if self._prefers_preview else "the scan"
        self._author.notify(f"Shown: {shown}.")
        self._refresh()

    def _swap_forecast(self) -> None:
        forecasting, shown = self._forecasting, self._store.state.forecast
        if shown is None and forecasting.wanted:
            self._author.notify(
                "This definition has not been scanned: the screen shows the preview."
            )
            return
        forecasting.wanted = shown is None
        name = "a forecast" if forecasting.wanted else "the embedded engine's own view"
        self._author.notify(f"Shown while you edit: {name}.")
        self._refresh()

    def decided_scan(self) -> Evaluation | None:
        """Return the shown scan if it is by a decision model, whose threshold can change."""
        scan = self.standing_scan()
        return scan if scan is not None and scan.settings.name == DECISION else None

    def use_threshold(self, chosen: Chosen, *, keep: bool = True) -> None:
        """Use a fit or a threshold set by hand for the decision model whose scan is shown.

        None is the recorded one. With `keep` it is stored in the session.
        """
        scan = self.decided_scan()
        if scan is not None:
            self.use_threshold_of(scan.settings.identity, chosen, keep=keep)

    def use_threshold_of(self, identity: str, chosen: Chosen, *, keep: bool = True) -> None:
        """Use a threshold for the decision model of this identity.

        Its scans get new verdicts from their probabilities, without any request.
        """
        self.threshold.use(chosen, identity)
        if keep:
            with problems_shown(self._author):
                self.threshold.keep(identity)
        fit = chosen if isinstance(chosen, ThresholdFit) else None
        self._store.publish(replace(self._store.state, decision_fit=fit))
        self._refresh()

    # --- progress -------------------------------------------------------------------------

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Cancel a scan of an outdated definition or prompt set."""
        same_prompts = new.prompts is old.prompts and new.companions is old.companions
        if same_prompts and new.topic == old.topic:
            return
        self._prefers_preview = False
        self._flips.forget_rest()
        if not self.under_way:
            self._store.show_scan(None)
            return
        subject = self._subject
        if subject is not None and (
            subject.topic != new.topic or subject.prompts.fingerprint != new.prompts.fingerprint
        ):
            self._stopped_by = StopReason.EDIT
            self.stop()

    def poll(self) -> None:
        """Publish the progress of the scan, and at intervals the verdicts so far."""
        progress = self._evaluator.progress if self._evaluator is not None else None
        if progress is None:
            return
        traffic = progress.traffic() if progress.traffic is not None else None
        self._store.show_scan(
            ScanStatus(
                progress.phase,
                progress,
                traffic,
                who=self._connections.who,
                check=None if self._check is None else self._check.status,
            )
        )
        if traffic is not None and traffic.rate > 0:
            self._rate = traffic.rate
        if progress != self._shown and time.monotonic() - self._shown_at >= self.show_every:
            self._shown, self._shown_at = progress, time.monotonic()
            self._jobs.start(self._show_so_far(), group=_SO_FAR, exclusive=True)

    async def _show_so_far(self) -> None:
        evaluation = self.standing_scan()
        if evaluation is not None and self.scanning:
            await self._show(evaluation)

    def _step(
        self,
        step: str,
        *,
        problem: bool = False,
        stopped: StopReason | None = None,
        check: FlipStatus | None = None,
    ) -> None:
        """Publish the current step of the scan; "" clears it."""
        who = self._connections.who
        status = ScanStatus(step, problem=problem, who=who, check=check, stopped=stopped)
        self._store.show_scan(status if step else None)

    # --- one scan -------------------------------------------------------------------------

    def _start(self, request: ScanRequest) -> None:
        if self.under_way:
            self._author.notify(UNDER_WAY)
            return
        self._subject = None
        self._stopped_by = StopReason.AUTHOR
        self._job = self._jobs.start(self._run(request), group="scan")

    async def _run(self, request: ScanRequest) -> None:
        async with self._one_at_a_time:  # waits for the end of a cancelled scan
            self._evaluator = self._check = None
            try:
                await self._scan(request)
            except GuardtuiError as error:
                self._keep_partial()
                self._step(f"not scanned: {error}", problem=True)
                self._connections.warn(str(error), error=True)
                self._refresh()
            except asyncio.CancelledError:
                self._stopped()
                raise

    def _stopped(self) -> None:
        evaluation, by = self._keep_partial(), self._stopped_by
        cause = " by your edit" if by is StopReason.EDIT else ""
        if evaluation is None:
            step = f"stopped{cause} before anything was scanned"
        else:
            metrics = evaluation.metrics
            step = f"stopped{cause}: {metrics.total} of {metrics.prompts} verdicts, kept"
        check = None if self._check is None else self._check.status
        if check is not None and evaluation is not None:
            step += f". {check.text}"
        if check is not None and by is StopReason.AUTHOR:
            self._flips.stopped(check)
        self._step(step, problem=True, stopped=by, check=check)
        self._refresh()

    def _keep_partial(self) -> Evaluation | None:
        """Keep and return the verdicts of an incomplete scan, or None."""
        evaluation = self._evaluator.so_far() if self._evaluator is not None else None
        if evaluation is None or not evaluation.metrics.total:
            return None
        known = self._current_scan()
        if known is None or evaluation.metrics.missing <= known.metrics.missing:
            self._result = evaluation
        return evaluation

    async def _scan(self, request: ScanRequest) -> None:
        topic = await self._editing.finish_typing()
        subject = self._subject = _Subject(topic, self._workspace.prompts)
        model = self._connections.model
        if model is None:
            run = await self._planned_by_profile(subject, request)
        else:
            run = await self._planned_by_model(model, subject, request)
        if run is not None:
            await self._evaluate(run, subject)

    async def _other(self, request: ScanRequest) -> None:
        """Switch between AIRS and the models, and scan."""
        self._connections.swap()
        await self._scan(ScanRequest(ask=True, flips=request.flips))

    def _onto(self, request: ScanRequest) -> Evaluation | None:
        """Return the scan to complete, by the same scanner, or None."""
        scan = self._current_scan() if request.flips else None
        scan = self.standing_scan() if request.missing else scan
        same = scan is not None and scan.settings.name == self._connections.asked_name
        return scan if same else None

    async def _estimate(
        self,
        make: MakeScanner,
        rate: float | None,
        subject: _Subject,
        onto: Evaluation | None,
    ) -> ScanEstimate:
        """Estimate a scan; with `onto`, of the rows without a verdict."""
        epochs = self._connections.options.epochs
        forecast = await self._forecasting.forecast(subject.topic, subject.prompts)
        name = self._connections.asked_name
        if forecast is not None and forecast.grounds.settings.name != name:
            forecast = None
        estimate = await asyncio.to_thread(
            estimate_scan,
            self._engine,
            make,
            subject.topic,
            subject.prompts,
            self.last_scan(),
            forecast,
            missing=None if onto is None else ~is_answered(onto.verdicts.triggered),
            used=self._used,
            rate=self._rate if rate is None else rate,
            epochs=1 if epochs is None else epochs.count,
        )
        self._prediction = estimate.prediction
        return estimate

    def _used(self, settings: ScannerSettings) -> Usage | None:
        """Return the total usage of recorded calls with these settings."""
        evaluations = [iteration.evaluation for iteration in self._session.iterations]
        same = (one for one in evaluations if one.settings.identity == settings.identity)
        return sum((one.verdicts.used or Usage() for one in same), Usage())

    async def _doubt(
        self,
        subject: _Subject,
        request: ScanRequest,
        estimate: ScanEstimate,
        onto: Evaluation | None,
    ) -> FlipStart | None:
        """Return the state before a check; None for a scan. Raises ForecastError."""
        if not request.flips:
            return None
        return await self._flips.doubt(subject.topic, subject.prompts, estimate, onto)

    def _agreed_run(
        self,
        make: MakeScanner,
        estimate: ScanEstimate,
        choice: ScanChoice,
        onto: Evaluation | None,
        doubt: FlipStart | None,
    ) -> _Run:
        run = _run(make, estimate, choice, onto)
        if doubt is None:
            return run
        return replace(run, check=self._flips.check(doubt, estimate, choice.goal))

    # --- by AIRS --------------------------------------------------------------------------

    async def _planned_by_profile(self, subject: _Subject, request: ScanRequest) -> _Run | None:
        """Plan a scan by the profile and deploy the definition; None if there is no scan."""
        connection = await self._connections.connected()
        if connection is None:
            return None
        topic = subject.topic
        if connection.manages and (broken := violations(topic)):
            self._connections.warn(f"Not sent: {broken[0].message}", error=True)
            return None
        onto = self._onto(request)
        self._step(f"reads profile {connection.place} …")
        plan = await self._deployment.plan(connection, topic)
        expected = None if plan is None else connection.planned(topic, plan)
        make = self._profile_scanner(connection, expected)
        estimate = await self._estimate(
            make, connection.rate, subject, None if request.flips else onto
        )
        doubt = await self._doubt(subject, request, estimate, onto)
        onto = onto if doubt is None else doubt.onto
        choice = await self._chosen(connection, plan, estimate, request, doubt)
        if choice is None:
            self._step("")
            self._connections.dismiss()
            return None
        if choice.other:
            await self._other(request)
            return None
        in_effect = connection.in_effect(topic, plan)
        if choice.apply and plan is not None:
            applied = await self._deployment.deploy(connection, topic, plan)
            if applied is None:
                return None
            in_effect = connection.in_effect(topic, applied)
        self._connections.use_effect(in_effect)
        make = self._profile_scanner(connection, in_effect)
        return self._agreed_run(make, estimate, choice, onto, doubt)

    def _profile_scanner(
        self, connection: AirsConnection, now: ActiveRevision | None
    ) -> MakeScanner:
        fresh = self._connections.options.fresh
        companions = self._store.state.companions
        names = () if companions is None else tuple(topic.name for topic in companions.topics)

        def make(cache: VerdictCache) -> RemoteScanner:
            return connection.scanner(now, cache=cache, fresh=fresh, companions=names)

        return make

    async def _chosen(
        self,
        connection: AirsConnection,
        plan: Plan | None,
        estimate: ScanEstimate,
        request: ScanRequest,
        doubt: FlipStart | None,
    ) -> ScanChoice | None:
        """Return how to scan; ask unless the author agreed and there are no warnings.

        A check always asks, since the question includes its goal.
        """
        model = self._connections.options.model
        changes = None if plan is None else plan.changes
        warnings = () if plan is None else plan.warnings
        agreed = self._connections.agreed
        quiet = agreed or (self._connections.was_told(connection) and not changes)
        if doubt is None and not request.ask and quiet and not warnings:
            return ScanChoice(bool(changes), likely=False, agreed=agreed)
        revision = "" if plan is None else f", revision {plan.profile.revision}"
        question = ScanPlan(
            f"Profile {connection.place}{revision}",
            changes,
            warnings,
            estimate.cost,
            agreed,
            other="" if model is None else f"Ask {_NAMES[model.scanner_name][1]}",
        )
        if doubt is not None:
            return await self._author.ask(self._flips.question(question, doubt, estimate))
        choice = await self._author.ask(question)
        if choice is not None and not choice.other:
            self._connections.remember(connection, agreed=choice.agreed)
        return choice

    # --- by models ------------------------------------------------------------------------

    async def _planned_by_model(
        self, model: ModelOptions, subject: _Subject, request: ScanRequest
    ) -> _Run | None:
        """Plan a scan by the models, without deployment; None if there is no scan."""
        fresh = self._connections.options.fresh

        def make(cache: VerdictCache) -> RemoteScanner:
            scanner = model.scanner(cache, fresh=fresh)
            if isinstance(scanner, DecisionScanner):
                kept = self.threshold.of(scanner.settings.identity)
                if kept is not None:
                    scanner.use_threshold(*kept)
            return scanner

        onto = self._onto(request)
        self._step("estimates the scan …")
        estimate = await self._estimate(make, model.rate, subject, None if request.flips else onto)
        doubt = await self._doubt(subject, request, estimate, onto)
        onto = onto if doubt is None else doubt.onto
        choice = await self._chosen_for_model(model, estimate, request, doubt)
        if choice is None:
            self._step("")
            return None
        if choice.other:
            await self._other(request)
            return None
        # Verdicts depend on the template: iterations name it, and the session stores its text.
        template = model.scanner().template
        with problems_shown(self._author):
            keep_template(self._workspace.store, template.id, template.text)
        return self._agreed_run(make, estimate, choice, onto, doubt)

    async def _chosen_for_model(
        self,
        model: ModelOptions,
        estimate: ScanEstimate,
        request: ScanRequest,
        doubt: FlipStart | None,
    ) -> ScanChoice | None:
        """Return how to scan; ask unless the author has seen a plan of this model.

        A check always asks.
        """
        if doubt is None and not request.ask and self._connections.was_told_model(model):
            return ScanChoice(apply=False, likely=False, agreed=False)
        who, _ = _NAMES[model.scanner_name]
        question = ScanPlan(
            model.place, (), (), estimate.cost, False, judge=True, other="Ask AIRS", who=who
        )
        if doubt is not None:
            return await self._author.ask(self._flips.question(question, doubt, estimate))
        choice = await self._author.ask(question)
        if choice is not None and not choice.other:
            self._connections.remember_model(model)
        return choice

    # --- requests and recording ----------------------------------------------------------

    async def _evaluate(self, run: _Run, subject: _Subject) -> None:
        if self._cache is None:
            self._cache = SqliteVerdicts(cache_folder())
        if not self._cache.works:
            self._connections.warn(f"{self._cache.path}: cannot be used: verdicts are not cached")
        self._evaluator = evaluator = RemoteEvaluator(run.make(self._cache))
        self._shown, self._prefers_preview = None, False
        self._check = check = run.check
        epochs = self._connections.options.epochs
        if check is None:
            evaluation = await evaluator.evaluate_rows(
                subject.topic, subject.prompts, run.rows, run.onto, epochs=epochs
            )
        else:
            evaluation = await evaluator.evaluate_in_rounds(
                subject.topic, subject.prompts, check.next_rows, run.onto, epochs=epochs
            )
            if not check.asked:
                self._step(check.status.text)
                self._refresh()
                return
        evaluation = self._at_chosen_threshold(evaluation)  # it may have changed during the scan
        self._result = evaluation
        await self._record(evaluation, run)
        if self.is_current(evaluation):
            # Evaluations of fewer verdicts must not be shown after this.
            for group in (_SO_FAR, "preview"):
                self._jobs.cancel(group)
            await self._show(evaluation)

    async def _record(self, evaluation: Evaluation, run: _Run) -> None:
        if not evaluation.metrics.total:
            reason = next(iter(evaluation.verdicts.errors.values()), "none was asked")
            self._step(f"no prompt got a verdict: {reason}", problem=True)
            self._connections.warn(f"No prompt got a verdict: {reason}", error=True)
            return
        before = None if run.forecast is None else forecast_before(run.forecast, evaluation)
        iteration = await record(self._workspace, evaluation, run.onto, before)
        self._store.publish(with_session(self._store.state, self._workspace))
        check = run.check
        if check is None:
            self._step(recorded_text(iteration), problem=bool(evaluation.metrics.errors))
            return
        self._step(
            f"{check.status.text} #{iteration.number}", problem=bool(evaluation.metrics.errors)
        )
        self._author.notify(f"{check.status.text} {_NOT_WHOLE}", seconds=READING_TIME)

    async def close(self) -> None:
        """Close the cache of verdicts."""
        if self._cache is not None:
            self._cache.close()


def _run(
    make: MakeScanner, estimate: ScanEstimate, choice: ScanChoice, onto: Evaluation | None
) -> _Run:
    order = estimate.order
    rows = order.likely_rows if choice.likely else order.rows
    if onto is not None:
        rows = order.rows[~is_answered(onto.verdicts.triggered[order.rows])]
    return _Run(make, rows, onto, forecast=estimate.forecast)
