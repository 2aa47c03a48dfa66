"""The menu: every action is in it once for each of its paths, and its letters run it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from textual.pilot import Pilot

from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.registry.actions import (
    ACTIONS,
    MENU_GROUPS,
    menu_path,
)
from guardtui.tui.registry.keymap import default_keys
from guardtui.tui.registry.menu import Command, MenuScreen, menu_items
from guardtui.tui.settings.scanner import ScannerDialog
from guardtui.tui.settings.screen import SettingsScreen
from tests.tui.registry.test_keymap import app_with
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import drive, frame, ready, topic_path, until

__all__ = ["topic_path"]


def commands() -> list[Command]:
    return [Command(action, lambda: None) for action in ACTIONS]


def test_every_action_has_a_key_or_a_path() -> None:
    assert [action.name for action in ACTIONS if not (action.keys or menu_path(action))] == []


def test_no_key_is_of_shift_and_a_function_key_or_a_chord_of_three() -> None:
    keys = [key for text in default_keys().values() for key in text.split(",")]
    assert [key for key in keys if re.fullmatch(r"(shift|ctrl)\+f\d+|.+\+.+\+.+", key)] == []


def test_no_two_lines_of_a_menu_share_a_letter() -> None:
    for path in [(), *((letter,) for letter in MENU_GROUPS)]:
        letters = Counter(item.letter for item in menu_items(path, commands()))
        assert not [letter for letter, count in letters.items() if count > 1], path


def test_every_path_leads_to_its_action() -> None:
    for action in ACTIONS:
        for *path, letter in filter(None, [menu_path(action)]):
            items = menu_items(tuple(path), commands())
            assert [item.title for item in items if item.letter == letter] == [action.title]


async def opened(pilot: Pilot[int], app: GuardtuiApp, key: str) -> MenuScreen:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(app.screen, MenuScreen) and app.screen.is_mounted)
    await pilot.pause()
    assert isinstance(app.screen, MenuScreen)
    return app.screen


@pytest.mark.parametrize("size", first_is_fast((60, 20), (80, 24), (120, 40)))
async def test_one_letter_opens_a_submenu_and_another_does_it(
    topic_path: Path, size: tuple[int, int]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await opened(pilot, app, "ctrl+@")
        shown = frame(app)
        for letter, title in MENU_GROUPS.items():
            assert f"{letter} {title} …" in shown
        assert shown.splitlines()[0].startswith(" guardtui"), "the rest stays in sight"
        await pilot.press("t")
        await pilot.pause()
        assert "Menu › Threshold" in frame(app)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, ScannerDialog))

    await drive(topic_path, run, size)


async def test_comma_is_a_letter_in_fields_and_opens_the_menu_elsewhere(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", "comma", "question_mark")
        await until(pilot, lambda: main.services.session.topic.description.endswith(",?"))
        assert app.screen is main
        for focus in ("#table", "#metrics", "#detail", "#intent"):
            main.query_one(focus).focus()
            await opened(pilot, app, "comma")
            await pilot.press("comma")
            await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run)


async def test_unavailable_actions_are_dim_and_show_why(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        menu = await opened(pilot, app, "ctrl+@")
        await pilot.press("s")
        await pilot.pause()
        assert "p (Pause the scan)" in frame(app)
        assert "(not now): its letter says why" in frame(app)
        await pilot.press("p")
        await pilot.pause()
        assert "Pause the scan: No scan is under way." in frame(app)
        await pilot.press("1")
        await pilot.pause()
        assert "1 is not one of these keys." in frame(app)
        await pilot.press("backspace", "u")
        await pilot.pause()
        assert "Undo: Nothing to undo." in frame(app)
        assert app.screen is menu
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run)


async def test_the_mouse_chooses_and_a_click_beside_closes(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        menu = await opened(pilot, app, "ctrl+@")
        row = next(at for at, line in enumerate(frame(app).splitlines()) if "v View …" in line)
        assert await pilot.click(offset=(3, row))
        await pilot.pause()
        assert "Menu › View" in frame(app)
        line = next(line for line in frame(app).splitlines() if "s Settings" in line)
        at = frame(app).splitlines().index(line)
        assert await pilot.click(offset=(line.index("s Settings"), at))
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        menu = await opened(pilot, app, "ctrl+@")
        assert await pilot.click(offset=(3, 3))
        await until(pilot, lambda: app.screen is not menu)

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_the_author_chooses_the_keys_that_open_it(topic_path: Path) -> None:
    app = app_with(topic_path, {"screen.open_menu": "f13", "letters.open_menu": ";"})
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        assert not app.said.messages
        await opened(pilot, app, "f13")
        await pilot.press("f13")
        await until(pilot, lambda: app.screen is main)
        main.panes.results.table.focus()
        await opened(pilot, app, "semicolon")
