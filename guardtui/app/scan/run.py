"""Runs of remote scans: start, pause, progress, end."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from guardtui.app.airs.deploy import Deployment
from guardtui.app.context import Context
from guardtui.app.editing.preview import Preview
from guardtui.app.guardrails.connections import Connections
from guardtui.app.ports import Job
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.scan.ask import PlannedScan, ScanPlanning
from guardtui.app.scan.forecasting import Forecasting
from guardtui.app.scan.plan import FlipCheck, ScanRequest
from guardtui.app.scan.record import ScanResults, record, recorded_text
from guardtui.app.scan.recorded_forecast import forecast_before
from guardtui.app.state import AppState, ScanStatus, StopReason, with_session
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import capitalized
from guardtui.domain.forecast_record import CheckedCoverage
from guardtui.scanners.base import Progress
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.caches import SqliteVerdicts
from guardtui.session.evaluator import RemoteEvaluator

SHOW_EVERY = 0.25
"""Seconds between two evaluations of a running scan."""

NO_SCAN = "No scan is under way."
UNDER_WAY = "A scan is under way."

_SO_FAR = "so-far"
_NOT_WHOLE = "The other prompts stay open: keeping the definition needs a full scan."


class Scans:
    """Remote scans of one workspace, one at a time; an edit of the definition cancels them.

    State changes on the event loop only. During a scan the display calls `poll`.
    """

    follows = ("topic", "prompts", "companions")

    def __init__(
        self,
        context: Context,
        connections: Connections,
        deployment: Deployment,
        forecasting: Forecasting,
        results: ScanResults,
        preview: Preview,
    ) -> None:
        self._store, self._workspace = context.store, context.workspace
        self._editing, self._author, self._jobs = context.editing, context.author, context.jobs
        self._connections, self._forecasting = connections, forecasting
        self.results = results
        """Evaluations by scans."""
        self._planning = ScanPlanning(
            context, connections, deployment, forecasting, results, self._step
        )
        self._preview = preview
        self.show_every = SHOW_EVERY
        self._one_at_a_time = asyncio.Lock()
        self._job: Job | None = None
        self._request: ScanRequest | None = None
        self._stopped_by = StopReason.AUTHOR
        self._check: FlipCheck | None = None
        self._shown_at = 0.0
        self._shown: Progress | None = None
        self._cache: SqliteVerdicts | None = None

    # --- queries ---------------------------------------------------------------------------

    @property
    def under_way(self) -> bool:
        """Return whether a scan was started, with its questions and deployment, and not ended."""
        job = self._job
        return job is not None and not job.is_finished and not job.is_cancelled

    @property
    def held(self) -> bool:
        """Return whether the scan is paused."""
        return self.results.evaluator is not None and self.results.evaluator.held

    @property
    def rate(self) -> float | None:
        """Last measured rate in prompts a second, or None."""
        return self._planning.rate

    # --- actions of the author ------------------------------------------------------------

    def scan(self) -> None:
        """Scan the definition; ask first, unless the author agreed to the plan before."""
        self._start()

    def scan_options(self) -> None:
        """Show the plan of a scan, and scan as chosen."""
        self._start(ask=True)

    def scan_missing(self) -> None:
        """Scan the prompts that have no verdict yet."""
        if refusal := self.missing_refusal:
            self._author.notify(refusal)
        else:
            self._start(missing=True)

    @property
    def missing_refusal(self) -> str:
        """Why missing prompts cannot be scanned, or ""."""
        scan = self.results.standing()
        if self.under_way:
            return UNDER_WAY
        if scan is None or scan.settings.kind != self._connections.asked_name:
            return "This definition has not been scanned yet."
        return "" if scan.metrics.missing else "Every prompt has a verdict."

    def check_flips(self) -> None:
        """Scan the prompts in doubt until coverage is as precise as the author wants."""
        scan = self.results.current()
        if (
            not self.under_way
            and scan is not None
            and scan.settings.kind == self._connections.asked_name
            and not scan.metrics.missing
        ):
            self._author.notify("Every prompt has a verdict, so none is in doubt.")
            return
        self._start(flips=True)

    def pause(self) -> None:
        """Pause the scan, or resume it."""
        evaluator = self.results.evaluator
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
        self.results.subject.engine_only = False
        self._store.show_scan(None)
        self._preview.request()

    def swap_preview(self) -> None:
        """Switch between the figures of the guardrail, or their forecast, and the engine's."""
        state, subject = self._store.state, self.results.subject
        if not subject.engine_only and state.forecast is None and self.results.current() is None:
            self._author.notify(
                "This definition has not been scanned: the engine's figures are shown."
            )
            return
        subject.engine_only = not subject.engine_only
        whose = "the engine" if subject.engine_only else "the guardrail"
        self._author.notify(f"Shown: the figures of {whose}.")
        self._preview.request()

    def use_threshold(self, chosen: float | None, *, keep: bool = True) -> None:
        """Use a threshold set by hand for the decision model whose scan is shown.

        None is the recorded one. With `keep` it is stored in the session. Scans get new verdicts
        from their probabilities, without any request.
        """
        scan = self.results.decided()
        if scan is None:
            return
        guardrail = scan.settings.guardrail
        self.results.threshold.use(chosen, guardrail)
        if keep:
            with problems_shown(self._author):
                self.results.threshold.keep(guardrail)
        self._preview.request()

    # --- progress -------------------------------------------------------------------------

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Cancel a scan of an outdated definition or prompt set."""
        same_prompts = new.prompts is old.prompts and new.companions is old.companions
        if same_prompts and new.topic == old.topic:
            return
        self._planning.forget_rest()
        if not self.under_way:
            self._store.show_scan(None)
            return
        scanned = self._request
        if scanned is not None and (
            scanned.topic != new.topic or scanned.prompts.fingerprint != new.prompts.fingerprint
        ):
            self._stopped_by = StopReason.EDIT
            self.stop()

    def poll(self) -> None:
        """Publish the progress of the scan, and at intervals the verdicts so far."""
        progress = self.results.evaluator.progress if self.results.evaluator is not None else None
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
            self._planning.rate = traffic.rate
        if progress != self._shown and time.monotonic() - self._shown_at >= self.show_every:
            self._shown, self._shown_at = progress, time.monotonic()
            self._jobs.start(self._show_so_far(), group=_SO_FAR, exclusive=True)

    async def _show_so_far(self) -> None:
        evaluation = self.results.standing()
        if evaluation is not None and self.results.scanning:
            await self._preview.show(evaluation)

    def _step(
        self,
        step: str,
        *,
        problem: bool = False,
        stopped: StopReason | None = None,
        check: CheckedCoverage | None = None,
    ) -> None:
        """Publish the current step of the scan; "" clears it."""
        who = self._connections.who
        status = ScanStatus(step, problem=problem, who=who, check=check, stopped=stopped)
        self._store.show_scan(status if step else None)

    # --- one scan -------------------------------------------------------------------------

    def _start(self, *, ask: bool = False, missing: bool = False, flips: bool = False) -> None:
        if self.under_way:
            self._author.notify(UNDER_WAY)
            return
        self._request = None
        self._stopped_by = StopReason.AUTHOR
        self._job = self._jobs.start(self._run(ask, missing, flips), group="scan")

    async def _run(self, ask: bool, missing: bool, flips: bool) -> None:
        async with self._one_at_a_time:  # waits for the end of a cancelled scan
            self.results.evaluator = self._check = None
            try:
                topic = await self._editing.finish_typing()
                request = ScanRequest(topic, self._workspace.prompts, ask, missing, flips)
                self._request = request
                agreed = await self._planning.plan(request)
                if agreed is not None:
                    await self._evaluate(agreed, request)
            except GuardtuiError as error:
                self.results.keep_partial()
                self._step(f"not scanned: {error}", problem=True)
                self._connections.warn(str(error), error=True)
                self._preview.request()
            except asyncio.CancelledError:
                self._stopped()
                raise

    def _stopped(self) -> None:
        evaluation, by = self.results.keep_partial(), self._stopped_by
        cause = " by your edit" if by is StopReason.EDIT else ""
        if evaluation is None:
            step = f"stopped{cause} before anything was scanned"
        else:
            metrics = evaluation.metrics
            step = f"stopped{cause}: {metrics.total} of {metrics.prompts} verdicts, kept"
        check = None if self._check is None else self._check.status
        if check is not None and evaluation is not None:
            step += f"; {check.text}"
        if check is not None and by is StopReason.AUTHOR:
            self._planning.stopped(check)
        self._step(step, problem=True, stopped=by, check=check)
        self._preview.request()

    # --- requests and recording ----------------------------------------------------------

    async def _evaluate(self, run: PlannedScan, request: ScanRequest) -> None:
        if self._cache is None:
            self._cache = SqliteVerdicts(cache_folder())
        if not self._cache.works:
            self._connections.warn(f"{self._cache.path}: cannot be used: verdicts are not cached")
        self.results.evaluator = evaluator = RemoteEvaluator(run.make(self._cache))
        self._shown, self.results.subject.engine_only = None, False
        self._check = check = run.check
        epochs = self._connections.options.epochs
        if check is None:
            evaluation = await evaluator.evaluate_rows(
                request.topic, request.prompts, run.rows, run.onto, epochs=epochs
            )
        else:
            evaluation = await evaluator.evaluate_in_rounds(
                request.topic, request.prompts, check.next_rows, run.onto, epochs=epochs
            )
            if not check.asked:
                self._step(f"{capitalized(check.status.text)}.")
                self._preview.request()
                return
        # The threshold may have changed during the scan.
        evaluation = self._titled(self.results.at_chosen_threshold(evaluation))
        self.results.subject.newest = evaluation
        await self._record(evaluation, run)
        if self.results.is_current(evaluation):
            # Evaluations of fewer verdicts must not be shown after this.
            for group in (_SO_FAR, "preview"):
                self._jobs.cancel(group)
            await self._preview.show(evaluation)

    def _titled(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation with the name of the guardrail, if it has one."""
        named, settings = self._connections.guardrail, evaluation.settings
        if named is None or named.kind != settings.guardrail.kind:
            return evaluation
        return replace(evaluation, settings=settings.titled(named.name))

    async def _record(self, evaluation: Evaluation, run: PlannedScan) -> None:
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
            text = recorded_text(iteration)
            self._step(text, problem=bool(evaluation.metrics.errors))
            # Replaces a message that an earlier check has left.
            self._author.notify(f"{self._connections.who} {text}.")
            return
        text = f"{capitalized(check.status.text)}."
        self._step(f"{text} #{iteration.number}", problem=bool(evaluation.metrics.errors))
        self._author.notify(f"{text} {_NOT_WHOLE}", seconds=READING_TIME)

    async def close(self) -> None:
        """Close the cache of verdicts."""
        if self._cache is not None:
            self._cache.close()
