"""Keys that arrive faster than screens change, and failing external programs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from guardtui.files.problems import FileError
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.editor.field import TopicField
from guardtui.tui.help.screen import HelpScreen
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.topics.new_topic import NewTopicDialog
from tests.tui import settling
from tests.tui.editor.test_editing import said
from tests.tui.tax_app import drive, topic_path, until

__all__ = ["topic_path"]


async def test_a_dialog_ends_once(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        answers: list[bool | None] = []
        dialog = ConfirmDialog("Sure?", "Yes", "No")
        app.push_screen(dialog, answers.append)
        await until(pilot, lambda: app.screen is dialog)
        dialog.dismiss(True)
        dialog.dismiss(False)
        await until(pilot, lambda: app.screen is main)
        dialog.dismiss(False)
        await pilot.pause()
        assert answers == [True]

    await drive(topic_path, run)


async def test_a_dialog_below_another_stays(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = ConfirmDialog("Sure?", "Yes", "No")
        app.push_screen(dialog)
        await until(pilot, lambda: app.screen is dialog)
        await pilot.press("f1")
        await until(pilot, lambda: app.screen is not dialog)
        dialog.dismiss(True)
        await pilot.pause()
        assert dialog in app.screen_stack

    await drive(topic_path, run)


async def test_the_palette_opens_once(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        app.action_command_palette()
        await pilot.pause()
        assert sum(isinstance(one, CommandPalette) for one in app.screen_stack) == 1

    await drive(topic_path, run)


async def test_the_screen_comes_back_from_an_editor_that_failed(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came_back: list[bool] = []

    @contextlib.contextmanager
    def lend(app: GuardtuiApp) -> Iterator[None]:
        yield  # as Textual's own: an error in the block skips what follows
        came_back.append(True)

    def fail(topic: object) -> object:
        raise FileError(topic_path, "the editor failed", "try another")

    monkeypatch.setattr(GuardtuiApp, "suspend", lend)
    monkeypatch.setattr("guardtui.tui.editor.feature.edit_in_editor", fail)

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("f11")
        await until(pilot, lambda: "the editor failed" in said(app))
        assert came_back == [True]

    await drive(topic_path, run)


async def test_an_unexpected_question_ignores_early_answers(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = ConfirmDialog("Sure?", "Yes", "No", calm=60)
        app.push_screen(dialog)
        await until(pilot, lambda: app.screen is dialog)
        await pilot.press("y", "enter", "escape")
        assert app.screen is dialog
        dialog._accept_answers()
        await pilot.press("y")
        await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run)


def burst(app: GuardtuiApp, *typed: str) -> None:
    """Post keys at once, as a terminal delivers what comes in one write."""
    for key in typed:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


async def test_keys_in_one_burst_go_to_the_field_that_tab_went_to(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        editor = main.panes.editor
        editor.query_one("#field-name").focus()
        await pilot.pause()
        burst(app, "end", *"ab", "tab", "end", *"cd", "enter", "end", *"ef", "shift+tab", *"gh")
        await until(pilot, lambda: editor.typed.description.endswith("cdgh"))
        assert editor.typed.name == "Tax adviceab"
        assert editor.typed.examples[0] == "How can I pay less tax?ef"

    await drive(topic_path, run)


async def test_a_paste_behind_tab_goes_to_the_field_that_tab_went_to(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        editor = main.panes.editor
        editor.query_one("#field-name").focus()
        await pilot.pause()
        burst(app, "tab", "ctrl+a")
        app.post_message(events.Paste("pasted"))
        await until(pilot, lambda: editor.typed.description == "pasted")

    await drive(topic_path, run)


@pytest.mark.parametrize("moves_on", ["tab", "enter"])
async def test_keys_in_one_burst_fill_a_dialog(topic_path: Path, moves_on: str) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = NewTopicDialog(lambda folder, topic: Workspace.open(topic_path), ".")
        app.push_screen(dialog)
        burst(app, *"ab", moves_on, "tab", *"cd", moves_on, *"ef", "shift+tab", "end", *"gh")

        def values() -> list[str]:
            return [field.value for field in dialog.query(Input)][:3]

        await until(pilot, lambda: "cdgh" in values())
        assert values() == ["ab", "cdgh", "ef"]

    await drive(topic_path, run)


async def test_keys_wait_no_longer_for_a_widget_that_does_nothing(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardtui.tui.system.keys_in_turn.PATIENCE", 0.0)

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        editor = main.panes.editor
        held = editor.query_one("#field-name", TopicField)
        held.focus()
        await pilot.pause()
        goes_on = asyncio.Event()
        held.call_later(goes_on.wait)
        burst(app, "a")
        await settling.idle()  # a pause of the pilot would wait for the field
        editor.query_one("#field-description").focus()
        burst(app, "end", "b")
        await until(pilot, lambda: editor.typed.description == "Personal tax adviceb")
        goes_on.set()

    await drive(topic_path, run)
