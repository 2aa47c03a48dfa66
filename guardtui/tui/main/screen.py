"""The main screen: it composes panes, wires services to features, and routes messages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from enum import Enum
from typing import Any

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Button

from guardtui.app.ports import Confirm
from guardtui.app.remote import RemoteOptions
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.config import Config
from guardtui.domain.operating_point import Wanted
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.own_metrics import OwnMetric
from guardtui.session.store import StoreError
from guardtui.session.workspace import Workspace
from guardtui.tui import messages
from guardtui.tui.advice.effects import EffectFeature
from guardtui.tui.advice.ideas import IdeaFeature
from guardtui.tui.advice.lint_page import LintFeature
from guardtui.tui.airs.feature import AirsTopicsFeature
from guardtui.tui.editor.feature import DefinitionFeature
from guardtui.tui.export.feature import ExportFeature
from guardtui.tui.guardrail.agreement import AgreementFeature
from guardtui.tui.guardrail.dialog import GuardrailFeature
from guardtui.tui.guardrail.forecast_trust import ForecastTrustFeature
from guardtui.tui.history.dialog import HistoryFeature
from guardtui.tui.history.trials import TrialsFeature
from guardtui.tui.kit.screen_size import classes_for
from guardtui.tui.large_set.dialog import LargeSetFeature
from guardtui.tui.main.availability import NEEDS_ALL, Availability
from guardtui.tui.main.engine_progress import POLL_EVERY, EngineProgress
from guardtui.tui.main.exit_report import exit_report
from guardtui.tui.main.feature import ActionMethod, Feature, StateObserver
from guardtui.tui.main.key_hints import hint_of
from guardtui.tui.main.panes import BREAKPOINTS, Panes
from guardtui.tui.main.questions import DIALOGS
from guardtui.tui.main.tools import ToolsFeature
from guardtui.tui.main.window import Window
from guardtui.tui.main.workspace import WorkspaceFeature
from guardtui.tui.metrics.feature import HeaderFeature, MetricsFeature
from guardtui.tui.prompts.category_list import CategoryList
from guardtui.tui.prompts.check_page import CheckFeature
from guardtui.tui.prompts.survey import PromptSetFeature
from guardtui.tui.registry.actions import SCREEN, performed
from guardtui.tui.results.feature import ResultsFeature
from guardtui.tui.scan.feature import ScanFeature
from guardtui.tui.scanner_comparison.dialog import ScannerComparisonFeature
from guardtui.tui.scanner_comparison.suspects import SuspectsFeature
from guardtui.tui.settings.scanner import ScannerSettingsFeature
from guardtui.tui.side.feature import SideFeature
from guardtui.tui.table.frame_table import FrameTable
from guardtui.tui.threshold.sweep import ThresholdFeature
from guardtui.tui.topics.companions import CompanionsFeature
from guardtui.tui.topics.feature import TopicsFeature
from guardtui.tui.tour.feature import TOUR_BINDINGS, TourFeature


class Greeting(Enum):
    """The greeting: a tour over the sample, or a hint over the author's files.

    `TOPICS` is the hint that the folder has several topics, none of which was named.
    """

    TOUR = "tour"
    HINT = "hint"
    TOPICS = "topics"


class MainScreen(Screen[None]):
    """Composes panes and features; each new state goes to the features in their order."""

    BINDINGS = [
        *performed(SCREEN),
        *TOUR_BINDINGS,
        # After the pane itself has nothing left to close.
        Binding("escape", "unzoom", "Back from the zoom", show=False),
    ]
    HORIZONTAL_BREAKPOINTS, VERTICAL_BREAKPOINTS = BREAKPOINTS

    def __init__(
        self,
        workspace: Workspace,
        scanner: LocalScanner,
        config: Config,
        remote: RemoteOptions,
        metrics: Sequence[OwnMetric] = (),
        greeting: Greeting | None = None,
        threshold: Wanted = None,
    ) -> None:
        super().__init__(classes="-pane-editor")
        self._greeting = greeting
        resumed = workspace.resume_draft()  # before the editor is made
        self.panes = panes = Panes(self, workspace.session.topic)
        self.window = window = Window(self, panes, DIALOGS)
        self.services = services = Services(
            workspace,
            scanner,
            remote,
            metrics,
            window,
            window,
            resumed=resumed,
            threshold=threshold,
        )
        self.availability = Availability(services)
        self.definition = DefinitionFeature(services, window)
        self.header = HeaderFeature(services, window)
        self.rows = ResultsFeature(services, window)
        self.side = SideFeature(services, window)
        self.progress = EngineProgress(services.engine, window)
        self.files = WorkspaceFeature(services, window)
        guardrail = GuardrailFeature(services, window)
        self.scanning = ScanFeature(services, window, guardrail)
        self.export = ExportFeature(services, window)
        self.tour = TourFeature(window)
        panel = ScannerComparisonFeature(services, window)
        self.features: Sequence[Feature] = (
            self.definition,
            self.header,
            MetricsFeature(services, window),
            self.rows,
            self.side,
            self.progress,
            self.scanning,
            guardrail,
            AirsTopicsFeature(
                self,
                services.store,
                services.connections,
                services.remote_topics,
                window,
                window,
            ),
            self.files,
            CheckFeature(services, window),
            ScannerSettingsFeature(services, window),
            CompanionsFeature(services, window),
            HistoryFeature(services, window),
            TrialsFeature(services, window),
            self.export,
            LintFeature(services, window),
            ThresholdFeature(services, window),
            EffectFeature(services, window),
            IdeaFeature(services, window),
            PromptSetFeature(services, window),
            panel,
            SuspectsFeature(services, window, panel),
            AgreementFeature(services, window),
            ForecastTrustFeature(services, window),
            LargeSetFeature(services, window, self.export),
            self.tour,
            TopicsFeature(services, window),
            ToolsFeature(window),
        )
        self.actions: dict[str, ActionMethod] = {
            name: action for feature in self.features for name, action in feature.actions.items()
        }
        self.actions["quit"] = self.action_quit
        for feature in self.features:
            if isinstance(feature, StateObserver):
                services.store.subscribe(feature.state_changed)
        self.use_config(config)

    @property
    def state(self) -> AppState:
        """The current state."""
        return self.services.state

    def compose(self) -> ComposeResult:
        self.add_class(*classes_for(self.app.size, BREAKPOINTS), update=False)
        yield from self.panes.compose()

    def use_config(self, config: Config) -> None:
        """Apply the settings, at the start and after a change."""
        self.services.preview.pause = config.preview_pause / 1000
        self.panes.editor.vim = config.vim

    # --- keys and actions -----------------------------------------------------------------

    @property
    def footer_first(self) -> tuple[str, ...]:
        """Actions that come first in the footer: those of a running or stopped scan."""
        scans = self.services.scans
        if scans.under_way:
            return ("pause_scan", "stop_scan") if scans.results.scanning else ("stop_scan",)
        action = self.scanning.resume_action
        return (action,) if action else ()

    @property
    def footer_without(self) -> tuple[str, ...]:
        """Actions that the footer leaves out because they would be refused."""
        return ("scan",) if self.services.scans.under_way else ()

    def on_key(self, event: Key) -> None:
        """Show where a key works that does nothing here; fields handle letters themselves."""
        if event.key not in self.active_bindings:
            hint = hint_of(event.key, self.panes, self.window.keymap)
            if hint:
                event.stop()
                self.window.notify(hint)

    def perform(self, name: str, *arguments: Any) -> Awaitable[Any] | None:
        """Run an action of a feature by its name in the registry."""
        if name in NEEDS_ALL and not self.services.preview.has_all():
            return None
        return self.actions[name](*arguments)

    async def action_perform(self, name: str, *arguments: Any) -> None:
        """Run an action of a feature, from a key or the palette."""
        running = self.perform(name, *arguments)
        if running is not None:
            await running

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the keys of the tour while it is shown."""
        if action in ("tour_step", "close_tour"):
            return self.tour.box is not None
        return super().check_action(action, parameters)

    def action_unzoom(self) -> None:
        self.panes.unzoom()

    def action_tour_step(self, step: int) -> None:
        self.tour.step(step)

    def action_close_tour(self) -> None:
        self.tour.close()

    # --- opening and quitting -------------------------------------------------------------

    def on_mount(self) -> None:
        if not (self.is_attached and self.app.is_running):
            return  # the app is exiting: Textual mounted none of the children
        self.watch(self, "focused", self.panes.mark_focus)
        self.panes.detail.show(None)
        self.files.mounted()
        self.header.draw()
        self.set_interval(POLL_EVERY, self._poll)
        self.panes.editor.focus_first_gap()
        self.call_after_refresh(self._begin)

    def _poll(self) -> None:
        self.progress.poll()
        self.scanning.poll()

    @work(exclusive=True, group="begin")
    async def _begin(self) -> None:
        await self.services.open()
        if self.services.workspace.opening_note:
            return  # on a small screen another message would hide it
        if self._greeting is Greeting.TOUR and self.tour.box is None:
            self.tour.turn()
        elif self._greeting is Greeting.HINT:
            keys = self.window.keys_of("tour")
            self.notify(f"New here? {keys} starts a tour of six steps, F1 explains a pane.")
        elif self._greeting is Greeting.TOPICS:
            key = self.window.first_key("open_menu")
            self.notify(f"Several topics are in this folder: {key} f r lists them.")

    def action_quit(self) -> None:
        """Quit after saving the draft."""
        self.run_worker(self._quit(), group="quit", exclusive=True)

    async def _quit(self) -> None:
        workspace = self.services.workspace
        await self.services.editing.finish_typing()
        try:
            await asyncio.to_thread(workspace.save_draft, always=True)
        except StoreError as problem:
            question = Confirm(
                f"Your unsaved edits cannot be kept:\n{problem}\n\n"
                "Quit anyway? They are then printed to the terminal.",
                "Quit",
                "Cancel",
            )
            if not await self.window.ask(question):
                return
        await self.services.engine.close()
        self.app.exit(0, message=exit_report(workspace, self.state))

    def terminate(self, code: int) -> None:
        """Quit at once on a signal; the draft is saved first."""
        self._keep_typed(always=True)
        self.app.exit(return_code=code)

    async def on_unmount(self) -> None:
        # However the app ends, the text of the fields is saved.
        self._keep_typed()
        await self.services.close()

    def _keep_typed(self, *, always: bool = False) -> None:
        self.services.session.edit(self.panes.editor.typed)
        with contextlib.suppress(StoreError):
            self.services.workspace.save_draft(always=always)

    # --- messages -------------------------------------------------------------------------

    @on(messages.TopicEdited)
    def topic_edited(self, event: messages.TopicEdited) -> None:
        self.definition.edited(event)

    @on(messages.AddExamples)
    def add_examples(self, event: messages.AddExamples) -> None:
        self.definition.add_examples(event.prompts)

    @on(messages.EditPrompts)
    def edit_prompts(self, event: messages.EditPrompts) -> None:
        self.files.edit_prompts(event.edit)

    @on(messages.UndoPromptEdit)
    def undo_prompt_edit(self) -> None:
        self.files.edit_prompts(None)

    @on(messages.SaveSettings)
    def save_settings(self, event: messages.SaveSettings) -> None:
        self.services.sync.remember(event.settings)

    @on(messages.SaveView)
    def save_view(self, event: messages.SaveView) -> None:
        self.files.save_view(event)

    @on(messages.RemoveView)
    def remove_view(self, event: messages.RemoveView) -> None:
        self.files.remove_view(event)

    @on(messages.ResultsViewChanged)
    def view_changed(self, event: messages.ResultsViewChanged) -> None:
        self.rows.build(event.view)
        self.tour.filtered()

    @on(FrameTable.RowSelected)
    def row_selected(self, event: FrameTable.RowSelected) -> None:
        self.rows.show_detail(event.row_id)
        self.tour.chose_row()

    @on(FrameTable.RowActivated)
    def row_activated(self) -> None:
        self.panes.show("detail")

    @on(CategoryList.Chosen)
    def category_chosen(self, event: CategoryList.Chosen) -> None:
        self.panes.show("results")
        self.panes.results.show_category(event.name)

    @on(messages.CloseDetail)
    def detail_left(self) -> None:
        if not self.panes.unzoom():
            self.panes.results.table.focus()

    @on(Button.Pressed, "TourBox Button")
    def tour_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.tour.pressed(event.button.id)

    def on_resize(self) -> None:
        self.header.draw()
        self.window.later(self.side.draw)
        self.tour.resized()
