"""The guardrail that an experiment in a session asks: its model, or a profile of AIRS for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from guardtui.app.airs.profile_changes import ProfileChanges
from guardtui.app.context import Context
from guardtui.app.experiments.airs import AirsAnswering, choose_profile
from guardtui.app.experiments.answering import Answering
from guardtui.app.experiments.models import ModelAnswering
from guardtui.app.guardrails.connections import Connections
from guardtui.app.guardrails.remote import ModelOptions
from guardtui.app.scan.record import ScanResults
from guardtui.domain.figures import duration_text
from guardtui.domain.guardrail import Guardrail, ScannerSettings
from guardtui.domain.operating_point import BY_HAND
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Usage
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.session.experiments import ExperimentRecord, answered_by_any


@dataclass(frozen=True, eq=False)
class AskedGuardrail:
    """A guardrail to experiment on, with its settings before the first answer.

    `cost` returns the cost of so many calls in words, `duration` that of so many candidates and
    calls; each may be "". `changes` says what happens to its profile.
    """

    answering: Answering
    settings: ScannerSettings
    who: str
    cost: Callable[[int], str] = lambda calls: ""
    duration: Callable[[int, int], str] = lambda candidates, calls: ""
    changes: tuple[str, ...] = ()


class ExperimentGuardrails:
    """Makes the guardrail of an experiment from what scans of the session use."""

    def __init__(
        self,
        context: Context,
        connections: Connections,
        changes: ProfileChanges,
        results: ScanResults,
        rate: Callable[[], float | None],
    ) -> None:
        """`rate` returns the last measured rate of a scan in prompts a second, or None."""
        self._workspace, self._author = context.workspace, context.author
        self._connections, self._changes = connections, changes
        self._results, self._rate = results, rate

    @property
    def is_named(self) -> bool:
        """Return whether a profile or a model is configured: nothing has to be chosen first."""
        return self._connections.is_named

    @property
    def who(self) -> str:
        """Name of the guardrail, for people; not inert."""
        connections = self._connections
        named, known = connections.guardrail, connections.connection
        if named is not None and named.name:
            return named.name
        if connections.model is not None:
            return connections.model.title
        return connections.who if known is None else f"{connections.who} {known.profile}"

    @property
    def planned(self) -> tuple[str, ScannerSettings | None]:
        """Name of what a new experiment asks, not inert, and its settings.

        None for AIRS, where the author chooses a profile for tests first.
        """
        model = self._connections.model
        if model is None:
            return self._connections.who, None
        return self.who, model.scanner().settings

    def made(self, record: ExperimentRecord) -> bool:
        """Return whether an experiment was made on the guardrail that scans use now.

        With AIRS, on any profile of the same tenant and service.
        """
        model, known = self._connections.model, self._connections.connection
        if model is not None:
            return record.is_of(model.scanner().settings.guardrail)
        own = record.settings.guardrail
        return own.kind == self._connections.asked_name and (
            known is None or _of_any_profile(own) == _of_any_profile(known.guardrail)
        )

    async def asked(
        self, topic: Topic, prompts: PromptSet, resumed: ExperimentRecord | None
    ) -> AskedGuardrail | None:
        """Return the guardrail, for a new experiment or a resumed one.

        The author chooses the profile of AIRS; None if dismissed, or if it cannot be changed.
        Raises ScannerError, ServiceError and StoreError.
        """
        model = self._connections.model
        if model is not None:
            return await asyncio.to_thread(self._model, model, topic, prompts)
        return await self._profile(topic, resumed)

    def _model(self, model: ModelOptions, topic: Topic, prompts: PromptSet) -> AskedGuardrail:
        scanner = model.scanner()
        settings = scanner.settings
        if isinstance(model, DecisionOptions):
            chosen = self._results.threshold.chosen(settings.guardrail)
            if chosen is not None:
                model = model.at_threshold(chosen, BY_HAND)
                scanner = model.scanner()
                settings = scanner.settings
        expense = scanner.expense(topic, prompts.prompts.to_list(), self._used(settings.guardrail))
        rate = model.calls.rate or self._rate()
        named = self._connections.guardrail
        return AskedGuardrail(
            ModelAnswering(model),
            settings.titled("" if named is None else named.name),
            self.who,
            expense.text,
            lambda candidates, calls: f"about {duration_text(calls / rate)}" if rate else "",
        )

    def _used(self, guardrail: Guardrail) -> Usage | None:
        """Return the total usage of recorded calls to a guardrail."""
        recorded = (iteration.evaluation for iteration in self._workspace.session.iterations)
        same = (
            evaluation.verdicts.used or Usage()
            for evaluation in recorded
            if answered_by_any(evaluation.settings.guardrail) == guardrail
        )
        return sum(same, Usage())

    async def _profile(
        self, topic: Topic, resumed: ExperimentRecord | None
    ) -> AskedGuardrail | None:
        connections = self._connections
        known = await connections.managing()
        if known is None:
            return None
        options, production = connections.options, known.profile
        if resumed is not None:
            name = resumed.settings.guardrail.profile
        else:
            name = await choose_profile(self._author, options, production)
        if not name:
            return None
        connection = known if name == production else options.connect(options.configured(), name)
        if resumed is not None and connection.guardrail != resumed.settings.guardrail:
            raise AirsError("the unfinished experiment is of another tenant or service")
        answering = AirsAnswering(
            connection,
            production,
            topic,
            self._workspace.topic_file.path,
            self._workspace.store,
            self._changes,
            tell=partial(self._author.notify, severity="warning"),
        )
        changes = await answering.look()
        named = connections.guardrail if name == production else None
        return AskedGuardrail(
            answering,
            answering.settings.titled("" if named is None else named.name),
            connection.title,
            duration=answering.duration,
            changes=changes,
        )


def _of_any_profile(guardrail: Guardrail) -> Guardrail:
    return replace(guardrail, profile="", companions=(), otherwise="")
