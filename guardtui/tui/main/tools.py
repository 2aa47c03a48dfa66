"""Other screens and pages that the main screen opens: help, jump, settings, scores, advice."""

from __future__ import annotations

from collections.abc import Mapping

from guardtui.app.state import AppState
from guardtui.files.output_files import OutputSet
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.screens.advice_menu import AdviceMenu
from guardtui.tui.screens.help import show_help
from guardtui.tui.screens.jump import show_jump


class Tools:
    """What does not depend on the workspace."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._outputs_path = ""
        """The file of outputs that was scored last."""
        self.actions: Mapping[str, ActionMethod] = {
            "next_pane": window.panes.show_next,
            "zoom_pane": window.panes.zoom,
            "show_help": lambda: show_help(window.app),
            "jump": lambda: show_jump(window.app),
            "screenshot": lambda: window.app.run_action("screenshot"),
            "open_menu": lambda: window.app.run_action("open_menu"),
            "recent_messages": lambda: window.app.run_action("recent_messages"),
            "settings": lambda: window.app.run_action("open_settings"),
            "choose_theme": lambda: window.app.run_action("change_theme"),
            "score_outputs": self.score_outputs,
            "advice": self.advise,
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Nothing of it is in sight."""

    def score_outputs(self) -> None:
        """Ask for a file of outputs and score it on a screen of its own."""
        # Imported when needed: with the library of scorers it takes a while.
        from guardtui.tui.screens.open_outputs import OpenOutputs
        from guardtui.tui.screens.scores import ScoresScreen

        def opened(outputs: OutputSet | None) -> None:
            if outputs is not None:
                self._outputs_path = outputs.source
                self._window.app.push_screen(ScoresScreen(outputs))

        self._window.open(OpenOutputs(self._outputs_path), opened)

    def advise(self) -> None:
        """Show all advice in a list; opening one is an action of its own."""
        self._window.open(AdviceMenu(), self._window.perform)
