"""Columns: width and sorting; saved or damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.results.columns import MOST, allowed_widths
from guardtui.tui.results.model import COLUMNS
from guardtui.tui.table.frame_table import FrameTable
from tests.tui.results_app import ROWS, on_all, topic_path
from tests.tui.stages import first_row_is_fast
from tests.tui.tax_app import ready, until

__all__ = ["topic_path"]


def width_of(table: FrameTable, key: str) -> int | None:
    """Return the cells of a column as it is drawn, None if it has no room."""
    return next((slot.width for slot in table.slots if slot.column.key == key), None)


async def test_keys_resize_the_column_sorted_by(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pane = main.panes.results
        pane._request_view(sort="category")
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: pane.widths == {"category": 20})
        await pilot.press(*["less_than_sign"] * 3)
        await until(pilot, lambda: pane.widths == {"category": 14})
        saved = main.services.workspace.store.settings
        wanted = [{"key": "category", "width": 14}]
        await until(pilot, lambda: saved().get("results_columns") == wanted)
        await pilot.press(*["greater_than_sign"] * 2)
        await until(pilot, lambda: pane.widths == {})  # its own width again

    await on_all(topic_path, run)


@pytest.mark.parametrize(
    ("key", "value"),
    first_row_is_fast(
        ("prompt", lambda row: ROWS[row][0]),
        ("category", lambda row: ROWS[row][2].strip()),
    ),
)
async def test_every_column_sorts(
    topic_path: Path, key: str, value: Callable[[int], object]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.results._request_view(sort=key)
        await until(
            pilot, lambda: main.rows.results is not None and main.rows.results.view.sort == key
        )
        assert main.rows.results is not None
        values = [value(int(row)) for row in main.rows.results.order]
        groups = list(dict.fromkeys(values))
        assert values == [one for group in groups for one in values if one == group]

    await on_all(topic_path, run)


@given(widths=st.dictionaries(st.sampled_from(COLUMNS) | st.text(), st.integers(-5, 500)))
def test_widths_are_within_the_limits(widths: dict[str, int]) -> None:
    allowed = allowed_widths(widths)
    assert all(2 <= width <= MOST for width in allowed.values())
    assert set(allowed) <= {*COLUMNS} - {"prompt"}
    assert allowed_widths(allowed) == allowed


async def test_widths_are_restored(topic_path: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        saved = {"results_columns": [{"key": "score", "shown": False, "width": 9}]}
        main.panes.results.restore(saved)
        await until(pilot, lambda: width_of(main.panes.results.table, "score") == 9)
