"""The threshold sweep: the table follows, Enter keeps, Esc restores."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual._context import visible_screen_stack
from textual.pilot import Pilot
from textual.widgets import Input

from guardtui.domain.curves import neighbour, thinned
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import bracketed
from guardtui.domain.prompt_edit import Relabel
from guardtui.domain.sweep import best_threshold, sweep
from guardtui.domain.topic import Intent
from guardtui.domain.verdicts import Verdicts
from guardtui.reports.thresholds import Floors
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.session import Decision, Iteration
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.results.pane import ResultsPane
from guardtui.tui.threshold.sweep import ThresholdDialog, ThresholdFeature
from guardtui.tui.threshold.sweep_text import (
    VIEWS,
    best_text,
    chart_text,
    read_floors,
    table_text,
)
from tests.guardrails import airs_settings
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import Run, main_screen, until
from tests.tui.tax_app import frame as frame_of
from tests.tui.tax_app import sample as topic_path

__all__ = ["topic_path"]


def frame(app: GuardtuiApp) -> str:
    """What is on the screen, with the screen behind: only who draws for real has that at hand."""
    visible_screen_stack.set(list(app._background_screens))
    return frame_of(app)


async def drive(
    topic_path: Path, run: Run, size: tuple[int, int] = (120, 40), *, opens: bool = True
) -> None:
    workspace = Workspace.open(topic_path)
    app = GuardtuiApp.of(workspace, LocalScanner("static"), threshold="built-in")
    async with app.run_test(size=size) as pilot:
        main = main_screen(app)
        await until(pilot, lambda: main.rows.results is not None)
        if opens:
            await opened(pilot, app, main)
        await run(pilot, app, main)


async def opened(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> ThresholdDialog:
    main.perform("show_sweep")
    await until(
        pilot,
        lambda: isinstance(app.screen, ThresholdDialog) and "on new prompts)" in frame(app),
    )
    return dialog(app)


def dialog(app: GuardtuiApp) -> ThresholdDialog:
    assert isinstance(app.screen, ThresholdDialog)
    return app.screen


def threshold(main: MainScreen) -> ThresholdFeature:
    """The feature that shows the threshold's curves."""
    assert main.features is not None
    feature: ThresholdFeature = main.features.on_demand("show_sweep")
    return feature


async def relabel(main: MainScreen) -> None:
    """Change the prompts, as another program could."""
    prompts = main.state.prompts
    edit = Relabel(frozenset({int(prompts.keys[0])}), not prompts.expected[0])
    await main.services.sync.edit_prompts(edit)


def shown_threshold(main: MainScreen) -> float | None:
    """The one that what is on the screen was judged by."""
    return main.state.evaluation.settings.threshold if main.state.evaluation is not None else None


async def follows(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
    here = dialog(app)
    await until(pilot, lambda: shown_threshold(main) == here.threshold)
    await until(
        pilot,
        lambda: (
            main.rows.results is not None and main.rows.results.evaluation is main.state.evaluation
        ),
    )


def told(app: GuardtuiApp) -> list[str]:
    return [message.message for message in app.said.messages]


async def test_the_table_behind_is_of_the_threshold_that_is_moved(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        region = main.query_one(ResultsPane).region
        panel = app.screen.query_one("#sweep").region
        assert not panel.overlaps(region)
        before = main.state.evaluation
        assert before is not None
        await pilot.press("right", "right", "right")
        await follows(pilot, app, main)
        assert main.state.evaluation is not None
        assert main.state.evaluation.metrics != before.metrics
        assert main.state.evaluation.settings.threshold_source == "by hand"
        metrics = main.state.evaluation.metrics
        await until(pilot, lambda: f"2 FP {metrics.fp}  3 FN {metrics.fn}" in frame(app))
        assert f"(was 0.500)  FP {metrics.fp}  FN {metrics.fn}" in frame(app)

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_a_fine_step_changes_a_verdict_and_a_coarse_one_is_wide(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        here = dialog(app)
        start = here.threshold
        result = here._sweep
        await pilot.press("right")
        assert result.index(here.threshold) > result.index(start)
        await pilot.press("left", "left")
        assert result.index(here.threshold) < result.index(start)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        here = await opened(pilot, app, main)
        for key, expected in (("up", 0.55), ("pageup", 0.6), ("down", 0.55), ("pagedown", 0.5)):
            await pilot.press(key)
            await until(pilot, lambda expected=expected: here.threshold == expected)
        await pilot.press(*["up"] * 12)
        await until(pilot, lambda: here.threshold == 0.999)
        await pilot.press(*["right"] * 3)
        assert 0 < here.threshold < 1
        await pilot.press(*["down"] * 25)
        await until(pilot, lambda: here.threshold == 0.001)

    await drive(topic_path, run)


async def test_the_best_threshold_has_its_interval_and_depends_on_floors(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        here = dialog(app)
        best = best_threshold(here._sweep)
        assert best is not None
        assert f"coverage {best.metrics.coverage:.3f} on these labels" in frame(app)
        assert bracketed(best.interval) in frame(app)
        await pilot.press("b")
        assert here.threshold == best.threshold
        await follows(pilot, app, main)
        assert frame(app).count(bracketed(best.interval)) == 2  # here, and of the best
        assert main.state.evaluation is not None
        assert main.state.evaluation.metrics == best.metrics
        await pilot.press("f", *"0.9 2", "enter")
        await until(pilot, lambda: "a floor is a number from 0 to 1" in frame(app))
        await pilot.press("escape")
        assert isinstance(app.focused, Input) is False
        await pilot.press("f", *"0.9", "enter")
        await until(pilot, lambda: "best with TPR ≥ 0.9:" in frame(app))
        await pilot.press("b")
        await follows(pilot, app, main)
        tpr = main.state.evaluation.metrics.true_positive_rate
        assert tpr is not None
        assert tpr >= 0.9
        await pilot.press("f", *["backspace"] * 10, *"0.99 0.99", "enter")
        await until(pilot, lambda: "no threshold gives TPR ≥ 0.99 and TNR ≥ 0.99" in frame(app))
        stays = here.threshold
        await pilot.press("b")
        assert here.threshold == stays
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert threshold(main).floors == Floors(0.99, 0.99)

    await drive(topic_path, run)


@pytest.mark.parametrize("size", first_is_fast((120, 40), (80, 24), (60, 20)))
async def test_every_view_has_room_and_a_table(topic_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        pattern = re.compile(r"threshold +coverage +TPR.*(\n.*)*now +0\.500 ")
        for key, text in (
            ("1", "[1 TPR and TNR]"),
            ("2", "[2 ROC]"),
            ("tab", "[3 Precision-recall]"),
        ):
            await pilot.press(key)
            await until(pilot, lambda text=text: text in frame(app))
            assert "0.0" in frame(app)
            assert "▲" in frame(app)
            assert "on new prompts)" in frame(app)
            assert "Enter · Esc" in frame(app)
            assert "FP 25  FN 59" in frame(app)
            if key != "1":
                assert "◆" in frame(app)
            await pilot.press("t")
            await until(pilot, lambda: bool(pattern.search(frame(app))))
            await pilot.press("t")

    await drive(topic_path, run, size)


async def test_a_remote_scan_has_no_threshold_to_move(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        prompts = main.services.workspace.prompts
        count = len(prompts)
        scan = Evaluation(
            main.services.session.topic,
            airs_settings("us"),
            prompts.fingerprint,
            prompts.keys,
            prompts.expected,
            Verdicts(
                np.zeros(count, np.int8),
                np.full(count, np.nan, np.float32),
                np.zeros(count, np.int16),
            ),
        )
        number = main.services.session.iterations[-1].number + 1
        main.services.session.record(Iteration(number, "", Decision.UNDECIDED, scan))
        main.perform("show_sweep")
        await until(
            pilot, lambda: any("which has no threshold to move" in one for one in told(app))
        )
        assert app.screen is main
        main.perform("swap_preview")
        await until(pilot, lambda: shown_threshold(main) == 0.5)
        await opened(pilot, app, main)

    await drive(topic_path, run, opens=False)


@pytest.mark.exhaustive
async def test_another_program_that_changes_the_prompts_ends_it(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("up")
        await relabel(main)
        await until(pilot, lambda: app.screen is main and shown_threshold(main) == 0.5)
        assert any("open the curves again" in one for one in told(app))

    await drive(topic_path, run)


# --- the texts ----------------------------------------------------------------------------

columns = st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=30)


@given(
    columns,
    st.sampled_from(Intent),
    st.sampled_from(VIEWS),
    st.floats(0.001, 0.999),
    st.integers(20, 90),
    st.integers(4, 20),
)
def test_charts_and_tables_have_the_requested_size(
    rows: list[tuple[float, bool]],
    intent: Intent,
    view: str,
    threshold: float,
    width: int,
    height: int,
) -> None:
    result = sweep(
        np.array([score for score, _ in rows], np.float32),
        np.array([duty for _, duty in rows], bool),
        intent,
    )
    where: Any = (thinned(result), threshold, best_threshold(result), width, height)
    chart = chart_text(result, view, *where).plain.splitlines()
    assert len(chart) == height
    assert all(len(line) <= width for line in chart)
    table = table_text(result, *where).plain.splitlines()
    assert min(height, 2) <= len(table) <= min(height, len(result) + 1)
    assert all(len(line) <= width for line in table)
    assert sum(line.startswith(("now", "best, now")) for line in table) == 1
    assert best_text(result, None, Floors(0.9)).plain


def test_the_chart_shows_where_the_lines_are() -> None:
    # Those that belong score 0.3 and 0.9, the others 0.1 and 0.6.
    result = sweep(np.array([0.3, 0.9, 0.1, 0.6], np.float32), np.array([1, 1, 0, 0], bool))
    assert chart_text(
        result, "rates", thinned(result), 0.7, best_threshold(result), 24, 6
    ).plain.splitlines() == [
        "1.0 ●●●●●●      ○○○○○○○○",
        "          │     │ ┃     ",
        "      ○○○○◉◉◉◉◉◉●●●●●●  ",
        "0.0 ○○░░░░░░░░░░░░┃░░░●●",
        "              b   ▲",
        "    0.0  threshold   1.0",
    ]


def test_the_roc_chart_is_its_area() -> None:
    result = sweep(np.array([0.3, 0.9, 0.1, 0.6], np.float32), np.array([1, 1, 0, 0], bool))
    # Through (0, 0), (0, ½), (½, ½), (½, 1), (1, 1); the point is at FPR ½, TPR ½.
    assert chart_text(result, "roc", thinned(result), 0.5, None, 24, 6).plain.splitlines()[:5] == [
        "1.0           ██████████",
        "              ██████████",
        "    ██████████◆█████████",
        "0.0 ████████████████████",
        "              ▲",
    ]
    # Recall ½ with precision 1, recall 1 with ⅔.
    chart = chart_text(result, "precision", thinned(result), 0.7, None, 24, 8).plain.splitlines()
    assert chart[0] == "1.0 ██████████◆         "
    assert chart[2] == "    ████████████████████"


@pytest.mark.parametrize("way", [1, -1])
@given(columns, st.floats(0.001, 0.999), st.sampled_from(Intent))
def test_a_fine_step_gives_other_verdicts_or_stays(
    way: int, rows: list[tuple[float, bool]], threshold: float, intent: Intent
) -> None:
    result = sweep(
        np.array([score for score, _ in rows], np.float32),
        np.array([duty for _, duty in rows], bool),
        intent,
    )
    there = neighbour(result, threshold, way)
    ends = {1: len(result) - 1, -1: 0}
    if result.index(threshold) == ends[way]:
        assert there == threshold
    else:
        assert (result.index(there) - result.index(threshold)) * way > 0


@pytest.mark.parametrize(
    ("text", "floors"),
    [
        ("", Floors()),
        ("0.9", Floors(0.9)),
        ("0.9 0.8", Floors(0.9, 0.8)),
        (" .9, 1 ", Floors(0.9, 1)),
        ("0 0.5", Floors(0, 0.5)),
    ],
)
def test_floors_are_read(text: str, floors: Floors) -> None:
    assert read_floors(text) == floors


@pytest.mark.parametrize("text", ["x", "nan", "1.1", "-0.1", "inf", "0.9 0.8 0.7", "90%"])
def test_an_invalid_floor_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match=r"floor"):
        read_floors(text)
