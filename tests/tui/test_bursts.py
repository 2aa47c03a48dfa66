"""Keys that come faster than screens go, and programs that fail while the screen is lent."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from guardtui.files.problems import FileError
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.screens.jump import JumpScreen
from tests.tui.test_editing import said
from tests.tui.test_loop import drive, topic_path, until

__all__ = ["topic_path"]


async def test_a_dialog_ends_once(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        answers: list[bool | None] = []
        dialog = Confirm("Sure?", "Yes", "No")
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
        dialog = Confirm("Sure?", "Yes", "No")
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
        await pilot.press("alt+g")
        await until(pilot, lambda: isinstance(app.screen, JumpScreen))
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
    monkeypatch.setattr("guardtui.tui.main.definition.edit_elsewhere", fail)

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("f11")
        await until(pilot, lambda: "the editor failed" in said(app))
        assert came_back == [True]

    await drive(topic_path, run)


async def test_a_question_that_comes_by_itself_takes_no_answer_at_once(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = Confirm("Sure?", "Yes", "No", calm=60)
        app.push_screen(dialog)
        await until(pilot, lambda: app.screen is dialog)
        await pilot.press("y", "enter", "escape")
        assert app.screen is dialog
        dialog._hear()
        await pilot.press("y")
        await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run)
