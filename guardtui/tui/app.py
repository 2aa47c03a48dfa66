"""The app of one workspace: shows its main screen, and leaves by way of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen
from textual.widget import Widget

from guardtui.config import Config
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.actions import ADVICE, DETAIL, EDITOR, RESULTS, SCREEN, TABLE
from guardtui.tui.base_app import BaseApp
from guardtui.tui.remote import RemoteOptions
from guardtui.tui.screens.main import Greeting, MainScreen
from guardtui.tui.widgets.detail import DetailPane

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
    ) -> None:
        super().__init__(config)
        self._greeting = greeting
        self._workspace = workspace
        self._scanner = scanner
        self._remote = remote or RemoteOptions()
        self._metrics = metrics

    # --- pictures -------------------------------------------------------------------------

    @property
    def picture_place(self) -> tuple[Path, str]:
        path = self._workspace.topic_file.path.absolute()
        return path.parent, path.stem

    def secrets(self) -> dict[str, str]:
        """Also those of the guardrails that are asked."""
        main = self.screen_stack[0]
        options = main.remote_options if isinstance(main, MainScreen) else self._remote
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
        main = MainScreen(self._workspace, self._scanner)
        main.remote_options = self._remote
        main.live_figures.metrics = self._metrics
        main.use_config(self.config)
        main.greeting = None if self.config.tour == "never" else self._greeting
        return main

    def action_targets(self, screen: Screen[object]) -> Mapping[str, Widget]:
        """The widgets that do the actions of each scope."""
        if isinstance(screen, MainScreen):
            main: MainScreen = screen
            return {
                SCREEN: main,
                ADVICE: main,
                RESULTS: main.results_pane,
                EDITOR: main.editor,
                DETAIL: main.query_one(DetailPane),
                TABLE: main.results_pane.table,
            }
        return super().action_targets(screen)
