"""Which guardrail figures are about: one rule for the screen, forecasts, advice and commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from guardtui.app.context import Context
from guardtui.app.guardrails.connections import Connections
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import AIRS, ENGINE, Guardrail, ScannerSettings
from guardtui.forecast.forecaster import guardrails
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.session import Iteration, Recorder


class FigureSubject:
    """The guardrail that the figures of a session are about.

    It is the one that the author chose, or without a choice the one scanned last. Its verdicts on
    the definition are shown, else its forecast, else the engine's figures (`Preview`). Only the
    author changes that: by the key of the engine's own figures, by choosing another guardrail, and
    by a scan.
    """

    def __init__(self, context: Context, connections: Connections) -> None:
        self._session, self._connections = context.session, connections
        self._log = ExperimentLog(context.workspace.store)
        self._known: tuple[object, ScannerSettings | None] = (None, None)
        self.engine_only = False
        """True if the author wants the engine's own figures."""
        self.newest: Evaluation | None = None
        """Newest scan of this run, complete or not, which the session may not have recorded."""

    @property
    def settings(self) -> ScannerSettings | None:
        """The settings of the guardrail; None if no guardrail has answered."""
        newest, connections = self.newest, self._connections
        if newest is not None and connections.follows(newest.settings):
            return newest.settings
        chosen = connections.guardrail or connections.remembered
        key = (self._session.version, self._session.experiments, chosen, connections.connection)
        if self._known[0] != key:
            self._known = key, self._found(None if chosen is None else chosen.guardrail)
        return self._known[1]

    def _found(self, chosen: Guardrail | None) -> ScannerSettings | None:
        iterations, follows = self._session.iterations, self._connections.follows
        recorded = (iteration.evaluation for iteration in iterations)
        answered = [
            settings
            for settings in guardrails([*self._session.experiments, *recorded])
            if follows(settings)
        ]
        if chosen is not None and chosen.kind != ENGINE:
            answered = [
                settings for settings in answered if settings.guardrail.fits(chosen)
            ] or answered
        return scanned_last(answered, iterations, self._log.experiments)


def scanned_last(
    answered: Sequence[ScannerSettings],
    iterations: Sequence[Iteration],
    experiments: Callable[[], Sequence[ExperimentRecord]],
) -> ScannerSettings | None:
    """Return which of the guardrails that have answered was scanned last, or None without any.

    `answered` begins with the one that answered last. One that only a log has, or a profile that
    only experiments asked, comes after the others.
    """
    by_guardrail = {settings.guardrail: settings for settings in answered}
    if len(by_guardrail) < 2:
        return next(iter(answered), None)
    made = experiments()
    for iteration in reversed(iterations):
        settings = iteration.evaluation.settings
        if settings.guardrail not in by_guardrail or iteration.by is Recorder.LOG:
            continue
        of_experiment = settings.kind == AIRS and any(
            settings.guardrail == experiment.settings.guardrail
            and iteration.evaluation.topic in experiment.definitions
            and iteration.created >= experiment.created
            for experiment in made
        )
        if not of_experiment:
            return by_guardrail[settings.guardrail]
    return answered[0]
