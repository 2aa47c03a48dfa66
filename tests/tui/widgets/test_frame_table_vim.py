"""The keys of vim in the results table: motions, counts, and whose keys the digits are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual.app import ComposeResult
from textual.binding import Binding
from textual.pilot import Pilot
from textual.widgets import Input

from guardtui.tui.actions import RESULTS, in_scope
from guardtui.tui.widgets import table_vim
from guardtui.tui.widgets.table_vim import MOTIONS, Motion, VimKeys

from .test_frame_table import Rows, TableApp


class VimApp(TableApp):
    """Keys that the table leaves alone reach the app."""

    BINDINGS = [
        Binding(key, f"note('{key}')") for key in ("5", "3", "x", "g", "j", "G", "ctrl+d", "H")
    ]

    def __init__(self, rows: int = 100, vim: bool = True) -> None:
        super().__init__(Rows(range(rows)))
        self.noted: list[str] = []
        self.table.vim = vim

    def compose(self) -> ComposeResult:
        yield self.table
        yield Input()

    def action_note(self, key: str) -> None:
        self.noted.append(key)


@pytest.fixture(autouse=True)
def _long_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes its time between two keys."""
    monkeypatch.setattr(table_vim, "PAUSE", 600.0)


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Wait for something that a timer brings about."""
    async with asyncio.timeout(10):
        while not condition():
            await pilot.pause(0.01)


# Ten rows are in sight: 14 lines, three of the field, one of the header.
@pytest.mark.parametrize(
    ("keys", "row"),
    [
        ("j", 41),
        ("k", 39),
        ("5 j", 45),
        ("1 2 k", 28),
        ("1 0 j", 50),
        ("g g", 0),
        ("7 g g", 6),
        ("G", 99),
        ("7 G", 6),
        ("9 9 9 9 9 9 9 9 9 9 9 9 j", 99),
        ("ctrl+d", 45),
        ("ctrl+u", 35),
        ("3 ctrl+d", 43),
        ("H", 31),
        ("M", 35),
        ("L", 40),
        ("3 H", 33),
        ("3 L", 38),
        ("9 9 H", 40),
        ("9 9 L", 31),
        ("0 j", 41),
        ("g j", 41),
        ("g 3 j", 43),
        ("3 g j", 43),
    ],
)
async def test_motions(keys: str, row: int) -> None:
    app = VimApp()
    async with app.run_test(size=(40, 14)) as pilot:
        app.table.select_row(40)
        await pilot.pause()
        assert app.table.scroll_offset.y == 31
        await pilot.press(*keys.split())
        assert app.table.cursor_row_id == row
        assert app.noted == []


async def test_half_a_screen_keeps_the_cursors_line() -> None:
    app = VimApp()
    async with app.run_test(size=(40, 14)) as pilot:
        app.table.select_row(40)
        await pilot.press("k", "k", "ctrl+d")
        assert app.table.scroll_offset.y == 36
        assert app.table.cursor_row_id == 43


async def test_without_vim_its_keys_are_others() -> None:
    app = VimApp(vim=False)
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("5", "j", "g", "g", "G", "ctrl+d", "H", "k", "L", "M", "ctrl+u")
        assert app.table.cursor_row_id == 0
        assert app.noted == ["5", "j", "g", "g", "G", "ctrl+d", "H"]
        await pilot.press("down")
        assert app.table.cursor_row_id == 1


async def test_arrows_always_work() -> None:
    app = VimApp()
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("down", "down", "up", "end", "home", "pagedown")
        assert app.table.cursor_row_id == 9


async def test_digits_without_a_motion_are_given_back_in_order() -> None:
    app = VimApp()
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("5", "x")
        await until(pilot, lambda: app.noted == ["5", "x"])
        await pilot.press("3", "5", "down")
        await until(pilot, lambda: app.table.cursor_row_id == 1)
        assert app.noted == ["5", "x", "3", "5"]
        await pilot.press("3", "j")
        assert app.table.cursor_row_id == 4, "the keys given back left nothing behind"


async def test_a_digit_alone_is_given_back_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_vim, "PAUSE", 0.05)
    app = VimApp()
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("5")
        await until(pilot, lambda: app.noted == ["5"])
        await pilot.press("j")
        assert app.table.cursor_row_id == 1


async def test_a_first_g_is_forgotten_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_vim, "PAUSE", 0.05)
    app = VimApp()
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("j", "g")
        await until(pilot, lambda: app.table._vim_timer is None)
        await pilot.press("g")
        assert app.table.cursor_row_id == 1


async def test_leaving_the_table_forgets_the_count() -> None:
    app = VimApp()
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("5")
        app.query_one(Input).focus()
        await pilot.pause()
        app.table.focus()
        await pilot.press("j")
        assert app.table.cursor_row_id == 1
        await pilot.press("3")
        app.table.vim = False
        app.table.vim = True
        await pilot.press("j")
        assert app.table.cursor_row_id == 2


async def test_a_view_without_rows_moves_nowhere() -> None:
    app = VimApp(rows=0)
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("j", "G", "g", "g", "H", "M", "L", "ctrl+d", "5", "k")
        assert app.table.cursor_row_id is None


def test_no_motion_takes_a_key_of_the_results() -> None:
    taken = {key for action in in_scope(RESULTS) for key in action.keys.split(",")}
    motions = {key for keys in MOTIONS for key in keys.split()}
    assert not taken & motions


def test_every_motion_is_understood() -> None:
    for keys in MOTIONS:
        vim = VimKeys()
        answers = [vim.feed(key) for key in keys.split()]
        assert answers[-1] == Motion(keys, None)
        assert set(answers[:-1]) <= {"wait"}
