"""Columns of the table are resized by dragging their edges and by method, and reset."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from textual.events import MouseDown, MouseEvent, MouseMove, MouseUp
from textual.pilot import Pilot

from guardtui.tui.table.columns import (
    FLEXIBLE_LEAST,
    NARROWEST,
    TableColumn,
    allowed_width,
    place_columns,
)
from guardtui.tui.table.frame_table import FrameTable

from .test_frame_table import Rows, TableApp, frame, strips

# The columns of the app, 40 cells wide: " Out Prompt…  Score", with the scrollbar's cell after it.
OUT_EDGE, PROMPT_EDGE, SCORE_EDGE = 4, 32, 38


def widths(table: FrameTable) -> dict[str, int]:
    return {slot.column.key: slot.width for slot in table.slots}


async def mouse(pilot: Pilot[None], kind: type[MouseEvent], x: int, y: int) -> None:
    """An event as a terminal's driver posts it, so that presses become clicks where they do."""
    button = 0 if kind is MouseMove else 1
    pilot.app.post_message(kind(None, x, y, 0, 0, button, False, False, False, x, y))
    await pilot.pause()


async def drag(pilot: Pilot[None], start: int, *way: int, y: int = 0) -> None:
    """Press on a cell of the header, move, and let go at the last place, `y` lines down."""
    await mouse(pilot, MouseMove, start, 0)
    await mouse(pilot, MouseDown, start, 0)
    for x in way:
        await mouse(pilot, MouseMove, x, y)
    await mouse(pilot, MouseUp, way[-1] if way else start, y)
    await pilot.pause()


async def test_an_edge_is_dragged_and_nothing_else_happens() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.pause()
        assert widths(app.table) == {"outcome": 3, "prompt": 27, "score": 6}
        app.got.clear()
        await drag(pilot, OUT_EDGE, OUT_EDGE + 2, OUT_EDGE + 4)
        assert frame(app)[1] == "›FP      prompt 0                  0.00"
        assert widths(app.table) == {"outcome": 7, "prompt": 23, "score": 6}
        assert app.got == [("width", "outcome", 7)], "told once, and no column is sorted by"
        await drag(pilot, 8, 6, y=5)
        assert widths(app.table)["outcome"] == 5
        assert app.got[1:] == [("width", "outcome", 5)], "let go over a row: it is not selected"
        assert app.table.cursor_row_id == 0
        await mouse(pilot, MouseMove, 20, 0)
        assert widths(app.table)["outcome"] == 5, "the edge has been let go"
        await drag(pilot, 20)
        assert app.got[2:] == [("header", "prompt")], "clicks work again"


async def test_a_column_after_the_flexible_one_takes_from_it() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 9)) as pilot:
        app.got.clear()
        await drag(pilot, SCORE_EDGE, SCORE_EDGE - 2)
        assert widths(app.table) == {"outcome": 3, "prompt": 29, "score": 4}
        await drag(pilot, PROMPT_EDGE + 2, PROMPT_EDGE - 3)
        assert widths(app.table) == {"outcome": 3, "prompt": 24, "score": 9}
        assert app.got[-2:] == [("width", "score", 4), ("width", "score", 9)]


async def test_no_column_gets_too_narrow() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 9)) as pilot:
        await drag(pilot, OUT_EDGE, 0)
        assert widths(app.table)["outcome"] == NARROWEST
        await drag(pilot, OUT_EDGE - 1, 39)
        assert widths(app.table)["prompt"] == FLEXIBLE_LEAST
        assert sum(widths(app.table).values()) + 3 == 39
        for strip in strips(app.table):
            assert strip.cell_length == 40


async def test_a_double_click_on_an_edge_resets() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 9)) as pilot:
        await drag(pilot, OUT_EDGE, OUT_EDGE + 4)
        app.got.clear()
        await pilot.click(FrameTable, offset=(OUT_EDGE + 4, 0))
        assert widths(app.table)["outcome"] == 7
        await pilot.click(FrameTable, offset=(OUT_EDGE + 4, 0), times=2)
        assert widths(app.table)["outcome"] == 3
        assert app.got == [("width", "outcome", 3)]
        await pilot.click(FrameTable, offset=(OUT_EDGE, 0), times=2)
        assert app.got == [("width", "outcome", 3)]


async def test_columns_are_widened_by_method() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.pause()
        app.got.clear()
        assert app.table.widen_column("score", 3)
        assert widths(app.table) == {"outcome": 3, "prompt": 24, "score": 9}
        assert app.table.widen_column("prompt", 2)
        assert widths(app.table) == {"outcome": 3, "prompt": 26, "score": 7}
        assert app.table.widen_column("outcome", -100)
        assert widths(app.table)["outcome"] == 2
        assert not app.table.widen_column("outcome", -1)
        assert not app.table.widen_column("no-such", 1)
        await pilot.pause()
        assert app.got == [("width", "score", 9), ("width", "score", 7), ("width", "outcome", 2)]
        assert app.table.reset_column("score")
        assert not app.table.reset_column("score")
        app.table.set_column_widths({"outcome": 1, "score": 8})
        assert widths(app.table) == {"outcome": 2, "prompt": 26, "score": 8}


@pytest.mark.usefixtures("painted")
async def test_widths_stay_when_columns_come_and_go_and_screens_shrink() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 9)) as pilot:
        app.table.widen_column("score", 3)
        app.table.columns = app.table.columns[:2]
        assert widths(app.table) == {"outcome": 3, "prompt": 34}
        app.table.columns = (*app.table.columns, TableColumn("score", "Score", 6))
        assert widths(app.table)["score"] == 9
        await pilot.resize_terminal(24, 9)
        await pilot.pause()
        assert widths(app.table) == {"outcome": 3, "prompt": 18}
        assert not app.table.widen_column("score", 1), "it is not shown"


async def test_a_press_on_a_row_below_an_edge_drags_nothing() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 9)) as pilot:
        await mouse(pilot, MouseDown, OUT_EDGE, 3)
        await mouse(pilot, MouseMove, OUT_EDGE + 5, 3)
        await mouse(pilot, MouseUp, OUT_EDGE + 5, 3)
        assert widths(app.table)["outcome"] == 3
        assert app.table.cursor_row_id == 2


async def test_a_drag_that_loses_the_mouse_ends() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 9)) as pilot:
        await mouse(pilot, MouseDown, OUT_EDGE, 0)
        await mouse(pilot, MouseMove, OUT_EDGE + 2, 0)
        app.capture_mouse(None)
        await pilot.pause()
        await mouse(pilot, MouseMove, OUT_EDGE + 9, 0)
        assert widths(app.table)["outcome"] == 5
        assert app.got[-1] == ("width", "outcome", 5)


@pytest.mark.parametrize("button", [2, 3])
async def test_other_buttons_drag_nothing(button: int) -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.mouse_down(FrameTable, offset=(OUT_EDGE, 0), button=button)
        await pilot.hover(FrameTable, offset=(OUT_EDGE + 5, 0))
        assert widths(app.table)["outcome"] == 3


def test_columns_that_matter_less_give_way_first() -> None:
    columns = [
        TableColumn("prompt", "", 0),
        TableColumn("score", "", 6, gives_way=2),
        TableColumn("match", "", 6, gives_way=3),
        TableColumn("others", "", 6, gives_way=1),
    ]
    shown = [
        [slot.column.key for slot in place_columns(columns, width, 1, {})]
        for width in (40, 33, 26, 20)
    ]
    assert shown == [
        ["prompt", "score", "match", "others"],
        ["prompt", "score", "others"],
        ["prompt", "others"],
        ["prompt"],
    ]


@example(fixed=[0, 6, 20, 1], width=41, gutter=1, wanted=0, chosen=2)
@given(
    fixed=st.lists(st.integers(0, 20), min_size=1, max_size=6),
    width=st.integers(1, 120),
    gutter=st.integers(1, 2),
    wanted=st.integers(-5, 200),
    chosen=st.integers(0, 5),
)
def test_a_resized_column_drives_no_other_away(
    fixed: list[int], width: int, gutter: int, wanted: int, chosen: int
) -> None:
    columns = [TableColumn(str(index), "", size) for index, size in enumerate(fixed)]
    before = place_columns(columns, width, gutter, {})
    for slot in before:
        assert slot.left >= gutter
        assert slot.right <= width
    resizable = [slot for slot in before if slot.column.width]
    if not resizable:
        return
    slot = resizable[chosen % len(resizable)]
    size = allowed_width(before, slot, wanted, width)
    after = place_columns(columns, width, gutter, {slot.column.key: size})
    assert {one.column.key for one in after} >= {one.column.key for one in before}
    if wanted <= slot.width:
        assert size == max(min(NARROWEST, slot.width), wanted)
    elif size > slot.width:
        assert size <= wanted
        assert all(one.width >= 10 for one in after if not one.column.width)
