"""Marks of the table: by key, by mouse, for many rows, and as a set of ids."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guardtui.tui.table.frame_table import FrameTable
from guardtui.tui.table.marks import Marker, joined

from .test_frame_table import Rows, TableApp, frame, redrawn, strips


def signs(app: TableApp) -> list[str]:
    """The gutter of each row on the screen."""
    return [strip.text[:2] for strip in strips(app.table)[1:]]


def marked_of(app: TableApp) -> set[int]:
    return set(app.table.marked.tolist())


def marks(app: TableApp) -> list[set[int]]:
    """What the messages said, one after the other."""
    return [got[1] for got in app.got if isinstance(got, tuple) and got[0] == "marks"]


async def test_space_marks_and_unmarks_and_goes_down() -> None:
    app = TableApp(Rows(range(4)))
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.press("space", "space")
        assert marked_of(app) == {0, 1}
        assert app.table.cursor_row_id == 2
        assert signs(app)[:4] == [" ●", " ●", "› ", "  "]
        await pilot.press("up")
        assert signs(app)[:3] == [" ●", "›●", "  "], "cursor and mark are both told"
        await pilot.press("space")
        assert marked_of(app) == {0}
        assert marks(app) == [{0}, {0, 1}, {0}]


async def test_the_gutter_has_a_second_cell_only_while_something_is_marked() -> None:
    app = TableApp(Rows(range(3)))
    async with app.run_test(size=(40, 9)) as pilot:
        before = frame(app)
        await pilot.press("space")
        assert frame(app)[:3] == [
            "  Out Prompt                      Score",
            " ●FP  prompt 0                     0.00",
            "› FP  prompt 1                     0.01",
        ]
        app.table.clear_marks()
        await pilot.press("home")
        assert frame(app) == before


async def test_a_mark_has_a_style_of_its_own() -> None:
    app = TableApp(Rows(range(3)))
    async with app.run_test(size=(40, 9)) as pilot:
        await pilot.press("space", "down")
        plain, marked = app.table.render_line(2), app.table.render_line(1)
        assert all(s.style and s.style.bold for s in marked if s.text.strip())
        assert not any(s.style and s.style.bold for s in plain)
        assert "frame-table--marked" in app.table.COMPONENT_CLASSES
        colours = {s.text.strip(): s.style.color for s in marked if s.style}
        red = app.table.get_component_rich_style("frame-table--fp").color
        assert colours["FP"] == red, "the outcome's colour stays"


async def test_shift_and_arrows_extend_and_take_back() -> None:
    app = TableApp(Rows(range(10)))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("down", "down", "down")
        await pilot.press("shift+down", "shift+down")
        assert marked_of(app) == {3, 4, 5}
        assert app.table.cursor_row_id == 5
        await pilot.press("shift+up", "shift+up", "shift+up")
        assert marked_of(app) == {2, 3}, "the extension turns round at its first row"
        # Another movement ends the extension: what it marked stays.
        await pilot.press("end", "shift+up", "shift+down")
        assert marked_of(app) == {2, 3, 9}
        await pilot.press("shift+down", "shift+down")
        assert marked_of(app) == {2, 3, 9}, "there is no row below the last one"


async def test_an_extension_keeps_earlier_marks() -> None:
    app = TableApp(Rows(range(10)))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("down", "space", "home")
        await pilot.press("shift+down", "shift+down", "shift+up", "shift+up")
        assert marked_of(app) == {0, 1}


async def test_ctrl_click_toggles_and_shift_click_extends_from_there() -> None:
    app = TableApp(Rows(range(20)))
    async with app.run_test(size=(40, 16)) as pilot:
        await pilot.click(FrameTable, offset=(8, 3), control=True)
        assert marked_of(app) == {2}
        assert app.table.cursor_row_id == 2
        await pilot.click(FrameTable, offset=(8, 6), shift=True)
        assert marked_of(app) == {2, 3, 4, 5}
        await pilot.click(FrameTable, offset=(8, 1), shift=True)
        assert marked_of(app) == {0, 1, 2}, "from the same row, the other way"
        await pilot.click(FrameTable, offset=(8, 2), control=True)
        assert marked_of(app) == {0, 2}
        await pilot.click(FrameTable, offset=(8, 9))
        assert marked_of(app) == {0, 2}, "a plain click marks nothing"
        await pilot.click(FrameTable, offset=(8, 11), shift=True)
        assert marked_of(app) == {0, 2, 8, 9, 10}, "from the cursor's row"
        await pilot.click(FrameTable, offset=(8, 11), control=True, times=2)
        assert not [got for got in app.got if isinstance(got, tuple) and got[0] == "open"]


async def test_shift_click_after_space_extends_from_the_row_marked_last() -> None:
    app = TableApp(Rows(range(20)))
    async with app.run_test(size=(40, 16)) as pilot:
        await pilot.press("down", "down", "space")
        await pilot.click(FrameTable, offset=(8, 1), shift=True)
        assert marked_of(app) == {0, 1, 2}
        assert app.table.cursor_row_id == 0


async def test_marks_survive_a_filter_a_sort_and_an_empty_view() -> None:
    app = TableApp(Rows(range(20)))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("space", "space", "space")
        app.got.clear()
        for source in (Rows(range(0, 20, 2)), Rows([]), Rows(reversed(range(20)))):
            app.table.set_source(source, keep_row=False)
            await pilot.pause()
            assert marked_of(app) == {0, 1, 2}
        assert marks(app) == []
        await pilot.press("end")
        assert signs(app)[-4:] == ["  ", " ●", " ●", "›●"]


async def test_an_extension_ends_when_the_rows_change() -> None:
    app = TableApp(Rows(range(10)))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("shift+down", "shift+down")
        app.table.set_source(Rows([0, 9, 2, 8, 1]))
        await pilot.press("shift+down")
        assert marked_of(app) == {0, 1, 2, 8}


async def test_marks_of_rows_that_are_gone_are_dropped() -> None:
    app = TableApp(Rows(range(10)))
    async with app.run_test(size=(40, 14)) as pilot:
        app.table.mark_all()
        await pilot.pause()
        assert marked_of(app) == set(range(10))
        app.table.drop_marks([3, 4, 77])
        await pilot.pause()
        assert signs(app)[2:6] == [" ●", "  ", "  ", " ●"]
        app.got.clear()
        app.table.drop_marks([3, 77])
        app.table.drop_marks(range(10))
        app.table.clear_marks()
        await pilot.pause()
        assert marks(app) == [set()], "what changes nothing is not told"


async def test_mark_all_marks_the_view_beside_other_marks() -> None:
    app = TableApp(Rows(range(100)))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("space")
        app.table.set_source(Rows(range(50, 60)))
        app.table.mark_all()
        app.table.mark_all()
        await pilot.pause()
        assert marked_of(app) == {0, *range(50, 60)}
        assert len(marks(app)) == 2


async def test_without_rows_nothing_is_marked() -> None:
    app = TableApp(Rows([]))
    async with app.run_test(size=(40, 14)) as pilot:
        await pilot.press("space", "shift+down", "shift+up")
        app.table.mark_all()
        await pilot.pause()
        assert marked_of(app) == set()
        assert marks(app) == []


async def test_a_mark_redraws_its_line_only() -> None:
    app = TableApp(Rows(range(50)))
    async with app.run_test(size=(40, 20)) as pilot:
        await pilot.press("space")
        before = strips(app.table)
        await pilot.press("space")
        assert redrawn(before, app.table) == [1, 2]


async def test_many_rows_are_marked_at_once() -> None:
    ids = np.arange(200_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # in no order
    source = Rows(ids.tolist())
    app = TableApp()
    async with app.run_test(size=(40, 20)) as pilot:
        app.table.set_source(source)
        app.table.mark_all()
        assert app.table.mark_count == len(ids)
        await pilot.press("end", "space")
        assert app.table.mark_count == len(ids) - 1
        assert ids[-1] not in app.table.marked
        app.table.drop_marks(ids[:100_000].tolist())
        assert app.table.marked.tolist() == sorted(ids[100_000:-1].tolist())


IDS = st.lists(st.integers(0, 30) | st.integers(2**64 - 5, 2**64 - 1), max_size=12)


@given(steps=st.lists(st.tuples(st.booleans(), IDS), max_size=12))
def test_marks_are_a_set(steps: list[tuple[bool, list[int]]]) -> None:
    marker, wanted = Marker(), set[int]()
    for more, ids in steps:
        array = np.array(ids, np.uint64)
        marker.ids = joined(marker.ids, array) if more else marker.without(set(ids))
        wanted = wanted | set(ids) if more else wanted - set(ids)
        assert marker.ids.tolist() == sorted(wanted)
        assert all((row_id in marker) == (row_id in wanted) for row_id in [*ids, 0, 2**64 - 1])
