"""Jump mode: each target has a letter, and the letter goes there."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widgets import Button, Input

from guardtui.tui.app import GuardtuiApp
from guardtui.tui.history.dialog import HistoryDialog
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.registry.jump import LETTERS, JumpScreen, JumpTarget, jump_targets, lettered
from guardtui.tui.settings.scanner import ScannerDialog
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import drive, frame, topic_path, until

__all__ = ["topic_path"]

KEY = "alt+g"


async def letter_of(pilot: Pilot[int], app: GuardtuiApp, name: str) -> str:
    """Open jump mode; the letter that stands on a place."""
    below = app.screen
    letters = {spot.name: key for key, spot in lettered(jump_targets(below)).items()}
    await pilot.press(KEY)
    await until(pilot, lambda: isinstance(app.screen, JumpScreen))
    await pilot.pause()
    assert f"[{letters[name]}]" in frame(app)
    return letters[name]


@pytest.mark.parametrize(
    "target",
    first_is_fast("field-name", "field-example-2", "intent", "metrics", "table", "detail"),
)
async def test_a_letter_goes_to_its_target(topic_path: Path, target: str) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.query_one("#field-description").focus()
        await pilot.press(await letter_of(pilot, app, target))
        await until(pilot, lambda: app.screen is main and main.focused is not None)
        await until(pilot, lambda: main.focused is main.query_one(f"#{target}"))
        assert main.services.session.topic.description == "Personal tax advice"

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_a_group_has_the_number_it_has_anyway(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        assert await letter_of(pilot, app, "all") == "7"
        await pilot.press("7")
        await until(
            pilot, lambda: main.rows.results is not None and main.rows.results.view.filter == "all"
        )

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_the_hidden_filter_is_opened(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press(await letter_of(pilot, app, "filter"))
        await until(pilot, lambda: main.query_one("#search", Input).has_focus)

    await drive(topic_path, run)


async def test_an_action_of_the_footer_is_run(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press(await letter_of(pilot, app, "History"))
        await until(pilot, lambda: isinstance(app.screen, HistoryDialog))

    await drive(topic_path, run)


@pytest.mark.parametrize("key", ["escape", KEY])
async def test_it_closes_without_jumping(topic_path: Path, key: str) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        focused = main.focused
        await letter_of(pilot, app, "table")
        await pilot.press("exclamation_mark")  # stands on no place
        assert isinstance(app.screen, JumpScreen)
        await pilot.press(key)
        await until(pilot, lambda: app.screen is main)
        assert main.focused is focused

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_in_a_dialog_only_its_own_places_have_letters(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("f9")
        await until(pilot, lambda: isinstance(app.screen, ScannerDialog))
        await pilot.pause()
        dialog = app.screen
        names = {spot.name for spot in jump_targets(dialog)}
        assert {button.id for button in dialog.query(Button)} <= names
        assert "table" not in names
        await pilot.press(await letter_of(pilot, app, "shipped"))
        await until(pilot, lambda: app.screen is main)  # pressed, and so set

    await drive(topic_path, run)


@pytest.mark.parametrize("size", first_is_fast((120, 40), (80, 24), (60, 20)))
async def test_letters_stand_apart_and_on_the_screen(
    topic_path: Path, size: tuple[int, int]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        for _ in range(3):
            await pilot.press("f5")
            await pilot.pause()
            spots = lettered(jump_targets(main))
            taken: set[tuple[int, int]] = set()
            for spot in spots.values():
                cells = {(spot.offset.x + index, spot.offset.y) for index in range(3)}
                assert not cells & taken
                taken |= cells
            assert all(0 <= x < size[0] and 0 <= y < size[1] for x, y in taken)

    await drive(topic_path, run, size)


@pytest.mark.exhaustive
async def test_resizing_the_window_removes_the_letters(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await letter_of(pilot, app, "table")
        await pilot.resize_terminal(90, 30)
        await until(pilot, lambda: app.screen is main)

    await drive(topic_path, run)


def test_targets_after_the_last_letter_get_none() -> None:
    spots = [JumpTarget(Offset(0, row), str(row), lambda: None) for row in range(100)]
    spots.append(JumpTarget(Offset(0, 100), "own", lambda: None, "a"))
    given = lettered(spots)
    assert given["a"].name == "own"
    assert len(given) == len(LETTERS)
    assert given[LETTERS[1]].name == "0"
