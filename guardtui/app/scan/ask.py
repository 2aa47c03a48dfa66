"""The questions before a remote scan: estimate, the author's choice, and deployment."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.app.airs.deploy import Deployment
from guardtui.app.context import Context
from guardtui.app.editing.engine import Engine
from guardtui.app.guardrails.connections import Connections
from guardtui.app.guardrails.remote import ModelOptions
from guardtui.app.problems import problems_shown
from guardtui.app.scan.forecasting import Forecasting
from guardtui.app.scan.plan import (
    FlipCheck,
    FlipGoal,
    FlipPlan,
    ScanChoice,
    ScanCost,
    ScanPlan,
    ScanRequest,
    usual_goal,
)
from guardtui.app.scan.record import Prediction, ScanResults, logged_part
from guardtui.domain.comparison import answers_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import CheckedCoverage
from guardtui.domain.guardrail import Guardrail, ScannerSettings
from guardtui.domain.operating_point import BY_HAND
from guardtui.domain.topic import violations
from guardtui.domain.verdicts import Usage, is_answered
from guardtui.forecast.forecaster import Forecast
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.scanner import ActiveRevision
from guardtui.scanners.base import RemoteScanner, VerdictCache
from guardtui.scanners.local.vectors import cache_folder
from guardtui.scanners.models.decision import ScoredQuestion
from guardtui.scanners.models.scanner import ModelScanner
from guardtui.session.caches import SqliteVerdicts
from guardtui.session.evaluator import measured_with, with_epochs
from guardtui.session.scan_order import forecast_order

_NAMES = {
    "judge": ("a judge", "the judge"),
    "decision": ("a decision model", "the decision model"),
}
"""Display names of models, by the name of their scanner."""


MakeScanner: TypeAlias = Callable[[VerdictCache], RemoteScanner]
"""Makes a remote scanner that uses this cache."""


@dataclass(frozen=True, eq=False)
class PlannedScan:
    """A planned scan: order, cost and expected verdicts.

    `rows` (intp [k]) are asked in this order, of which `likely` are the likely changes; a `check`
    chooses the rows itself, in rounds. `known` (bool [N]) are prompts with a cached verdict,
    `settings` those of the scanner, `forecast` is from its earlier scans. `onto` is the earlier
    scan that it completes.
    """

    make: MakeScanner
    rows: NDArray[np.intp]
    likely: NDArray[np.intp]
    cost: ScanCost
    prediction: Prediction
    known: NDArray[np.bool_]
    settings: ScannerSettings
    forecast: Forecast | None
    onto: Evaluation | None = None
    check: FlipCheck | None = None


class ScanPlanning:
    """Plans scans by AIRS or a model and asks the author about them."""

    def __init__(
        self,
        context: Context,
        connections: Connections,
        deployment: Deployment,
        forecasting: Forecasting,
        results: ScanResults,
        step: Callable[[str], None],
    ) -> None:
        """`step` publishes what the planning is doing; "" clears it."""
        self._store, self._workspace = context.store, context.workspace
        self._engine, self._author = context.engine, context.author
        self._connections, self._deployment = connections, deployment
        self._forecasting = forecasting
        self._results, self._step = results, step
        self._goal: FlipGoal | None = None
        self._rest: FlipGoal | None = None  # remaining goal of a stopped check
        self.rate: float | None = None
        """Last measured rate of a scan in prompts a second, or None."""

    async def plan(self, request: ScanRequest) -> PlannedScan | None:
        """Return the scan that the author agreed to, after its deployment, or None.

        Raises GuardtuiError.
        """
        model = self._connections.model
        if model is None:
            return await self._planned_by_profile(request)
        return await self._planned_by_model(model, request)

    def stopped(self, status: CheckedCoverage) -> None:
        """Remember the remaining calls of a stopped check as the next default."""
        self._rest = FlipGoal(status.within, max(1, status.most_calls - status.calls))

    def forget_rest(self) -> None:
        """Forget the rest of a stopped check: the definition has changed."""
        self._rest = None

    async def _other(self, request: ScanRequest) -> PlannedScan | None:
        """Switch between AIRS and the models, and plan."""
        self._connections.swap()
        return await self.plan(replace(request, ask=True, missing=False))

    def _onto(self, request: ScanRequest, guardrail: Guardrail) -> Evaluation | None:
        """Return the scan to complete, by the same scanner, or None.

        Without one, what the guardrail said in production is completed, unless all is asked again.
        """
        scan = self._results.current() if request.flips else None
        scan = self._results.standing() if request.missing else scan
        if scan is not None and scan.settings.kind == self._connections.asked_name:
            return scan
        options = self._connections.options
        if options.fresh:
            return None
        guardrail = measured_with(guardrail, options.epochs)
        iterations = self._workspace.session.iterations
        return logged_part(iterations, guardrail, request.topic, request.prompts)

    async def _estimate(
        self,
        make: MakeScanner,
        rate: float | None,
        request: ScanRequest,
        onto: Evaluation | None,
    ) -> PlannedScan:
        """Estimate a scan: of rows without a verdict in `onto`, or of all for a check.

        Raises ForecastError for a check without enough verdicts.
        """
        epochs = self._connections.options.epochs
        forecast = await self._forecasting.forecast(request.topic, request.prompts)
        name = self._connections.asked_name
        if forecast is not None and forecast.grounds.settings.kind != name:
            forecast = None
        missing = None
        if onto is not None and not request.flips:
            missing = ~is_answered(onto.verdicts.triggered)
        estimate = await asyncio.to_thread(
            estimate_scan,
            self._engine,
            make,
            request,
            self._results.last(),
            forecast,
            missing=missing,
            used=self._used,
            rate=self.rate if rate is None else rate,
            epochs=1 if epochs is None else epochs.count,
        )
        self._results.prediction = estimate.prediction
        if not request.flips:
            logged = 0 if onto is None or request.missing else onto.metrics.total
            return replace(estimate, onto=onto, cost=replace(estimate.cost, logged=logged))
        settings = with_epochs(estimate.settings, epochs)
        if onto is not None and onto.settings.guardrail != settings.guardrail:
            onto = None  # of another judge
        grounds = self._forecasting.grounds(request.topic, request.prompts, settings, onto)
        goal = self._rest or self._goal or usual_goal(estimate.cost.prompts)
        check = await FlipCheck.begin(grounds, onto, goal, estimate.known, estimate.cost.epochs)
        return replace(estimate, onto=onto, check=check)

    def _used(self, settings: ScannerSettings) -> Usage | None:
        """Return the total usage of recorded calls with these settings."""
        evaluations = [iteration.evaluation for iteration in self._workspace.session.iterations]
        same = (each for each in evaluations if each.settings.guardrail == settings.guardrail)
        return sum((each.verdicts.used or Usage() for each in same), Usage())

    def _agreed(self, make: MakeScanner, estimate: PlannedScan, choice: ScanChoice) -> PlannedScan:
        """Return the scan as chosen; the goal of a check becomes the next default."""
        if estimate.check is not None:
            self._rest, self._goal = None, choice.goal
            estimate.check.aim(choice.goal or usual_goal(estimate.cost.prompts))
        rows = estimate.likely if choice.likely else estimate.rows
        return replace(estimate, make=make, rows=rows)

    async def _choice(
        self,
        question: ScanPlan,
        request: ScanRequest,
        check: FlipCheck | None,
        quiet: bool,
        remember: Callable[[ScanChoice], None],
    ) -> ScanChoice | None:
        """Return how to scan: as planned if `quiet`, or as the author answers, which is remembered.

        A check always asks, since the question includes its goal.
        """
        if quiet and not (request.flips or request.ask):
            return question.as_planned
        if check is None:
            choice = await self._author.ask(question)
        else:
            status, known = check.status, check.known
            goal = FlipGoal(status.within, status.most_calls)
            scans, doubtful = check.first.grounds.scans, len(check.doubtful)
            choice = await self._author.ask(
                FlipPlan(question, status.coverage, scans, doubtful, known, goal)
            )
        if choice is not None and not choice.other and not request.flips:
            remember(choice)
        return choice

    # --- by AIRS --------------------------------------------------------------------------

    async def _planned_by_profile(self, request: ScanRequest) -> PlannedScan | None:
        """Plan a scan by the profile and deploy the definition; None if none can start."""
        connection = await self._connections.connected()
        if connection is None:
            return None
        topic = request.topic
        if connection.manages and (broken := violations(topic)):
            self._connections.warn(f"Not sent: {broken[0].message}", error=True)
            return None
        onto = self._onto(request, connection.guardrail)
        self._step(f"reads profile {connection.title} …")
        plan = await self._deployment.changes.plan(connection, topic)
        expected = None if plan is None else connection.planned(topic, plan)
        make = self._profile_scanner(connection, expected)
        estimate = await self._estimate(make, connection.rate, request, onto)
        known = self._connections
        model, agreed = known.options.model, known.agreed
        changes, warnings = (None, ()) if plan is None else (plan.changes, plan.warnings)
        revision = "" if plan is None else f", revision {plan.profile.revision}"
        choice = await self._choice(
            ScanPlan(
                f"Profile {connection.title}{revision}",
                changes,
                warnings,
                estimate.cost,
                agreed,
                other="" if model is None else f"Ask {_NAMES[model.scanner_name][1]}",
                unknown=None if plan is None or plan.difference else plan.unknown,
            ),
            request,
            estimate.check,
            not warnings and (agreed or (request.missing and not changes)),
            lambda choice: known.remember(connection, agreed=choice.agreed),
        )
        if choice is None:
            self._step("")
            self._connections.dismiss()
            return None
        if choice.other:
            return await self._other(request)
        if plan is not None and plan.difference and not choice.apply:
            # Verdicts on it would be recorded as those of another definition.
            self._connections.warn(f"Not scanned, the definition differs: {plan.difference}.")
            self._step("")
            return None
        in_effect = connection.in_effect(topic, plan)
        if choice.apply and plan is not None:
            applied = await self._deployment.deploy(connection, topic, plan)
            if applied is None:
                return None
            in_effect = connection.in_effect(topic, applied)
        has_it = choice.apply or (plan is not None and not plan.changes)
        self._connections.use_effect(in_effect, topic if has_it else None)
        make = self._profile_scanner(connection, in_effect)
        return self._agreed(make, estimate, choice)

    def _profile_scanner(
        self, connection: AirsConnection, now: ActiveRevision | None
    ) -> MakeScanner:
        fresh = self._connections.options.fresh
        companions = self._store.state.companions
        names = () if companions is None else tuple(topic.name for topic in companions.topics)

        def make(cache: VerdictCache) -> RemoteScanner:
            return connection.scanner(now, cache=cache, fresh=fresh, companions=names)

        return make

    # --- by models ------------------------------------------------------------------------

    async def _planned_by_model(
        self, model: ModelOptions, request: ScanRequest
    ) -> PlannedScan | None:
        """Plan a scan by the models, without deployment; None if none can start."""
        fresh = self._connections.options.fresh

        def make(cache: VerdictCache) -> RemoteScanner:
            scanner = model.scanner(cache, fresh=fresh)
            asked = scanner.asked
            if isinstance(asked, ScoredQuestion):
                chosen = self._results.threshold.chosen(scanner.settings.guardrail)
                if chosen is not None:
                    asked.use_threshold(chosen, BY_HAND)
            return scanner

        onto = self._onto(request, model.scanner().settings.guardrail)
        self._step("estimates the scan …")
        estimate = await self._estimate(make, model.calls.rate, request, onto)
        known, (who, _) = self._connections, _NAMES[model.scanner_name]
        agreed = known.agreed_to(model)
        choice = await self._choice(
            ScanPlan(
                model.title, (), (), estimate.cost, agreed, judge=True, other="Ask AIRS", who=who
            ),
            request,
            estimate.check,
            agreed or request.missing,
            lambda choice: known.remember_model(model, agreed=choice.agreed),
        )
        if choice is None:
            self._step("")
            return None
        if choice.other:
            return await self._other(request)
        # Verdicts depend on the template: iterations name it, and the session stores its text.
        template = model.template.current()
        with problems_shown(self._author):
            self._workspace.store.keep_template(template.id, template.text)
        return self._agreed(make, estimate, choice)


# --- the estimate ------------------------------------------------------------------------------


def estimate_scan(
    engine: Engine,
    make: MakeScanner,
    request: ScanRequest,
    before: Evaluation | None,
    forecast: Forecast | None = None,
    *,
    missing: NDArray[np.bool_] | None = None,
    used: Callable[[ScannerSettings], Usage | None] = lambda settings: None,
    rate: float | None,
    epochs: int = 1,
) -> PlannedScan:
    """Order the rows of a scan and estimate its cost. Blocks.

    `before` is the last scan by the same scanner, of any definition. Without a `forecast`, every
    row is a likely change, and their order is random. With `missing` (bool [N]) only these rows are
    scanned. `used` returns the recorded usage of calls with these settings. Raises ScannerError.
    """
    topic, prompts = request.topic, request.prompts
    if forecast is not None:
        expected = forecast.likelier
        rows, likely = forecast_order(forecast.changes)
    else:
        # Nothing is known about the effect of an edit: the last verdict is the best guess.
        # In the order of a hash, so that the prompts asked so far are a fair sample at any time.
        rows = likely = np.argsort(prompts.keys, kind="stable")
        expected = engine.evaluate_now(topic, prompts).verdicts.triggered
        if before is not None:
            answers = answers_for(before, prompts.keys)
            expected = np.where(is_answered(answers), answers, expected).astype(np.int8)
    prediction = Prediction(topic, prompts.fingerprint, expected)
    # An SQLite connection belongs to one thread.
    with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
        scanner = make(cache)
        known, settings = scanner.known(topic, prompts), scanner.settings
        expense = None
        if isinstance(scanner, ModelScanner):
            expense = scanner.expense(topic, prompts.prompts.to_list(), used(settings))
    if missing is not None:
        rows = likely = rows[missing[rows]]
    cost = ScanCost(
        len(rows),
        int(known[rows].sum()),
        len(likely),
        int(known[likely].sum()),
        rate,
        epochs,
        expense,
    )
    return PlannedScan(make, rows, likely, cost, prediction, known, settings, forecast)
