"""The main screen: it composes panes, wires services to features, and routes messages."""

from __future__ import annotations

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
from guardtui.tui.actions import SCREEN, performed
from guardtui.tui.airs.feature import TopicsInAirs
from guardtui.tui.main.availability import NEEDS_ALL, Availability
from guardtui.tui.main.dashboard import Header, Metrics
from guardtui.tui.main.definition import Definition
from guardtui.tui.main.feature import ActionMethod, Feature
from guardtui.tui.main.key_hints import hint_of
from guardtui.tui.main.leaving import leaving_text
from guardtui.tui.main.panes import BREAKPOINTS, Panes
from guardtui.tui.main.progress import POLL_EVERY, EngineProgress
from guardtui.tui.main.questions import DIALOGS
from guardtui.tui.main.rows import Rows
from guardtui.tui.main.side import Side
from guardtui.tui.main.tools import Tools
from guardtui.tui.main.topics import OtherTopics
from guardtui.tui.main.window import Window
from guardtui.tui.main.workspace import EngineSettings, WorkspaceFiles
from guardtui.tui.scan.feature import Scanning
from guardtui.tui.screens.agreeing import AgreementFeature
from guardtui.tui.screens.companions import CompanionsFeature
from guardtui.tui.screens.exporting import Export
from guardtui.tui.screens.forecast_trust import ForecastTrustFeature
from guardtui.tui.screens.guardrail import GuardrailFeature
from guardtui.tui.screens.history import HistoryFeature
from guardtui.tui.screens.linting import LintFeature
from guardtui.tui.screens.next_steps import NextStepFeature
from guardtui.tui.screens.panel import PanelFeature
from guardtui.tui.screens.prompt_set import PromptSetFeature
from guardtui.tui.screens.refining import Refining
from guardtui.tui.screens.suspects import SuspectsFeature
from guardtui.tui.screens.sweep import ThresholdFeature
from guardtui.tui.screens.tour import TOUR_BINDINGS, Tour
from guardtui.tui.screens.trials import TrialsFeature
from guardtui.tui.screens.trying_wordings import TryingWordings
from guardtui.tui.screens.whole_set import WholeSetFeature
from guardtui.tui.widgets.category_list import CategoryList
from guardtui.tui.widgets.editor import Field
from guardtui.tui.widgets.frame_table import FrameTable
from guardtui.tui.widgets.too_small import classes_for


class Greeting(Enum):
    """What is said first: a tour of its own sample, or a hint over the author's files.

    `TOPICS` says that the folder holds several topics, none of which was named.
    """

    TOUR = "tour"
    HINT = "hint"
    TOPICS = "topics"


class MainScreen(Screen[None]):
    """Composes; what it does is in `features`, told of each state in their order."""

    BINDINGS = [
        *performed(SCREEN),
        *TOUR_BINDINGS,
        # Where nothing of the pane itself is left to leave.
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
        self.definition = Definition(services, window)
        self.header = Header(services, window)
        self.rows = Rows(services, window)
        self.side = Side(services, window)
        self.progress = EngineProgress(services.engine, window)
        self.files = WorkspaceFiles(services, window)
        guardrail = GuardrailFeature(services, window)
        self.scanning = Scanning(services, window, guardrail)
        self.export = Export(services, window)
        self.tour = Tour(window)
        panel = PanelFeature(services, window)
        self.features: Sequence[Feature] = (
            self.definition,
            self.header,
            Metrics(services, window),
            self.rows,
            self.side,
            self.progress,
            self.scanning,
            guardrail,
            TopicsInAirs(
                self,
                services.store,
                services.connections,
                services.remote_topics,
                window,
                window,
            ),
            self.files,
            EngineSettings(services, window),
            CompanionsFeature(services, window),
            HistoryFeature(services, window),
            TrialsFeature(services, window),
            self.export,
            LintFeature(services, window),
            ThresholdFeature(services, window),
            Refining(services, window),
            NextStepFeature(services, window),
            TryingWordings(services, window),
            PromptSetFeature(services, window),
            panel,
            SuspectsFeature(services, window, panel),
            AgreementFeature(services, window),
            ForecastTrustFeature(services, window),
            WholeSetFeature(services, window, self.export),
            self.tour,
            OtherTopics(services, window),
            Tools(window),
        )
        self.actions: dict[str, ActionMethod] = {
            name: action for feature in self.features for name, action in feature.actions.items()
        }
        self.actions["quit"] = self.action_quit
        for feature in self.features:
            services.store.subscribe(feature.state_changed)
        self.use_config(config)

    @property
    def state(self) -> AppState:
        """What is shown."""
        return self.services.state

    def compose(self) -> ComposeResult:
        self.add_class(*classes_for(self.app.size, BREAKPOINTS), update=False)
        yield from self.panes.compose()

    def use_config(self, config: Config) -> None:
        """Have the author's settings take effect, at the start and when one changes."""
        self.services.preview.pause = config.preview_pause / 1000
        self.panes.editor.vim = config.vim

    # --- keys and actions -----------------------------------------------------------------

    @property
    def footer_first(self) -> tuple[str, ...]:
        """What the footer shows first: while a scan runs what concerns it, and how to resume it."""
        scans = self.services.scans
        if scans.under_way:
            return ("pause_scan", "stop_scan") if scans.scanning else ("stop_scan",)
        action = self.scanning.resume_action
        return (action,) if action else ()

    @property
    def footer_without(self) -> tuple[str, ...]:
        """What the footer leaves out, as it would only be refused."""
        return ("scan",) if self.services.scans.under_way else ()

    def on_key(self, event: Key) -> None:
        """Say where a key works that does nothing here; in fields, letters never come here."""
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
        """Keys of the tour work while it is shown."""
        if action in ("tour_step", "leave_tour"):
            return self.tour.box is not None
        return super().check_action(action, parameters)

    def action_unzoom(self) -> None:
        self.panes.unzoom()

    def action_tour_step(self, step: int) -> None:
        self.tour.step(step)

    def action_leave_tour(self) -> None:
        self.tour.leave()

    # --- opening and leaving --------------------------------------------------------------

    def on_mount(self) -> None:
        if not (self.is_attached and self.app.is_running):
            return  # the app is exiting: Textual mounted none of the children
        self.watch(self, "focused", self.panes.mark_focus)
        self.panes.detail.show(None)
        self.files.mounted()
        self.header.draw()
        self.set_interval(POLL_EVERY, self._poll)
        self.panes.editor.query(Field).first().focus()
        self.call_after_refresh(self._begin)

    def _poll(self) -> None:
        self.progress.poll()
        self.scanning.poll()

    @work(exclusive=True, group="begin")
    async def _begin(self) -> None:
        await self.services.open()
        if self._greeting is Greeting.TOUR and self.tour.box is None:
            self.tour.turn()
        elif self._greeting is Greeting.HINT:
            keys = self.window.keys_of("tour")
            self.notify(f"New here? {keys} starts a tour of six steps, F1 explains a pane.")
        elif self._greeting is Greeting.TOPICS:
            key = self.window.first_key("open_menu")
            self.notify(f"Several topics are in this folder: {key} f r lists them.")

    def action_quit(self) -> None:
        """Leave; what was typed is kept first."""
        self.run_worker(self._quit(), group="quit", exclusive=True)

    async def _quit(self) -> None:
        workspace = self.services.workspace
        await self.services.editing.finish_typing()
        try:
            workspace.save_draft(always=True)
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
        self.app.exit(0, message=leaving_text(workspace, self.state))

    def leave(self, code: int) -> None:
        """Leave at once, as the system asks: the draft is kept first."""
        self._keep_typed(always=True)
        self.app.exit(return_code=code)

    async def on_unmount(self) -> None:
        # However the app is left, what is in the fields is kept.
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

    @on(messages.ExampleWanted)
    def example_wanted(self, event: messages.ExampleWanted) -> None:
        self.definition.add_example(event)

    @on(messages.PromptEditWanted)
    def prompt_edit_wanted(self, event: messages.PromptEditWanted) -> None:
        self.files.edit_prompts(event.edit)

    @on(messages.PromptUndoWanted)
    def prompt_undo_wanted(self) -> None:
        self.files.edit_prompts(None)

    @on(messages.SettingsWanted)
    def settings_wanted(self, event: messages.SettingsWanted) -> None:
        self.services.sync.remember(event.settings)

    @on(messages.ViewSaved)
    def view_saved(self, event: messages.ViewSaved) -> None:
        self.files.save_view(event)

    @on(messages.ViewRemoved)
    def view_removed(self, event: messages.ViewRemoved) -> None:
        self.files.remove_view(event)

    @on(messages.ViewChanged)
    def view_changed(self, event: messages.ViewChanged) -> None:
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

    @on(messages.DetailLeft)
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
