"""Columns: choice, order, width and sorting; saved or damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.messages import SaveSettings
from guardtui.tui.results.column_layout import MOST, ColumnLayout, layout_of, saved_columns
from guardtui.tui.results.columns_dialog import ColumnsDialog
from guardtui.tui.results.model import COLUMNS, DEFAULT_COLUMNS, extra_key, known_columns
from guardtui.tui.table.frame_table import FrameTable
from tests.tui.results_app import HOSTILE_COLUMN, ROWS, Sent, on_all, sent, topic_path
from tests.tui.stages import first_row_is_fast
from tests.tui.tax_app import frame, ready, until

__all__ = ["sent", "topic_path"]

RISK, NOTE = extra_key("risk"), extra_key(HOSTILE_COLUMN)


async def opened(pilot: Pilot[int], app: GuardtuiApp) -> ColumnsDialog:
    await pilot.press("C")
    await until(pilot, lambda: isinstance(app.screen, ColumnsDialog))
    screen = app.screen
    assert isinstance(screen, ColumnsDialog)
    return screen


def width_of(table: FrameTable, key: str) -> int | None:
    """Return the cells of a column as it is drawn, None if it has no room."""
    return next((slot.width for slot in table.slots if slot.column.key == key), None)


async def test_columns_are_chosen_moved_and_sized_at_once(topic_path: Path, sent: Sent) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pane = main.panes.results
        picker = await opened(pilot, app)
        shown = frame(app)
        assert "[x]" in shown
        assert "[b]␛]0;x␇note" in shown
        for key in (*COLUMNS, RISK, NOTE):
            assert key in {one.key for one in picker._choices}
        await pilot.press("space")
        await until(pilot, lambda: pane.table.columns[0].key == "outcome")
        await pilot.press("end", "up", "space", "K", "alt+up")
        await until(pilot, lambda: RISK in [one.key for one in pane.table.columns])
        await pilot.press("end", "space", "plus", "plus", "minus", *["K"] * 12)
        await until(pilot, lambda: pane.table.columns[0].key == NOTE)
        assert width_of(pane.table, NOTE) == 16
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert "[b]␛]0;x␇note" in frame(app)
        assert "␛[31mred" in frame(app)
        settings = [one.settings for one in sent if isinstance(one, SaveSettings)][-1]
        assert settings["results_columns"][0] == {"key": NOTE, "shown": True, "width": 16}
        picker = await opened(pilot, app)
        await pilot.press("r", "enter")
        await until(pilot, lambda: app.screen is main)
        assert pane.layout_chosen == ColumnLayout()
        assert [one.key for one in pane.table.columns] == [
            key
            for key in DEFAULT_COLUMNS
            if key != "was"  # nothing changed: it is empty
        ]
        assert width_of(pane.table, "score") == 6

    await on_all(topic_path, run)


@pytest.mark.exhaustive
async def test_the_last_column_stays(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await opened(pilot, app)
        for _ in DEFAULT_COLUMNS:
            await pilot.press("space", "down")
        await pilot.pause()
        assert [column.key for column in main.panes.results.table.columns] == ["category"]

    await on_all(topic_path, run)


@pytest.mark.exhaustive
async def test_keys_resize_the_column_sorted_by(topic_path: Path, sent: Sent) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pane = main.panes.results
        pane._request_view(sort="category")
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: pane.layout_chosen.widths == {"category": 20})
        await pilot.press(*["less_than_sign"] * 3)
        await until(pilot, lambda: pane.layout_chosen.widths == {"category": 14})
        await pilot.press(*["greater_than_sign"] * 2)
        await until(pilot, lambda: pane.layout_chosen.widths == {})  # its own width again

    await on_all(topic_path, run)


@pytest.mark.exhaustive
async def test_s_goes_through_the_columns_shown(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pane = main.panes.results
        pane._use_layout(ColumnLayout().toggled("change", main.services.workspace.prompts))
        pane._use_layout(pane.layout_chosen.toggled(RISK, main.services.workspace.prompts))
        seen = []
        for _ in range(len(DEFAULT_COLUMNS) - 1):
            await pilot.press("s")
            seen.append(pane.view.sort)
        # Nothing changed: the column of what was before is empty, and takes no room.
        assert seen == [*(key for key in DEFAULT_COLUMNS[1:] if key != "was"), RISK]
        await until(
            pilot, lambda: main.rows.results is not None and main.rows.results.view.sort == RISK
        )
        assert main.rows.results is not None
        risks = [ROWS[row][3] for row in main.rows.results.order]
        assert risks == ["-1", "2.5", "7", "9", "9.5", "10", "100", ""]

    await on_all(topic_path, run)


@pytest.mark.parametrize(
    ("key", "value"),
    first_row_is_fast(
        (NOTE, lambda row: ROWS[row][4].strip() or "￿"),
        ("line", lambda row: row),
        ("length", lambda row: len(ROWS[row][0])),
        ("expected", lambda row: ROWS[row][1]),
        ("column:gone", lambda row: row),
    ),
)
async def test_every_column_sorts(topic_path: Path, key: str, value: object) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.results._request_view(sort=key)
        await until(
            pilot, lambda: main.rows.results is not None and main.rows.results.view.sort == key
        )
        assert main.rows.results is not None
        values = [value(int(row)) for row in main.rows.results.order]  # type: ignore[operator]
        assert values == sorted(values)

    await on_all(topic_path, run)


def test_a_set_without_a_category_does_not_offer_it(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(
        "prompt,expected,intent,score\na,true,block,1\nb,false,block,2\n"
    )
    prompts = load_prompts(tmp_path / "p.csv")
    assert known_columns(prompts) == (
        *(key for key in COLUMNS if key != "category"),
        "column:score",
    )
    layout = ColumnLayout().toggled("column:score", prompts)
    assert layout.shown(prompts)[-1] == "column:score"
    # What this set does not have is kept for the one that does.
    assert "category" in {column.key for column in layout.columns}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("toggle"), st.sampled_from(COLUMNS), st.just(0)),
        st.tuples(st.just("move"), st.sampled_from(COLUMNS), st.sampled_from([-1, 1])),
        st.tuples(st.just("size"), st.sampled_from(COLUMNS), st.integers(-5, 500)),
    ),
    max_size=30,
)


@given(steps=STEPS)
def test_no_steps_lose_a_column(steps: list[tuple[str, str, int]]) -> None:
    prompts = _prompts()
    layout = ColumnLayout()
    for what, key, number in steps:
        if what == "toggle":
            layout = layout.toggled(key, prompts)
        elif what == "move":
            layout = layout.moved(key, number, prompts)
        else:
            layout = layout.sized(key, number, prompts)
    assert sorted(choice.key for choice in layout.choices(prompts)) == sorted(
        known_columns(prompts)
    )
    assert layout.shown(prompts)
    assert all(2 <= width <= MOST for width in layout.widths.values())
    assert "prompt" not in layout.widths
    again = layout_of(saved_columns(layout))
    assert again.choices(prompts) == layout.choices(prompts)


def _prompts():  # type: ignore[no-untyped-def]
    import polars as pl

    from guardtui.domain.prompts import build_prompt_set

    frame = pl.DataFrame(
        {
            "prompt": ["a", "b"],
            "expected": ["true", "false"],
            "intent": ["block", "block"],
            "category": ["x", "y"],
        }
    )
    return build_prompt_set(frame, np.array([2, 3], np.uint32), "test")


async def test_columns_come_back(topic_path: Path, sent: Sent) -> None:
    saved: dict[str, object] = {}

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await opened(pilot, app)
        await pilot.press("space", "end", "up", "space", "plus", "escape")
        saved.update([one.settings for one in sent if isinstance(one, SaveSettings)][-1])

    await on_all(topic_path, run)
    app = GuardtuiApp(Workspace.open(topic_path), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        main.panes.results.restore(saved)
        keys = [one.key for one in main.panes.results.table.columns]
        assert "change" not in keys
        assert RISK in keys
        await until(pilot, lambda: width_of(main.panes.results.table, RISK) == 16)
