"""User-defined metrics on the dashboard: live, "n/a", failing, and never run twice at once."""

from __future__ import annotations

import asyncio
import math
import threading
from pathlib import Path
from typing import Any

import pytest

from guardtui.app.editing.evaluations import THREAD, LiveUserMetrics
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scorer import SampleScore
from guardtui.session.own_metrics import OwnMetric
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.metrics.page import page_text
from tests.session.test_own_metrics import PROMPTS, evaluated
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import main_screen, ready, topic_path, until

__all__ = ["topic_path"]


def mistakes(scores: list[SampleScore]) -> float:
    return float(sum(score.score.value == "I" for score in scores))


def undefined(scores: list[SampleScore]) -> float:
    return math.nan


def broken(scores: list[SampleScore]) -> float:
    raise RuntimeError("no [b]\x1b[2J good")


METRICS = [OwnMetric(f"{one.__name__}()", one) for one in (mistakes, undefined, broken)]


@pytest.mark.parametrize("size", first_is_fast((120, 40), (80, 24)))
async def test_they_stand_below_the_rates_and_follow_the_edit(
    topic_path: Path, size: tuple[int, int]
) -> None:
    app = GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"), metrics=METRICS)
    async with app.run_test(size=size) as pilot:
        await ready(pilot, app)
        screen = main_screen(app)

        def shown() -> dict[str, str]:
            dashboard = screen.panes.metrics.dashboard
            figures = None if dashboard is None else dashboard.state.figures
            return {one.name: one.text for one in figures or ()}

        await until(pilot, lambda: "mistakes" in shown())
        metrics = screen.state.evaluation.metrics if screen.state.evaluation is not None else None
        assert metrics is not None
        assert shown() == {
            "mistakes": f"{metrics.fp + metrics.fn:.3f}", "undefined": "n/a", "broken": "error",
        }  # fmt: skip
        dashboard = screen.panes.metrics.dashboard
        assert dashboard is not None
        page = page_text(dashboard).plain
        assert f"mistakes    {metrics.fp + metrics.fn:.3f}" in page
        assert "broken      error: RuntimeError: no [b]␛[2J good" in page
        before = screen.state.evaluation
        screen.services.editing.replace(
            screen.services.session.topic.model_copy(update={"description": "Anything at all"})
        )
        await until(
            pilot,
            lambda: (
                screen.state.evaluation is not before
                and screen.services.figures.of(screen.state.evaluation) is not None
            ),
        )
        now = screen.state.evaluation
        assert now is not None
        assert shown()["mistakes"] == f"{now.metrics.fp + now.metrics.fn:.3f}"


async def test_without_own_metrics_the_line_is_hidden(topic_path: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        dashboard = main_screen(app).panes.metrics.dashboard
        assert dashboard is not None
        assert dashboard.state.figures == ()


async def test_of_evaluations_that_come_meanwhile_only_the_newest_is_measured() -> None:
    go, runs = threading.Event(), []

    def slow(scores: list[Any]) -> float:
        runs.append(len(scores))
        go.wait(120)
        return float(len(runs))

    shown: list[Any] = []
    live = LiveUserMetrics(lambda: shown.append(live.figures[0].value))
    live.metrics = [OwnMetric("slow()", slow)]
    evaluations = [evaluated(1, 1, 0, 0) for _ in range(4)]
    first = asyncio.create_task(live.follow(evaluations[0], PROMPTS, None))
    while not runs:
        await asyncio.sleep(0)
    for one in evaluations[1:]:
        await live.follow(one, PROMPTS, None)
    assert live.of(evaluations[0]) is None
    # No exit waits for a metric that never ends.
    assert all(one.daemon for one in threading.enumerate() if one.name == THREAD)
    go.set()
    await first
    assert shown == [1.0, 2.0]
    assert live.of(evaluations[-1]) == live.figures
    assert live.of(evaluations[0]) is None
