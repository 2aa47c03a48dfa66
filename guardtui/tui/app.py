"""The app: the main screen of a topic, other topics in its place, and quitting."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from guardtui.app.editing.topic_opening import choose_scanner
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.session.chosen_thresholds import wanted_threshold
from guardtui.session.recent_topics import remember_opened
from guardtui.session.store import StoreError
from guardtui.tui.base_app import BaseApp
from guardtui.tui.main.screen import Greeting, MainScreen
from guardtui.tui.messages import SwitchTopic
from guardtui.tui.registry.actions import (
    DETAIL,
    EDITOR,
    RESULTS,
    SCREEN,
    TABLE,
    Action,
    call_of,
)

if TYPE_CHECKING:
    from guardtui.config import Config
    from guardtui.domain.operating_point import Wanted
    from guardtui.scanners.local.scanner import LocalScanner
    from guardtui.session.own_metrics import OwnMetric
    from guardtui.session.workspace import Workspace


_MODE = "topic-{}"


class GuardtuiApp(BaseApp):
    """guardtui in the terminal. Each open topic has a mode of its own, a stack of screens."""

    DEFAULT_MODE = _MODE.format(1)

    def __init__(
        self,
        workspace: Workspace,
        scanner: LocalScanner,
        config: Config | None = None,
        *,
        greeting: Greeting | None = None,
        remote: RemoteOptions | None = None,
        metrics: Sequence[OwnMetric] = (),
        threshold: Wanted = None,
        encoder: str | None = None,
    ) -> None:
        """`threshold` applies to the first topic, `encoder` to all; None: as each topic says."""
        super().__init__(config)
        about_itself = greeting in (Greeting.TOUR, Greeting.HINT)
        self._greeting = None if about_itself and self.config.tour == "never" else greeting
        self._workspace = workspace
        self._scanner = scanner
        self._remote = remote or RemoteOptions()
        self._metrics = metrics
        self._threshold = threshold
        self._encoder = encoder
        self._topics = 1
        self._opening = asyncio.Lock()

    @property
    def workspace(self) -> Workspace:
        """The workspace of the open topic."""
        return self._workspace

    # --- pictures -------------------------------------------------------------------------

    @property
    def screenshot_target(self) -> tuple[Path, str]:
        path = self._workspace.topic_file.path.absolute()
        return path.parent, path.stem

    def secrets(self) -> dict[str, str]:
        """Return secrets by name, those of the configured guardrails included."""
        main = self._main
        options = self._remote if main.features is None else main.services.connections.options
        return {**super().secrets(), **options.secrets()}

    # --- another topic --------------------------------------------------------------------

    @on(SwitchTopic)
    def topic_chosen(self, event: SwitchTopic) -> None:
        """Show another topic in the place of the current one."""
        self.run_worker(self._one_by_one(event.workspace), group="topic")

    async def _one_by_one(self, workspace: Workspace) -> None:
        async with self._opening:
            await self._show_topic(workspace)

    async def _show_topic(self, workspace: Workspace) -> None:
        engine = self._main.services.engine.scanner
        try:
            self._scanner = await asyncio.to_thread(
                choose_scanner, workspace, self._encoder, None, engine.encoder_name, engine
            )
            threshold = wanted_threshold(workspace.store.settings())
        except StoreError as problem:
            self.notify(str(problem), severity="error")
            return
        self._workspace, self._greeting = workspace, None
        # The guardrail is chosen for each topic; keys that were typed hold until the app is left.
        keys = self._main.services.connections.options.keys
        self._remote = replace(self._remote, keys=keys)
        self._threshold = threshold
        remember_opened(workspace)
        self.clear_notifications()
        self._topics += 1
        left, mode = self.current_mode, _MODE.format(self._topics)
        if left == self.DEFAULT_MODE:  # Textual removes only modes that were added
            self.add_mode(left, self.get_default_screen)
        self.add_mode(mode, self.get_default_screen)
        await self.switch_mode(mode)
        await self.remove_mode(left)  # with all screens over it; its services close

    @property
    def _main(self) -> MainScreen:
        main = self.screen_stack[0]
        assert isinstance(main, MainScreen)  # noqa: S101 - the only screen at the bottom
        return main

    # --- quitting -------------------------------------------------------------------------

    async def action_quit(self) -> None:
        """Quit through the main screen, also from a dialog: it saves what was typed."""
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.action_quit()

    def _terminate(self, code: int) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.terminate(code)

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(
            self._workspace,
            self._scanner,
            self.config,
            self._remote,
            self._metrics,
            self._greeting,
            self._threshold,
        )

    def action_targets(self, screen: Screen[object]) -> Mapping[str, Widget]:
        """Return the widget that handles the actions of each scope."""
        if isinstance(screen, MainScreen):
            main: MainScreen = screen
            return {
                SCREEN: main,
                RESULTS: main.panes.results,
                EDITOR: main.panes.editor,
                DETAIL: main.panes.detail,
                TABLE: main.panes.results.table,
            }
        return super().action_targets(screen)

    def refusal_of(self, action: Action) -> str:
        """Return why the main screen cannot run an action now; "" if it can."""
        screen = self.screen
        return screen.refusal_of(action.name) if isinstance(screen, MainScreen) else ""

    def call_on(self, target: DOMNode, name: str) -> str:
        """Return the call that runs an action; the features of the main screen run theirs."""
        return call_of(name) if isinstance(target, MainScreen) else super().call_on(target, name)
