"""The layout of a screen by its size."""

from __future__ import annotations

import pytest
from textual.geometry import Size

from guardtui.tui.main.panes import layout_for


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
