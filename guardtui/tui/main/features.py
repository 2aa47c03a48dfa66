"""The features of the main screen and the services of one workspace, wired together.

Imported after the first screen is drawn, since they are most of the program; a feature that only
opens dialogs is imported at its first action.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from guardtui.app.services import Services
from guardtui.tui.advice.ideas import IdeaFeature
from guardtui.tui.advice.mistake import MistakeFeature
from guardtui.tui.airs.feature import AirsTopicsFeature
from guardtui.tui.editor.feature import DefinitionFeature
from guardtui.tui.experiments.feature import ExperimentFeature
from guardtui.tui.guardrail.dialog import GuardrailFeature
from guardtui.tui.main.availability import NEEDS_ALL, Availability
from guardtui.tui.main.engine_progress import EngineProgress
from guardtui.tui.main.feature import ActionMethod, Feature, StateObserver
from guardtui.tui.main.tools import ToolsFeature
from guardtui.tui.main.workspace import WorkspaceFeature
from guardtui.tui.metrics.feature import HeaderFeature, MetricsFeature
from guardtui.tui.prompts.feature import PromptFeature
from guardtui.tui.results.feature import ResultsFeature
from guardtui.tui.scan.feature import ScanFeature
from guardtui.tui.side.feature import SideFeature
from guardtui.tui.tour.feature import TourFeature

if TYPE_CHECKING:
    from guardtui.tui.main.opening import Opened
    from guardtui.tui.main.window import Window

ON_DEMAND = {
    "export": "export.dialog:ExportFeature",
    "add_log": "labels.feature:LabelFeature",
    "companions": "topics.companions:CompanionsFeature",
    "draft_near_misses": "labels.feature:LabelFeature",
    "label": "labels.feature:LabelFeature",
    "new_topic": "topics.open_topic:TopicsFeature",
    "open_topic": "topics.open_topic:TopicsFeature",
    "scanner_settings": "settings.scanner:ScannerSettingsFeature",
    "show_check": "prompts.check_page:CheckFeature",
    "show_effects": "advice.effects:EffectFeature",
    "show_history": "history.dialog:HistoryFeature",
    "show_lint": "advice.lint_page:LintFeature",
    "show_sweep": "threshold.sweep:ThresholdFeature",
    "show_trust": "guardrail.trust:TrustFeature",
}
"""Module below `guardtui.tui` and class of the feature that runs an action, by action."""


class Features:
    """The features of one workspace; each new state goes to the observers in their order."""

    def __init__(self, window: Window, opened: Opened) -> None:
        self.services = services = Services(
            opened.workspace,
            opened.scanner,
            opened.remote,
            opened.metrics,
            window,
            window,
            resumed=opened.resumed,
            threshold=opened.threshold,
        )
        self._window = window
        self.availability = Availability(services, window.refresh_keys)
        self.definition = DefinitionFeature(services, window)
        self.header = HeaderFeature(services, window)
        self.metrics = MetricsFeature(services, window)
        self.rows = ResultsFeature(services, window)
        self.side = SideFeature(services, window)
        self.progress = EngineProgress(services.engine, window)
        self.files = WorkspaceFeature(services, window)
        guardrail = GuardrailFeature(services, window)
        self.scanning = ScanFeature(services, window, guardrail)
        self.experiments = ExperimentFeature(services, window, guardrail)
        self.tour = TourFeature(window)
        ideas = IdeaFeature(services, window)
        self.loaded: dict[str, Feature] = {}
        """Features of `ON_DEMAND` that were needed so far, by their entry."""
        at_start: Sequence[Feature] = (
            self.definition,
            self.header,
            self.metrics,
            self.rows,
            self.side,
            self.progress,
            self.scanning,
            self.experiments,
            guardrail,
            AirsTopicsFeature(services, window),
            self.files,
            PromptFeature(services, window, self.definition, self.rows),
            ideas,
            MistakeFeature(services, window),
            self.tour,
            ToolsFeature(window),
        )
        self.actions: dict[str, ActionMethod] = {
            **{name: self._on_demand(name) for name in ON_DEMAND},
            **{name: action for feature in at_start for name, action in feature.actions.items()},
        }
        """Methods by the names of the registry of actions."""
        for observer in (*at_start, self.availability):
            self._follow(observer)

    def perform(self, name: str, *arguments: Any) -> Awaitable[Any] | None:
        """Run an action by its name in the registry."""
        if name in NEEDS_ALL and not self.services.preview.has_all():
            return None
        return self.actions[name](*arguments)

    def _on_demand(self, name: str) -> ActionMethod:
        return lambda *arguments: self.on_demand(name).actions[name](*arguments)

    def on_demand(self, action: str) -> Any:
        """Return the feature of `ON_DEMAND` that runs an action, imported when it is needed."""
        entry = ON_DEMAND[action]
        if entry not in self.loaded:
            module, _, name = entry.partition(":")
            made: type[Any] = getattr(import_module(f"guardtui.tui.{module}"), name)
            feature = self.loaded[entry] = made(self.services, self._window)
            self._follow(feature)
        return self.loaded[entry]

    def _follow(self, feature: object) -> None:
        if isinstance(feature, StateObserver):
            self.services.store.subscribe(feature.state_changed, *feature.follows)
