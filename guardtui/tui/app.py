"""The app: opens a workspace, shows the main screen, feeds the palette from the registry."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from textual.app import App, SystemCommand
from textual.screen import Screen

from guardtui.domain.text import display_text
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import (
    Workspace,
    last_opened,
    remember_opened,
    scratch_sample,
)
from guardtui.tui.actions import ACTIONS, EDITOR, RESULTS, SCREEN
from guardtui.tui.inert import InertFilter
from guardtui.tui.screens.main import MainScreen
from guardtui.tui.terminal import accept_stray_bytes, on_leaving


class UnsavedError(Exception):
    """The app was left and the definition stands nowhere on disk; the message holds it."""


class GuardtuiApp(App[int]):
    """guardtui in the terminal."""

    CSS_PATH = ["styles/main.tcss", "styles/dialogs.tcss"]
    TITLE = "guardtui"

    def __init__(self, workspace: Workspace, scanner: LocalScanner) -> None:
        super().__init__()
        self._workspace = workspace
        self._scanner = scanner
        self._filters.append(InertFilter())

    def on_mount(self) -> None:
        on_leaving(self._leave)
        gc.freeze()  # see MainScreen: the collector need not look through all modules again

    async def action_quit(self) -> None:
        """Leave by way of the main screen, also from a dialog: it keeps what was typed."""
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.action_quit()

    def _leave(self, code: int) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.leave(code)

    def _fatal_error(self) -> None:
        # A traceback would show prompts; `run_app` raises the error to where it is told safely.
        self._close_messages_no_wait()

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(self._workspace, self._scanner)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the registry under its one name, then Textual's theme and screenshot."""
        if isinstance(screen, MainScreen):
            main: MainScreen = screen
            targets = {SCREEN: main, RESULTS: main.results_pane, EDITOR: main.editor}
            for action in ACTIONS:
                run = partial(self.run_action, action.name, targets[action.scope])
                yield SystemCommand(action.title, action.tooltip, run)
        for command in super().get_system_commands(screen):
            if command.title in ("Theme", "Screenshot", "Maximize", "Minimize"):
                yield command


def choose_scanner(
    workspace: Workspace, encoder: str | None, threshold: float | None
) -> LocalScanner:
    """The embedded scanner by flags, else as the session had it last, else as shipped."""
    settings = workspace.store.settings()
    remembered = settings.get("encoder")
    name = encoder or (remembered if remembered in ENCODERS else ENCODERS[0])
    if threshold is not None:
        return LocalScanner(name, threshold, "by hand")
    value = settings.get("threshold")
    if name == remembered and isinstance(value, float) and 0 < value < 1:
        return LocalScanner(name, value, str(settings.get("threshold_source", "by hand")))
    return LocalScanner(name)


def run_app(
    topic: Path | None, prompts: Path | None, encoder: str | None, threshold: float | None
) -> int:
    """Open a topic (or the last session, or the sample) and run until the author quits.

    Returns the exit code; raises what `Workspace.open` raises, before the screen is touched.
    """
    if topic is None:
        topic, known = last_opened() or scratch_sample()
        prompts = prompts or known
    workspace = Workspace.open(topic, prompts)
    remember_opened(workspace)
    accept_stray_bytes()
    app = GuardtuiApp(workspace, choose_scanner(workspace, encoder, threshold))
    app.run()
    if not workspace.draft_is_safe:
        typed = workspace.session.topic
        lines = ["name: " + typed.name, "description: " + typed.description]
        lines += [f"example {place}: {text}" for place, text in enumerate(typed.examples, start=1)]
        shown = "\n".join(f"  {display_text(line)}" for line in lines)
        raise UnsavedError(
            f"{workspace.topic_file.path}: your unsaved edits could not be kept; this is them:\n"
            f"{shown}\n  intent: {typed.intent.value}"
        )
    if app._exception is not None:
        raise app._exception
    return app.return_code or 0
