"""The main screen: it composes panes, and routes keys and messages to the features."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Awaitable
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import Key, Paste, Resize, ScreenResume
from textual.screen import Screen
from textual.widgets import Button

from guardtui.domain.errors import GuardtuiError
from guardtui.session.first_look import FirstLook
from guardtui.session.store import StoreError
from guardtui.tui import messages
from guardtui.tui.base_app import BaseApp
from guardtui.tui.main.key_hints import hint_of
from guardtui.tui.main.panes import Panes, layout_for
from guardtui.tui.main.window import Window
from guardtui.tui.registry.actions import SCREEN, call_of, performed

if TYPE_CHECKING:
    from guardtui.app.services import Services
    from guardtui.app.state import AppState
    from guardtui.config import Config
    from guardtui.domain.topic import Topic
    from guardtui.tui.main.features import Features
    from guardtui.tui.main.opening import Opened, Opening
    from guardtui.tui.prompts.category_list import CategoryList
    from guardtui.tui.results.feature import ResultsFeature
    from guardtui.tui.table.frame_table import FrameTable
    from guardtui.tui.tour.feature import TourFeature

POLL_EVERY = 0.1

_FEATURES = "guardtui.tui.main.features"


TOUR_BINDINGS = [
    Binding("alt+right,alt+n", "tour_step(1)", "Next step", show=False, priority=True),
    Binding("alt+left,alt+w", "tour_step(-1)", "Step before", show=False, priority=True),
    # Without priority: the filter line uses the same key.
    Binding("escape", "close_tour", "Close the tour", show=False),
]
"""Keys of the screen while the tour is shown."""


def _retrieve(embedding: asyncio.Future[None]) -> None:
    """Take the error of an embedding: the first evaluation fails for the same reason."""
    if not embedding.cancelled():
        embedding.exception()


class Greeting(Enum):
    """The greeting: a tour over the sample, or a hint over the author's files.

    `TOPICS` is the hint that the folder has several topics, none of which was named.
    """

    TOUR = "tour"
    HINT = "hint"
    TOPICS = "topics"


class MainScreen(Screen[None]):
    """Composes the definition, which can be typed in at once, and soon after all that is about it.

    Prompts are read and panes, services and features imported in a thread, after the first frame;
    `features` is None until then. What was typed meanwhile stays, and other keys wait.
    """

    BINDINGS = [
        *performed(SCREEN),
        *TOUR_BINDINGS,
        # After the pane itself has nothing left to close.
        Binding("escape", "unzoom", "Back from the zoom", show=False),
    ]

    def __init__(self, opening: Opening, config: Config, greeting: Greeting | None = None) -> None:
        super().__init__(classes="-pane-editor")
        self._opening, self.config, self._greeting = opening, config, greeting
        self.panes = Panes(self, opening.now.path, opening.now.topic)
        self.window = Window(self, self.panes)
        self.features: Features | None = None
        self._gone = threading.Event()
        if opening.opened is not None and _FEATURES in sys.modules:
            self._make(opening.opened)

    @property
    def opened(self) -> Opened:
        """The topic, once it is open."""
        assert self._opening.opened is not None  # noqa: S101 - asked for after the start only
        return self._opening.opened

    @property
    def services(self) -> Services:
        """The services of the workspace, once they are there."""
        return self._loaded.services

    @property
    def rows(self) -> ResultsFeature:
        """The feature of the results, once it is there."""
        return self._loaded.rows

    @property
    def tour(self) -> TourFeature:
        """The tour, once it is there."""
        return self._loaded.tour

    @property
    def state(self) -> AppState:
        """The current state."""
        return self.services.state

    @property
    def _loaded(self) -> Features:
        assert self.features is not None  # noqa: S101 - asked for after the start only
        return self.features

    def refusal_of(self, name: str) -> str:
        """Return why an action cannot run now; "" if it can."""
        return "" if self.features is None else self.features.availability.refusal(name)

    def must_wait(self, event: Key | Paste) -> bool:
        """Return whether a key needs what is not there yet; all keys behind it wait too."""
        if self.features is not None or isinstance(event, Paste):
            return False
        bound = self.active_bindings.get(event.key)
        if bound is None or bound.node not in (self, self.app):
            return False  # the field with the focus takes it
        chain = self.focus_chain
        match bound.binding.action:
            case "app.focus_next":
                return self.focused is chain[-1]  # the results come next
            case "app.focus_previous":
                return self.focused is chain[0]
            case action:
                return action not in ("quit", call_of("quit"))

    def compose(self) -> ComposeResult:
        self.add_class(layout_for(self.app.size))
        yield from self.panes.compose()

    def use_config(self, config: Config) -> None:
        """Apply the settings, at the start and after a change."""
        self.config = config
        if self.features is not None:
            self.services.preview.pause = config.preview_pause / 1000

    # --- keys and actions -----------------------------------------------------------------

    @property
    def footer_first(self) -> tuple[str, ...]:
        """Actions that come first in the footer: those of a scan or an experiment."""
        if self.features is None:
            return ()
        if first := self.features.experiments.footer:
            return first
        scans = self.services.scans
        if scans.under_way:
            return ("pause_scan", "stop_scan") if scans.results.scanning else ("stop_scan",)
        action = self.features.scanning.resume_action
        return (action,) if action else ()

    def on_key(self, event: Key) -> None:
        """Show where a key works that does nothing here; fields handle letters themselves."""
        if event.key not in self.active_bindings:
            hint = hint_of(event.key, self.panes, self.window.keymap)
            if hint:
                event.stop()
                self.window.notify(hint)

    def perform(self, name: str, *arguments: Any) -> Awaitable[Any] | None:
        """Run an action by its name in the registry."""
        if name == "quit":
            self.action_quit()
            return None
        return self._loaded.perform(name, *arguments)

    async def action_perform(self, name: str, *arguments: Any) -> None:
        """Run an action of a feature, from a key or the palette."""
        running = self.perform(name, *arguments)
        if running is not None:
            await running

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the keys of the tour while it is shown."""
        if action in ("tour_step", "close_tour"):
            return self.features is not None and self.features.tour.box is not None
        return super().check_action(action, parameters)

    def action_unzoom(self) -> None:
        self.panes.unzoom()

    def action_tour_step(self, step: int) -> None:
        self._loaded.tour.step(step)

    def action_close_tour(self) -> None:
        self._loaded.tour.close()

    # --- opening and quitting -------------------------------------------------------------

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Style no widget again, at the start and behind each dialog that closes.

        It was styled when it was mounted, and is when its classes or the theme change.
        """
        event.refresh_styles = False

    def on_mount(self) -> None:
        if not (self.is_attached and self.app.is_running):
            return  # the app is exiting: Textual mounted none of the children
        self.watch(self, "focused", self.panes.mark_focus)
        self.panes.editor.focus_first_gap()
        if self.features is None:
            self.call_after_refresh(self._load)
        else:
            self._start()

    @work(exclusive=True, group="load")
    async def _load(self) -> None:
        """Read and import all else beside the event loop, so that typing goes on.

        The prompts are embedded meanwhile, which leaves the interpreter to others.
        """
        try:
            opened = await asyncio.to_thread(self._opening.read)
        except GuardtuiError as problem:
            self._opening.problem = problem
            self._keep_typed(always=True)
            self.app.exit(return_code=2, message=self._kept_text())
            return
        embedding = asyncio.ensure_future(asyncio.to_thread(self._embed, opened))
        embedding.add_done_callback(_retrieve)
        await asyncio.to_thread(import_module, _FEATURES)
        if not self.is_running:
            return
        drawn = self._opening.now.topic
        self._make(self._opening.use(opened))
        await self.panes.mount()
        self._start()
        self._take_over(drawn)
        assert isinstance(self.app, BaseApp)  # noqa: S101 - no other shows it
        self.app.release_keys()

    def _embed(self, opened: Opened) -> None:
        """Embed a small prompt set; a large one is embedded in parts, by the services."""
        from guardtui.scanners.local.embedding import has_parts

        prompts = opened.workspace.prompts
        if not has_parts(prompts):
            opened.scanner.prompt_vectors(prompts, lambda progress: None, self._gone.is_set)

    def _make(self, opened: Opened) -> None:
        """Make the panes of results and the features."""
        from guardtui.tui.main.features import Features

        self.panes.make()
        self.features = Features(self.window, opened)
        self.use_config(self.config)

    def _take_over(self, drawn: Topic) -> None:
        """Edit the definition as the author has since it was `drawn`."""
        typed, topic = self.panes.editor.typed, self.services.session.topic
        if typed == drawn:
            self.panes.editor.show(topic)
        elif typed != topic:
            # A file without an intent has that of the prompts.
            intent = topic.intent if typed.intent is drawn.intent else typed.intent
            typed = typed.model_copy(update={"intent": intent})
            self.panes.editor.show(typed)
            self.services.editing.type(typed, "start", ends_group=True)

    def _start(self) -> None:
        features = self._loaded
        self.panes.detail.show(None)
        features.files.mounted()
        features.header.draw()
        self.set_interval(POLL_EVERY, features.progress.poll)
        self.set_interval(POLL_EVERY, features.scanning.poll)
        self.set_interval(POLL_EVERY, features.experiments.poll)
        self.call_after_refresh(self._begin)

    @work(exclusive=True, group="begin")
    async def _begin(self) -> None:
        await self.services.open()
        await self._loaded.experiments.announce()
        if self.services.workspace.opening_note:
            return  # on a small screen another message would hide it
        if self._greeting is Greeting.TOUR and self._loaded.tour.box is None:
            self._loaded.tour.turn()
        elif self._greeting is Greeting.HINT:
            keys = self.window.first_key("tour")
            self.notify(f"New here? {keys} starts a tour of five steps, F1 explains a pane.")
        elif self._greeting is Greeting.TOPICS:
            key = self.window.first_key("open_menu")
            self.notify(f"Several topics are in this folder: {key} f t lists them.")

    def action_quit(self) -> None:
        """Quit after saving the draft."""
        self.run_worker(self._quit(), group="quit", exclusive=True)

    async def _quit(self) -> None:
        if self.features is None:
            self._keep_typed(always=True)
            self.app.exit(0, message=self._kept_text())
            return
        workspace = self.services.workspace
        from guardtui.app.leaving import exit_report
        from guardtui.app.ports import Confirm

        await self.services.editing.finish_typing()
        await self.services.experiments.finish()
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
        self.app.exit(0, message=Text(exit_report(workspace, self.state)))

    def terminate(self, code: int) -> None:
        """Quit at once on a signal; the draft is saved first."""
        self._keep_typed(always=True)
        self.app.exit(return_code=code)

    async def on_unmount(self) -> None:
        self._gone.set()
        # However the app ends, the text of the fields is saved.
        self._keep_typed()
        if self.features is not None:
            await self.services.close()
        elif self._opening.opened is not None:
            self._opening.opened.workspace.store.close()

    def _keep_typed(self, *, always: bool = False) -> None:
        with contextlib.suppress(StoreError):
            self._opening.now.keep(self.panes.editor.typed, always=always)

    def _kept_text(self) -> Text | None:
        """Return what the author must know of edits that were kept before the topic was open."""
        now = self._opening.now
        if not isinstance(now, FirstLook) or not now.drafted:
            return None
        from guardtui.app.leaving import edits_kept

        return Text(edits_kept(now.path))

    # --- messages -------------------------------------------------------------------------

    @on(messages.TopicEdited)
    def topic_edited(self, event: messages.TopicEdited) -> None:
        if self.features is not None:  # before, `_load` reads what was typed
            self.features.definition.edited(event)

    @on(messages.SaveSettings)
    def save_settings(self, event: messages.SaveSettings) -> None:
        self.services.sync.remember(event.settings)

    @on(messages.ResultsViewChanged)
    def view_changed(self, event: messages.ResultsViewChanged) -> None:
        self._loaded.rows.build(event.view)

    def on_frame_table_row_selected(self, event: FrameTable.RowSelected) -> None:
        self._loaded.rows.show_detail(event.row_id)
        self._loaded.tour.chose_row()

    def on_frame_table_row_activated(self) -> None:
        self.panes.show("detail")

    def on_category_list_chosen(self, event: CategoryList.Chosen) -> None:
        self.panes.show("results")
        self.panes.results.show_category(event.name)

    @on(messages.CloseDetail)
    def detail_left(self) -> None:
        if not self.panes.unzoom():
            self.panes.results.table.focus()

    @on(Button.Pressed, "TourBox Button")
    def tour_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self._loaded.tour.pressed(event.button.id)

    def on_resize(self, event: Resize) -> None:
        self.panes.fit()
        if self.is_current and event.size == self.outer_size:
            event.prevent_default()  # it says that all was laid out, and Textual would do so again
        if self.features is not None:
            self.features.header.draw()
            self.features.metrics.draw_summary()
            self.window.later(self.features.side.draw)
            self.features.tour.resized()
