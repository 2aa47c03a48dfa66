"""The metrics pane: it can have the focus and scroll, and tells its chart in numbers too."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.widgets.metrics_panel import MetricsPanel, dashboard_text, number, sparkline
from tests.tui.test_loop import drive, frame, settled, topic_path, until

__all__ = ["topic_path"]


def test_with_nothing_evaluated_it_says_what_happens_next() -> None:
    text = dashboard_text(None).plain
    assert "starts by itself" in text


async def test_every_bar_of_the_history_stands_there_as_a_number(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" and cooking soup")
        await until(pilot, lambda: settled(main) and main.services.workspace.unsaved)
        await pilot.press("f3")
        await until(pilot, lambda: len(main.services.session.iterations) == 2 and settled(main))
        shown = main.query_one(MetricsPanel).dashboard
        assert shown is not None
        text = dashboard_text(shown).plain
        assert f"history {sparkline(shown.history)}" in text
        for iteration in main.services.session.iterations:
            coverage = number(iteration.evaluation.metrics.coverage)
            assert f"#{iteration.number} {coverage}" in text.split("newest first")[1]
        assert text.index("#1 ", text.index("newest")) < text.index("#0 ", text.index("newest"))

    await drive(topic_path, run)


async def test_it_takes_the_focus_and_scrolls(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("f5")
        panel = main.query_one(MetricsPanel)
        panel.focus()
        await until(pilot, lambda: main.focused is panel)
        await until(pilot, lambda: panel.max_scroll_y > 0)
        await pilot.press("end")
        await until(pilot, lambda: "every iteration" in frame(app))

    await drive(topic_path, run, (60, 15))
