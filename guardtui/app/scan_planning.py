"""Plans of remote scans: estimate, question to the author, and deployment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from guardtui.app.connections import Connections
from guardtui.app.deploy import Deployment
from guardtui.app.engine import Engine
from guardtui.app.flip_check import FlipCheck
from guardtui.app.flip_scan import FlipScans, FlipStart
from guardtui.app.forecasting import Forecasting
from guardtui.app.ports import Author
from guardtui.app.problems import problems_shown
from guardtui.app.remote import ModelOptions
from guardtui.app.scan_plan import (
    MakeScanner,
    ScanChoice,
    ScanEstimate,
    ScanPlan,
    ScanRequest,
    estimate_scan,
)
from guardtui.app.scan_results import ScanResults
from guardtui.app.state import Store
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import BY_HAND
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, violations
from guardtui.domain.verdicts import Usage, is_answered
from guardtui.forecast.forecaster import Forecast
from guardtui.scanners.airs.connection import ActiveRevision, AirsConnection
from guardtui.scanners.airs.lifecycle import Plan
from guardtui.scanners.base import RemoteScanner, VerdictCache
from guardtui.scanners.models.decision import ScoredQuestion
from guardtui.session.judge_templates import keep_template
from guardtui.session.workspace import Workspace

_NAMES = {
    "judge": ("a judge", "the judge"),
    "decision": ("a decision model", "the decision model"),
}
"""Display names of models, by the name of their scanner."""


@dataclass(frozen=True, eq=False)
class ScanSubject:
    """Definition and prompts of a scan."""

    topic: Topic
    prompts: PromptSet


@dataclass(frozen=True, eq=False)
class AgreedScan:
    """An agreed scan: `rows` (intp [k]) in order, `onto` an earlier scan.

    A `check` chooses the rows itself, in rounds.
    """

    make: MakeScanner
    rows: NDArray[np.intp]
    onto: Evaluation | None
    check: FlipCheck | None = None
    forecast: Forecast | None = None


class ScanPlanning:
    """Plans scans by AIRS or a model and asks the author about them."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        engine: Engine,
        connections: Connections,
        deployment: Deployment,
        author: Author,
        forecasting: Forecasting,
        results: ScanResults,
        *,
        step: Callable[[str], None],
    ) -> None:
        """`step` publishes what the planning is doing; "" clears it."""
        self._store, self._workspace, self._engine = store, workspace, engine
        self._connections, self._deployment = connections, deployment
        self._author, self._forecasting = author, forecasting
        self._results, self._step = results, step
        self.flips = FlipScans(forecasting, connections)
        """Checks of likely flips."""
        self.rate: float | None = None
        """Last measured rate of a scan in prompts a second, or None."""

    async def plan(self, subject: ScanSubject, request: ScanRequest) -> AgreedScan | None:
        """Return the scan that the author agreed to, after its deployment, or None.

        Raises GuardtuiError.
        """
        model = self._connections.model
        if model is None:
            return await self._planned_by_profile(subject, request)
        return await self._planned_by_model(model, subject, request)

    async def _other(self, subject: ScanSubject, request: ScanRequest) -> AgreedScan | None:
        """Switch between AIRS and the models, and plan."""
        self._connections.swap()
        return await self.plan(subject, ScanRequest(ask=True, flips=request.flips))

    def _onto(self, request: ScanRequest) -> Evaluation | None:
        """Return the scan to complete, by the same scanner, or None."""
        scan = self._results.current() if request.flips else None
        scan = self._results.standing() if request.missing else scan
        same = scan is not None and scan.settings.kind == self._connections.asked_name
        return scan if same else None

    async def _estimate(
        self,
        make: MakeScanner,
        rate: float | None,
        subject: ScanSubject,
        onto: Evaluation | None,
    ) -> ScanEstimate:
        """Estimate a scan; with `onto`, of the rows without a verdict."""
        epochs = self._connections.options.epochs
        forecast = await self._forecasting.forecast(subject.topic, subject.prompts)
        name = self._connections.asked_name
        if forecast is not None and forecast.grounds.settings.kind != name:
            forecast = None
        estimate = await asyncio.to_thread(
            estimate_scan,
            self._engine,
            make,
            subject.topic,
            subject.prompts,
            self._results.last(),
            forecast,
            missing=None if onto is None else ~is_answered(onto.verdicts.triggered),
            used=self._used,
            rate=self.rate if rate is None else rate,
            epochs=1 if epochs is None else epochs.count,
        )
        self._results.prediction = estimate.prediction
        return estimate

    def _used(self, settings: ScannerSettings) -> Usage | None:
        """Return the total usage of recorded calls with these settings."""
        evaluations = [iteration.evaluation for iteration in self._workspace.session.iterations]
        same = (each for each in evaluations if each.settings.guardrail == settings.guardrail)
        return sum((each.verdicts.used or Usage() for each in same), Usage())

    async def _doubt(
        self,
        subject: ScanSubject,
        request: ScanRequest,
        estimate: ScanEstimate,
        onto: Evaluation | None,
    ) -> FlipStart | None:
        """Return the state before a check; None for a scan. Raises ForecastError."""
        if not request.flips:
            return None
        return await self.flips.doubt(subject.topic, subject.prompts, estimate, onto)

    def _agreed(
        self,
        make: MakeScanner,
        estimate: ScanEstimate,
        choice: ScanChoice,
        onto: Evaluation | None,
        doubt: FlipStart | None,
    ) -> AgreedScan:
        agreed = _agreed_scan(make, estimate, choice, onto)
        if doubt is None:
            return agreed
        return replace(agreed, check=self.flips.check(doubt, estimate, choice.goal))

    # --- by AIRS --------------------------------------------------------------------------

    async def _planned_by_profile(
        self, subject: ScanSubject, request: ScanRequest
    ) -> AgreedScan | None:
        """Plan a scan by the profile and deploy the definition; None if none can start."""
        connection = await self._connections.connected()
        if connection is None:
            return None
        topic = subject.topic
        if connection.manages and (broken := violations(topic)):
            self._connections.warn(f"Not sent: {broken[0].message}", error=True)
            return None
        onto = self._onto(request)
        self._step(f"reads profile {connection.title} …")
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
            return await self._other(subject, request)
        in_effect = connection.in_effect(topic, plan)
        if choice.apply and plan is not None:
            applied = await self._deployment.deploy(connection, topic, plan)
            if applied is None:
                return None
            in_effect = connection.in_effect(topic, applied)
        self._connections.use_effect(in_effect)
        make = self._profile_scanner(connection, in_effect)
        return self._agreed(make, estimate, choice, onto, doubt)

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
            f"Profile {connection.title}{revision}",
            changes,
            warnings,
            estimate.cost,
            agreed,
            other="" if model is None else f"Ask {_NAMES[model.scanner_name][1]}",
        )
        if doubt is not None:
            return await self._author.ask(self.flips.question(question, doubt, estimate))
        choice = await self._author.ask(question)
        if choice is not None and not choice.other:
            self._connections.remember(connection, agreed=choice.agreed)
        return choice

    # --- by models ------------------------------------------------------------------------

    async def _planned_by_model(
        self, model: ModelOptions, subject: ScanSubject, request: ScanRequest
    ) -> AgreedScan | None:
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

        onto = self._onto(request)
        self._step("estimates the scan …")
        estimate = await self._estimate(
            make, model.calls.rate, subject, None if request.flips else onto
        )
        doubt = await self._doubt(subject, request, estimate, onto)
        onto = onto if doubt is None else doubt.onto
        choice = await self._chosen_for_model(model, estimate, request, doubt)
        if choice is None:
            self._step("")
            return None
        if choice.other:
            return await self._other(subject, request)
        # Verdicts depend on the template: iterations name it, and the session stores its text.
        template = model.template.current()
        with problems_shown(self._author):
            keep_template(self._workspace.store, template.id, template.text)
        return self._agreed(make, estimate, choice, onto, doubt)

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
            model.title, (), (), estimate.cost, False, judge=True, other="Ask AIRS", who=who
        )
        if doubt is not None:
            return await self._author.ask(self.flips.question(question, doubt, estimate))
        choice = await self._author.ask(question)
        if choice is not None and not choice.other:
            self._connections.remember_model(model)
        return choice


def _agreed_scan(
    make: MakeScanner, estimate: ScanEstimate, choice: ScanChoice, onto: Evaluation | None
) -> AgreedScan:
    order = estimate.order
    rows = order.likely_rows if choice.likely else order.rows
    if onto is not None:
        rows = order.rows[~is_answered(onto.verdicts.triggered[order.rows])]
    return AgreedScan(make, rows, onto, forecast=estimate.forecast)
