"""Edits that are measured already, from the screen: offered, explained, applied as one edit."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.text import Text
from textual.pilot import Pilot

from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace, sample_folder
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.screens.advice_menu import AdviceMenu
from guardtui.tui.screens.dialogs import TextPage
from guardtui.tui.screens.main import MainScreen
from guardtui.tui.screens.refining import ProposalList, SearchDialog
from tests.tui.test_loop import frame, ready, until


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    for name in ("tax-advice.yaml", "tax-advice.csv"):
        (tmp_path / name).write_bytes((sample_folder() / name).read_bytes())
    return tmp_path / "tax-advice.yaml"


async def advice(pilot: Pilot[int], letter: str) -> None:
    await pilot.press("shift+f1")
    await until(pilot, lambda: isinstance(pilot.app.screen, AdviceMenu))
    await pilot.press(letter)


async def test_a_measured_edit_is_explained_and_applied(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main: MainScreen = await ready(pilot, app)
        before = main.session.topic
        await advice(pilot, "w")
        await until(pilot, lambda: isinstance(app.screen, ProposalList))
        await until(pilot, lambda: "overfit gap" in frame(app))
        shown = frame(app)
        assert "chosen on one half of the prompts, the figures are of the other" in " ".join(
            shown.replace("│", " ").split()
        )
        assert "→" in shown
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        assert "Regressions" in frame(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ProposalList))
        await pilot.press("enter")
        await until(pilot, lambda: main.session.topic != before)
        main.session.undo()
        assert main.session.topic == before


async def test_a_search_is_ended_and_its_best_is_offered(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot, app)
        before = main.session.topic
        await advice(pilot, "r")

        def offered() -> bool:
            told = [one.message for one in app._notifications]
            return isinstance(app.screen, ProposalList) or any("No edit" in one for one in told)

        # With few prompts there may be nothing left to try before a key is pressed.
        await until(pilot, lambda: isinstance(app.screen, SearchDialog) or offered())
        if isinstance(app.screen, SearchDialog):
            await pilot.press("escape")
        await until(pilot, offered)
        if isinstance(app.screen, ProposalList):
            await pilot.press("escape")
        assert main.session.topic == before  # nothing is applied by itself


async def test_what_each_part_does_is_told(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        await advice(pilot, "e")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        assert "without example 1" in frame(app)
        assert "without the description" in frame(app)


async def test_a_search_that_ends_below_the_help_is_told_when_that_is_closed(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        main.action_refine()
        await until(pilot, lambda: isinstance(app.screen, SearchDialog))
        search = app.screen
        assert isinstance(search, SearchDialog)
        above = TextPage("above", Text("help"))
        app.push_screen(above)
        await until(pilot, lambda: app.screen is above)
        search.action_stop()
        await until(pilot, lambda: search._over)
        await pilot.pause()
        assert app.screen is above
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, TextPage | SearchDialog))
