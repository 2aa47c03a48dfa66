"""The classes of a screen by its size."""

from __future__ import annotations

import pytest
from textual.geometry import Size

from guardtui.tui.main.panes import classes_for


@pytest.mark.parametrize(
    ("size", "classes"),
    [
        ((0, 0), ["-tiny", "-flat"]),
        ((39, 15), ["-tiny", "-short"]),
        ((40, 14), ["-narrow", "-flat"]),
        ((99, 30), ["-narrow", "-tall"]),
        ((100, 29), ["-medium", "-short"]),
        ((120, 36), ["-wide", "-high"]),
        ((240, 80), ["-broad", "-high"]),
    ],
)
def test_the_last_step_that_is_reached_counts(size: tuple[int, int], classes: list[str]) -> None:
    assert classes_for(Size(*size)) == classes
