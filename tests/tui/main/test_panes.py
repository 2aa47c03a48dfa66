"""The layout of a screen by its size."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.geometry import Size
from textual.pilot import Pilot

from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.panes import SMALLEST, layout_for
from guardtui.tui.main.screen import MainScreen
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import drive, frame, topic_path, until

__all__ = ["topic_path"]


@pytest.mark.parametrize(
    ("size", "layout"),
    [
        ((0, 0), "-tiny"),
        ((39, 15), "-tiny"),
        ((40, 14), "-tiny"),
        ((40, 15), "-small"),
        ((200, 23), "-small"),
        ((80, 24), "-low"),
        ((99, 60), "-low"),
        ((159, 30), "-low"),
        ((100, 36), "-half"),
        ((200, 30), "-broad"),
        ((119, 60), "-half"),
        ((120, 36), "-full"),
        ((240, 80), "-broad"),
    ],
)
def test_the_best_layout_that_has_room_is_chosen(size: tuple[int, int], layout: str) -> None:
    assert layout_for(Size(*size)) == layout


@pytest.mark.parametrize("size", first_is_fast(SMALLEST, (80, 15), (80, 20), (80, 23), (80, 24)))
async def test_three_rows_of_results_are_in_sight(topic_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.show("results")
        await pilot.press("7", "slash")
        await until(pilot, lambda: "→ completes" in frame(app))
        await until(pilot, lambda: len(re.findall("│[› ][FT][NP] ", frame(app))) >= 3)
        assert "Detail" in frame(app)

    await drive(topic_path, run, size)
