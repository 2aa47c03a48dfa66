"""The table from outside: frames, messages, and the rows that it requests."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.events import Click, MouseScrollDown
from textual.strip import Strip
from textual.widgets import Input

from guardtui.tui.table.columns import TableColumn
from guardtui.tui.table.frame_table import FrameTable
from guardtui.tui.table.rows import SLICE_ROWS, Cell
from guardtui.tui.table.text import cut_text
from tests.tui import settling

COLUMNS = (
    TableColumn("outcome", "Out", 3),
    TableColumn("prompt", "Prompt", 0),
    TableColumn("score", "Score", 6, align="right"),
)
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u202a-\u202e\u2066-\u2069\u200b-\u200f]")


class Rows:
    """Rows of given ids: the text is the id's, or that of a mapping."""

    def __init__(self, ids: Iterable[int], texts: dict[int, str] | None = None) -> None:
        self.ids = ids if isinstance(ids, range) else list(ids)
        self.row_ids = np.array(self.ids, np.uint64)
        self.texts = texts or {}
        self.asked: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self.ids)

    def position_of(self, row_id: int) -> int | None:
        return self.ids.index(row_id) if row_id in self.ids else None

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        self.asked.append((start, stop))
        return [
            (("FP", "fp"), (self.texts.get(i, f"prompt {i}"), ""), (f"0.{i % 100:02}", "dim"))
            for i in self.ids[start:stop]
        ]


class TableApp(App[None]):
    """A table above a field that can hold the focus."""

    CSS = "Input { dock: bottom; }"

    def __init__(self, source: Rows | None = None) -> None:
        super().__init__()
        self.table = FrameTable(COLUMNS, source=source, empty_text="No mistakes")
        self.got: list[object] = []

    def compose(self) -> ComposeResult:
        yield self.table
        yield Input()

    def on_mount(self) -> None:
        self.table.focus()

    def on_frame_table_row_selected(self, event: FrameTable.RowSelected) -> None:
        self.got.append(event.row_id)

    def on_frame_table_row_activated(self, event: FrameTable.RowActivated) -> None:
        self.got.append(("open", event.row_id))

    def on_frame_table_header_clicked(self, event: FrameTable.HeaderClicked) -> None:
        self.got.append(("header", event.column_key))

    def on_frame_table_marks_changed(self, event: FrameTable.MarksChanged) -> None:
        self.got.append(("marks", set(event.table.marked.tolist())))

    def on_frame_table_column_resized(self, event: FrameTable.ColumnResized) -> None:
        self.got.append(("width", event.key, event.width))


def frame(app: TableApp) -> list[str]:
    """What the table shows on the screen, line by line, without the scrollbar's cell."""
    region = app.table.region
    lines = [strip.text for strip in app.screen._compositor.render_strips()]
    # Texts here are of narrow characters, so that cells and characters are the same.
    return [line[: region.width - 1].rstrip() for line in lines[: region.height]]


def cursor_line(app: TableApp) -> int:
    return next(number for number, line in enumerate(frame(app)) if line.startswith("›"))


def strips(table: FrameTable) -> list[Strip]:
    return [table.render_line(y) for y in range(table.size.height)]


def redrawn(before: list[Strip], table: FrameTable) -> list[int]:
    """Return which rows in sight are drawn anew since `before`; the others are the same strips."""
    now = strips(table)
    return [y - 1 for y, strip in enumerate(now) if y and strip is not before[y]]


async def test_frame_has_a_header_a_cursor_sign_and_aligned_cells() -> None:
    app = TableApp(Rows(range(3)))
    async with app.run_test(size=(40, 9)):
        assert frame(app) == [
            " Out Prompt                       Score",
            "›FP  prompt 0                      0.00",
            " FP  prompt 1                      0.01",
            " FP  prompt 2                      0.02",
            "",
            "",
        ]


async def test_the_header_stays_and_the_end_is_reached() -> None:
    app = TableApp(Rows(range(1000)))
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.press("end")
        await pilot.pause()
        shown = frame(app)
        assert shown[0].startswith(" Out Prompt")
        assert shown[1].startswith(" FP  prompt 995")
        assert shown[5].startswith("›FP  prompt 999")
        await pilot.press("home", "down", "down", "up")
        await pilot.pause()
        assert frame(app)[2].startswith("›FP  prompt 1")
        assert app.table.cursor_row_id == 1


async def test_a_page_down_keeps_one_line_and_the_cursors_line() -> None:
    app = TableApp(Rows(range(1000)))
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.press("down", "pagedown")
        await pilot.pause()
        assert frame(app)[1].startswith(" FP  prompt 4")
        assert frame(app)[2].startswith("›FP  prompt 5")
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        assert frame(app)[1].startswith("›FP  prompt 0")


async def test_one_step_past_the_edge_scrolls_one_line() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.press(*["down"] * 5)
        await pilot.pause()
        assert frame(app)[1].startswith(" FP  prompt 1")
        assert frame(app)[5].startswith("›FP  prompt 5")


async def test_reordered_rows_keep_the_selected_row_on_its_line() -> None:
    app = TableApp(Rows(range(100)))
    async with app.run_test(size=(40, 12)) as pilot:
        app.table.select_row(40)
        await pilot.press("up", "up")
        await pilot.pause()
        line = cursor_line(app)
        app.table.set_source(Rows(reversed(range(100))))
        await pilot.pause()
        assert app.table.cursor_row_id == 38
        assert cursor_line(app) == line
        assert f"prompt {38}" in frame(app)[line]
        assert "prompt 39" in frame(app)[line - 1]


async def test_filtered_rows_keep_the_selected_row_without_a_message() -> None:
    app = TableApp(Rows(range(100)))
    async with app.run_test(size=(40, 12)) as pilot:
        app.table.select_row(60)
        await pilot.pause()
        app.got.clear()
        app.table.set_source(Rows(range(0, 100, 3)))
        await pilot.pause()
        assert app.table.cursor_row_id == 60
        assert app.got == []


async def test_a_vanished_row_hands_over_to_its_next_neighbour() -> None:
    app = TableApp(Rows(range(100)))
    async with app.run_test(size=(40, 12)) as pilot:
        app.table.select_row(51)
        await pilot.pause()
        line = cursor_line(app)
        app.table.set_source(Rows(range(0, 100, 2)))
        await pilot.pause()
        assert app.table.cursor_row_id == 52
        assert cursor_line(app) == line
        assert app.got[-1] == 52


async def test_without_any_neighbour_the_position_stays() -> None:
    app = TableApp(Rows(range(10)))
    async with app.run_test(size=(40, 12)) as pilot:
        app.table.select_row(7)
        app.table.set_source(Rows(range(1000, 1005)))
        await pilot.pause()
        assert app.table.cursor_row_id == 1004
        app.table.set_source(Rows(range(1000, 1005)), keep_row=False)
        await pilot.pause()
        assert app.table.cursor_row_id == 1000


async def test_the_cursor_survives_an_empty_view() -> None:
    app = TableApp(Rows(range(100)))
    async with app.run_test(size=(40, 12)) as pilot:
        app.table.select_row(60)
        await pilot.pause()
        app.table.set_source(Rows([]))
        await pilot.pause()
        assert frame(app)[1] == " No mistakes"
        assert app.table.cursor_row_id is None
        assert app.got[-1] is None
        await pilot.press("down", "end", "pageup", "enter")
        app.table.set_source(Rows(range(100)))
        await pilot.pause()
        assert app.table.cursor_row_id == 60
        assert app.got[-1] == 60
        assert "prompt 60" in frame(app)[cursor_line(app)]


async def test_new_rows_above_do_not_move_a_scrolled_picture() -> None:
    app = TableApp(Rows(range(100, 300)))
    async with app.run_test(size=(40, 12)) as pilot:
        app.table.scroll_to(y=50, animate=False)
        await pilot.pause()
        before = frame(app)
        assert not any(line.startswith("›") for line in before)
        app.table.set_source(Rows(range(300)))
        await pilot.pause()
        assert frame(app) == before
        assert app.table.cursor_row_id == 100


async def test_a_new_source_never_moves_the_focus() -> None:
    app = TableApp(Rows(range(10)))
    async with app.run_test(size=(40, 12)) as pilot:
        app.query_one(Input).focus()
        await pilot.pause()
        for source in (Rows([]), Rows(range(5)), Rows(range(1000))):
            app.table.set_source(source)
            await pilot.pause()
            assert app.focused is app.query_one(Input)


async def test_fewer_rows_than_the_scroll_position() -> None:
    app = TableApp(Rows(range(1000)))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("end")
        app.table.set_source(Rows(range(4)))
        await pilot.pause()
        assert frame(app)[1:5] == [
            line for line in frame(app) if "prompt" in line and "Prompt" not in line
        ]
        assert app.table.scroll_offset.y == 0
        app.table.set_source(Rows(range(1000)))
        await pilot.pause()
        assert app.table.show_vertical_scrollbar
        assert app.table.max_scroll_y == 1001 - app.table.size.height


async def test_paging_through_a_million_rows_requests_few_slices() -> None:
    source = Rows(range(1_000_000))
    app = TableApp(source)
    async with app.run_test(size=(80, 40)) as pilot:
        for _ in range(10):
            await pilot.press("pagedown")
        await pilot.press("end")
        await pilot.pause()
        seen = 11 * app.table.size.height
        assert len(source.asked) <= seen // SLICE_ROWS + 3
        assert all(stop - start <= SLICE_ROWS for start, stop in source.asked)
        assert len(source.asked) == len(set(source.asked))
        assert frame(app)[app.table.size.height - 1].startswith("›FP  prompt 999999")


@pytest.mark.usefixtures("painted")
async def test_moving_the_cursor_requests_nothing_and_draws_two_rows() -> None:
    source = Rows(range(1000))
    app = TableApp(source)
    async with app.run_test(size=(40, 20)) as pilot:
        await pilot.pause()
        asked, before = len(source.asked), strips(app.table)
        await pilot.press("down")
        assert redrawn(before, app.table) == [0, 1]
        assert len(source.asked) == asked


async def test_clicks_select_open_and_name_headers() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        app.got.clear()
        await pilot.click(FrameTable, offset=(8, 4))
        assert app.got == [3]
        await pilot.click(FrameTable, offset=(8, 2), times=2)
        assert app.got == [3, 1, ("open", 1)]
        await pilot.click(FrameTable, offset=(6, 0))
        assert app.got[-1] == ("header", "prompt")
        await pilot.press("enter")
        assert app.got[-1] == ("open", 1)


async def test_a_click_below_the_last_row_does_nothing() -> None:
    app = TableApp(Rows(range(2)))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        app.got.clear()
        await pilot.click(FrameTable, offset=(8, 6))
        assert app.got == []
        assert app.table.cursor_row_id == 0


async def test_the_wheel_scrolls_and_leaves_the_cursor() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot._post_mouse_events(
            [MouseScrollDown],
            FrameTable,
            (8, 4),
            button=0,
        )
        await pilot.pause()
        assert app.table.scroll_offset.y > 0
        assert app.table.cursor_row_id == 0


async def test_held_keys_select_once_when_the_screen_is_busy() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        app.got.clear()
        for _ in range(9):
            app.table.action_cursor_down()
        await pilot.pause()
        assert app.got == [9]


async def test_sort_marks() -> None:
    app = TableApp(Rows(range(5)))
    async with app.run_test(size=(40, 12)) as pilot:
        app.table.sort = ("prompt", False)
        await pilot.pause()
        assert "Prompt ↑" in frame(app)[0]
        app.table.sort = ("score", True)
        await pilot.pause()
        assert frame(app)[0].endswith("Score↓")
        app.table.sort = ("outcome", False)
        await pilot.pause()
        assert frame(app)[0].startswith(" O…↑ Prompt")


def marked(table: FrameTable, y: int) -> str:
    """The text of a line that is drawn as a hit."""
    return "|".join(s.text for s in table.render_line(y) if s.style and s.style.reverse)


async def test_search_marks_hits_in_any_case_and_in_wide_text() -> None:
    texts = {
        0: "move MONEY for money",
        1: "日本税金の税金",
        2: "pay 👍🏽 tax ❤️ TAX",
        3: "İstanbul tax",
        4: "e\u0301tax e\u0301",
    }
    app = TableApp(Rows(range(5), texts))
    async with app.run_test(size=(60, 12)) as pilot:
        for needle, line, hits in (
            ("money", 1, "MONEY|money"),
            ("税金", 2, "税金|税金"),
            ("tax", 3, "tax|TAX"),
            ("❤", 3, "❤"),
            ("TAX", 4, "tax"),
            ("e", 5, "e\u0301|e\u0301"),
            ("(", 1, ""),
        ):
            app.table.search = (needle,)
            await pilot.pause()
            assert marked(app.table, line) == hits
            assert {s.cell_length for s in strips(app.table)} == {60}
        app.table.search = ()
        await pilot.pause()
        assert marked(app.table, 1) == ""


@pytest.mark.parametrize("size", [(20, 6), (20, 4), (8, 6), (3, 5), (2, 9), (1, 9), (120, 40)])
async def test_every_size_is_filled_exactly(size: tuple[int, int]) -> None:
    app = TableApp(Rows(range(30), {0: "a long prompt " * 20, 1: "長い質問" * 30}))
    async with app.run_test(size=size) as pilot:
        for keys in (("down", "end", "pageup", "home"), ("space", "shift+down")):
            await pilot.press(*keys)
            assert {strip.cell_length for strip in strips(app.table)} == {size[0]}
            assert {sum(cell_len(s.text) for s in t) for t in strips(app.table)} == {size[0]}


async def test_narrow_tables_give_the_room_to_the_prompt() -> None:
    app = TableApp(Rows(range(30), {0: "a long prompt that is cut"}))
    async with app.run_test(size=(24, 6)):
        assert frame(app)[:3] == [
            " Out Prompt",
            "›FP  a long prompt tha…",
            " FP  prompt 1",
        ]


async def test_a_resize_keeps_the_selected_row_visible() -> None:
    app = TableApp(Rows(range(100)))
    async with app.run_test(size=(80, 30)) as pilot:
        app.table.select_row(20)
        await pilot.pause()
        for size in ((40, 10), (20, 6), (120, 40)):
            await pilot.resize_terminal(*size)
            await settling.until(lambda size=size: len(frame(app)[0]) <= size[0])
            assert "prompt 20" in frame(app)[cursor_line(app)]


async def test_cell_classes_are_themed() -> None:
    app = TableApp(Rows(range(3)))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        red = app.table.get_component_rich_style("frame-table--fp").color
        shown = {s.text.strip(): s.style for s in app.table.render_line(2) if s.style}
        assert shown["FP"].color == red
        before = app.table.render_line(1)
        app.query_one(Input).focus()
        await pilot.pause()
        assert app.table.render_line(1) != before, "the cursor shows where the focus is"
        assert app.table.render_line(1).text == before.text


async def test_every_binding_has_an_id_and_a_tooltip() -> None:
    for binding in FrameTable.BINDINGS:
        assert binding.id
        assert binding.id.startswith("table.")
        assert binding.tooltip
        assert hasattr(FrameTable, f"action_{binding.action}")


HOSTILE = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.sampled_from(
            [
                "\x1b[31m",
                "\x1b]52;c;aGk=\x07",
                "\x1b]0;another title\x1b\\",
                "\x9d2;another title\x9c",
                "[/INST]",
                "[@click=app.quit]",
                "\u202e\u2066",
                "\u061c\u200f\u2067",
                "\x00",
                "\x7f\x85",
                "e\u0301\u0302",
                "e" + "\u0301" * 300,
                "\u0301",
                "\ufe0f",
                "日本",
                "👩\u200d👩\u200d👧",
                "\u200d👩\u200d",
                "👍🏽",
                "🏽",
                "❤\ufe0f",
                "1\ufe0f\u20e3",
                "\x9b31m",
                "\U000e0041",
                "\r\n\t",
                "🇩🇪",
                "🇩",
                "\ud800",
                "w" * 10_000,
                "税" * 10_000,
            ]
        ),
    ),
    max_size=12,
).map("".join)


@given(raw=HOSTILE, width=st.integers(0, 60))
@example(raw="\ufe0f日", width=1)
def test_cut_text_is_inert_and_fits(raw: str, width: int) -> None:
    shown, cells = cut_text(raw, width)
    assert not CONTROL.search(shown)
    assert cells == cell_len(shown) <= width


class HostileRows(Rows):
    """Rows whose every cell is somebody else's text."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__(range(len(texts)))
        self.all_texts = texts

    def cells(self, start: int, stop: int) -> list[tuple[Cell, ...]]:
        names = ("fp", "", "no-such", "dim")
        return [
            tuple((self.all_texts[(i + n) % len(self)], name) for n, name in enumerate(names))
            for i in range(start, stop)
        ]


async def test_no_hostile_text_leaves_a_rendered_line_or_changes_its_length() -> None:
    app = TableApp()
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        table = app.table

        def examine() -> None:
            for strip in strips(table):
                assert not CONTROL.search(strip.text)
                assert strip.cell_length == 60
                assert sum(cell_len(segment.text) for segment in strip) == 60

        @given(
            prompts=st.lists(HOSTILE, min_size=1, max_size=8),
            search=HOSTILE,
            title=HOSTILE,
            width=st.integers(2, 40),
            marked=st.booleans(),
        )
        def check(prompts: list[str], search: str, title: str, width: int, marked: bool) -> None:
            first, last = TableColumn("outcome", title, 5), TableColumn("was", title * 2, 9)
            table.columns = (first, *COLUMNS[1:], last)
            table.set_column_widths({"outcome": width})
            table.empty_text = title
            table.set_source(HostileRows(prompts))
            table.clear_marks()
            if marked:
                table.mark_all()
            for needle in (search, prompts[0][1:3]):
                table.search = (needle,)
                for table.sort in (None, ("outcome", True)):
                    examine()
            table.set_source(Rows([]))
            examine()

        check()
        await pilot.pause()
        assert all(not CONTROL.search(line) for line in frame(app))


async def test_only_text_and_a_few_signs_are_drawn() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(60, 12)) as pilot:
        app.table.sort = ("score", True)
        await pilot.press("space", "shift+down", "down")
        # A screen reader spells out rules, blocks and braille that others draw tables with.
        shown = "".join(strip.text for strip in strips(app.table))
        assert {sign for sign in shown if not sign.isascii()} == {"›", "●", "↓"}


def test_an_accent_without_a_letter_cannot_attach_to_what_is_before_the_cell() -> None:
    assert cut_text("\u0301abc", 10) == ("◌\u0301abc", 4)


async def test_search_for_a_control_character_marks_its_sign() -> None:
    app = TableApp(Rows(range(1), {0: "one\ttwo"}))
    async with app.run_test(size=(40, 12)) as pilot:
        app.table.search = ("\tT",)
        await pilot.pause()
        assert marked(app.table, 1) == "⇥t"


async def test_a_second_click_on_a_row_that_slid_under_the_pointer_does_not_open_it() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.click(FrameTable, offset=(8, 3))
        app.table.set_source(Rows(range(100, 150)), keep_row=False)
        app.table.post_message(
            Click(app.table, 8, 3, 0, 0, 1, False, False, False, screen_x=8, screen_y=3, chain=2)
        )
        await pilot.pause()
        assert app.got[-1] == 102
        assert not [got for got in app.got if isinstance(got, tuple)]
