"""The app of one workspace: shows its main screen, and leaves by way of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from guardtui.app.remote import RemoteOptions
from guardtui.config import Config
from guardtui.domain.operating_point import Wanted
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.actions import (
    ADVICE,
    DETAIL,
    EDITOR,
    RESULTS,
    SCREEN,
    TABLE,
    Action,
    call_of,
)
from guardtui.tui.base_app import BaseApp
from guardtui.tui.main.screen import Greeting, MainScreen

if TYPE_CHECKING:
    from guardtui.session.own_metrics import OwnMetric


class GuardtuiApp(BaseApp):
    """guardtui in the terminal."""

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
    ) -> None:
        super().__init__(config)
        self._greeting = greeting
        self._workspace = workspace
        self._scanner = scanner
        self._remote = remote or RemoteOptions()
        self._metrics = metrics
        self._threshold = threshold

    # --- pictures -------------------------------------------------------------------------

    @property
    def picture_place(self) -> tuple[Path, str]:
        path = self._workspace.topic_file.path.absolute()
        return path.parent, path.stem

    def secrets(self) -> dict[str, str]:
        """Also those of the guardrails that are asked."""
        main = self.screen_stack[0]
        options = self._remote
        if isinstance(main, MainScreen):
            options = main.services.connections.options
        return {**super().secrets(), **options.secrets()}

    # --- leaving --------------------------------------------------------------------------

    async def action_quit(self) -> None:
        """Leave by way of the main screen, also from a dialog: it keeps what was typed."""
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.action_quit()

    def _leave(self, code: int) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.leave(code)

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(
            self._workspace,
            self._scanner,
            self.config,
            self._remote,
            self._metrics,
            None if self.config.tour == "never" else self._greeting,
            self._threshold,
        )

    def action_targets(self, screen: Screen[object]) -> Mapping[str, Widget]:
        """The widgets that do the actions of each scope."""
        if isinstance(screen, MainScreen):
            main: MainScreen = screen
            return {
                SCREEN: main,
                ADVICE: main,
                RESULTS: main.panes.results,
                EDITOR: main.panes.editor,
                DETAIL: main.panes.detail,
                TABLE: main.panes.results.table,
            }
        return super().action_targets(screen)

    def refusal_of(self, action: Action) -> str:
        """Why the main screen cannot do an action now."""
        screen = self.screen
        return screen.availability.refusal(action.name) if isinstance(screen, MainScreen) else ""

    def call_on(self, target: DOMNode, name: str) -> str:
        """The main screen performs actions by its features."""
        return call_of(name) if isinstance(target, MainScreen) else super().call_on(target, name)
