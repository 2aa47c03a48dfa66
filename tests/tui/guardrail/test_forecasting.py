"""A forecast on the screen: its badge, rates with intervals, and the key to the engine."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from guardtui.domain.guardrail import FORECAST
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.session import Decision
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.detail.pane import DetailPane
from guardtui.tui.kit.dialogs import AnswersDialog
from guardtui.tui.metrics.page import page_text
from tests.guardrails import airs_settings
from tests.tui.tax_app import frame, ready, sample, until

__all__ = ["sample"]

AIRS = airs_settings("[b]prod[/INST]\x1b", "3 (7f0c)")


async def test_scans_are_held_against_the_forecasts_before_them(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        shown = main.state.evaluation
        assert shown is not None
        workspace = main.services.workspace
        scan = replace(shown, settings=AIRS)
        workspace.session.record(workspace.write(scan, Decision.KEEP))
        workspace.session.record(workspace.write(scan, Decision.KEEP))
        main.perform("show_trust")
        await until(pilot, lambda: isinstance(app.screen, AnswersDialog))
        await pilot.pause()
        drawn = frame(app)
        assert "How well scans were predicted" in drawn
        assert "within its interval in 1 of 1 scan" in " ".join(drawn.replace("│", " ").split())
        assert "[b]prod[/INST]␛" in drawn
        assert re.search(r"#2 += [01]\.\d{3} \(", drawn)
        assert "0.9 to 1.0" in drawn


async def test_an_edit_after_a_scan_shows_a_forecast(
    sample: Path,
) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        assert "Metrics · engine" in frame(app)
        shown = main.state.evaluation
        assert shown is not None
        scan = replace(shown, settings=AIRS)
        workspace = main.services.workspace
        workspace.session.record(workspace.write(scan, Decision.KEEP))
        await pilot.press("tab", *" now")
        await until(
            pilot,
            lambda: (
                main.state.evaluation is not None
                and main.state.evaluation.settings.kind == FORECAST
                and main.state.evaluation.topic.description.endswith(" now")
                and "coverage ≈" in frame(app)
            ),
        )
        drawn = frame(app)
        # Names of a profile are shown as they are written, and no escape reaches the terminal.
        assert "Metrics · forecast of AIRS [b]prod[/INST]␛" in drawn
        assert "if scanned" in drawn
        assert re.search(r"≈\d+ fixed · ≈\d+ broke", drawn)
        assert re.search(r"a scan of \d+ prompts? decides", drawn)
        shown_figures = main.panes.metrics.dashboard
        assert shown_figures is not None
        page = page_text(shown_figures).plain
        assert "forecast from 1 scan; only a scan tells" in page
        assert "with probability" in page
        await until(pilot, lambda: "triggers with probability" in _detail(app))
        await pilot.press("alt+v")
        await until(pilot, lambda: "Metrics · engine" in frame(app))
        await pilot.press("alt+v")
        await until(pilot, lambda: "forecast of" in frame(app))
        await pilot.resize_terminal(80, 24)
        # On a small screen the line below the panes says it too.
        await until(pilot, lambda: "coverage ≈" in frame(app).splitlines()[-3])
        assert "forecast of AIRS" in frame(app).splitlines()[-3]


def _detail(app: GuardtuiApp) -> str:
    pane = app.screen.query_one(DetailPane)
    return frame(app) if pane.display else ""
