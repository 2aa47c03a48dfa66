"""The dialog that writes a prompt: keys of its text field."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import TextArea

from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.prompts.dialog import PromptDialog
from tests.tui.results_app import on_all, topic_path
from tests.tui.tax_app import until

__all__ = ["topic_path"]


async def test_ctrl_home_and_ctrl_end_go_to_the_edges_of_the_text(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.press(*"one", "enter", *"two", "ctrl+home", *"a ", "ctrl+end", *" z")
        area = app.screen.query_one(TextArea)
        await until(pilot, lambda: area.text == "a one\ntwo z")
        await pilot.press("ctrl+shift+home")
        await until(pilot, lambda: area.selected_text == "a one\ntwo z")

    await on_all(topic_path, run)
