"""The app: the main screen of a topic, other topics in its place, and quitting."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from textual import on
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from guardtui.session.store import StoreError
from guardtui.tui.base_app import BaseApp
from guardtui.tui.main.opening import Opened, Opening
from guardtui.tui.main.screen import Greeting, MainScreen
from guardtui.tui.messages import SwitchTopic
from guardtui.tui.registry.actions import (
    DETAIL,
    EDITOR,
    METRICS,
    NEXT,
    RESULTS,
    SCREEN,
    TABLE,
    call_of,
)

if TYPE_CHECKING:
    from guardtui.app.guardrails.remote import RemoteOptions
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
        opening: Opening,
        config: Config | None = None,
        *,
        greeting: Greeting | None = None,
        encoder: str | None = None,
    ) -> None:
        """`opening` is the first topic; `encoder` applies to all, None: as each topic says."""
        super().__init__(config)
        about_itself = greeting in (Greeting.TOUR, Greeting.HINT)
        self._greeting = None if about_itself and self.config.tour == "never" else greeting
        self._opening = opening
        self._encoder = encoder
        self._topics = 1
        self._in_turn = asyncio.Lock()

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        scanner: LocalScanner,
        config: Config | None = None,
        *,
        greeting: Greeting | None = None,
        remote: RemoteOptions | None = None,
        metrics: Sequence[OwnMetric] = (),
        threshold: Wanted = None,
    ) -> Self:
        """Return the app on a topic that is open already; the values are those of `Opened`."""
        from guardtui.app.guardrails.remote import RemoteOptions

        opened = Opened(workspace, scanner, remote or RemoteOptions(), metrics, threshold)
        return cls(Opening.of(opened), config, greeting=greeting)

    @property
    def opening(self) -> Opening:
        """The topic of the main screen; another one may have been opened since the start."""
        return self._opening

    # --- pictures -------------------------------------------------------------------------

    @property
    def screenshot_target(self) -> tuple[Path, str]:
        path = self._main.services.workspace.topic_file.path.absolute()
        return path.parent, path.stem

    def secrets(self) -> dict[str, str]:
        """Return secrets by name, those of the configured guardrails included."""
        return {**super().secrets(), **self._main.services.connections.options.secrets()}

    # --- another topic --------------------------------------------------------------------

    @on(SwitchTopic)
    def topic_chosen(self, event: SwitchTopic) -> None:
        """Show another topic in the place of the current one."""
        self.run_worker(self._one_by_one(event.workspace), group="topic")

    async def _one_by_one(self, workspace: Workspace) -> None:
        async with self._in_turn:
            await self._show_topic(workspace)

    async def _show_topic(self, workspace: Workspace) -> None:
        # Imported when needed: the first screen is drawn without them.
        from guardtui.app.editing.topic_opening import choose_scanner
        from guardtui.session.chosen_thresholds import wanted_threshold
        from guardtui.session.recent_topics import remember_opened

        services, before = self._main.services, self._main.opened
        engine = services.engine.scanner
        try:
            scanner = await asyncio.to_thread(
                choose_scanner, workspace, self._encoder, None, engine.encoder_name, engine
            )
            threshold = wanted_threshold(workspace.store.settings())
        except StoreError as problem:
            self.notify(str(problem), severity="error")
            return
        # The guardrail is chosen for each topic; keys that were typed hold until the app is left.
        remote = replace(before.remote, keys=services.connections.options.keys)
        opened = Opened(workspace, scanner, remote, before.metrics, threshold)
        self._opening, self._greeting = Opening.of(opened), None
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
        return MainScreen(self._opening, self.config, self._greeting)

    def action_targets(self, screen: Screen[object]) -> Mapping[str, Widget]:
        """Return the widget that handles the actions of each scope."""
        if isinstance(screen, MainScreen):
            panes = screen.panes
            return {
                SCREEN: screen,
                RESULTS: panes.results,
                EDITOR: panes.editor,
                DETAIL: panes.detail,
                METRICS: panes.metrics,
                NEXT: panes.next_line,
                TABLE: panes.results.table,
            }
        return super().action_targets(screen)

    def call_on(self, target: DOMNode, name: str) -> str:
        """Return the call that runs an action; the features of the main screen run theirs."""
        return call_of(name) if isinstance(target, MainScreen) else super().call_on(target, name)
