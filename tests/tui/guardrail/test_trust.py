"""Scans compared with the embedded engine and with forecasts."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import AnswersDialog
from tests.tui.panel_app import judged, opened, record
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import ROWS, TOPIC, frame, ready, settled, until

SCAN = "".join("y" if label else "n" for _, label in ROWS)


def app_of(tmp_path: Path, scan: str = SCAN) -> GuardtuiApp:
    workspace = Workspace.open(opened(tmp_path, TOPIC, ROWS))
    record(workspace, judged(workspace, "airs", scan))
    return GuardtuiApp.of(workspace, LocalScanner("static"))


@pytest.mark.parametrize("size", first_is_fast((120, 40), (80, 24)))
async def test_the_calibrated_threshold_is_used_and_remembered(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot, app)
        scanner = main.services.engine.scanner
        before = scanner.settings.threshold
        main.perform("show_trust")
        await until(pilot, lambda: isinstance(app.screen, AnswersDialog))
        await until(pilot, lambda: "The engine and the last scan of AIRS" in frame(app))
        shown = frame(app)
        assert "on 8 prompts, Cohen's kappa" in " ".join(shown.replace("│", " ").split())
        assert "\x1b" not in shown
        # Without what is beside the page.
        words = " ".join(line[4:-4] for line in shown.splitlines()).replace("│", " ").split()
        assert "from the second scan on" in " ".join(words)
        await pilot.press("u")
        await until(pilot, lambda: scanner.settings.threshold != before)
        assert scanner.settings.threshold_source == "by hand, to agree with AIRS"
        stored = main.services.workspace.store.settings
        await until(pilot, lambda: stored().get("threshold") == scanner.settings.threshold)
        assert stored()["threshold_source"] == "by hand, to agree with AIRS"
        await until(pilot, lambda: app.screen is main)


async def test_a_scan_of_another_definition_says_what_changed_and_leaving_changes_nothing(
    tmp_path: Path,
) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        before = main.services.engine.scanner.settings
        await pilot.press("tab", *" x")
        await until(pilot, lambda: settled(main))
        main.perform("show_trust")
        await until(pilot, lambda: isinstance(app.screen, AnswersDialog))
        await until(pilot, lambda: "scanned last, not the one here" in frame(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert main.services.engine.scanner.settings == before


async def test_the_prompts_on_which_they_differ_are_shown_in_the_table(tmp_path: Path) -> None:
    app = app_of(tmp_path, "nnnnyyyy")
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        main.perform("show_trust")
        await until(pilot, lambda: isinstance(app.screen, AnswersDialog))
        await pilot.press("d")
        await until(pilot, lambda: main.panes.results.view.picked is not None)
        assert "only AIRS ≠ engine" in frame(app)
