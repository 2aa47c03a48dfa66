"""The progress line of embedding at each width."""

from __future__ import annotations

import pytest

from guardtui.scanners.base import Progress
from guardtui.tui.main.engine_progress import progress_text


def line(width: int, remaining: float | None = 223.0) -> str:
    progress = Progress("embedding prompts", 3000, 50000)
    return progress_text(progress, 210.0, remaining, slow=True, width=width)


@pytest.mark.parametrize("width", [200, 160, 118, 98, 78])
def test_nothing_is_cut_off(width: int) -> None:
    assert len(line(width)) <= width
    assert "3000/50000  210/s  223 s left, once" in line(width)


def test_the_bar_gives_way_to_the_faster_encoder() -> None:
    for width in (200, 118, 110):
        assert line(width).endswith("  (F9: the static encoder needs seconds)")
    assert line(80).endswith("  (F9: faster)")
    assert line(60).endswith("left, once")


def test_a_short_wait_has_no_hint() -> None:
    assert "F9" not in line(200, 30.0)
    assert line(200, None).endswith("3000/50000")
