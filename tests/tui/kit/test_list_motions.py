"""Keys that move in every table, list and page; keys of panes take precedence."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets.option_list import Option

from guardtui.config import Config
from guardtui.tui.base_app import BaseApp
from guardtui.tui.kit.inert import OptionList, Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.registry.actions import ACTIONS, LISTS, in_scope
from guardtui.tui.table.columns import TableColumn
from guardtui.tui.table.frame_table import FrameTable
from tests.tui.table.test_frame_table import Rows


class ListApp(BaseApp):
    """A table of 100 rows, a list of 40 options and a page of 100 lines, ten lines each."""

    CSS = "OptionList, VerticalScroll { height: 10; } FrameTable { height: 11; }"
    CSS_PATH = None
    AUTO_FOCUS = ""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        self.table = FrameTable([TableColumn("prompt", "prompt", 0)], source=Rows(range(100)))
        self.options = OptionList(*map(str, range(40)), compact=True)
        self.page = VerticalScroll(Static("\n".join(map(str, range(100)))))

    def compose(self) -> ComposeResult:
        yield self.table
        yield self.options
        yield self.page


KEYS = [
    ("j", 21),
    ("k", 19),
    ("g", 0),
    ("g g", 0),
    ("ctrl+d", 25),
    ("ctrl+u", 15),
    ("j k j", 21),
]


async def test_table_moves_its_cursor() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 40)) as pilot:
        app.table.focus()
        for keys, row in [*KEYS, ("G", 99), ("G ctrl+d", 99), ("g ctrl+u k", 0)]:
            app.table.select_row(20)
            await pilot.press(*keys.split())
            assert app.table.cursor_row_id == row, keys


async def test_option_list_moves_its_highlight() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 40)) as pilot:
        app.options.focus()
        for keys, option in [*KEYS, ("G", 39), ("G ctrl+d", 39)]:
            app.options.highlighted = 20
            await pilot.press(*keys.split())
            assert app.options.highlighted == option, keys


async def test_page_scrolls() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 40)) as pilot:
        app.page.focus()
        for keys, line in [*KEYS, ("G", 90)]:
            app.page.scroll_to(y=20, animate=False)
            await pilot.pause()
            await pilot.press(*keys.split())
            assert app.page.scroll_offset.y == line, keys


async def test_half_a_page_of_options_skips_disabled_ones() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 40)) as pilot:
        app.options.set_options([Option(str(at), disabled=at == 5) for at in range(20)])
        app.options.focus()
        app.options.highlighted = 0
        await pilot.press("ctrl+d")
        assert app.options.highlighted == 6


async def test_half_a_page_keeps_the_line_of_the_table_cursor() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 40)) as pilot:
        app.table.focus()
        app.table.select_row(40)
        await pilot.press("k", "k")
        top = app.table.scroll_offset.y
        await pilot.press("ctrl+d")
        assert (app.table.scroll_offset.y, app.table.cursor_row_id) == (top + 5, 43)


async def test_empty_lists_and_no_focus_are_left_alone() -> None:
    app = ListApp()
    async with app.run_test(size=(40, 40)) as pilot:
        app.table.set_source(Rows(range(0)))
        app.options.clear_options()
        for widget in (app.table, app.options, None):
            app.set_focus(widget)
            await pilot.press("j", "G", "g", "ctrl+d", "k", "ctrl+u")
        assert (app.table.cursor_row_id, app.options.highlighted) == (None, None)


class Dialog(Modal[None]):
    """A list in which g means something else."""

    BINDINGS = [("g", "note", "Note")]

    def __init__(self) -> None:
        super().__init__()
        self.noted = 0

    def compose(self) -> ComposeResult:
        yield OptionList(*map(str, range(40)), compact=True)

    def action_note(self) -> None:
        self.noted += 1


async def test_dialogs_move_too_and_keep_the_letters_they_use() -> None:
    app, dialog = ListApp(), Dialog()
    async with app.run_test(size=(40, 40)) as pilot:
        await app.push_screen(dialog)
        options = dialog.query_one(OptionList)
        options.focus()
        await pilot.press("j", "j", "g")
        assert (options.highlighted, dialog.noted) == (2, 1)
        await pilot.press("G")
        assert options.highlighted == 39


async def test_author_chooses_other_keys_for_moving() -> None:
    app = ListApp(Config(file={"keys": {"lists.move_in_list('down')": "semicolon"}}))
    async with app.run_test(size=(40, 40)) as pilot:
        app.table.focus()
        await pilot.press("semicolon", "j", "semicolon")
        assert app.table.cursor_row_id == 2
        await app.push_screen(Dialog())
        app.screen.query_one(OptionList).focus()
        await pilot.press("semicolon", "j")
        assert app.screen.query_one(OptionList).highlighted == 1


def test_no_shipped_action_of_a_table_takes_a_key_that_moves() -> None:
    moving = {key for action in in_scope(LISTS) for key in action.keys.split(",")}
    others = {key for action in ACTIONS if action.scope != LISTS for key in action.keys.split(",")}
    assert not moving & others
