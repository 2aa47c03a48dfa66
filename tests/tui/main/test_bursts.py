"""Keys that arrive faster than screens change, and failing external programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from guardtui.files.problems import FileError
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.registry.jump import JumpScreen
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
